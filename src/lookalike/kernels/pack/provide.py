"""Build the packs that are missing, in several processes.

python -m lookalike.kernels.pack.provide            packs for this machine, in its cache
python -m lookalike.kernels.pack.provide --shipped  packs for all baselines, inside the package (for a wheel)
python -m lookalike.kernels.pack.provide --here     packs for this machine, inside the package (for a checkout)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lookalike.errors import ResourceError
from lookalike.kernels.pack import cpu, files

Report = Callable[[int, int], None]
"""Told how many packs are done, of how many."""


def provide(modules: Sequence[str], target: str, folder: Path, report: Report | None = None) -> None:
    """Build the packs of some modules for a kind of processor.

    Parameters
    ----------
    report
        Called after each one.

    Raises
    ------
    ResourceError
        If one cannot be built: the message has what the compiler said.
    """
    waiting = list(modules)
    lock, done, failures = threading.Lock(), [0], list[str]()

    def work() -> None:
        with _start(target, folder) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            while True:
                with lock:
                    if not waiting or failures:
                        break
                    name = waiting.pop(0)
                process.stdin.write(f"{name}\n")
                process.stdin.flush()
                if not process.stdout.readline():
                    failures.append(f"{name}: {process.stderr.read().strip()[-2000:]}")
                    break
                with lock:
                    done[0] += 1
                    if report is not None:
                        report(done[0], len(modules))
            process.stdin.close()

    threads = [threading.Thread(target=work) for _ in range(min(len(modules), os.cpu_count() or 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise ResourceError(f"kernels could not be compiled: {failures[0]}")


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


def main() -> None:
    """Build what is missing, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--shipped", action="store_true", help="all baselines, inside the package")
    place.add_argument("--here", action="store_true", help="this machine's, inside the package")
    chosen = parser.parse_args()
    folder = files.SHIPPED if chosen.shipped or chosen.here else files.cache_folder()
    for target in cpu.BASELINES if chosen.shipped else [cpu.target()]:
        missing = [name for name in files.modules() if not (folder / files.file_name(name, target)).exists()]
        if not missing:
            continue
        started = time.perf_counter()
        provide(missing, target, folder, partial(_show, target))
        size = sum((folder / files.file_name(name, target)).stat().st_size for name in files.modules())
        print(f"\rKernels for {target}: compiled in {time.perf_counter() - started:.0f} s, {size / 1e6:.1f} MB")


def _show(target: str, done: int, total: int) -> None:
    if sys.stdout.isatty():
        print(f"\rCompiling kernels for {target}: {done} of {total}", end="", flush=True)


if __name__ == "__main__":
    main()
