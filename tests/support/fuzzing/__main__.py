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
"""Different failures after which it stops."""


def try_case(folder: Path, seed: int, number: int) -> tuple[Case, Ended, list[str]]:
    """Run a case in a new folder: how it ended, and the promises it broke."""
    place, log = folder / f"case{number}", folder / f"case{number}.log"
    shutil.rmtree(place, ignore_errors=True)
    case = make_case(place, seed, number)
    if case.before is not None:
        run(case.before, place, log, kill_after=case.kill_after)
        for left in ("earlier*", ".out.partial"):
            spoil(place, left, seed, number)
    good = _is_good_index(case.changed, place, log)
    before = state_of(place)
    ended = run(
        case.arguments,
        place,
        log,
        stdin=case.stdin,
        full=case.full,
        as_process=case.as_process,
        signal_after=case.signal_after,
    )
    wrong = list(broken_promises(case, place, ended, before, state_of(place)))
    made = (
        case.outputs[0] if case.command == "index create" and ended.code == 0 and "-h" not in case.arguments else None
    )
    if (good or made) and not _is_good_index(case.changed or made, place, log):
        wrong.append("a damaged index")
    return case, ended, wrong


def _is_good_index(index: str | None, place: Path, log: Path) -> bool:
    return index is not None and run(["index", "check", index], place, log.with_name(f"{log.stem}-check.log")).code == 0


def describe(case: Case, ended: Ended, wrong: list[str], seed: int, number: int) -> str:
    """A failure, with what repeats it."""
    said = ended.err.decode("utf-8", "backslashreplace")[-1500:].encode("unicode_escape").decode()
    first = f"after {shlex.join(case.before)!a}, " if case.before else ""
    return "\n  ".join(
        [
            f"--seed {seed} --case {number}: {'; '.join(wrong)}",
            f"{first}lookalike {shlex.join(case.arguments)!a}",
            f"exit code {ended.code}, {ended.processor_seconds:.1f} s",
            *said.split("\\n"),
        ]
    )


def cause_of(ended: Ended, wrong: list[str]) -> str:
    """What failures of one cause have in common: the place that raised, or else what is wrong."""
    places = re.findall(rb'File "[^"]*lookalike/[^"]*", line \d+', ended.err)
    return str(places[-1] if places else re.sub(r"\d+|'.*'", "", wrong[0]))


class Session:
    """Cases of one seed, one after the other; the files of failed ones stay in the folder, once for each cause."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.codes: Counter[int] = Counter()
        self.failures: Counter[str] = Counter()

    def next(self, number: int) -> Ended:
        """Try a case, and tell if it failed in a new way."""
        case, ended, wrong = try_case(self.folder, self.seed, number)
        if ended.processor_seconds > PROCESSOR_SECONDS:  # perhaps it had to compile a kernel
            case, ended, wrong = try_case(self.folder, self.seed, number)
        self.codes[ended.code] += 1
        if wrong:
            self.failures[cause_of(ended, wrong)] += 1
        if wrong and self.failures[cause_of(ended, wrong)] == 1:
            print(describe(case, ended, wrong, self.seed, number), flush=True)
        else:
            shutil.rmtree(self.folder / f"case{number}", ignore_errors=True)
            for path in self.folder.glob(f"case{number}[.-]*"):
                path.unlink()
        return ended

    def summary(self) -> str:
        """How many cases there were, and how they ended."""
        failed = sum(self.failures.values())
        return (
            f"{self.codes.total()} cases, {failed} failed in {len(self.failures)} ways; "
            f"exit codes {dict(sorted(self.codes.items()))}"
        )


def parse() -> argparse.Namespace:
    """The options of this program."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--least", type=int, default=20, help="number of cases to try at least")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--case", type=int, help="try this one alone")
    parser.add_argument("--keep", type=Path, help="folder for the files of failed cases")
    return parser.parse_args()


def main() -> int:
    """Exit code 1 if any case has failed."""
    given = parse()
    folder = (given.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))).resolve()
    shutil.rmtree(folder / "warm", ignore_errors=True)
    warm_up(folder / "warm")
    session, end, number = Session(folder, given.seed), time.monotonic() + given.seconds, 0
    if given.case is not None:
        print(session.next(given.case))
    while given.case is None and len(session.failures) < MOST_CAUSES:
        session.next(number)
        number += 1
        if number >= given.least and time.monotonic() > end:
            break
    print(session.summary())
    if not session.failures:
        shutil.rmtree(folder)
        return 0
    print(f"files of failed cases: {folder}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
