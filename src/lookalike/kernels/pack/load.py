"""Load packs: from files to functions that Python can call."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from lookalike.errors import ResourceError
from lookalike.kernels.pack import announce, cpu, expected, files
from lookalike.kernels.pack.call import NATIVE, RELEASE, Binder, make_binder, write_binder
from lookalike.kernels.pack.link import Linker, Unit, linker_for

_lock = threading.RLock()
_headers: dict[str, dict[str, Any]] = {}
_builders: list[Any] = []
_linkers: list[Linker] = []
"""The linker of this process, once there is code to link."""


def open_call(unit: str, parameters: Mapping[str, Any]) -> Callable[..., Any]:
    """Open the Python function of a unit, building its pack if it is missing; `parameters` as for `write_binder`."""
    call: Callable[..., Any] = open_binder(unit, parameters, 0)()
    return call


def open_binder(unit: str, parameters: Mapping[str, Any], bound: int) -> Callable[..., Any]:
    """Open a function that takes the first arguments of a unit; see `write_binder`."""
    with _lock:
        new: list[Unit] = []
        header = _add(unit, new)
        if new:
            _linker(new[0]).add(new)
        linker = _linkers[0]
        native, release = NATIVE(linker.address(header["symbol"])), RELEASE(linker.address(header["release"]))
        binder = None if bound else Binder.from_header(header["binder"])
        if binder is None:
            binder = write_binder(unit.split(".")[1], parameters, header["takes"], header["gives"], bound)
        return make_binder(binder, parameters, native, release)


def _linker(unit: Unit) -> Linker:
    if not _linkers:
        _linkers.append(linker_for(unit))
    return _linkers[0]


def _add(unit: str, new: list[Unit]) -> dict[str, Any]:
    """The header of a unit; if it is not loaded, add it and the units that it calls to `new`."""
    if unit not in _headers:
        header, code = _read(unit) or _built(unit)
        _headers[unit] = header
        new.append((header, code))
        for called in header["calls"]:
            _add(called, new)
    return _headers[unit]


def _read(unit: str) -> tuple[dict[str, Any], bytes] | None:
    path = files.find(unit, cpu.target())
    return None if path is None else files.read(path)


def _built(unit: str) -> tuple[dict[str, Any], bytes]:
    """A unit that has to be built, by this process or by another one that is already building."""
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
    """Start to build a unit and others that are likely to be needed; None if another process is building."""
    from lookalike.kernels.pack.kernel import known_units, units_called_by
    from lookalike.kernels.pack.provide import Builder
    from lookalike.kernels.pack.usual import usual_units

    folder = files.cache_folder()
    lock = files.try_lock(folder)
    if lock is None:
        return None
    files.remove_partial(folder)  # of a compiler that was killed: nobody else is building
    if not _builders:
        announce(f"Compiling kernels for this processor ({cpu.target()}): this is done once ...")
    usual = usual_units(expected())
    called = () if unit in usual else units_called_by(unit)
    likely = dict.fromkeys([unit, *usual, *called, *known_units(first_only=True)])
    builder = Builder([other for other in likely if _read(other) is None], cpu.target(), folder, lock)
    _builders.append(builder)
    atexit.register(builder.stop)
    return builder
