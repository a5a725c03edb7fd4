"""Calls of the operating system inside kernels: a loop over many small files then needs no lock of Python's.

They are functions of the C library of Linux; see `types.paths.kernels_open_files`. A path is the NUL-terminated bytes
of an array from some index on; the caller makes sure that there are such bytes. What failed is done again in Python,
which knows the reason.
"""

from typing import Any

from lookalike.kernels.compile import MODE, intrinsic

if MODE != "pack":  # the rest runs only where kernels are compiled
    from llvmlite import ir
    from numba.core import cgutils, types

    I32, I64 = ir.IntType(32), ir.IntType(64)
    POINTER = ir.IntType(8).as_pointer()

HERE = -100
"""In place of a folder's handle: the working folder (AT_FDCWD)."""
NOT_FOLLOWED = 0x100
"""Of a symbolic link itself, not of what it refers to (AT_SYMLINK_NOFOLLOW)."""
OF_HANDLE = 0x1000
"""Of an open file; the path is empty (AT_EMPTY_PATH)."""
READABLE = 4
"""Permission to read (R_OK)."""
_WANTED = 0x243
"""Type, permissions, time of modification and size (STATX_TYPE, STATX_MODE, STATX_MTIME, STATX_SIZE)."""
_STATUS_BYTES, _MODE, _SIZE, _SECONDS, _NANOSECONDS = 256, 28, 40, 112, 120
"""The size of `struct statx`, and the places of its fields: the same on every processor."""


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """The address of an element of an array of bytes."""
    data = cgutils.create_struct_proxy(kind)(context, builder, array).data
    return builder.gep(builder.bitcast(data, POINTER), [index])


def _call(builder: Any, name: str, given: list[Any], returns: Any, fixed: int | None = None) -> Any:
    """Call a function of the C library; after the first `fixed` arguments, it takes any number of them."""
    kinds = [value.type for value in given[:fixed]]
    kind = ir.FunctionType(returns, kinds, var_arg=fixed is not None)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)


def _short(builder: Any, value: Any) -> Any:
    return builder.trunc(value, I32)


@intrinsic
def open_file(typingctx: Any, paths: Any, at: Any, flags: Any, permissions: Any) -> Any:
    """Open a file and return its handle; a negative number if that fails."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        path = _place(context, builder, signature.args[0], *args[:2])
        given = [path, *(_short(builder, value) for value in args[2:])]
        return builder.sext(_call(builder, "open", given, I32, fixed=2), I64)

    return types.int64(paths, types.int64, types.int64, types.int64), codegen


@intrinsic
def read_bytes(typingctx: Any, handle: Any, data: Any, at: Any, size: Any) -> Any:
    """Read at most `size` bytes to data[at:] and return how many; a negative number if that fails."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[1], args[1], args[2])
        return _call(builder, "read", [_short(builder, args[0]), place, args[3]], I64)

    return types.int64(types.int64, data, types.int64, types.int64), codegen


@intrinsic
def write_bytes(typingctx: Any, handle: Any, data: Any, at: Any, size: Any) -> Any:
    """Write at most `size` bytes from data[at:] and return how many; a negative number if that fails."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[1], args[1], args[2])
        return _call(builder, "write", [_short(builder, args[0]), place, args[3]], I64)

    return types.int64(types.int64, data, types.int64, types.int64), codegen


@intrinsic
def close_file(typingctx: Any, handle: Any) -> Any:
    """Close a file; a negative number means that what was written may be lost."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sext(_call(builder, "close", [_short(builder, args[0])], I32), I64)

    return types.int64(types.int64), codegen


@intrinsic
def is_allowed(typingctx: Any, paths: Any, at: Any, wanted: Any) -> Any:
    """Whether this process has a permission for a path."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        path = _place(context, builder, signature.args[0], *args[:2])
        found = _call(builder, "access", [path, _short(builder, args[2])], I32)
        return builder.icmp_signed("==", found, I32(0))

    return types.boolean(paths, types.int64, types.int64), codegen


@intrinsic
def status_of(typingctx: Any, handle: Any, paths: Any, at: Any, flags: Any) -> Any:
    """Type and permissions, size, and time of modification in nanoseconds; (-1, 0, 0) if that fails."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        room = cgutils.alloca_once(builder, ir.ArrayType(I64, _STATUS_BYTES // 8))
        start = builder.bitcast(room, POINTER)
        path = _place(context, builder, signature.args[1], args[1], args[2])
        given = [_short(builder, args[0]), path, _short(builder, args[3]), I32(_WANTED), start]
        there = builder.icmp_signed("==", _call(builder, "statx", given, I32), I32(0))

        def field(at: int, bits: int) -> Any:
            kind = ir.IntType(bits)
            value = builder.load(builder.bitcast(builder.gep(start, [I64(at)]), kind.as_pointer()))
            return value if bits == 64 else builder.zext(value, I64)

        modified = builder.add(builder.mul(field(_SECONDS, 64), I64(10**9)), field(_NANOSECONDS, 32))
        values = [(field(_MODE, 16), -1), (field(_SIZE, 64), 0), (modified, 0)]
        found = [builder.select(there, value, I64(otherwise)) for value, otherwise in values]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(types.int64, 3)(types.int64, paths, types.int64, types.int64), codegen
