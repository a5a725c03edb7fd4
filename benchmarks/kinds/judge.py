"""Link a case and compare the result with the truth: in a process of its own, whose memory is measured."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import lookalike as la
from kinds.tables import Case, as_table, pairs_between

Link = Callable[[pa.Table, pa.Table | None, str], dict[str, Any]]
"""Links two tables (or one) by some fields; see `link_by_package`."""


@dataclass(frozen=True)
class Result:
    """What linking a case gave. Precision and recall of nothing are None."""

    name: str
    variant: str
    links: int = 0
    score: float = 0.0
    """F1; if nothing matches, the share of the smaller table that was rightly left alone."""
    precision: float | None = None
    recall: float | None = None
    stated_precision: dict[str, Any] | None = None
    stated_recall: dict[str, Any] | None = None
    complete: bool = True
    """Whether the truth is, so that what was stated can be judged."""
    choice: str = ""
    seconds: float = 0.0
    peak_mb: float = 0.0
    error: str = ""

    def holds(self, quantity: str) -> bool | None:
        """Whether the stated interval contains the true value; None if nothing was stated, or cannot be judged."""
        stated = getattr(self, f"stated_{quantity}")
        true = getattr(self, quantity)
        if not stated or true is None or not self.complete:
            return None
        estimate = stated["estimate"]
        low, high = stated.get("low", estimate), stated.get("high", estimate)
        return bool(low - 1e-9 <= true <= high + 1e-9)

    @property
    def overstated(self) -> float:
        """By how much the stated precision is too high."""
        if not self.stated_precision or self.precision is None or not self.complete:
            return 0.0
        return float(max(0.0, self.stated_precision["estimate"] - self.precision))


def link_by_package(left: pa.Table, right: pa.Table | None, fields: str) -> dict[str, Any]:
    """The links of `lookalike.link`, as pairs of rows, and what it says of them."""
    result = la.link(left, right, fields=fields, id="id", threads=1)
    links, run = found_pairs(len(left), right is None, result), result.run
    choice = str((run.get("model") or {}).get("name", ""))
    return {"links": links, "choice": choice, "precision": run.get("precision"), "recall": run.get("recall")}


def measure(case: Case, link: Link = link_by_package) -> Result:
    """Link a case in this process."""
    left = as_table(case.left, case.columns)
    right = None if case.right is None else as_table(case.right, case.columns)
    started = time.perf_counter()
    answer = link(left, right, case.fields)
    seconds = time.perf_counter() - started
    links = answer["links"]
    if case.known is not None:
        links = links[np.isin(codes(links), codes(case.known))]
    truth = codes(case.truth)
    hits = int(np.isin(codes(links), truth).sum())
    count = len(links)
    smallest = min(len(case.left), len(case.left if case.right is None else case.right))
    alone = 1 - len(np.unique(links[:, 0])) / max(1, smallest)
    return Result(
        case.name,
        case.variant,
        links=count,
        score=round(2 * hits / (count + len(truth)) if len(truth) else max(0.0, alone), 4),
        precision=round(hits / count, 4) if count else None,
        recall=round(hits / len(truth), 4) if len(truth) else None,
        stated_precision=answer.get("precision"),
        stated_recall=answer.get("recall"),
        complete=case.complete,
        choice=answer["choice"],
        seconds=round(seconds, 2),
        peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    )


def found_pairs(rows: int, alone: bool, result: Any) -> np.ndarray:
    """The linked pairs of row numbers; of one table, all pairs within clusters."""
    if not alone:
        columns = [result.links[side].to_numpy(zero_copy_only=False).astype(np.int64) for side in ("left", "right")]
        return np.unique(np.stack(columns, 1), axis=0) if len(columns[0]) else np.empty((0, 2), np.int64)
    labels = -1 - np.arange(rows)  # records in no cluster are alone
    clusters = result.clusters
    labels[clusters["id"].to_numpy(zero_copy_only=False).astype(np.int64)] = clusters["cluster"].to_numpy()
    return pairs_between(labels, None)


def codes(pairs: np.ndarray) -> np.ndarray:
    """Pairs as one number each."""
    return pairs[:, 0] * (1 << 32) + pairs[:, 1]


def measure_apart(case: Case, link: Link = link_by_package) -> Result:
    """The same in a child process, so that memory is its own and an error ends nothing else."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            answer = measure(case, link).__dict__
        except BaseException as error:
            kept = error if isinstance(error, la.LookalikeError) else traceback.format_exc()
            answer = Result(case.name, case.variant, error=str(kept)[-600:]).__dict__
        with os.fdopen(writing, "w") as file:
            json.dump(answer, file, default=float)
        sys.stdout.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        answer = file.read()
    os.waitpid(child, 0)
    if not answer:
        return Result(case.name, case.variant, error="the process ended without an answer")
    return Result(**json.loads(answer))


def measure_all(cases: Iterable[Case], jobs: int, link: Link = link_by_package) -> Iterator[Result]:
    """Measure cases, some at a time, in order."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = []
        for case in cases:
            waiting.append(pool.submit(measure_apart, case, link))
            if len(waiting) > jobs:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()
