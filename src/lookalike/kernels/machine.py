"""Single machine instructions that numba does not offer: unaligned loads, byte masks, bit counts.

None of them checks bounds: the caller must know that the bytes exist.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

I8, I64 = ir.IntType(8), ir.IntType(64)
BLOCK = 64
"""The bytes that one mask covers: the bits of a machine word, and one AVX-512 register."""


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.gep(builder.bitcast(data, I8.as_pointer()), [index])


@intrinsic
def load_u64(typingctx: Any, array: Any, index: Any) -> Any:
    """Eight bytes from `array[index:]` as one little-endian number. Needs index + 8 <= array.size."""

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
    """Bit i says that byte index + i is an ASCII letter or digit, or part of a character beyond ASCII.

    Needs index + 64 <= array.size.
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
    """Bit i says that byte index + i is part of a character beyond ASCII. Needs index + 64 <= array.size."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = _load_block(context, builder, signature, args)
        return builder.bitcast(builder.icmp_unsigned(">=", block, _splat(128)), I64)

    return types.uint64(array, index), codegen


@intrinsic
def trailing_zeros(typingctx: Any, word: Any) -> Any:
    """The number of trailing zero bits; `word` must not be zero."""

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
    """The number of one bits of a word."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def fetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of `array[index]`; any index is allowed."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).data
        pointer, number = builder.bitcast(builder.gep(data, [args[1]]), I8.as_pointer()), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(call, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen
