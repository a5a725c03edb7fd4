"""Keep Numba from doing work that packs do not need.

Numba prepares everything that it compiles to run in the same process: each function, even one that is inlined into
others, is optimised, translated to machine code, and linked. Packs only need the LLVM code, which `optimize` and
`build` turn into object code once per kernel. Numba also creates new optimisation passes for each function, and for
each that is only declared; and it computes the sizes of variables for debuggers, the live variables of each block for
generators, and ufuncs for the sum of two integers.
"""

from __future__ import annotations

import sys
from typing import Any

_NOWHERE = 4096
"""An address that is never called."""
_LIBRARY = (
    "get_pointer_to_function", "_finalize_specific", "_optimize_functions", "_optimize_final_module",
    "_ensure_finalized",
)  # fmt: skip
_GENERATOR = ("_add_module", "set_env", "_function_pass_manager")
_optimizers: list[Any] = []
"""What optimises a library, once `compile_only` has deferred it."""


def compile_only() -> None:
    """Make Numba stop at LLVM code in this process: nothing that it compiles from now on can be run.

    A version of Numba with different internals is left unchanged, and takes longer.
    """
    sys.modules.setdefault("colorama", None)  # type: ignore[arg-type]  # colours for messages that nobody sees
    from numba.core import codegen
    from numba.core.registry import cpu_target

    library: Any = getattr(codegen, "JITCodeLibrary", None)
    generator: Any = getattr(codegen, "JITCPUCodegen", None)
    if not _has(library, _LIBRARY) or not _has(generator, _GENERATOR):
        return
    cpu_target.target_context.codegen()  # Numba's own runtime is compiled as usual
    _optimizers.append(library._optimize_final_module)
    library.get_pointer_to_function = _no_address
    library._finalize_specific = library._optimize_final_module = _nothing
    library._optimize_functions = _optimize_defined
    generator._add_module = _nothing
    generator.set_env = _nothing
    _remember_sizes()
    _skip_live_variables()
    _skip_ufuncs()
    _compare_flags_first()


def optimize(library: Any) -> None:
    """Optimise the code of a kernel, including all inlined functions, unless Numba has already done so."""
    for optimizer in _optimizers:
        optimizer(library)


def _has(owner: Any, names: tuple[str, ...]) -> bool:
    return all(hasattr(owner, name) for name in names)


def _no_address(self: Any, _: str) -> int:
    self._ensure_finalized()
    return _NOWHERE


def _nothing(self: Any, *_: Any) -> None:
    """Replace a step that is not needed."""


def _optimize_defined(self: Any, module: Any) -> None:
    """Do what Numba does, with the same passes for all functions, and only for functions with a body."""
    module.data_layout = self._codegen._data_layout
    passes, builder = self._codegen._function_pass_manager()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def _remember_sizes() -> None:
    """Ask LLVM for the size of a type only once, not for each variable."""
    from numba.core import base

    context: Any = base.BaseContext
    ask: Any = getattr(context, "get_abi_sizeof", None)
    known: dict[str, int] = {}
    if ask is None:
        return

    def get_abi_sizeof(self: Any, kind: Any) -> int:
        text = str(kind)
        if text not in known:
            known[text] = ask(self, kind)
        return known[text]

    context.get_abi_sizeof = get_abi_sizeof


def _skip_live_variables() -> None:
    """Skip the search for live variables at the start of each block: only generators and object mode need them."""
    from numba.core import postproc, transforms

    processor: Any = postproc.PostProcessor
    if not _has(processor, ("run", "_insert_var_dels")) or not hasattr(transforms, "canonicalize_cfg"):
        return
    whole = processor.run

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = self.func_ir
        if code.is_generator:
            whole(self, emit_dels, extend_lifetimes)
            return
        code.blocks = transforms.canonicalize_cfg(code.blocks)
        code.variable_lifetime = postproc.VariableLifetime(code.blocks)
        code.generator_info = None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    processor.run = run


def _skip_ufuncs() -> None:
    """Skip ufuncs for operators on numbers: Numba would look for a loop with their types, and then discard it."""
    from numba.core import types
    from numba.core.typing import npydecl

    operators: Any = getattr(npydecl, "NumpyRulesArrayOperator", None)
    if not _has(operators, ("generic",)):
        return
    whole = operators.generic

    def generic(self: Any, arguments: Any, named: Any) -> Any:
        if not any(isinstance(kind, types.ArrayCompatible) for kind in arguments):
            return None
        return whole(self, arguments, named)

    operators.generic = generic


def _compare_flags_first() -> None:
    """Treat flags with equal settings as equal, with a hash that depends on their class alone, like Numba's own."""
    from numba.core import targetconfig

    flags: Any = targetconfig.TargetConfig
    if not _has(flags, ("values",)):
        return
    whole = flags.__eq__

    def same(self: Any, other: Any) -> Any:
        if type(self) is type(other) and self._values == other._values:
            return True
        return whole(self, other)

    flags.__eq__ = same
    flags.__hash__ = lambda self: hash(type(self))
