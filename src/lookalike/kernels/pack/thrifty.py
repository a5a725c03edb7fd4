"""Keep Numba from doing what packs do not need.

Numba prepares everything that it compiles to be run in the same process: each function, even one that is inlined into
others, becomes machine code and is linked. Packs need the LLVM code alone, from which `build` makes object code once
for each kernel. Numba also makes new optimisation passes for each function, and for each that is only declared.
"""

from __future__ import annotations

from typing import Any

_NOWHERE = 4096
"""An address that is never called."""


def compile_only() -> None:
    """Let Numba stop at optimised LLVM code in this process: nothing that it compiles from now on can be run.

    The object code is the same. A version of Numba with other insides is left as it is, and takes longer.
    """
    from numba.core import codegen
    from numba.core.registry import cpu_target

    library: Any = getattr(codegen, "JITCodeLibrary", None)
    generator: Any = getattr(codegen, "JITCPUCodegen", None)
    steps = ("get_pointer_to_function", "_finalize_specific", "_optimize_functions", "_ensure_finalized")
    if not all(hasattr(library, step) for step in steps) or not all(
        hasattr(generator, step) for step in ("_add_module", "set_env", "_function_pass_manager")
    ):
        return
    cpu_target.target_context.codegen()  # Numba's own runtime is compiled as usual
    library.get_pointer_to_function = _no_address
    library._finalize_specific = _nothing
    library._optimize_functions = _optimize_defined
    generator._add_module = _nothing
    generator.set_env = _nothing


def _no_address(self: Any, _: str) -> int:
    self._ensure_finalized()
    return _NOWHERE


def _nothing(self: Any, *_: Any) -> None:
    """Take the place of a step that is not needed."""


def _optimize_defined(self: Any, module: Any) -> None:
    """Do what Numba does, with the same passes for all functions, and only for those that have a body."""
    module.data_layout = self._codegen._data_layout
    passes, builder = self._codegen._function_pass_manager()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
