"""Compile kernels with Numba and write their packs.

    python -m lookalike.kernels.pack.build --folder FOLDER --cpu x86-64-v3 UNIT...

Without units, names are read from standard input, one a line, and answered with a line each: so several processes
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


def build(unit: str, cpu: str, folder: Path) -> Path:
    """Compile a kernel for one signature; the process must have the settings of `pack.cpu.numba_settings`."""
    import llvmlite.binding as llvm
    import numba

    from lookalike.kernels.pack import files
    from lookalike.kernels.pack.call import parameters_of, write_binder
    from lookalike.kernels.pack.glue import MEMORY, RELEASE, Compiled, glue, symbol_of
    from lookalike.kernels.pack.image import make_image
    from lookalike.kernels.pack.signature import split
    from lookalike.kernels.pack.thrifty import optimize

    started = time.perf_counter()
    module, name, number = unit.split(".")
    dispatcher = getattr(importlib.import_module(f"lookalike.kernels.{module}"), name).dispatcher
    text = dispatcher.packed_signatures[int(number)]
    result = _compile(dispatcher, text, unit)
    optimize(result.library)
    _check_symbols(result.library, unit)
    whole = llvm.parse_assembly(MEMORY)
    whole.link_in(result.library._final_module, preserve=True)
    whole.link_in(llvm.parse_assembly(glue(Compiled(unit, result.target_context, result.fndesc))))
    whole.verify()
    takes, gives = split(text)
    header = {
        "unit": unit,
        "cpu": cpu,
        "numba": numba.__version__,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "takes": takes,
        "gives": gives,
        "symbol": symbol_of(unit),
        "release": RELEASE,
        "calls": _called(whole),
        "binder": write_binder(name, parameters_of(dispatcher.py_func), takes, gives).to_header(),
        "seconds": round(time.perf_counter() - started, 3),
    }
    path = folder / files.file_name(unit, cpu)
    code = result.target_context.codegen()._tm.emit_object(whole)
    made = make_image(code)
    if made is not None:
        code, header["image"] = made
    files.write(path, header, code)
    return path


def _called(whole: Any) -> list[str]:
    """The other units that a unit calls."""
    names = [function.name for function in whole.functions if function.is_declaration]
    return sorted(name[len("lookalike.") : -len(".native")] for name in names if name.startswith("lookalike."))


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
    return result


_PROVIDED = {"NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor", "malloc", "free", "memcpy", "memset", "memmove"}
_MATHEMATICS = {"log", "exp", "pow", "sqrt", "fma", "fmaf", "floor", "ceil", "log2", "log10", "sin", "cos", "atan2"}
_SYSTEM = {"open", "read", "write", "close", "access", "statx"}


def _check_symbols(library: Any, name: str) -> None:
    """Reject code that would call into Numba or Python."""
    needed = {function.name for function in library._final_module.functions if function.is_declaration}
    foreign = {symbol for symbol in needed if not symbol.startswith(("llvm.", "lookalike."))}
    foreign -= _PROVIDED | _MATHEMATICS | _SYSTEM
    if foreign:
        raise ValueError(f"kernel {name} needs {', '.join(sorted(foreign))}: write it without")


def main() -> None:
    """Build the units given on the command line or standard input."""
    from lookalike.kernels.pack.thrifty import compile_only

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cpu", required=True)
    parser.add_argument(
        "units", nargs="*", help="such as sets.fingerprint_sets.0: module, kernel, number of the signature"
    )
    chosen = parser.parse_args()
    compile_only()
    names = iter(chosen.units) if chosen.units else (line.strip() for line in sys.stdin)
    for name in names:
        path = build(name, chosen.cpu, chosen.folder)
        print(path.name, flush=True)


if __name__ == "__main__":
    from lookalike.kernels.compile import MODE

    if MODE != "build":
        sys.exit(f"set {'LOOKALIKE_KERNELS'}=build, or use lookalike.kernels.pack.provide")
    main()
    sys.stdout.flush()
    os._exit(0)  # nothing is left to do, and LLVM takes a while to shut down
