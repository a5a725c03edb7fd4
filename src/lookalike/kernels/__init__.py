"""The compiled loops. They know NumPy arrays and scalars only, release the GIL, and keep no state.

Machine code is cached beside the sources by numba, which notices a changed file but not a change in a
function called from another file. So the cache is dropped here when any kernel source changed.
"""

from pathlib import Path

_HERE = Path(__file__).parent
_CACHE = _HERE / "__pycache__"


def _drop_stale_cache() -> None:
    stamp = "\n".join(f"{p.name} {p.stat().st_mtime_ns}" for p in sorted(_HERE.glob("*.py")))
    record = _CACHE / "kernels.stamp"
    try:
        if record.exists() and record.read_text() == stamp:
            return
        _CACHE.mkdir(exist_ok=True)
        for compiled in _CACHE.glob("*.nb[ic]"):
            compiled.unlink(missing_ok=True)
        record.write_text(stamp)
    except OSError:
        # Installed where we may not write: numba then caches in the user's own folder, keyed by each file's
        # time stamp, and an installed package does not change file by file.
        return


_drop_stale_cache()
