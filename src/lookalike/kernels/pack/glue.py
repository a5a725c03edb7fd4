"""The code around packed kernels: it converts NumPy objects to arguments, converts results back, and handles memory.

Numba's arrays are structures of pointers and sizes. For each kernel, this module generates a function in LLVM code that
takes a block of arguments and a block for the results (see `call`), reads the fields of NumPy's array objects, whose
layout is part of NumPy's binary interface, and calls the kernel. It also contains what kernels need to allocate arrays:
a few lines that do the same as Numba's runtime, so that nothing of Numba is needed when a kernel runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.np import arrayobj

from lookalike.kernels.pack.numba_types import items_of

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
POINTER = I8.as_pointer()
WRONG_ARRAY = 1000
"""The status for a wrong layout of argument i is this plus i."""
_DATA, _DIMENSIONS, _SHAPE, _STRIDES, _FLAGS = 0, 8, 16, 24, 48
"""The offsets of these fields in NumPy's array objects, counted from the end of the header of every Python object."""
_CONTIGUOUS, _ALIGNED = 0x0001, 0x0100
RELEASE = "lookalike_release"

MEMORY = """
declare i8* @malloc(i64)
declare void @free(i8*)

define linkonce_odr i8* @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %step = zext i32 %align to i64
  %more = add i64 %step, 64
  %bytes = add i64 %size, %more
  %fits = icmp uge i64 %bytes, %size
  br i1 %fits, label %try, label %none
try:
  %block = call i8* @malloc(i64 %bytes)
  %failed = icmp eq i8* %block, null
  br i1 %failed, label %none, label %fill
none:
  ret i8* null
fill:
  %start = ptrtoint i8* %block to i64
  %last = add i64 %start, 63
  %up = add i64 %last, %step
  %mask = sub i64 0, %step
  %data = and i64 %up, %mask
  %words = bitcast i8* %block to i64*
  store i64 1, i64* %words
  %dtor = getelementptr i64, i64* %words, i64 1
  store i64 0, i64* %dtor
  %info = getelementptr i64, i64* %words, i64 2
  store i64 0, i64* %info
  %place = getelementptr i64, i64* %words, i64 3
  store i64 %data, i64* %place
  %length = getelementptr i64, i64* %words, i64 4
  store i64 %size, i64* %length
  %other = getelementptr i64, i64* %words, i64 5
  store i64 0, i64* %other
  ret i8* %block
}

define linkonce_odr void @NRT_MemInfo_call_dtor(i8* %block) {
  call void @free(i8* %block)
  ret void
}

define linkonce_odr void @lookalike_release(i8* %block) {
  %words = bitcast i8* %block to i64*
  %before = atomicrmw sub i64* %words, i64 1 seq_cst
  %last = icmp eq i64 %before, 1
  br i1 %last, label %drop, label %done
drop:
  call void @free(i8* %block)
  ret void
done:
  ret void
}
"""


@dataclass
class Compiled:
    """A kernel for one signature, as Numba compiled it."""

    unit: str
    context: Any
    function: Any
    """Numba's description of the function."""


def symbol_of(unit: str) -> str:
    """The name of a unit's glue function."""
    return f"lookalike.{unit}"


def native_symbol(unit: str) -> str:
    """The name by which other kernels call a unit."""
    return f"lookalike.{unit}.native"


def glue(kernel: Compiled) -> str:
    """Generate the LLVM code around a kernel."""
    module = ir.Module(name="lookalike.glue")
    _Glue(module, kernel).write()
    return str(module)


