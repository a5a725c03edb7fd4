"""The similarities of all items of one collection with all of another, as a matrix.

The elements of the sets of the columns are put into a table, and the sets of the rows are looked up in it. This counts
the overlap of exactly those pairs that share an element.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.engine.corpus import ReadSettings, read_corpus
from lookalike.engine.execution import Execution
from lookalike.engine.memory import BASE_BYTES, Budget
from lookalike.engine.run import open_run
from lookalike.engine.settings import ItemSettings, one_of
from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.kernels.audit import find_similar, index_sample
from lookalike.types import Float64, Int64, Mapper, Sets, Source, Span
from lookalike.types.frozen import frozen
from lookalike.verify.measures import NUMBERS, Measure

OUTPUTS = ("dense", "sparse")
ELEMENT_BYTES = 64
"""The most memory per element: it is read, copied, and has two slots in the table."""
ENTRY_BYTES = 32
"""Memory per entry of a sparse matrix while it is assembled."""
MOST_ENTRIES = 1 << 20
"""The approximate number of entries that one thread generates at a time."""


class Entries(NamedTuple):
    """Entries of the matrix that are not 0, by row, then column."""

    rows: Int64
    columns: Int64
    values: Float64


@frozen
class MatrixSettings:
    """The options of the matrix."""

    items: ItemSettings
    measure: Measure
    bounded: bool
    """Whether entries below the threshold of `measure` are omitted."""
    output: str
    execution: Execution

    @classmethod
    def parse(
        cls,
        measure: str = "jaccard",
        threshold: float | str | Fraction | None = None,
        output: str = "dense",
        *,
        column: str = "text",
        shingle: str = "word:5",
        bag: bool = False,
        language: str = "en",
        threads: int | None = None,
        on_error: str = "stop",
        encoding: str = "utf-8",
        memory: str | int | None = None,
    ) -> MatrixSettings:
        """Check every option.

        Examples
        --------
        >>> MatrixSettings.parse("overlap", output="dense").bounded
        False
        """
        one_of("output", output, OUTPUTS)
        if measure not in NUMBERS:
            raise UsageError(f"measure must be one of {', '.join(NUMBERS)} for a matrix, not {measure!r}")
        items = ItemSettings.parse(
            column=column, shingle=shingle, bag=bag, language=language, on_error=on_error, encoding=encoding
        )
        wanted = Measure.parse(measure, 1 if threshold is None else threshold)
        return cls(items, wanted, threshold is not None, output, Execution.parse(threads, memory))

    @property
    def arguments(self) -> tuple[int, int, int]:
        """Measure and threshold for the kernel; if no entry is omitted, an overlap of 1 is enough."""
        return self.measure.arguments if self.bounded else Measure.parse("overlap", 1).arguments


def similarity_matrix(
    sources: list[Source], others: list[Source] | None, settings: MatrixSettings, most_entries: int = MOST_ENTRIES
) -> Any:
    """The matrix of all items of the sources with those of the others, or with each other if there are none."""
    everything = sources + (others or [])
    with open_run(settings) as run:
        digesting = settings.items.digesting(settings.measure)
        corpus = read_corpus(run, everything, ReadSettings(settings.items, digesting))
        elements = int(corpus.counts.sum(dtype=np.int64))
        first = int(corpus.starts[len(sources)])
        shape = first, first if others is None else len(corpus) - first
        _check_memory(shape, ELEMENT_BYTES * elements, settings)
        every = np.arange(len(corpus))
        left = corpus.fetch_all_sets(run, every[:first])
        right = left if others is None else corpus.fetch_all_sets(run, every[first:])
        found = entries(left, right, settings, run.workers.map, most_entries)
        if settings.output == "sparse":
            return _sparse(found, shape, settings.execution.budget.total_bytes - BASE_BYTES - ELEMENT_BYTES * elements)
        return _dense(found, shape)


def _check_memory(shape: tuple[int, int], sets_bytes: int, settings: MatrixSettings) -> None:
    """Refuse input that cannot fit, once the number of shingles is known."""
    matrix_bytes = 8 * shape[0] * shape[1] if settings.output == "dense" else 0
    needed, total = BASE_BYTES + sets_bytes + matrix_bytes, settings.execution.budget.total_bytes
    if needed > total:
        raise _too_large(f"a matrix of {shape[0]:,} x {shape[1]:,} and the sets need {needed / 2**30:.1f} GiB", total)


def _too_large(what: str, total: int) -> ResourceError:
    return ResourceError(
        f"{what}; memory is {total / 2**30:.1f} GiB. Increase it, use output='sparse' with a threshold, or compute the "
        "matrix of some rows at a time"
    )


def entries(
    left: Sets, right: Sets, settings: MatrixSettings, each: Mapper = map, most_entries: int = MOST_ENTRIES
) -> Iterable[Entries]:
    """The entries of the pairs of sets that share an element, in order, in batches of rows."""
    index = index_sample(right.indptr, right.elements)
    measure, left_sizes, right_sizes = settings.measure, left.sizes, right.sizes

    def make(span: Span) -> Entries:
        first, last = span
        columns, rows, shared = find_similar(
            *index, right_sizes, left.indptr[first : last + 1], left.elements, *settings.arguments
        )
        order = np.argsort(rows * len(right) + columns)
        rows, columns, shared = rows[order] + first, columns[order].astype(np.int64), shared[order]
        if settings.bounded and measure.name == "containment":  # the kernel accepts both directions
            num, den = measure.arguments[1:]
            holds = shared * den >= left_sizes[rows] * num
            rows, columns, shared = rows[holds], columns[holds], shared[holds]
        return Entries(rows, columns, measure.of_overlaps(shared, left_sizes[rows], right_sizes[columns]))

    step = max(1, most_entries // max(1, len(right)))
    return each(make, ((first, min(first + step, len(left))) for first in range(0, len(left), step)))


def _dense(found: Iterable[Entries], shape: tuple[int, int]) -> Float64:
    matrix = np.zeros(shape)
    for rows, columns, values in found:
        matrix[rows, columns] = values
    return matrix


def _sparse(found: Iterable[Entries], shape: tuple[int, int], room_bytes: int) -> Any:
    """All entries as a SciPy matrix; raises an error as soon as they do not fit."""
    from scipy.sparse import csr_array

    parts = [Entries(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    count = 0
    for part in found:
        parts.append(part)
        count += len(part.values)
        if ENTRY_BYTES * count > room_bytes:
            raise _too_large(f"{count:,} similarities after {int(part.rows[-1]):,} rows do not fit", room_bytes)
    rows, columns, values = (np.concatenate(column) for column in zip(*parts))
    indptr = np.searchsorted(rows, np.arange(shape[0] + 1))
    return csr_array((values, columns, indptr), shape=shape)


def cosine_matrix(left: npt.NDArray[Any], right: npt.NDArray[Any] | None, budget: Budget) -> Float64:
    """The cosines of the angles between the rows of two matrices of numbers; 0 for zero vectors.

    Examples
    --------
    >>> cosine_matrix(np.array([[1, 0], [0, 0]]), np.array([[3.0, 4.0]]), Budget.split(1 << 30)).tolist()
    [[0.6], [0.0]]
    """
    mine = _unit_rows(left, "a")
    others = mine if right is None else _unit_rows(right, "b")
    if mine.shape[1] != others.shape[1]:
        raise BadDataError(f"vectors of a have {mine.shape[1]} components, those of b {others.shape[1]}")
    needed = BASE_BYTES + mine.nbytes + others.nbytes + 8 * len(mine) * len(others)
    if needed > budget.total_bytes:
        what = f"a matrix of {len(mine):,} x {len(others):,} needs {needed / 2**30:.1f} GiB"
        raise _too_large(what, budget.total_bytes)
    return np.asarray(np.clip(mine @ others.T, -1, 1))


def _unit_rows(given: npt.NDArray[Any], name: str) -> Float64:
    """Scale rows to length 1, except zero rows; first by the largest component, so that nothing overflows."""
    if given.ndim != 2 or given.dtype.kind not in "buif":
        raise UsageError(
            f"{name}: vectors must be a matrix of real numbers with one vector per row, not {given.ndim}-D "
            f"{given.dtype}"
        )
    rows = given.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise BadDataError(f"{name}: row {bad[0]} contains a value that is not a finite number")
    largest = np.abs(rows).max(axis=1, initial=0)
    rows /= np.where(largest == 0, 1, largest)[:, None]
    rows /= np.where(largest == 0, 1, np.linalg.norm(rows, axis=1))[:, None]
    return np.asarray(rows)
