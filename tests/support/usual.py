"""Which kernels small jobs call: what `kernels/pack/usual.txt` lists. Run this file to write the list anew.

PYTHONPATH=src:tests/support python tests/support/usual.py
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lookalike as la
from lookalike.engine.method import sample
from lookalike.engine.settings import Settings
from lookalike.kernels.pack import kernel, load
from lookalike.read import open_inputs

WORDS = [f"{first}{last}" for first in ("ba", "do", "ki", "lu", "ne") for last in ("rra", "ston", "vel", "mi", "x")]
KINDS = {
    "person": lambda i, draw: f"{draw(('Ann', 'Bob', 'Carl', 'Dora'))} {draw(WORDS).title()}",
    "text": lambda i, draw: " ".join(draw(WORDS) for _ in range(8)),
    "address": lambda i, draw: f"{i} {draw(WORDS)} street",
    "code": lambda i, draw: f"{draw(range(10))}{i % 7}{draw('ABC')}",
    "phone": lambda i, draw: f"0171 {1_000_000 + 7919 * i}",
    "email": lambda i, draw: f"{draw(WORDS)}{i}@example.org",
    "date": lambda i, draw: f"19{draw(range(50, 99))}-0{draw(range(1, 10))}-1{i % 10}",
    "number": lambda i, draw: str(i % 90 + draw(range(3)) / 4),
}
"""A value of each kind of field."""


def record(folder: Path) -> dict[str, set[str]]:
    """The jobs that call each kernel, itself or through another, on small inputs."""
    users: dict[str, set[str]] = {}
    for job, run in _jobs(folder).items():
        with _calls() as called:
            run()
        for unit in called:
            users.setdefault(unit, set()).add(job)
    return _without_repeats(users)


def _without_repeats(users: dict[str, set[str]]) -> dict[str, set[str]]:
    """What every link calls belongs to `link`, whatever the kinds of its fields."""
    every = {f"link {kind}" for kind in KINDS}
    return {unit: jobs - every | {"link"} if every <= jobs else jobs for unit, jobs in users.items()}


@contextmanager
def _calls() -> Iterator[set[str]]:
    """Collect the kernels that are opened, as if none had been before."""
    called: set[str] = set()
    original = load.open_call

    def open_call(unit, parameters):
        waiting = [unit]
        call = original(unit, parameters)
        while waiting:
            if (one := waiting.pop()) not in called:
                called.add(one)
                waiting += load._headers[one]["calls"]
        return call

    for known in kernel._known:
        known._calls = []
    load.open_call = open_call
    try:
        yield called
    finally:
        load.open_call = original


def _jobs(folder: Path) -> dict[str, Callable[[], object]]:
    draw = random.Random(1).choice
    short = [" ".join(draw(WORDS) for _ in range(10)) for _ in range(60)]
    long = [" ".join(draw(WORDS) for _ in range(600)) for _ in range(12)]
    inputs = {}
    for name, texts in (("short", short), ("long", long)):
        inputs[name] = folder / f"{name}.txt"
        inputs[name].write_text("\n".join([*texts, texts[0], f"{texts[1]} again", ""]))
    files = folder / "files"
    files.mkdir()
    for number, text in enumerate(long[:2]):
        (files / f"{number}.txt").write_text(text)
    jobs: dict[str, Callable[[], object]] = {
        "sample": lambda: sample(open_inputs([inputs["short"]]), Settings.parse()),
        "dedup exact": lambda: la.dedup(inputs["short"], out=folder / "short"),
        "dedup lsh": lambda: la.dedup([inputs["long"], files], out=folder / "long"),
        "pairs exact": lambda: la.pairs(inputs["short"], threshold=0.5),
        "pairs lsh": lambda: la.pairs(inputs["long"]),
        "neighbors": lambda: [la.neighbors(path) for path in inputs.values()],
    }
    for kind, value in KINDS.items():
        jobs[f"link {kind}"] = lambda kind=kind, value=value: _link(folder, kind, value)
    return jobs


def _link(folder: Path, kind: str, value: Callable[..., str]) -> object:
    draw = random.Random(2).choice
    rows = [f"{i},{value(i, draw)},{i}" for i in range(80)]
    for name, some in (("left", rows), ("right", rows[30:])):
        (folder / f"{name}.csv").write_text("\n".join(["id,value,other", *some, ""]))
    fields = f"value:{kind},other:{'number' if kind == 'code' else 'code'}"
    return la.link(folder / "left.csv", folder / "right.csv", fields=fields, out=folder / kind)


def lines(users: dict[str, set[str]]) -> list[str]:
    """The list, with what takes longest to compile first."""

    def seconds(unit: str) -> float:
        return float(load._headers[unit]["seconds"])

    return [f"{unit}: {', '.join(sorted(jobs))}" for unit, jobs in sorted(users.items(), key=lambda x: -seconds(x[0]))]


if __name__ == "__main__":
    from lookalike.kernels.pack.usual import LIST

    with tempfile.TemporaryDirectory() as place:
        LIST.write_text("\n".join([*lines(record(Path(place))), ""]), "ascii")
