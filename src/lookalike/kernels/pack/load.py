"""Load packs: from files to functions that Python can call."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from lookalike.errors import ResourceError
from lookalike.kernels.pack import announce, cpu, expected, files
from lookalike.kernels.pack.call import NATIVE, RELEASE, make_call

_lock = threading.RLock()
_headers: dict[str, dict[str, Any]] = {}
_builders: list[Any] = []


def open_call(unit: str, parameters: Mapping[str, Any]) -> Callable[..., Any]:
    """The Python function of a unit, whose pack is built first if there is none; `parameters` as for `make_call`."""
    with _lock:
        header = _add(unit)
        engine = _engine()
        engine.finalize_object()
        native = NATIVE(engine.get_function_address(header["symbol"]))
        release = RELEASE(engine.get_function_address(header["release"]))
        call: Callable[..., Any] = make_call(
            unit.split(".")[1], parameters, header["takes"], header["gives"], native, release
        )
        return call


def _add(unit: str) -> dict[str, Any]:
    """Add a unit, and those that it calls, to the machine code of this process."""
    if unit not in _headers:
        header, code = _read(unit) or _built(unit)
        _headers[unit] = header
        _engine().add_object_file(llvm.ObjectFileRef.from_data(code))
        for called in header["calls"]:
            _add(called)
    return _headers[unit]


def _read(unit: str) -> tuple[dict[str, Any], bytes] | None:
    path = files.find(unit, cpu.target())
    return None if path is None else files.read(path)


def _built(unit: str) -> tuple[dict[str, Any], bytes]:
    """A unit that has to be built first, by this process or by another that is building already."""
    from lookalike.kernels.pack.usual import usual_units

    folder, start = files.cache_folder(), time.monotonic()
    while (found := _read(unit)) is None:
        builder = _builders[-1] if _builders and not _builders[-1].done else _new_builder(unit)
        if builder is None:
            time.sleep(0.05)  # another process is building; it may build this unit too
        elif not builder.wait_for(unit, usual_units(expected())) and time.monotonic() - start > 600:
            raise ResourceError(f"kernel {unit} cannot be built in {folder}: delete that folder")
    return found


def _new_builder(unit: str) -> Any:
    """Build a unit, and meanwhile others that are likely to be needed; None if another process is building."""
    from lookalike.kernels.pack.kernel import known_units, units_called_by
    from lookalike.kernels.pack.provide import Builder
    from lookalike.kernels.pack.usual import usual_units

    folder = files.cache_folder()
    lock = files.try_lock(folder)
    if lock is None:
        return None
    if not _builders:
        announce(f"Compiling kernels for this processor ({cpu.target()}): this is done once ...")
    likely = dict.fromkeys([unit, *usual_units(expected()), *units_called_by(unit), *known_units(first_only=True)])
    builder = Builder([other for other in likely if _read(other) is None], cpu.target(), folder, lock)
    _builders.append(builder)
    atexit.register(builder.stop)
    return builder


@cache
def _engine() -> Any:
    """What holds the machine code of all packs, and links them with each other."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
