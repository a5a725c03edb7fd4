"""Load packs: from files to functions that Python can call."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from lookalike.errors import ResourceError
from lookalike.kernels.pack import announce, cpu, files
from lookalike.kernels.pack.call import NATIVE, RELEASE, make_call

_lock = threading.RLock()
_loaded: dict[str, Pack] = {}


class Pack:
    """The kernels of one module, in memory."""

    def __init__(self, header: dict[str, Any], objects: list[bytes]) -> None:
        self._table = header["kernels"]
        self._engine = _engine()
        for data in objects:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        for module in header["calls"]:  # kernels call those of other modules
            open_pack(module)
        self._release: Any = header["release"]

    def calls(self, name: str, parameters: Mapping[str, Any]) -> list[Callable[..., Any]]:
        """The functions of a kernel, one for each signature; `parameters` as for `make_call`."""
        with _lock:
            self._engine.finalize_object()
            release = RELEASE(self._engine.get_function_address(self._release))
            return [
                make_call(name, parameters, takes, gives, NATIVE(self._engine.get_function_address(symbol)), release)
                for takes, gives, symbol in self._table[name]
            ]


def open_pack(module: str) -> Pack:
    """The pack of a module; built first if there is none."""
    with _lock:
        if module not in _loaded:
            found = _read(module)
            if found is None:
                build_missing()
                found = _read(module)
            if found is None:
                raise ResourceError(
                    f"kernels of {module} cannot be read from {files.cache_folder()}: delete that folder"
                )
            _loaded[module] = Pack(*found)
        return _loaded[module]


def _read(module: str) -> tuple[dict[str, Any], list[bytes]] | None:
    path = files.find(module, cpu.target())
    return None if path is None else files.read(path)


def missing() -> list[str]:
    """The modules of kernels in use by this process that have no pack."""
    used = {name.rpartition(".")[2] for name in list(sys.modules) if name.startswith("lookalike.kernels.")}
    return [name for name in files.modules() if name in used and _read(name) is None]


def build_missing() -> None:
    """Build the packs that this process lacks."""
    from lookalike.kernels.pack.provide import provide

    folder = files.cache_folder()
    with files.locked(folder):
        names = missing()  # another process may have built them meanwhile
        if names:
            announce(f"Compiling kernels for this processor ({cpu.target()}): this is done once ...")
            provide(names, cpu.target(), folder)


@cache
def _engine() -> Any:
    """What holds the machine code of all packs, and links them with each other."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
