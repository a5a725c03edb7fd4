"""How well `link` does on many kinds of records, without labels: real sets, their variants, and generated kinds.

    python benchmarks/kinds [--only NAME] [--save] [--compare FILE]

LOOKALIKE_DATA is the folder of the real sets (default: ../shared/data). Interrupt it and use --only for a few cases.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from kinds.judge import Link, Result, link_by_package, measure_all
from kinds.known import known_cases
from kinds.made import made_cases
from kinds.tables import Case
from kinds.variants import variants

RESULTS = Path(__file__).resolve().parents[1] / "results" / "kinds"


def all_cases(data: Path | None, only: str) -> Iterator[Case]:
    """All cases whose name, or variant, contains `only`."""
    real = chain.from_iterable(map(variants, known_cases(data))) if data is not None else []
    if data is None:
        print("no real data (set LOOKALIKE_DATA): only generated kinds are measured", file=sys.stderr)
    for case in chain(real, made_cases()):
        if only.lower() in f"{case.name}: {case.variant}".lower():
            yield case


def line(result: Result) -> str:
    """A line of the table."""
    if result.error:
        return f"{result.name:28s} {result.variant:28s} {result.error.splitlines()[-1][:110]}"

    def shown(value: float | None) -> str:
        return "    -" if value is None else f"{value:.3f}"

    stated = result.stated_precision or {}
    interval = f"[{stated['low']:.2f}, {stated['high']:.2f}]" if stated.get("low") is not None else ""
    mark = "  TOO HIGH" if result.overstated > 0.1 else ""
    return (
        f"{result.name:28s} {result.variant:28s} {result.score:.3f}  precision {shown(result.precision)} "
        f"stated {shown(stated.get('estimate'))} {interval:12s} recall {shown(result.recall)} {result.links:7,} links "
        f"{result.choice:8s} {result.seconds:5.1f} s {result.peak_mb:5.0f} MB{mark}"
    )


def summary(results: list[Result]) -> dict[str, float]:
    """The figures by which two versions are compared."""
    done = [result for result in results if not result.error]
    scores = [result.score for result in results]
    held = {
        name: [held for held in (one.holds(name) for one in done) if held is not None]
        for name in ("precision", "recall")
    }
    return {
        "cases": len(results),
        "errors": len(results) - len(done),
        "mean": round(sum(scores) / max(1, len(scores)), 4),
        "worst": min(scores, default=0.0),
        "below_half": sum(score < 0.5 for score in scores),
        **{f"{name}_stated": len(values) for name, values in held.items()},
        **{f"{name}_holds": round(sum(values) / max(1, len(values)), 4) for name, values in held.items()},
        "overstated_by_a_tenth": sum(result.overstated > 0.1 for result in done),
        "most_overstated": round(max((result.overstated for result in done), default=0.0), 3),
        "seconds": round(sum(result.seconds for result in done), 1),
        "peak_mb": max((result.peak_mb for result in done), default=0.0),
    }


def compare(results: list[Result], earlier: Path) -> None:
    """What changed since an earlier file of results."""
    before = {(row["name"], row["variant"]): row["score"] for row in json.loads(earlier.read_text())["results"]}
    shared = [one for one in results if (one.name, one.variant) in before]
    rows = [(one.score - before[one.name, one.variant], one) for one in shared]
    mean = sum(row[0] for row in rows) / max(1, len(rows))
    print(f"\ncompared with {earlier.name}: mean {mean:+.4f} of {len(rows)} cases")
    for change, result in sorted(rows, key=lambda row: row[0]):
        if abs(change) >= 0.02:
            print(f"  {change:+.3f}  {result.name}: {result.variant}")


def commit() -> str:
    """The short name of the commit, with a mark if files have changed since."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def chosen_link(sketch: bool, without: list[str]) -> Link:
    """What links the cases: the package, or the model in trial without some of its mechanisms."""
    if not sketch:
        return link_by_package
    from kinds.sketch import model

    if unknown := set(without) - set(model.MECHANISMS):
        raise SystemExit(f"--without {', '.join(unknown)}: known are {', '.join(model.MECHANISMS)}")
    return partial(model.link, without=frozenset(without))


def main() -> None:
    """Print a table and a summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="only cases whose name or variant contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--save", action="store_true", help=f"write a file to {RESULTS.name}/, named after the commit")
    parser.add_argument("--sketch", action="store_true", help="the model in trial instead of lookalike.link")
    parser.add_argument("--without", action="append", default=[], help="with --sketch: a mechanism to leave out")
    parser.add_argument("--compare", type=Path, help="an earlier file of results")
    given = parser.parse_args()
    data = Path(os.environ.get("LOOKALIKE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
    link = chosen_link(given.sketch or bool(given.without), given.without)
    started, results = time.perf_counter(), []
    for result in measure_all(all_cases(data if data.is_dir() else None, given.only), given.jobs, link):
        results.append(result)
        print(line(result), flush=True)
    total = summary(results)
    print("\n" + "\n".join(f"{name:24s} {value}" for name, value in total.items()))
    print(f"wall time {time.perf_counter() - started:.0f} s")
    if given.compare:
        compare(results, given.compare)
    if given.save:
        RESULTS.mkdir(parents=True, exist_ok=True)
        path = RESULTS / f"{commit()}.json"
        rows = [result.__dict__ for result in results]
        path.write_text(json.dumps({"summary": total, "results": rows}, indent=1) + "\n")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