class _Glue:
    """Generates the function for one kernel."""

    def __init__(self, module: ir.Module, kernel: Compiled) -> None:
        self._context = kernel.context
        self._description = kernel.function
        self._callee = self._context.declare_function(module, kernel.function)
        self._forward(module, native_symbol(kernel.unit))
        kind = ir.FunctionType(I32, [POINTER, POINTER])
        self._function = ir.Function(module, kind, name=symbol_of(kernel.unit))
        self._builder = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._slot = 0
        self._arrays = 0
        self._header = self._take(I64)

    def _forward(self, module: ir.Module, name: str) -> None:
        """Export the kernel under a fixed name, for other kernels."""
        function = ir.Function(module, self._callee.function_type, name=name)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        builder.ret(builder.call(self._callee, function.args, tail=True))

    def write(self) -> None:
        """Generate the body of the function."""
        builder, described = self._builder, self._description
        values = [self._argument(kind) for kind in described.argtypes]
        status, result = self._context.call_conv.call_function(
            builder, self._callee, described.restype, described.argtypes, values
        )
        with builder.if_then(status.is_error):
            builder.ret(I32(1))
        self._slot = 0
        if described.restype != types.none:
            self._give(described.restype, result)
        builder.ret(I32(0))

    def _place(self, block: Any, kind: Any) -> Any:
        place = self._builder.gep(block, [I64(8 * self._slot)])
        self._slot += 1
        return self._builder.bitcast(place, kind.as_pointer())

    def _take(self, kind: Any) -> Any:
        return self._builder.load(self._place(self._function.args[0], kind))

    def _argument(self, kind: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            return self._context.make_tuple(self._builder, kind, [self._argument(item) for item in items_of(kind)])
        if isinstance(kind, types.Array):
            return self._array(kind)
        if isinstance(kind, types.Float):
            return self._take(self._context.get_value_type(kind))
        if isinstance(kind, types.Boolean):
            return self._builder.icmp_unsigned("!=", self._take(I8), I8(0))
        value = self._take(I64)
        width = self._context.get_value_type(kind)
        return value if width == I64 else self._builder.trunc(value, width)

    def _array(self, kind: Any) -> Any:
        builder = self._builder
        fields = builder.inttoptr(builder.add(self._take(I64), self._header), POINTER)

        def field(offset: int, of: Any) -> Any:
            return builder.load(builder.bitcast(builder.gep(fields, [I64(offset)]), of.as_pointer()))

        wanted = _ALIGNED | (_CONTIGUOUS if kind.layout == "C" else 0)
        wrong = builder.or_(
            builder.icmp_unsigned("!=", field(_DIMENSIONS, I32), I32(kind.ndim)),
            builder.icmp_unsigned("!=", builder.and_(field(_FLAGS, I32), I32(wanted)), I32(wanted)),
        )
        with builder.if_then(wrong):
            builder.ret(I32(WRONG_ARRAY + self._arrays))
        self._arrays += 1
        return self._structure(kind, field(_DATA, POINTER), *(field(at, I64.as_pointer()) for at in (_SHAPE, _STRIDES)))

    def _structure(self, kind: Any, data: Any, shape: Any, strides: Any) -> Any:
        builder = self._builder
        sizes = [builder.load(builder.gep(shape, [I64(i)])) for i in range(kind.ndim)]
        size = self._context.get_abi_sizeof(self._context.get_data_type(kind.dtype))
        if kind.layout == "C":
            steps = [I64(size)]
            for i in range(kind.ndim - 1, 0, -1):
                steps.insert(0, builder.mul(steps[0], sizes[i]))
        else:
            steps = [builder.load(builder.gep(strides, [I64(i)])) for i in range(kind.ndim)]
        array = self._context.make_array(kind)(self._context, builder)
        item = self._context.get_data_type(kind.dtype).as_pointer()
        arrayobj.populate_array(
            array, data=builder.bitcast(data, item), shape=sizes, strides=steps, itemsize=I64(size), meminfo=None
        )
        return array._getvalue()

    def _give(self, kind: Any, value: Any) -> None:
        builder, out = self._builder, self._function.args[1]
        if isinstance(kind, types.BaseTuple):
            for i, item in enumerate(items_of(kind)):
                self._give(item, builder.extract_value(value, i))
        elif isinstance(kind, types.Array):
            array = self._context.make_array(kind)(self._context, builder, value)
            builder.store(builder.ptrtoint(array.meminfo, I64), self._place(out, I64))
            builder.store(builder.ptrtoint(array.data, I64), self._place(out, I64))
            for part in (array.shape, array.strides):
                for i in range(kind.ndim):
                    builder.store(builder.extract_value(part, i), self._place(out, I64))
        elif isinstance(kind, types.Float):
            builder.store(value, self._place(out, value.type))
        elif isinstance(kind, types.Boolean):
            builder.store(builder.zext(value, I8), self._place(out, I8))
        else:
            if value.type != I64:
                value = (builder.sext if kind.signed else builder.zext)(value, I64)
            builder.store(value, self._place(out, I64))
