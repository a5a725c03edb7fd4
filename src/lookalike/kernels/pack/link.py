"""Load the code of packs into memory, and find its functions.

Images (see `image`) are copied and completed here. Other object code, for other systems and processors, is left to
llvmlite; importing that takes a tenth of the time of a small job.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from typing import Any, Protocol

from lookalike.errors import ResourceError

Unit = tuple[dict[str, Any], bytes]
"""The header of a pack, and its code."""
_ADDRESS = struct.Struct("<Q")
_LINE = 64
"""Images begin at multiples of this; no constant needs a larger alignment."""


class Linker(Protocol):
    """Holds the machine code of a process."""

    def add(self, units: list[Unit]) -> None:
        """Add units; everything that they call must be among them or have been added before."""

    def address(self, symbol: str) -> int:
        """The address of a function."""


def linker_for(unit: Unit) -> Linker:
    """The linker for units of this kind."""
    return Images() if "image" in unit[0] else ObjectFiles()


class Images:
    """Images, copied into memory that is then readable and executable, but not writable."""

    def __init__(self) -> None:
        self._addresses: dict[str, int] = {}
        self._library = ctypes.CDLL(None, use_errno=True)
        self._memory: list[mmap.mmap] = []

    def add(self, units: list[Unit]) -> None:
        """Place all units first, so that every address is known, and then fill in the addresses."""
        starts, size = [], 0
        for _, code in units:
            starts.append(size)
            size += len(code) + -len(code) % _LINE
        memory = mmap.mmap(-1, size)
        first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for (header, code), start in zip(units, starts):
            memory[start : start + len(code)] = code
            for symbol, place in header["image"]["defines"].items():
                self._addresses.setdefault(symbol, first + start + place)
        for (header, _), start in zip(units, starts):
            self._fill_in(memory, start, first, header["image"])
        if self._library.mprotect(ctypes.c_void_p(first), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
            raise ResourceError("this system does not let programs make code executable, which kernels need")
        self._memory.append(memory)

    def _fill_in(self, memory: mmap.mmap, start: int, first: int, image: dict[str, Any]) -> None:
        get, put = _ADDRESS.unpack_from, _ADDRESS.pack_into
        for place in image["own"]:
            put(memory, start + place, get(memory, start + place)[0] + first + start)
        for symbol, places in image["other"].items():
            address = self.address(symbol)
            for place in places:
                put(memory, start + place, (get(memory, start + place)[0] + address) % 2**64)

    def address(self, symbol: str) -> int:
        """The address of a function in the images or in the C library."""
        if symbol not in self._addresses:
            found = ctypes.cast(getattr(self._library, symbol), ctypes.c_void_p).value
            self._addresses[symbol] = found or 0
        return self._addresses[symbol]


class ObjectFiles:
    """Object files, linked by llvmlite."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        self._llvm, self._engine = llvm, llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)

    def add(self, units: list[Unit]) -> None:
        """Add object files, which will be linked."""
        for _, code in units:
            self._engine.add_object_file(self._llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """The address of a function."""
        address: int = self._engine.get_function_address(symbol)
        return address
