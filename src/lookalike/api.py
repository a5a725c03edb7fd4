"""The Python functions: thin doors to the jobs, for data in memory and for paths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.memory import Budget, parse_memory
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.workers import Workers, count_threads
from lookalike.errors import UsageError
from lookalike.families.minhash import METHODS, merge
from lookalike.families.minhash import MinHash as MinHashFamily
from lookalike.features.plain import shingles
from lookalike.features.shingles import Shingling, hash_lists, sketch_features
from lookalike.jobs.dedup import DedupResult, dedup_in_memory, dedup_to_folder, read_result
from lookalike.jobs.dedup_again import dedup_again as ask_again
from lookalike.jobs.neighbors import Nearby, find_neighbors
from lookalike.jobs.pairs import find_similar_pairs
from lookalike.jobs.similarity_matrix import Asked, cosine_matrix, similarity_matrix
from lookalike.lecture.halving import Halving
from lookalike.lecture.hamming_pairs import find_hamming_pairs
from lookalike.linkage.job import LinkResult, link_files, link_in_memory, read_links
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable
from lookalike.lookup.faces import find_faces
from lookalike.lookup.files import faces_of_files
from lookalike.lookup.fingerprints import find_prints
from lookalike.lookup.read_prints import as_prints, read_prints
from lookalike.read import invert, looks_like_paths, open_data, open_inputs
from lookalike.read.tables import as_table
from lookalike.tuning.plan import Plan, tune
from lookalike.types import Prints, Sets, Signatures, Source, Wanted, strings_to_arrow, to_arrow

__all__ = [
    "DedupResult",
    "LinkResult",
    "MinHash",
    "Plan",
    "dedup",
    "dedup_again",
    "faces",
    "fingerprints",
    "hamming_lsh",
    "jaccard",
    "kernel",
    "link",
    "neighbors",
    "pairs",
    "shingles",
    "sketch",
    "transpose",
    "tune",
]


def _open(data: Any, column: str, encoding: str, name: str = "data") -> list[Source]:
    if not looks_like_paths(data):
        source = open_data(data, column)
        source.name = name
        return [source]
    paths = [data] if isinstance(data, str | Path) else list(data)
    if "-" in map(str, paths):
        raise UsageError("standard input can only be read by the command line; give a path or the data itself")
    return open_inputs(paths, encoding=encoding)


def dedup(
    data: Any,
    column: str = "text",
    *,
    out: str | Path | None = None,
    keep: str = "first",
    policy: str = "direct",
    reference: Any = None,
    overwrite: bool = False,
    resume: bool = False,
    work: str | Path | None = None,
    audit: int = 0,
    **options: Any,
) -> DedupResult:
    """Remove near-duplicates.

    Parameters
    ----------
    data
        A list of str, of token lists or sets, or of dicts; a table (pyarrow, polars, pandas, DuckDB, Hugging
        Face datasets); or paths (a str, a Path, a list of Path).
    column
        The column that is compared.
    out
        With paths: the folder to write to, as `lookalike dedup -o` does.
    keep, policy, reference
        Who stays, as on the command line.
    overwrite
        Replace an `out` of an earlier run.
    resume, work
        Go on with a run into `out` that was stopped; where its work files are, if not beside `out`.
    audit
        Measure the recall on a sample of so many items; see `.run["audit"]`.
    options
        threshold, recall, hashes, shingle, bag, language, measure, method, seed, threads, id, on_error,
        encoding, memory, length_ratio: as on the command line.

    Examples
    --------
    >>> result = dedup(["The cat sat on the mat.", "the cat sat on the mat", "A dog barked at the moon all night"])
    >>> result
    DedupResult(3 items: 2 kept, 1 removed)
    >>> result.removed.select(["id", "kept_id", "similarity"]).to_pylist()
    [{'id': 'data:1', 'kept_id': 'data:0', 'similarity': 1.0}]
    """
    settings = Settings.parse(column=column, **options)
    references = [] if reference is None else _open(reference, column, settings.items.encoding, "reference")
    if out is None:
        return dedup_in_memory(_open(data, column, settings.items.encoding), references, settings, keep, policy, audit)
    if not looks_like_paths(data) or (reference is not None and not looks_like_paths(reference)):
        raise UsageError("out= writes files like the input's: it goes with paths, not with data in memory")
    dedup_to_folder(
        _paths(data),
        out,
        settings,
        keep=keep,
        policy=policy,
        reference=_paths(reference) if reference is not None else (),
        overwrite=overwrite,
        resume=resume,
        work_folder=work,
        audit_items=audit,
    )
    return read_result(Path(out))


def dedup_again(
    earlier: str | Path,
    out: str | Path,
    *,
    threshold: float | str | None = None,
    keep: str | None = None,
    policy: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    memory: str | int | None = None,
) -> DedupResult:
    r"""Ask a finished run into the folder `earlier` again, without reading the text again.

    Parameters
    ----------
    threshold
        As high as that of the earlier run, or higher.
    keep, policy
        Who stays, as in `dedup`; as before unless told.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "in.txt").write_text("one two three four\nOne two three four!\nfive six\n")
    ...     _ = dedup(Path(folder, "in.txt"), out=Path(folder, "first"))
    ...     dedup_again(Path(folder, "first"), Path(folder, "second"), keep="longest").removed["row"].to_pylist()
    [0]
    """
    ask_again(
        earlier,
        out,
        threshold=threshold,
        keep=keep,
        policy=policy,
        overwrite=overwrite,
        threads=threads,
        memory=memory,
    )
    return read_result(Path(out))


def _paths(data: Any) -> Sequence[str | Path]:
    return [data] if isinstance(data, str | Path) else list(data)


def pairs(data: Any, column: str = "text", *, id: str | None = None, against: Any = None, **options: Any) -> pa.Table:
    """All similar pairs: left, right, similarity; row numbers, or ids with `id=` (and for paths).

    With `against`, another collection, the pairs between `data` (left) and it (right).

    Examples
    --------
    >>> pairs(["a b c d e f", "x", "a b c d e f g"], threshold=0.6).to_pylist()
    [{'left': 0, 'right': 2, 'similarity': 0.6666666666666666}]
    """
    settings = Settings.parse(column=column, id=id, **options)
    others = [] if against is None else _open(against, column, settings.items.encoding, "against")
    found = find_similar_pairs(_open(data, column, settings.items.encoding), settings, Progress(), others)
    return pa.concat_tables(found.tables(ids=id is not None or looks_like_paths(data)))


def neighbors(
    data: Any,
    k: int = 10,
    column: str = "text",
    *,
    against: Any = None,
    id: str | None = None,
    threshold: float | str | Fraction | None = None,
    **options: Any,
) -> pa.Table:
    """The k most similar other items of each item, exactly: left, right, similarity, rank.

    Parameters
    ----------
    data
        As for `pairs`.
    k
        How many neighbours an item has at most; items that share nothing are none.
    column
        The column that is compared.
    against
        Other data, among which the neighbours are sought; `right` is then a row of these.
    id
        The column that names an item; without it row numbers are given (FILE:ROW for paths).
    threshold
        Smallest similarity of a neighbour.
    options
        measure, shingle, bag, language, threads, on_error, encoding, memory: as on the command line.

    Examples
    --------
    >>> baskets = [{"bread", "milk", "eggs"}, {"bread", "milk"}, {"milk", "tea"}, {"soap"}]
    >>> found = neighbors(baskets, k=1)
    >>> found.select(["left", "right"]).to_pylist()
    [{'left': 0, 'right': 1}, {'left': 1, 'right': 0}, {'left': 2, 'right': 1}]
    >>> neighbors([{"milk", "eggs"}], k=1, against=baskets)["right"].to_pylist()
    [0]
    """
    wanted = Nearby.parse(k, column=column, id=id, threshold=threshold, **options)
    encoding = wanted.settings.items.encoding
    others = [] if against is None else _open(against, column, encoding, "against")
    found = find_neighbors(_open(data, column, encoding), others, wanted, Progress())
    return found.table(ids=id is not None or looks_like_paths(data))


def link(
    left: Any,
    right: Any = None,
    fields: str | Sequence[str] = (),
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    **options: Any,
) -> LinkResult:
    """Which records of a table, or of two, are the same entity, and how sure that is; without labels.

    Parameters
    ----------
    left, right
        Tables in memory (pyarrow, pandas, polars, DuckDB, lists of dicts) or paths. Without `right` the records of
        `left` are compared with each other.
    fields
        The columns that are compared: "name", "surname=last_name" where the tables call it differently, each perhaps
        with a kind, as in "born:date" (person, text, address, code, phone, email, date, number).
    out
        With paths: the folder to write to, as `lookalike link -o` does.
    overwrite
        Replace an `out` of an earlier run.
    resume
        Go on with a run into `out` that was killed.
    options
        id, validate, precision, probability, one_to_one, scoring, nicknames, seed, threads, encoding, memory: as on the
        command line.

    Examples
    --------
    >>> names = [f"{given} {name}" for given in ("Ada", "Ben", "Cleo", "Dora") for name in ("Moss", "Nash", "Orr")]
    >>> a = [{"name": name, "phone": f"555-01{10 + 7 * n}"} for n, name in enumerate(names)]
    >>> b = [{"name": "Cleo Nahs", "phone": "555-0159"}, {"name": "Zoe Quirk", "phone": "555-0300"}]
    >>> found = link(a, b, ["name:person", "phone:phone"])
    >>> found
    LinkResult(1 links among 12 and 2 records)
    >>> found.links.select(["left", "right", "name"]).to_pylist()[0]["name"]["agreement"]
    'Jaro-Winkler >= 0.95'
    """
    settings = LinkSettings.parse(fields, **options)
    given = [left] if right is None else [left, right]
    if out is None:
        sides = [_side(data, settings, name) for data, name in zip(given, ("left", "right"))]
        return link_in_memory(sides[0], sides[1] if len(sides) > 1 else None, settings)
    if not all(map(looks_like_paths, given)):
        raise UsageError("out= goes with paths, not with tables in memory")
    paths = [_paths(data) for data in given]
    other = paths[1] if len(paths) > 1 else []
    link_files(paths[0], other, out, settings, Progress(), overwrite, resume=resume)
    return read_links(Path(out))


def _side(data: Any, settings: LinkSettings, name: str) -> RecordTable:
    if looks_like_paths(data):
        return RecordTable.read(_open(data, settings.fields[0].left, settings.encoding), settings, name)
    return RecordTable.of(data, settings, name)


def transpose(data: Any, column: str = "text", *, encoding: str = "utf-8", memory: str | int | None = None) -> pa.Table:
    """Sets turned round: for each element, as `id`, the rows that hold it, in `column`.

    So items become sets of customers, and those bought by the same people are neighbours.

    Parameters
    ----------
    data
        Lists or sets of strings or integers, as for `pairs`; rows are numbered from 0.

    Examples
    --------
    >>> goods = transpose([{"bread", "milk"}, {"milk", "tea"}, {"bread", "milk"}])
    >>> goods.to_pylist()[1]
    {'id': 'milk', 'text': [0, 1, 2]}
    >>> neighbors(goods, k=1, id="id").select(["left", "right"]).to_pylist()[0]
    {'left': 'bread', 'right': 'milk'}
    """
    return invert(_open(data, column, encoding), column, Budget(parse_memory(memory)).sets_bytes)


def kernel(
    a: Any,
    b: Any = None,
    measure: str = "jaccard",
    column: str = "text",
    *,
    output: str = "dense",
    threshold: float | str | Fraction | None = None,
    **options: Any,
) -> Any:
    """The similarity of every item of `a` with every item of `b` (or of `a`), exactly, as a matrix.

    It can be a precomputed kernel of scikit-learn: with jaccard, dice, cosine and overlap no matrix of a collection
    with itself has a negative eigenvalue. Containment (entry i, j: of item i of `a` in item j of `b`) is not symmetric,
    so it is no kernel. An empty item is similar to nothing: all its entries are 0, that with itself too.

    Parameters
    ----------
    a, b
        As for `pairs`; or vectors, the rows of a 2-D NumPy array, with measure="cosine".
    measure
        jaccard, dice, cosine, overlap (how many elements are shared) or containment.
    output
        "dense", a NumPy array; or "sparse", a `scipy.sparse.csr_array` of the entries that are not 0 (needs SciPy).
    threshold
        Leave out (make 0) the entries below it. What is left need not be a kernel any more.
    options
        shingle, bag, language, threads, on_error, encoding, memory: as on the command line.

    Raises
    ------
    ResourceError
        If the matrix does not fit into `memory`.

    Examples
    --------
    >>> kernel([{"bread", "milk"}, {"milk"}, set()]).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]
    >>> kernel(["a b c"], ["b c d", "x"], shingle="word:1", measure="overlap").tolist()
    [[2.0, 0.0]]
    """
    if isinstance(a, np.ndarray) and a.ndim == 2:
        return _kernel_of_vectors(a, b, measure, output, threshold, options)
    asked = Asked.parse(measure, threshold, output, column=column, **options)
    encoding = asked.settings.items.encoding
    others = None if b is None else _open(b, column, encoding, "b")
    return similarity_matrix(_open(a, column, encoding, "a"), others, asked)


def _kernel_of_vectors(a: Any, b: Any, measure: str, output: str, threshold: Any, options: dict[str, Any]) -> Any:
    if measure != "cosine" or output != "dense" or threshold is not None:
        raise UsageError(
            "a and b are vectors: only measure='cosine' and output='dense', without a threshold, go with them"
        )
    if not (b is None or isinstance(b, np.ndarray)):
        raise UsageError("a is an array of vectors: b must be one too")
    if set(options) - {"memory"}:
        raise UsageError(f"{', '.join(sorted(set(options) - {'memory'}))}: not for vectors")
    return cosine_matrix(a, b, Budget(parse_memory(options.get("memory"))))


def faces(
    probes: Any,
    gallery: Any = None,
    *,
    k: int = 10,
    id: str | None = None,
    columns: Sequence[str] = (),
    without: Sequence[str] = (),
    encoding: str = "utf-8",
    **options: Any,
) -> pa.Table:
    """Who in a gallery has nearly the same measurements: left, right, score (how many components are close), rank.

    Parameters
    ----------
    probes, gallery
        Matrices with a row for each item and a column for each measurement, or paths. Without a gallery everybody is
        looked up among all the others.
    k
        How many matches a probe has at most, the best first.
    id, columns, without, encoding
        For paths, as on the command line; other items are called by row number.
    options
        noise, recall, close, tolerances, threshold, r, edge, widths, functions, seed: as for
        `lookalike.lookup.faces.plan_faces`.

    Examples
    --------
    >>> import numpy as np
    >>> people = np.random.default_rng(1).normal(170, 10, (1000, 40))
    >>> faces(people[[3]] + 0.1, people).to_pylist()
    [{'left': 0, 'right': 3, 'score': 40, 'rank': 1}]
    """
    given = [probes] if gallery is None else [probes, gallery]
    if not any(map(looks_like_paths, given)):
        return find_faces(probes, gallery, k=k, **options).table()
    if not all(map(looks_like_paths, given)):
        raise UsageError("probes and gallery are both paths, or both in memory")
    reading: dict[str, Any] = {"id": id, "columns": columns, "without": without, "encoding": encoding}
    return faces_of_files(_paths(probes), [] if gallery is None else _paths(gallery), reading, k=k, **options)[0]


def fingerprints(probes: Any, gallery: Any = None, *, k: int = 10, encoding: str = "utf-8", **options: Any) -> pa.Table:
    """Which prints are of the same finger: left, right, score (Jaccard similarity of grid squares), rank.

    Parameters
    ----------
    probes, gallery
        Paths of `.xyt` files, tables or templates; or a list with a matrix for each print: x, y and perhaps the angle
        in degrees of a minutia in each row. Without a gallery every print is looked up among all the others.
    k
        How many matches a print has at most, the best first.
    options
        threshold, triples, edge, scale, rotation, seed: as for `lookalike.lookup.fingerprints.find_prints`.

    Examples
    --------
    >>> import numpy as np
    >>> prints = np.random.default_rng(1).uniform(0, 300, (20, 50, 2))
    >>> fingerprints([prints[7] + 25], list(prints)).to_pylist()
    [{'left': 0, 'right': 7, 'score': 1.0, 'rank': 1}]
    """
    mine, theirs = _prints(probes, encoding), None if gallery is None else _prints(gallery, encoding)
    named = [
        strings_to_arrow(side.names) if looks_like_paths(given) else None
        for side, given in ((mine, probes), (theirs or mine, probes if gallery is None else gallery))
    ]
    return find_prints(mine, theirs, k=k, **options).table(*named)


def _prints(data: Any, encoding: str) -> Prints:
    if isinstance(data, Prints):
        return data
    return read_prints(_paths(data), encoding) if looks_like_paths(data) else as_prints(data)


def hamming_lsh(
    sets: Sets | Iterable[Iterable[Any]], threshold: float | str | Fraction = 0.5, **options: Any
) -> pa.Table:
    """Similar sets by Hamming LSH (the pyramid of halved matrices): left, right, similarity.

    Every pair is verified, but some are missed: docs/hamming-lsh.md. Take `pairs`, unless it is this method you want.

    Parameters
    ----------
    sets
        `Sets`, or collections of strings or integers.
    threshold
        The smallest Jaccard similarity, 0.5 or more.
    options
        bands, rows, low, high, least_rows, seed: as for `lookalike.lecture.halving.Halving`.

    Examples
    --------
    >>> hamming_lsh([range(100), range(5, 105), range(200, 300)]).select(["left", "right"]).to_pylist()
    [{'left': 0, 'right': 1}]
    """
    found = find_hamming_pairs(_as_sets(sets), threshold, Halving(**options))
    columns = {"left": found.left, "right": found.right, "similarity": found.similarity}
    return pa.table({name: to_arrow(values) for name, values in columns.items()})


def _as_sets(sets: Sets | Iterable[Iterable[Any]]) -> Sets:
    if isinstance(sets, Sets):
        return sets
    return hash_lists(as_table([list(one) for one in sets], "set")["set"].combine_chunks())


def sketch(
    data: Any,
    column: str = "text",
    shingle: str = "word:5",
    hashes: int = 256,
    seed: int = 1,
    threads: int | None = None,
    *,
    bag: bool = False,
    language: str = "en",
    encoding: str = "utf-8",
) -> Signatures:
    """Minhash signatures of texts (or token lists), by Fast Similarity Sketching.

    Examples
    --------
    >>> signatures = sketch(["one two three four five six", "One, two: three four five six!"], hashes=64)
    >>> signatures.values.shape, signatures.similarity(0, 1)
    ((2, 64), 1.0)
    """
    MinHashFamily(hashes, seed)  # checks both
    shingling = Shingling.parse(shingle, bag=bag, language=language)
    wanted = Wanted(column)
    blocks = (block for source in _open(data, column, encoding) for block in source.blocks())
    with Workers(count_threads(threads)) as workers:
        values = workers.map(
            lambda block: sketch_features(block.items(wanted).features, shingling, seed, hashes), blocks
        )
        parts = [Signatures(part, METHODS[0], seed) for part in values]
    return (
        merge(parts)
        if parts
        else MinHashFamily(hashes, seed).signatures(hash_lists(pa.array([], pa.list_(pa.int64()))))
    )


def jaccard(left: Any, right: Any, shingle: str | None = None) -> float:
    """The Jaccard similarity of two sets, or of two texts with `shingle=`; the empty set is similar to nothing.

    Examples
    --------
    >>> jaccard({0, 1, 2, 5, 6}, {0, 2, 3, 5, 7, 9})
    0.375
    >>> jaccard("Nadal", "Nadia", shingle="char:2")
    0.3333333333333333
    """
    if isinstance(left, str) or isinstance(right, str):
        if shingle is None or not isinstance(left, str) or not isinstance(right, str):
            raise UsageError("two texts are compared with shingle=, such as shingle='word:5'; otherwise give two sets")
        left, right = shingles(left, shingle), shingles(right, shingle)
    left = left if isinstance(left, AbstractSet) else set(left)
    right = right if isinstance(right, AbstractSet) else set(right)
    either = len(left | right)
    return len(left & right) / either if either else 0.0


class MinHash(MinHashFamily):
    """Minhash signatures of sets: of `Sets`, or of Python collections of strings or integers.

    Examples
    --------
    >>> signatures = MinHash(hashes=128, seed=1).signatures([{"ad", "bc"}, {"bc", "ad"}, {"zz"}])
    >>> signatures.similarity(0, 1), signatures.similarity(0, 2)
    (1.0, 0.0)
    """

    def signatures(self, sets: Sets | Iterable[Iterable[Any]]) -> Signatures:
        """The signatures of sets; that of the empty set has the largest number everywhere."""
        return super().signatures(_as_sets(sets))
