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
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def build(module: str, cpu: str, folder: Path) -> Path:
    """Compile all kernels of a module; needs a process with the settings of `pack.cpu.numba_settings`."""
    import llvmlite.binding as llvm
    import numba

    from lookalike.kernels.pack import files
    from lookalike.kernels.pack.glue import MEMORY, RELEASE, Compiled, glue, symbol_of
    from lookalike.kernels.pack.signature import split

    started = time.perf_counter()
    source = importlib.import_module(f"lookalike.kernels.{module}")
    compiled: list[Compiled] = []
    table: dict[str, list[tuple[str, str, str]]] = {}
    whole = llvm.parse_assembly(MEMORY)
    for name, dispatcher in _kernels(source):
        for number, text in enumerate(dispatcher.packed_signatures):
            result = _compile(dispatcher, text, f"{module}.{name}")
            whole.link_in(result.library._final_module, preserve=True)
            symbol = symbol_of(module, name, number)
            compiled.append(Compiled(symbol, result.target_context, result.fndesc))
            table.setdefault(name, []).append((*split(text), symbol))
    objects = []
    if compiled:
        whole.link_in(llvm.parse_assembly(glue(compiled)))
        whole.verify()
        objects.append(compiled[0].context.codegen()._tm.emit_object(whole))
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
    files.write(path, header | {"calls": _called(whole, module)}, objects)
    return path


def _kernels(source: Any) -> Iterator[tuple[str, Any]]:
    """The kernels that a module defines, by name, as Numba's dispatchers."""
    for name, value in vars(source).items():
        dispatcher = getattr(value, "dispatcher", None)
        if dispatcher is not None and dispatcher.__module__ == source.__name__:
            yield name, dispatcher


def _compile(dispatcher: Any, text: str, name: str) -> Any:
    from lookalike.kernels.pack.numba_types import describe, signature_of
    from lookalike.kernels.pack.signature import split

    takes, gives = split(text)
    arguments = tuple(signature_of(takes, gives).args)
    dispatcher.compile(arguments)
    result = dispatcher.overloads[arguments]
    returns = describe(result.signature.return_type)
    if returns != gives:
        raise ValueError(f"kernel {name}({takes}) returns {returns or 'nothing'}, not {gives or 'nothing'}: correct it")
    _check_symbols(result.library, name)
    return result


def _called(whole: Any, module: str) -> list[str]:
    """The modules whose kernels a pack calls."""
    needed = [function.name for function in whole.functions if function.is_declaration]
    names = {symbol.split("_native")[0] for symbol in needed if symbol.startswith("lookalike_")}
    from lookalike.kernels.pack import files

    return sorted(
        other for other in files.modules() if other != module and any(_is_of(symbol, other) for symbol in names)
    )


def _is_of(symbol: str, module: str) -> bool:
    source = importlib.import_module(f"lookalike.kernels.{module}")
    return any(symbol.startswith(f"lookalike_{module}_{name}_") for name, _ in _kernels(source))


_PROVIDED = {"NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor", "malloc", "free", "memcpy", "memset", "memmove"}
_MATHEMATICS = {"log", "exp", "pow", "sqrt", "fma", "fmaf", "floor", "ceil", "log2", "log10", "sin", "cos", "atan2"}


def _check_symbols(library: Any, name: str) -> None:
    """Refuse code that would call into Numba or Python."""
    needed = {function.name for function in library._final_module.functions if function.is_declaration}
    foreign = {symbol for symbol in needed if not symbol.startswith(("llvm.", "lookalike_"))}
    foreign -= _PROVIDED | _MATHEMATICS
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
