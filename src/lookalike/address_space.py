"""The limit of the address space of this process (`ulimit -v`): if it is small, libraries end the process.

This module imports nothing that takes time: it is used before the rest is imported.
"""

from __future__ import annotations

import contextlib
import os

from lookalike.errors import ResourceError

LEAST_BYTES = 512 << 20
"""As the least value of --memory. With less, libraries end the process in ways that cannot be caught: by a signal when
Arrow is loaded (200 MB), or by an exit with code 1 when matrices are multiplied (400 MB)."""
RESERVED = {"MIMALLOC_ARENA_RESERVE": "65536"}
"""In KiB: what Arrow's allocator reserves at a time. By default it takes 1 GiB, which leaves no room for threads."""


def limited_bytes() -> int | None:
    """The limit, if there is one."""
    with contextlib.suppress(ImportError, OSError):  # Linux and macOS have it
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        return None if limit == resource.RLIM_INFINITY else limit
    return None


def reserve_little() -> None:
    """Let libraries reserve little if there is a limit; to be called before they are imported."""
    if limited_bytes() is not None:
        for name, value in RESERVED.items():
            os.environ.setdefault(name, value)


def check_limit() -> None:
    """Refuse a limit with which no command can work."""
    limit = limited_bytes()
    if limit is not None and limit < LEAST_BYTES:
        raise ResourceError(
            f"the address space of a process is limited to {limit / 2**20:,.0f} MiB (ulimit -v); at least "
            f"{LEAST_BYTES >> 20} MiB are needed"
        )
