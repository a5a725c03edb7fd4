"""The types of data and options that the public functions accept, and the conversion of data to sources."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Iterable, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import pyarrow as pa

from lookalike.engine.columns import check_compared
from lookalike.errors import BadDataError, UsageError
from lookalike.features.shingles import hash_lists
from lookalike.read import looks_like_paths, open_data, open_inputs
from lookalike.types import Sets, Source, Wanted


class ArrowStream(Protocol):
    """Anything that exports Arrow data: pyarrow, polars, pandas, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Data: TypeAlias = str | PathLike[str] | Iterable[Any] | ArrowStream
"""A str or Path (a file, folder, glob or URL), a list of Path; or data in memory: a list of str, of token lists or
sets, or of dicts; a table (pyarrow, pandas, polars, DuckDB, Hugging Face datasets); a NumPy array of vectors."""
Number: TypeAlias = float | str | Fraction
"""A threshold or share, taken exactly: 0.8 and "0.8" are 4/5."""
Measure: TypeAlias = Literal["jaccard", "containment", "dice", "cosine", "overlap", "euclidean", "hamming"]
SetMeasure: TypeAlias = Literal["jaccard", "dice", "cosine", "containment", "overlap"]
Method: TypeAlias = Literal["auto", "lsh", "exact", "merge", "brute"]
DedupMethod: TypeAlias = Literal["auto", "lsh", "exact", "brute"]
Policy: TypeAlias = Literal["direct", "connected"]
OnError: TypeAlias = Literal["stop", "skip"]


def as_paths(data: Any) -> Sequence[str | Path]:
    """One path, or a list of them, as a list.

    Examples
    --------
    >>> as_paths("news.jsonl")
    ['news.jsonl']
    """
    paths = [data] if isinstance(data, str | PathLike) else data
    return [path if isinstance(path, str) else Path(path) for path in paths]


def open_sources(data: Data, column: str, encoding: str = "utf-8", name: str = "data") -> list[Source]:
    """The sources of some data; messages and ids refer to data in memory by this name.

    Examples
    --------
    >>> [source.name for source in open_sources(["a text"], "text")]
    ['data']
    """
    if not looks_like_paths(data):
        source = open_data(data, column)
        source.name = name
        return [source]
    paths = as_paths(data)
    if "-" in map(str, paths):
        raise UsageError("only the command line reads standard input; give a path or the data itself")
    if isinstance(data, str) and _is_text(data):
        start = data if len(data) <= 40 else f"{data[:40]}..."
        raise UsageError(f"{start}: no such file or folder; if it is a text, pass a list of texts: [text]")
    return open_inputs(paths, encoding=encoding, note=_warn)


def _warn(text: str) -> None:
    """Tell a Python caller what is not read."""
    warnings.warn(text, stacklevel=4)


def _is_text(name: str) -> bool:
    """Whether a string has spaces and does not name a file."""
    try:
        exists = Path(name).exists() or bool(glob.glob(name))  # noqa: PTH207
    except (OSError, ValueError):  # too long for a name, or with characters that no name has
        return True
    return not exists and "://" not in name and any(map(str.isspace, name))


def has_columns(data: Any) -> bool:
    """Whether the items are in the columns of a table: dicts, Arrow data, a data frame or a dataset.

    Examples
    --------
    >>> has_columns([{"text": "one"}]), has_columns([[1, 2]])
    (True, False)
    """
    if isinstance(data, list | tuple):
        return bool(data) and isinstance(data[0], dict)
    return any(hasattr(data, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "column_names", "columns"))


def as_sets(data: Data | Sets, column: str, encoding: str = "utf-8") -> Sets:
    """Collections of strings or integers as sets of hashes: plain collections, a column of lists, or files of sets.

    Examples
    --------
    >>> as_sets([{1, 2}, range(3)], "text").sizes.tolist()
    [2, 3]
    """
    if isinstance(data, Sets):
        return data
    if looks_like_paths(data) or has_columns(data):
        sources = open_sources(data, column, encoding)
        check_compared(sources, column)
        return Sets.joined([_sets_in(source, column) for source in sources])
    lists = [list(one) for one in data]  # type: ignore[union-attr]
    if not lists:
        return hash_lists(pa.array([], pa.list_(pa.int64())))
    return hash_lists(open_data(lists, column).table[column].combine_chunks())


def _sets_in(source: Source, column: str) -> Sets:
    parts = []
    for block in source.blocks():
        lists = block.items(Wanted(column)).features
        if not hasattr(lists.type, "value_type"):
            raise BadDataError(f"{source.name}: column {column!r} holds {lists.type}, not lists of strings or integers")
        parts.append(hash_lists(lists))
    return Sets.joined(parts)
