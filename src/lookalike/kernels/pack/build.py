"""Compile modules of kernels with Numba and write their packs.

    python -m lookalike.kernels.pack.build --folder FOLDER --cpu x86-64-v3 MODULE...

Without modules, names are read from standard input, one a line, and answered with a line each: so several processes
can share the work.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any


def build(module: str, cpu: str, folder: Path) -> Path:
    """Compile all kernels of a module; needs a process with the settings of `pack.cpu.numba_settings`."""
    import llvmlite.binding as llvm
    import numba

    from lookalike.kernels.pack import files
    from lookalike.kernels.pack.glue import MEMORY, RELEASE, Compiled, describe, glue

    started = time.perf_counter()
    source = importlib.import_module(f"lookalike.kernels.{module}")
    compiled, table, objects = [], {}, []
    for name, dispatcher in vars(source).items():
        if getattr(dispatcher, "__module__", None) != source.__name__:
            continue
        for number, takes in enumerate(getattr(dispatcher, "packed_signatures", ())):
            result = _compile(dispatcher, takes)
            _check_symbols(result.library, f"{module}.{name}")
            objects.append(result.library._get_compiled_object())
            symbol = f"lookalike_{module}_{name}_{number}"
            compiled.append(Compiled(symbol, result.target_context, result.fndesc))
            table.setdefault(name, []).append([takes, describe(result.signature.return_type), symbol])
    if compiled:
        machine = compiled[0].context.codegen()._tm
        for text in (glue(compiled), MEMORY):
            code = llvm.parse_assembly(text)
            code.verify()
            objects.append(machine.emit_object(code))
    path = folder / files.file_name(module, cpu)
    versions = {"numba": numba.__version__, "llvm": ".".join(map(str, llvm.llvm_version_info))}
    seconds = round(time.perf_counter() - started, 3)
    header = {
        "module": module,
        "cpu": cpu,
        "versions": versions,
        "seconds": seconds,
        "kernels": table,
        "release": RELEASE,
    }
    files.write(path, header, objects)
    return path


def _compile(dispatcher: Any, takes: str) -> Any:
    from lookalike.kernels.pack.signature import parse

    arguments = tuple(_numba_type(kind) for kind in parse(takes))
    dispatcher.compile(arguments)
    return dispatcher.overloads[arguments]


def _numba_type(kind: Any) -> Any:
    from numba.core import types

    from lookalike.kernels.pack.signature import Array, Group

    if isinstance(kind, Group):
        return types.Tuple([_numba_type(item) for item in kind.items])
    scalar = types.boolean if kind.name == "bool" else getattr(types, kind.name)
    return types.Array(scalar, kind.dimensions, "A" if kind.strided else "C") if isinstance(kind, Array) else scalar


_PROVIDED = {"NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor", "malloc", "free", "memcpy", "memset", "memmove"}
_MATHEMATICS = {"log", "exp", "pow", "sqrt", "fma", "fmaf", "floor", "ceil", "log2", "log10", "sin", "cos", "atan2"}


def _check_symbols(library: Any, name: str) -> None:
    """Refuse code that would call into Numba or Python."""
    needed = {function.name for function in library._final_module.functions if function.is_declaration}
    foreign = {symbol for symbol in needed if not symbol.startswith("llvm.")} - _PROVIDED - _MATHEMATICS
    if foreign:
        raise ValueError(f"kernel {name} needs {', '.join(sorted(foreign))}: write it without")


def main() -> None:
    """Build what the command line, or standard input, names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cpu", required=True)
    parser.add_argument("modules", nargs="*")
    chosen = parser.parse_args()
    names = iter(chosen.modules) if chosen.modules else (line.strip() for line in sys.stdin)
    for name in names:
        path = build(name, chosen.cpu, chosen.folder)
        print(path.name, flush=True)


if __name__ == "__main__":
    from lookalike.kernels.compile import MODE

    if MODE != "build":
        sys.exit(f"set {'LOOKALIKE_KERNELS'}=build, or use lookalike.kernels.pack.provide")
    main()
    sys.stdout.flush()
    os._exit(0)  # nothing is left to do, and LLVM takes a while to say goodbye
