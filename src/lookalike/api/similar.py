"""`pairs`, `neighbors` and `kernel`: which items are similar, and how similar they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.api.inputs import Data, Measure, Method, Number, OnError, SetMeasure, open_sources
from lookalike.api.vectors import vectors_in
from lookalike.engine.columns import check_compared
from lookalike.engine.memory import Budget, parse_memory
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.errors import UsageError
from lookalike.jobs.neighbors import NeighborSettings, find_neighbors
from lookalike.jobs.pairs import find_similar_pairs, record_pairs
from lookalike.jobs.similarity_matrix import MatrixSettings, cosine_matrix, similarity_matrix
from lookalike.read import looks_like_paths
from lookalike.report.page_file import check_page
from lookalike.types import Source, Wanted
from lookalike.write import decoded


def pairs(
    data: Data,
    column: str = "text",
    *,
    against: Data | None = None,
    threshold: Number = 0.8,
    recall: float = 0.99,
    measure: Measure = "jaccard",
    shingle: str = "word:5",
    bag: bool = False,
    language: str = "en",
    length_ratio: Number | None = None,
    method: Method = "auto",
    hashes: int = 256,
    seed: int = 1,
    id: str | None = None,
    on_error: OnError = "stop",
    encoding: str = "utf-8",
    threads: int | None = None,
    memory: str | int | None = None,
    report: str | Path | None = None,
) -> pa.Table:
    """List all similar pairs, each with its exact similarity.

    Parameters
    ----------
    data : Data
        A list of str, of token lists or sets, or of dicts; a table (pyarrow, pandas, polars, DuckDB, Hugging Face
        datasets); a NumPy array of vectors; or paths (a str, a Path, a list of Path). A list of str is texts.
    column : str, default "text"
        The column to compare.
    against : Data, optional
        Another collection: list the pairs between `data` (left) and it (right) instead.
    threshold : float, str or Fraction, default 0.8
        Smallest similarity of a pair. For overlap it is a count, for euclidean and hamming the largest distance.
    recall : float, default 0.99
        Share of the pairs at the threshold that method "lsh" finds.
    measure : str, default "jaccard"
        For sets "jaccard", "dice", "cosine", "containment" or "overlap"; for vectors "cosine", "euclidean" or
        "hamming".
    shingle : str, default "word:5"
        How to shingle texts: "word:W", "char:K" or "stopword:N".
    bag : bool, default False
        Count repeated shingles.
    language : str, default "en"
        Language of the stop words, for "stopword:N".
    length_ratio : float, str or Fraction, optional
        Compare only items whose numbers of distinct shingles have at least this ratio, shorter to longer.
    method : {"auto", "lsh", "exact", "merge", "brute"}, default "auto"
        How to find candidate pairs; "auto" uses the cheapest method.
    hashes : int, default 256
        Maximum number of minhash values per item.
    seed : int, default 1
        Seed of the hash functions.
    id : str, optional
        The column with ids. Without it, rows are numbered from 0; items in files are named by "id" or FILE:ROW.
    on_error : {"stop", "skip"}, default "stop"
        Raise at a bad line, or skip it.
    encoding : str, default "utf-8"
        Encoding of text files.
    threads : int, optional
        Number of threads; all processors by default.
    memory : str or int, optional
        Memory limit, such as "4GiB" or a number of bytes; half of the machine's memory by default.
    report : str or Path, optional
        Also write a page to this file: a histogram, what the pairs connect, and the least similar ones side by side.

    Returns
    -------
    pyarrow.Table
        left, right, similarity (for euclidean and hamming: distance), in input order of left, then right.

    Raises
    ------
    UsageError
        If an option is out of range or an input is missing.
    BadDataError
        If the data cannot be read; the message names the file and line.
    ResourceError
        If memory or disk space is too small.

    Examples
    --------
    >>> pairs(["a b c d e f", "x", "a b c d e f g"], threshold=0.6).to_pylist()
    [{'left': 0, 'right': 2, 'similarity': 0.6666666666666666}]
    """
    settings = Settings.parse(
        column=column,
        id=id,
        threshold=threshold,
        recall=recall,
        hashes=hashes,
        shingle=shingle,
        bag=bag,
        language=language,
        measure=measure,
        method=method,
        seed=seed,
        threads=threads,
        on_error=on_error,
        encoding=encoding,
        memory=memory,
        length_ratio=length_ratio,
    )
    if report is not None:
        check_page(Path(report))
    others = [] if against is None else open_sources(against, column, encoding, "against")
    progress = Progress()
    found = find_similar_pairs(open_sources(data, column, encoding), settings, progress, others)
    if report is not None:
        from lookalike.jobs.reports.pairs_report import report_found_pairs

        report_found_pairs(found, record_pairs(found, {}, progress), None, Path(report))
    return pa.concat_tables(map(decoded, found.tables(ids=id is not None or looks_like_paths(data))))


def neighbors(
    data: Data,
    k: int = 10,
    column: str = "text",
    *,
    against: Data | None = None,
    threshold: Number | None = None,
    measure: Measure = "jaccard",
    shingle: str = "word:5",
    bag: bool = False,
    language: str = "en",
    id: str | None = None,
    on_error: OnError = "stop",
    encoding: str = "utf-8",
    threads: int | None = None,
    memory: str | int | None = None,
) -> pa.Table:
    """List the k most similar other items of each item, exactly.

    Parameters
    ----------
    data : Data
        A list of str, of token lists or sets, or of dicts; a table (pyarrow, pandas, polars, DuckDB, Hugging Face
        datasets); a NumPy array of vectors; or paths (a str, a Path, a list of Path). A list of str is texts.
    k : int, default 10
        Largest number of neighbours of an item. Sets that share nothing are not neighbours.
    column : str, default "text"
        The column to compare.
    against : Data, optional
        Another collection to search for neighbours; `right` is then a row of it.
    threshold : float, str or Fraction, optional
        Smallest similarity of a neighbour. For overlap it is a count, for euclidean and hamming the largest distance.
    measure : str, default "jaccard"
        For sets "jaccard", "dice", "cosine", "containment" (of the item in its neighbour) or "overlap"; for vectors
        "cosine", "euclidean" or "hamming".
    shingle : str, default "word:5"
        How to shingle texts: "word:W", "char:K" or "stopword:N".
    bag : bool, default False
        Count repeated shingles.
    language : str, default "en"
        Language of the stop words, for "stopword:N".
    id : str, optional
        The column with ids. Without it, rows are numbered from 0; items in files are named by "id" or FILE:ROW.
    on_error : {"stop", "skip"}, default "stop"
        Raise at a bad line, or skip it.
    encoding : str, default "utf-8"
        Encoding of text files.
    threads : int, optional
        Number of threads; all processors by default.
    memory : str or int, optional
        Memory limit, such as "4GiB" or a number of bytes; half of the machine's memory by default.

    Returns
    -------
    pyarrow.Table
        left, right, similarity (for euclidean and hamming: distance), rank; in input order of left, nearest first.

    Raises
    ------
    UsageError
        If an option is out of range or an input is missing.
    BadDataError
        If the data cannot be read; the message names the file and line.
    ResourceError
        If the sets or vectors do not fit into memory.

    Examples
    --------
    >>> baskets = [{"bread", "milk", "eggs"}, {"bread", "milk"}, {"milk", "tea"}, {"soap"}]
    >>> found = neighbors(baskets, k=1)
    >>> found.select(["left", "right"]).to_pylist()
    [{'left': 0, 'right': 1}, {'left': 1, 'right': 0}, {'left': 2, 'right': 1}]
    >>> neighbors([{"milk", "eggs"}], k=1, against=baskets)["right"].to_pylist()
    [0]
    """
    wanted = NeighborSettings.parse(
        k,
        column=column,
        id=id,
        threshold=threshold,
        measure=measure,
        shingle=shingle,
        bag=bag,
        language=language,
        on_error=on_error,
        encoding=encoding,
        threads=threads,
        memory=memory,
    )
    others = [] if against is None else open_sources(against, column, encoding, "against")
    found = find_neighbors(open_sources(data, column, encoding), others, wanted, Progress())
    return found.table(ids=id is not None or looks_like_paths(data))


def kernel(
    a: Data,
    b: Data | None = None,
    *,
    measure: SetMeasure = "jaccard",
    column: str = "text",
    output: Literal["dense", "sparse"] = "dense",
    threshold: Number | None = None,
    shingle: str = "word:5",
    bag: bool = False,
    language: str = "en",
    on_error: OnError = "stop",
    encoding: str = "utf-8",
    threads: int | None = None,
    memory: str | int | None = None,
) -> Any:
    """Compute the similarity of every item of `a` with every item of `b` (or of `a`), exactly, as a matrix.

    The matrix can serve as a precomputed kernel in scikit-learn: with jaccard, dice, cosine and overlap, the matrix of
    a collection with itself has no negative eigenvalue. Containment (entry i, j: of item i of `a` in item j of `b`) is
    not symmetric, so it is not a kernel. An empty item is similar to nothing: its entries are 0, even that with itself.

    Parameters
    ----------
    a : Data
        A list of str, of token lists or sets, or of dicts; a table (pyarrow, pandas, polars, DuckDB, Hugging Face
        datasets); a NumPy array of vectors; or paths (a str, a Path, a list of Path). A list of str is texts.
    b : Data, optional
        The items of the columns; by default those of `a`.
    measure : {"jaccard", "dice", "cosine", "overlap", "containment"}, default "jaccard"
        Overlap is the number of shared elements. Vectors need "cosine".
    column : str, default "text"
        The column to compare.
    output : {"dense", "sparse"}, default "dense"
        "sparse" is for sets only.
    threshold : float, str or Fraction, optional
        Set entries below it to 0; the result need no longer be a kernel. Not for vectors.
    shingle : str, default "word:5"
        How to shingle texts: "word:W", "char:K" or "stopword:N".
    bag : bool, default False
        Count repeated shingles.
    language : str, default "en"
        Language of the stop words, for "stopword:N".
    on_error : {"stop", "skip"}, default "stop"
        Raise at a bad line, or skip it.
    encoding : str, default "utf-8"
        Encoding of text files.
    threads : int, optional
        Number of threads; all processors by default.
    memory : str or int, optional
        Memory limit, such as "4GiB" or a number of bytes; half of the machine's memory by default.

    Returns
    -------
    numpy.ndarray or scipy.sparse.csr_array
        float64, items of `a` x items of `b`.

    Raises
    ------
    UsageError
        If an option is out of range, does not apply to vectors, or an input is missing.
    BadDataError
        If the data cannot be read; the message names the file and line.
    ResourceError
        If the matrix does not fit into memory.

    Examples
    --------
    >>> kernel([{"bread", "milk"}, {"milk"}, set()]).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]
    >>> kernel(["a b c"], ["b c d", "x"], shingle="word:1", measure="overlap").tolist()
    [[2.0, 0.0]]
    >>> kernel([[3.0, 4.0]], [[1.0, 0.0], [0.0, 0.0]], measure="cosine").tolist()
    [[0.6, 0.0]]
    """
    skip = on_error == "skip"
    rows, sources = _open_items(a, column, encoding, "a", measure, skip)
    if rows is not None:
        if measure != "cosine" or output != "dense" or threshold is not None:
            raise UsageError("a holds vectors: they need measure='cosine', output='dense' and no threshold")
        if shingle != "word:5" or bag:
            raise UsageError("a holds vectors: shingle and bag apply to texts and sets")
        others = None if b is None else _open_items(b, column, encoding, "b", measure, skip)[0]
        if b is not None and others is None:
            raise UsageError("a holds vectors: b must hold vectors too")
        return cosine_matrix(rows, others, Budget.split(parse_memory(memory)))
    asked = MatrixSettings.parse(
        measure,
        threshold,
        output,
        column=column,
        shingle=shingle,
        bag=bag,
        language=language,
        on_error=on_error,
        encoding=encoding,
        threads=threads,
        memory=memory,
    )
    columns = None if b is None else open_sources(b, column, encoding, "b")
    check_compared(columns or [], column)
    return similarity_matrix(sources, columns, asked)


def _open_items(
    data: Data, column: str, encoding: str, name: str, measure: str, skip_errors: bool
) -> tuple[npt.NDArray[Any] | None, list[Source]]:
    """The vectors that some data holds, if it holds vectors; otherwise its sources."""
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return data, []
    sources = open_sources(data, column, encoding, name)
    check_compared(sources, column)
    return (vectors_in(sources, Wanted(column, (), skip_errors)) if measure == "cosine" else None), sources
