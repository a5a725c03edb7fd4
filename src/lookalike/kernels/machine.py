"""Single machine instructions that Numba does not offer: unaligned loads, byte masks, bit counts.

They do not check bounds: the caller must ensure that the bytes exist.
"""

from typing import Any

from lookalike.kernels.compile import MODE, intrinsic

if MODE != "pack":  # the rest runs only where kernels are compiled
    from llvmlite import ir
    from numba.core import cgutils, types

    I8, I64 = ir.IntType(8), ir.IntType(64)

LANES = 8
"""The number of 64-bit numbers in an AVX-512 register. Sums use two registers at a time, on every processor."""
NEAR = 16
"""The number of words that `near_mask` compares at once: two AVX-512 registers."""
BLOCK = 64
"""The number of bytes that a mask covers: the bits of a machine word, and the bytes of an AVX-512 register."""


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.gep(builder.bitcast(data, I8.as_pointer()), [index])


@intrinsic
def load_u64(typingctx: Any, array: Any, index: Any) -> Any:
    """Load eight bytes from `array[index:]` as a little-endian number. Requires index + 8 <= array.size."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *args)
        word = builder.load(builder.bitcast(pointer, I64.as_pointer()))
        word.align = 1
        return word

    return types.uint64(array, index), codegen


def _load_block(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    vector = ir.VectorType(I8, BLOCK)
    pointer = _pointer(context, builder, signature.args[0], *args)
    block = builder.load(builder.bitcast(pointer, vector.as_pointer()))
    block.align = 1
    return block


def _splat(value: int) -> Any:
    return ir.Constant(ir.VectorType(I8, BLOCK), [value] * BLOCK)


@intrinsic
def run_mask(typingctx: Any, array: Any, index: Any) -> Any:
    """Set bit i if byte index + i is an ASCII letter or digit, or part of a non-ASCII character.

    Requires index + 64 <= array.size.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = _load_block(context, builder, signature, args)
        lower = builder.or_(block, _splat(0x20))
        letter = builder.icmp_unsigned("<", builder.sub(lower, _splat(ord("a"))), _splat(26))
        digit = builder.icmp_unsigned("<", builder.sub(block, _splat(ord("0"))), _splat(10))
        high = builder.icmp_unsigned(">=", block, _splat(128))
        return builder.bitcast(builder.or_(builder.or_(letter, digit), high), I64)

    return types.uint64(array, index), codegen


@intrinsic
def high_mask(typingctx: Any, array: Any, index: Any) -> Any:
    """Set bit i if byte index + i is part of a non-ASCII character. Requires index + 64 <= array.size."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = _load_block(context, builder, signature, args)
        return builder.bitcast(builder.icmp_unsigned(">=", block, _splat(128)), I64)

    return types.uint64(array, index), codegen


@intrinsic
def trailing_zeros(typingctx: Any, word: Any) -> Any:
    """Count the trailing zero bits of `word`, which must not be zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def multiply_high(typingctx: Any, left: Any, right: Any) -> Any:
    """The upper 64 bits of the 128-bit product of two unsigned numbers."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), I64)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def count_ones(typingctx: Any, word: Any) -> Any:
    """Count the one bits of a word."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def near_mask(typingctx: Any, array: Any, index: Any, word: Any, most: Any) -> Any:
    """Set bit i if array[index + i] (uint64) differs from `word` in at most `most` bits, for NEAR words at once.

    Requires index + NEAR <= array.size, and that `most` is not negative.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).data
        vector = ir.VectorType(I64, NEAR)
        words = builder.load(builder.bitcast(builder.gep(data, [args[1]]), vector.as_pointer()))
        words.align = 8

        def splat(value: Any) -> Any:
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
            return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), NEAR), [0] * NEAR))

        name = f"llvm.ctpop.v{NEAR}i64"
        count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector]), name)
        differing = builder.call(count, [builder.xor(words, splat(args[2]))])
        near = builder.icmp_unsigned("<=", differing, splat(args[3]))
        return builder.zext(builder.bitcast(near, ir.IntType(NEAR)), I64)

    return types.uint64(array, types.int64, types.uint64, types.int64), codegen


@intrinsic
def fetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of `array[index]`; the index may be out of bounds."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).data
        pointer, number = builder.bitcast(builder.gep(data, [args[1]]), I8.as_pointer()), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(call, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def multiply_add(typingctx: Any, left: Any, right: Any, total: Any) -> Any:
    """Left * right + total with a single rounding, so that every processor gives the same result."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _fused(builder, *args)

    return total(total, total, total), codegen


