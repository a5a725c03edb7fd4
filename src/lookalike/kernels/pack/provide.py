"""Build the packs that are missing, in several processes.

python -m lookalike.kernels.pack.provide            packs for this machine, in its cache
python -m lookalike.kernels.pack.provide --shipped  packs for all baselines, inside the package (for a wheel)
python -m lookalike.kernels.pack.provide --here     packs for this machine, inside the package (for a checkout)
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from lookalike.errors import ResourceError
from lookalike.kernels.pack import cpu, files
from lookalike.kernels.pack.kernel import known_units, units_called_by


class Builder:
    """Builds packs in the background, those that someone is waiting for first. Closes the lock when it is done."""

    def __init__(self, units: Sequence[str], target: str, folder: Path, lock: IO[str] | None = None) -> None:
        self._waiting, self._lock = list(units), lock
        self._target, self._folder = target, folder
        self._changed = threading.Condition()
        self._under_way: set[str] = set()
        self._failure = ""
        self._processes: list[subprocess.Popen[str]] = []
        count = min(len(self._waiting), os.cpu_count() or 1)
        self._working = count
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    @property
    def done(self) -> bool:
        """Whether nothing is left to build."""
        return self._working == 0

    def wait_for(self, unit: str, likely: Sequence[str] = ()) -> bool:
        """Wait for a unit, building likely ones in the meantime; return False if this builder has ended without it.

        Raises
        ------
        ResourceError
            If something cannot be built; the message contains the compiler's output.
        """
        with self._changed:
            waiting = set(self._waiting)
            called = () if unit in likely else units_called_by(unit)  # which may guess the wrong types
            first = [other for other in (*called, *likely) if other in waiting]
            if unit not in self._under_way:
                first.insert(0, unit)
            self._waiting = list(dict.fromkeys([*first, *self._waiting]))
            while (unit in self._waiting or unit in self._under_way) and not self._failure and not self.done:
                self._changed.wait(1.0)
            if self._failure:
                raise ResourceError(f"kernels could not be compiled: {self._failure}")
        return (self._folder / files.file_name(unit, self._target)).exists()

    def finish(self) -> None:
        """Wait until everything is built."""
        for thread in self._threads:
            thread.join()
        if self._failure:
            raise ResourceError(f"kernels could not be compiled: {self._failure}")

    def stop(self) -> None:
        """Stop building; what is missing is built another time."""
        with self._changed:
            self._waiting.clear()
        for process in self._processes:
            process.kill()
            process.wait()
            files.remove_partial(self._folder, process.pid)

    def _next(self) -> str | None:
        with self._changed:
            if not self._waiting or self._failure:
                return None
            unit = self._waiting.pop(0)
            self._under_way.add(unit)
            return unit

    def _work(self) -> None:
        process = _start(self._target, self._folder)
        self._processes.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        with process:
            while unit := self._next():
                process.stdin.write(f"{unit}\n")
                process.stdin.flush()
                built = process.stdout.readline()
                with self._changed:
                    self._under_way.discard(unit)
                    if not built:
                        self._failure = f"{unit}: {process.stderr.read().strip()[-2000:] or 'the compiler was stopped'}"
                    self._changed.notify_all()
            process.stdin.close()
        with self._changed:
            self._working -= 1
            if not self._working and self._lock is not None:
                self._lock.close()
            self._changed.notify_all()


def _start(target: str, folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, **cpu.numba_settings(target), "LOOKALIKE_KERNELS": "build"}
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "lookalike.kernels.pack.build",
        "--folder",
        folder,
        "--cpu",
        target,
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [str(part) for part in command], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
    )


def all_units() -> list[str]:
    """The names of all possible packs."""
    for module in files.modules():
        importlib.import_module(f"lookalike.kernels.{module}")
    return known_units()


def main() -> None:
    """Build missing packs, and report how long it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--shipped", action="store_true", help="all baselines, inside the package")
    place.add_argument("--here", action="store_true", help="this machine's, inside the package")
    chosen = parser.parse_args()
    folder = files.SHIPPED if chosen.shipped or chosen.here else files.cache_folder()
    for target in cpu.BASELINES if chosen.shipped else [cpu.target()]:
        paths = {unit: folder / files.file_name(unit, target) for unit in all_units()}
        missing = [unit for unit, path in paths.items() if not path.exists()]
        if not missing:
            continue
        started = time.perf_counter()
        print(f"Compiling {len(missing)} kernels for {target} ...", flush=True)
        Builder(missing, target, folder).finish()
        size = sum(path.stat().st_size for path in paths.values())
        print(f"Compiled in {time.perf_counter() - started:.0f} s; all {len(paths)} take {size / 1e6:.1f} MB.")


if __name__ == "__main__":
    main()
