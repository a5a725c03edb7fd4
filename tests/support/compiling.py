"""Compile each kernel once, however many processes run the tests.

All processes share Numba's cache of machine code, but nothing stops two of them from compiling the same kernel at the
same time. If they save two signatures of one kernel at once, both can even get the same file name, and one is then
loaded in place of the other. Here a process waits while another compiles the same kernel, then loads the result.
"""

from __future__ import annotations

import fcntl
import functools
from contextlib import contextmanager
from pathlib import Path

from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher


def share_compiled_kernels():
    """Make this process wait for kernels that another one is compiling."""
    if not hasattr(Dispatcher.compile, "__wrapped__"):
        Dispatcher.compile = _one_process_at_a_time(Dispatcher.compile)


def _one_process_at_a_time(compile_kernel):
    held = set()

    @functools.wraps(compile_kernel)
    def compile_locked(dispatcher, signature):
        kernel, cache = dispatcher.py_func, dispatcher._cache
        # The lock of this process comes first: only one thread takes file locks, in the order in which kernels call
        # each other, so no two processes can wait for each other.
        with global_compiler_lock:
            if kernel in held or not isinstance(cache, FunctionCache):
                return compile_kernel(dispatcher, signature)
            with _locked(Path(cache.cache_path, f"{kernel.__module__}.{kernel.__name__}.lock")):
                held.add(kernel)
                try:
                    return compile_kernel(dispatcher, signature)
                finally:
                    held.remove(kernel)

    return compile_locked


@contextmanager
def _locked(path):
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
