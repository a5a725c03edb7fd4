"""Sets and their signatures: `transpose`, `hamming_lsh`, `sketch` and `jaccard`."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

import pyarrow as pa

from lookalike.api.inputs import Data, Number, as_sets, open_sources
from lookalike.engine.columns import check_compared
from lookalike.engine.memory import Budget, parse_memory
from lookalike.engine.workers import Workers, count_threads
from lookalike.errors import UsageError
from lookalike.families.minhash import METHODS, MinHash, merge
from lookalike.features.plain import shingles
from lookalike.features.shingles import Shingling, sketch_features
from lookalike.lecture.halving import Halving, find_hamming_pairs
from lookalike.read import invert
from lookalike.types import Sets, Signatures, Wanted, to_arrow


def transpose(
    data: Data, column: str = "text", *, encoding: str = "utf-8", memory: str | int | None = None
) -> pa.Table:
    """List for each element the rows that contain it: baskets of goods become goods with their buyers.

    Parameters
    ----------
    data : Data
        A list of lists or sets, or of dicts; a table with a column of lists (pyarrow, pandas, polars, DuckDB, Hugging
        Face datasets); or paths (a str, a Path, a list of Path). Elements are strings or integers.
    column : str, default "text"
        The column with the lists.
    encoding : str, default "utf-8"
        Encoding of text files.
    memory : str or int, optional
        Memory limit, such as "4GiB" or a number of bytes; half of the machine's memory by default.

    Returns
    -------
    pyarrow.Table
        The element as `id`, ascending, and in `column` the list of its rows, numbered from 0.

    Raises
    ------
    BadDataError
        If the column does not hold lists of strings or integers.
    ResourceError
        If the elements do not fit into memory.

    Examples
    --------
    >>> from lookalike import neighbors
    >>> goods = transpose([{"bread", "milk"}, {"milk", "tea"}, {"bread", "milk"}])
    >>> goods.to_pylist()[1]
    {'id': 'milk', 'text': [0, 1, 2]}
    >>> neighbors(goods, k=1, id="id").select(["left", "right"]).to_pylist()[0]
    {'left': 'bread', 'right': 'milk'}
    """
    sources = open_sources(data, column, encoding)
    check_compared(sources, column)
    return invert(sources, column, Budget.split(parse_memory(memory)).sets_bytes)


def hamming_lsh(
    sets: Data | Sets,
    *,
    threshold: Number = 0.5,
    column: str = "text",
    bands: int = 40,
    rows: int = 16,
    low: float = 0.2,
    high: float = 0.8,
    least_rows: int = 32,
    seed: int = 1,
    encoding: str = "utf-8",
) -> pa.Table:
    """List similar sets by Hamming LSH (the pyramid of halved matrices).

    Every pair is verified, but some are missed: see docs/hamming-lsh.md. Use `pairs` unless you want this method.

    Parameters
    ----------
    sets : Data or Sets
        Collections of strings or integers: a list of them, or of dicts; a table with a column of lists (pyarrow,
        pandas, polars, DuckDB, Hugging Face datasets); or paths (a str, a Path, a list of Path).
    threshold : float, str or Fraction, default 0.5
        Smallest Jaccard similarity, 0.5 or more.
    column : str, default "text"
        The column with the sets.
    bands : int, default 40
        Bands per level.
    rows : int, default 16
        Rows of a band; columns that agree in all of them are candidates.
    low, high : float, default 0.2 and 0.8
        Densities between which a column is hashed.
    least_rows : int, default 32
        Levels with fewer rows are skipped.
    seed : int, default 1
        Seed of the hash functions.
    encoding : str, default "utf-8"
        Encoding of text files.

    Returns
    -------
    pyarrow.Table
        left, right (row numbers) and similarity, in order of left, then right.

    Raises
    ------
    UsageError
        If an option is out of range or an input is missing.
    BadDataError
        If the data does not hold sets of strings or integers.

    Examples
    --------
    >>> hamming_lsh([range(100), range(5, 105), range(200, 300)]).select(["left", "right"]).to_pylist()
    [{'left': 0, 'right': 1}]
    """
    halving = Halving(bands=bands, rows=rows, low=low, high=high, least_rows=least_rows, seed=seed)
    found = find_hamming_pairs(as_sets(sets, column, encoding), threshold, halving)
    columns = {"left": found.left, "right": found.right, "similarity": found.similarity}
    return pa.table({name: to_arrow(values) for name, values in columns.items()})


def sketch(
    data: Data,
    column: str = "text",
    *,
    shingle: str = "word:5",
    hashes: int = 256,
    seed: int = 1,
    threads: int | None = None,
    bag: bool = False,
    language: str = "en",
    encoding: str = "utf-8",
) -> Signatures:
    """Compute minhash signatures of texts or token lists, by Fast Similarity Sketching.

    Parameters
    ----------
    data : Data
        A list of str, of token lists or sets, or of dicts; a table (pyarrow, pandas, polars, DuckDB, Hugging Face
        datasets); or paths (a str, a Path, a list of Path). A list of str is texts.
    column : str, default "text"
        The column to sketch.
    shingle : str, default "word:5"
        How to shingle texts: "word:W", "char:K" or "stopword:N".
    hashes : int, default 256
        Number of values per signature.
    seed : int, default 1
        Seed of the hash functions.
    threads : int, optional
        Number of threads; all processors by default.
    bag : bool, default False
        Count repeated shingles.
    language : str, default "en"
        Language of the stop words, for "stopword:N".
    encoding : str, default "utf-8"
        Encoding of text files.

    Returns
    -------
    Signatures
        `.values` (uint32, items x hashes) and `.similarity(i, j)`, the estimated Jaccard similarity.

    Raises
    ------
    UsageError
        If an option is out of range or an input is missing.
    BadDataError
        If the data cannot be read; the message names the file and line.

    Examples
    --------
    >>> signatures = sketch(["one two three four five six", "One, two: three four five six!"], hashes=64)
    >>> signatures
    Signatures(2 items x 64 hashes, method='fast', seed=1)
    >>> signatures.values.shape, signatures.similarity(0, 1)
    ((2, 64), 1.0)
    """
    family = MinHash(hashes, seed)  # checks both
    shingling = Shingling.parse(shingle, bag=bag, language=language)
    wanted = Wanted(column)
    sources = open_sources(data, column, encoding)
    check_compared(sources, column)
    blocks = (block for source in sources for block in source.blocks())
    with Workers(count_threads(threads)) as workers:
        values = workers.map(
            lambda block: sketch_features(block.items(wanted).features, shingling, family.seed, hashes), blocks
        )
        parts = [Signatures(part, METHODS[0], family.seed) for part in values]
    return merge(parts) if parts else family.signatures(as_sets([], column))


def jaccard(left: str | Iterable[Any], right: str | Iterable[Any], *, shingle: str | None = None) -> float:
    """Compute the Jaccard similarity of two sets, or of two texts; the empty set is similar to nothing.

    Parameters
    ----------
    left, right : iterable or str
        Two collections of hashable elements, or two texts.
    shingle : str, optional
        For texts: "word:W", "char:K" or "stopword:N".

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    UsageError
        If texts are given without `shingle`, or a text and a set.

    Examples
    --------
    >>> jaccard({0, 1, 2, 5, 6}, {0, 2, 3, 5, 7, 9})
    0.375
    >>> jaccard("Nadal", "Nadia", shingle="char:2")
    0.3333333333333333
    """
    if isinstance(left, str) or isinstance(right, str):
        if shingle is None or not isinstance(left, str) or not isinstance(right, str):
            raise UsageError("to compare two texts, give shingle=, such as shingle='word:5'; otherwise give two sets")
        left, right = shingles(left, shingle), shingles(right, shingle)
    left = left if isinstance(left, AbstractSet) else set(left)
    right = right if isinstance(right, AbstractSet) else set(right)
    either = len(left | right)
    return len(left & right) / either if either else 0.0
