"""Try cases for some time, or one of them again: `python -m fuzzing [--seconds S] [--seed N] [--case K]`."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fuzzing.cases import Case, make_case, spoil
from fuzzing.checks import PROCESSOR_SECONDS, broken_promises, state_of
from fuzzing.running import Ended, run, warm_up

MOST_CAUSES = 20


def try_case(folder: Path, seed: int, number: int) -> tuple[Case, Ended, list[str]]:
    """Run a case in a new folder: how it ended, and the promises it broke."""
    place, log = folder / f"case{number}", folder / f"case{number}.log"
    shutil.rmtree(place, ignore_errors=True)
    case = make_case(place, seed, number)
    if case.before is not None:
        run(case.before, place, log, kill_after=case.kill_after)
        for left in ("earlier", ".out.partial"):
            spoil(place / left, seed, number)
    before = state_of(place)
    ended = run(case.arguments, place, log, stdin=case.stdin, full=case.full, as_process=case.as_process)
    return case, ended, list(broken_promises(case, place, ended, before, state_of(place)))


def forget(folder: Path, number: int) -> None:
    """Remove the files of a case."""
    shutil.rmtree(folder / f"case{number}", ignore_errors=True)
    for path in folder.glob(f"case{number}.*"):
        path.unlink()


def describe(case: Case, ended: Ended, wrong: list[str], seed: int, number: int) -> str:
    """A failure, with what repeats it."""
    said = ended.err.decode("utf-8", "backslashreplace")[-1500:].encode("unicode_escape").decode().replace("\\n", "\n  ")
    first = f"after {shlex.join(case.before)!a}, " if case.before else ""
    return (
        f"--seed {seed} --case {number}: {'; '.join(wrong)}\n  {first}lookalike {shlex.join(case.arguments)!a}\n"
        f"  exit code {ended.code}, {ended.processor_seconds:.1f} s\n  {said}"
    )


def cause_of(ended: Ended, wrong: list[str]) -> str:
    """What failures of one cause have in common: the place that raised, or else what is wrong."""
    places = re.findall(rb'File "[^"]*lookalike/[^"]*", line \d+', ended.err)
    return str(places[-1] if places else re.sub(r"\d+|'.*'", "", wrong[0]))


def main() -> int:
    """Exit code 1 if any case has failed; the files of failed cases are kept."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--least", type=int, default=20, help="number of cases to try at least")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--case", type=int, help="try this one alone")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--keep", type=Path, help="folder for the files of failed cases")
    given = parser.parse_args()
    folder = (given.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "warm", ignore_errors=True)
    warm_up(folder / "warm")
    end, number, codes, failures = time.monotonic() + given.seconds, given.first, Counter(), Counter()
    if given.case is not None:
        number, end, given.least = given.case, 0, 1
    first = number
    while number - first < given.least or time.monotonic() < end:
        case, ended, wrong = try_case(folder, given.seed, number)
        if ended.processor_seconds > PROCESSOR_SECONDS:  # perhaps it had to compile a kernel
            case, ended, wrong = try_case(folder, given.seed, number)
        codes[case.command, ended.code] += 1
        if wrong:
            cause = cause_of(ended, wrong)
            failures[cause] += 1
            if failures[cause] == 1:
                print(describe(case, ended, wrong, given.seed, number), flush=True)
            elif given.case is None:
                forget(folder, number)
        elif given.case is None:
            forget(folder, number)
        else:
            print(f"lookalike {shlex.join(case.arguments)!a}: {ended}")
        number += 1
        if len(failures) >= MOST_CAUSES:
            break
    failed = sum(failures.values())
    print(f"{number - first} cases, {failed} failed in {len(failures)} ways; exit codes {_by_code(codes)}; files of failed cases in {folder}")
    if not failed:
        shutil.rmtree(folder)
    return 1 if failed else 0


def _by_code(codes: Counter[tuple[str, int]]) -> dict[int, int]:
    total: Counter[int] = Counter()
    for (_, code), count in codes.items():
        total[code] += count
    return dict(sorted(total.items()))


if __name__ == "__main__":
    sys.exit(main())