@intrinsic
def sums_of_products(typingctx: Any, elements: Any, left: Any, right: Any, size: Any) -> Any:
    """Compute the sums of x * y, x * x and y * y over two ranges of an array of floats, in 64 bits.

    The order of summation depends on `size` alone: first within each lane, then across lanes, then the rest one by one.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums = _sum(context, builder, signature, args, lambda x, y: [(x, y), (x, x), (y, y)], 3)
        return context.make_tuple(builder, signature.return_type, sums)

    return types.UniTuple(types.float64, 3)(elements, types.int64, types.int64, types.int64), codegen


@intrinsic
def sum_of_squares(typingctx: Any, elements: Any, left: Any, right: Any, size: Any) -> Any:
    """Compute the sum of (x - y)^2 over two ranges of an array of floats, in the same order."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def difference(x: Any, y: Any) -> Any:
            apart = builder.fsub(x, y)
            return [(apart, apart)]

        return _sum(context, builder, signature, args, difference, 1)[0]

    return types.float64(elements, types.int64, types.int64, types.int64), codegen


def _fused(builder: Any, left: Any, right: Any, total: Any) -> Any:
    kind = total.type
    suffix = {"float": "f32", "double": "f64"}.get(str(kind)) or f"v{LANES}f64"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind, kind, kind]), f"llvm.fma.{suffix}"
    )
    return builder.call(function, [left, right, total])


def _sum(context: Any, builder: Any, signature: Any, args: Any, products: Any, count: int) -> list[Any]:
    """Sum `count` products of the values of two ranges; `products` computes them from two values."""
    elements, left, right, size = args
    item = context.get_data_type(signature.args[0].dtype)
    double = ir.DoubleType()
    wide = ir.VectorType(double, LANES)
    data = cgutils.create_struct_proxy(signature.args[0])(context, builder, elements).data

    def load(start: Any, k: Any, kind: Any, to: Any) -> Any:
        place = builder.bitcast(builder.gep(data, [builder.add(start, k)]), kind.as_pointer())
        value = builder.load(place)
        value.align = 1
        return builder.fpext(value, to) if item != double else value

    def add(k: Any, totals: list[Any], kind: Any, to: Any) -> None:
        pairs = products(load(left, k, kind, to), load(right, k, kind, to))
        for total, (x, y) in zip(totals, pairs):
            builder.store(_fused(builder, x, y, builder.load(total)), total)

    lanes = [[cgutils.alloca_once_value(builder, ir.Constant(wide, [0.0] * LANES)) for _ in range(count)] for _ in "12"]
    whole = builder.and_(size, I64(-2 * LANES))
    with cgutils.for_range_slice(builder, I64(0), whole, I64(2 * LANES), I64) as (k, _):
        add(k, lanes[0], ir.VectorType(item, LANES), wide)
        add(builder.add(k, I64(LANES)), lanes[1], ir.VectorType(item, LANES), wide)
    sums = []
    for one, other in zip(*lanes):
        both = builder.fadd(builder.load(one), builder.load(other))
        total = ir.Constant(double, 0.0)
        for lane in range(LANES):
            total = builder.fadd(total, builder.extract_element(both, ir.IntType(32)(lane)))
        sums.append(cgutils.alloca_once_value(builder, total))
    with cgutils.for_range_slice(builder, whole, size, I64(1), I64) as (k, _):
        add(k, sums, item, double)
    return [builder.load(total) for total in sums]
