"""Linking records: `lookalike link` against splink, dedupe and recordlinkage, each whole and in a process of its own.

People are made by people.py at growing sizes (a tenth in both tables, an error in half of a shared person's values, one
postcode with very many rows). A tool that takes more time or memory than it may is not asked for more people. dedupe
needs labelled pairs and is given some of the truth; the others get none. Then fake_1000 and FEBRL 3 of the folder that
LOOKALIKE_DATA names, by default ../shared/data beside the project: lookalike with its defaults beside splink with the
settings of its own documented examples for these data. Results go to results/records.json and results/records.md; what
is not measured again stays there, if it was measured on the same machine.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

import peer_env
from judging import judge_pairs
from known_records import SETS, compare_on
from labels import draw_labels
from measure import Measured, describe_machine, run_measured
from people import make_tables
from record_results import Result, write_report

HERE = Path(__file__).resolve().parent
LOOKALIKE = Path(sys.executable).with_name("lookalike")
FIELDS = ("name", "address", "postcode", "phone")
PEOPLE = (1_000, 10_000, 100_000, 1_000_000)
WARM_UP_PEOPLE = 300


@dataclass(frozen=True)
class Tool:
    """What to install in an environment of its own, and whether it is given labels; its adapter has its name."""

    packages: tuple[str, ...]
    labels: bool = False


PEERS = {
    "splink": Tool(("splink", "pandas", "pyarrow")),
    "dedupe": Tool(("dedupe", "pyarrow"), labels=True),
    "recordlinkage": Tool(("recordlinkage", "pyarrow")),
}
TOOLS = ("lookalike", *PEERS)


@dataclass(frozen=True)
class Limits:
    """What a run may take."""

    seconds: float
    memory_bytes: float

    def run(self, command: list[str | Path]) -> Measured:
        """Run a command within the limits."""
        return run_measured(command, timeout=self.seconds, memory_bytes=self.memory_bytes)

    def explain(self, done: Measured) -> str:
        """Return why a run did not end well, or nothing."""
        if done.stopped == "time":
            return f"more than {self.seconds:,.0f} s"
        if done.stopped == "memory":
            return f"more than {self.memory_bytes / 2**30:.1f} GiB"
        if done.exit_code:
            said = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no message"]
            return f"failed with exit code {done.exit_code}: {said[-1][:160]}"
        return ""


class People:
    """People in two tables in a folder, with labels, and the truth."""

    def __init__(self, folder: Path, count: int) -> None:
        left, right, truth = make_tables(count, count, 0.1)
        self.folder, self.count = folder, count
        self.truth = set(zip(truth["left"].to_pylist(), truth["right"].to_pylist()))
        labels = draw_labels(left, right, self.truth, FIELDS)
        self.labels = labels.num_rows
        for name, table in (("left", left), ("right", right), ("labels", labels)):
            pq.write_table(table, folder / f"{name}.parquet")

    def command(self, tool: str) -> tuple[list[str | Path], Path]:
        """Return the command that links them with a tool, and where the links will be."""
        tables = [self.folder / "left.parquet", self.folder / "right.parquet"]
        if tool == "lookalike":
            out = self.folder / "out"
            options = ["--fields", ",".join(FIELDS), "--quiet", "--overwrite"]
            return [LOOKALIKE, "link", *tables, "-o", out, *options], out / "links.parquet"
        out = self.folder / f"{tool}.parquet"
        labels = [self.folder / "labels.parquet"] if PEERS[tool].labels else []
        return [peer_env.python_of(tool), HERE / "adapters" / f"records_{tool}.py", *tables, out, *labels], out

    def measure(self, tool: str, version: str, limits: Limits) -> Result:
        """Run a tool: what it cost, and how good its links are."""
        command, out = self.command(tool)
        labels = self.labels if tool in PEERS and PEERS[tool].labels else 0
        result = Result("people", self.count, tool, version=version, labels=labels)
        done = limits.run(command)
        if reason := limits.explain(done):
            return replace(result, failure=reason, peak_bytes=done.peak_bytes)
        table = pq.read_table(out, columns=["left", "right"])
        found = set(zip(map(int, table["left"].to_pylist()), map(int, table["right"].to_pylist())))
        judged = judge_pairs(found, self.truth)
        return replace(result, seconds=round(done.seconds, 2), peak_bytes=done.peak_bytes, **judged)


def prepare(tools: list[str]) -> Iterator[tuple[str, str, str]]:
    """Install each tool; yield it with its version and, if it cannot be had, the reason."""
    for tool in tools:
        if tool == "lookalike":
            with tempfile.TemporaryDirectory() as scratch:  # kernels are compiled once after an install
                run_measured(People(Path(scratch), WARM_UP_PEOPLE).command(tool)[0])
            yield tool, importlib.metadata.version("lookalike"), ""
        elif reason := peer_env.install_packages(PEERS[tool].packages, tool):
            yield tool, "", f"not installed: {reason[:160]}"
        else:
            yield tool, peer_env.version_of(tool, tool), ""


def compare_on_people(versions: dict[str, str], sizes: list[int], limits: Limits) -> Iterator[Result]:
    """Run each tool on more and more people, until it takes more than it may."""
    left_out: set[str] = set()
    for count in sorted(sizes):
        if not set(versions) - left_out:
            return
        with tempfile.TemporaryDirectory() as scratch:
            people = People(Path(scratch), count)
            for tool in versions:
                if tool in left_out:
                    print(f"{tool}: not asked for {count:,} people", file=sys.stderr)
                    continue
                result = people.measure(tool, versions[tool], limits)
                if result.failure:
                    left_out.add(tool)
                yield result


def measure_all(options: argparse.Namespace) -> Iterator[Result]:
    """Yield what is measured, one result after the other."""
    limits = Limits(options.seconds, options.memory * 2**30)
    versions = {}
    for tool, version, reason in prepare(options.tools):
        if reason:
            yield Result("people", min(options.people, default=0), tool, failure=reason)
        else:
            versions[tool] = version
    yield from compare_on_people(versions, options.people, limits)
    for name in options.sets:
        if not (source := options.data / SETS[name].path).exists():
            print(f"{name} is left out: no {SETS[name].path} in {options.data}", file=sys.stderr)
            continue
        yield from compare_on(name, source, versions, LOOKALIKE, limits)


def read_options() -> argparse.Namespace:
    """Return what the command line asks for; an empty list leaves a part out."""

    def names(known: tuple[str, ...], text: str) -> list[str]:
        wanted = [name.strip() for name in text.split(",") if name.strip()]
        if unknown := set(wanted) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))} is none of {', '.join(known)}")
        return wanted

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=lambda text: names(TOOLS, text), default=list(TOOLS), help=",".join(TOOLS))
    parser.add_argument(
        "--people",
        type=lambda text: [int(number) for number in text.split(",") if number],
        default=list(PEOPLE),
        help="of each table; several with commas, '' for none",
    )
    parser.add_argument(
        "--sets", type=lambda text: names(tuple(SETS), text), default=list(SETS), help="fake_1000,febrl3; '' for none"
    )
    parser.add_argument("--seconds", type=float, default=600, help="that a run may take")
    parser.add_argument("--memory", type=float, default=8, help="GiB that a run may take")
    data = os.environ.get("LOOKALIKE_DATA", HERE.parent.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(data), help="the folder that has the sets")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def main() -> int:
    """Measure, print and write after each result; the exit code is 1 if lookalike itself failed."""
    options = read_options()
    facts = {"seconds": options.seconds, "memory_gib": options.memory, "machine": describe_machine()}
    results = []
    for result in measure_all(options):
        results.append(result)
        print(result.tell(), flush=True)
        write_report(options.out, facts, results)
    return int(any(result.failure for result in results if result.tool == "lookalike"))


if __name__ == "__main__":
    sys.exit(main())
