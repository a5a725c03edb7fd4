"""`dedup` and `dedup_again`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from lookalike.api.inputs import Data, DedupMethod, Measure, Number, OnError, Policy, as_paths, open_sources
from lookalike.api.persistent import Index
from lookalike.engine.settings import Settings
from lookalike.errors import UsageError
from lookalike.index.bulk import JobIndexes
from lookalike.index.reference import IndexSource
from lookalike.jobs.dedup import DedupOptions, DedupResult, dedup_in_memory, dedup_to_folder, read_result
from lookalike.jobs.dedup_again import dedup_again as decide_again
from lookalike.read import looks_like_paths
from lookalike.types import Source


def dedup(
    data: Data,
    column: str = "text",
    *,
    threshold: Number = 0.8,
    recall: float = 0.99,
    keep: str = "first",
    policy: Policy = "direct",
    reference: Data | Index | None = None,
    into: str | Path | Index | None = None,
    measure: Measure = "jaccard",
    shingle: str = "word:5",
    bag: bool = False,
    language: str = "en",
    length_ratio: Number | None = None,
    method: DedupMethod = "auto",
    hashes: int = 256,
    seed: int = 1,
    id: str | None = None,
    on_error: OnError = "stop",
    encoding: str = "utf-8",
    threads: int | None = None,
    memory: str | int | None = None,
    audit: int = 0,
    out: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    work: str | Path | None = None,
) -> DedupResult:
    """Remove near-duplicates: each removed item names a kept one, with their exact similarity.

    Parameters
    ----------
    data : Data
        A list of str, of token lists or sets, or of dicts; a table (pyarrow, pandas, polars, DuckDB, Hugging Face
        datasets); a NumPy array of vectors; or paths (a str, a Path, a list of Path). A list of str is texts.
    column : str, default "text"
        The column to compare.
    threshold : float, str or Fraction, default 0.8
        Smallest similarity of a pair. For overlap it is a count, for euclidean and hamming the largest distance.
    recall : float, default 0.99
        Share of the pairs at the threshold that method "lsh" finds.
    keep : str, default "first"
        Which item of a pair is kept: "first", "last", "longest", "shortest", "max:COLUMN" or "min:COLUMN".
    policy : {"direct", "connected"}, default "direct"
        "direct": a removed item resembles the kept one. "connected": one item per connected cluster is kept.
    reference : Data or Index, optional
        Items to compare with: items that resemble one of them are removed. They are not part of the result. It can be
        an index, or the path of one, with the same options.
    into : str, Path or Index, optional
        An index, with the same options, to add the kept items to at the end. Data in memory without ids is
        numbered.
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
    method : {"auto", "lsh", "exact", "brute"}, default "auto"
        How to find candidate pairs; "auto" uses the cheapest method.
    hashes : int, default 256
        Maximum number of minhash values per item.
    seed : int, default 1
        Seed of the hash functions.
    id : str, optional
        The column with ids. By default "id" if there is one, otherwise FILE:ROW ("data:ROW" in memory).
    on_error : {"stop", "skip"}, default "stop"
        Raise at a bad line, or skip it.
    encoding : str, default "utf-8"
        Encoding of text files.
    threads : int, optional
        Number of threads; all processors by default.
    memory : str or int, optional
        Memory limit, such as "4GiB" or a number of bytes; half of the machine's memory by default.
    audit : int, default 0
        Measure the recall on a sample of this many items; see `.run["audit"]`.
    out : str or Path, optional
        With paths: the folder to write to, as `lookalike dedup -o` does. `.kept` is then None.
    overwrite : bool, default False
        Replace `out` if an earlier run wrote it.
    resume : bool, default False
        Continue a run into `out` that was interrupted.
    work : str or Path, optional
        Folder for work files; next to `out` by default.

    Returns
    -------
    DedupResult
        `.kept`, `.removed` and `.clusters` (pyarrow tables) and `.run`, the record of the run.

    Raises
    ------
    UsageError
        If an option is out of range, an input is missing, or `out` exists.
    BadDataError
        If the data cannot be read; the message names the file and line.
    ResourceError
        If memory or disk space is too small.

    Examples
    --------
    >>> result = dedup(["The cat sat on the mat.", "the cat sat on the mat", "A dog barked at the moon all night"])
    >>> result
    DedupResult(3 items: 2 kept, 1 removed)
    >>> result.removed.select(["id", "kept_id", "similarity"]).to_pylist()
    [{'id': 'data:1', 'kept_id': 'data:0', 'similarity': 1.0}]
    """
    options = DedupOptions.parse(method, keep, policy, audit)
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
    with JobIndexes(settings) as indexes:
        if not isinstance(into, str | Path | Index | None):
            raise UsageError(f"into must be the path of an index, or an Index, not {into!r}")
        destination = None if into is None else indexes.into(into.store if isinstance(into, Index) else into)
        references = _references(reference, indexes)
        if out is None:
            opened: list[Source] = []
            for one in references:
                opened += [one] if isinstance(one, IndexSource) else open_sources(one, column, encoding, "reference")
            return dedup_in_memory(open_sources(data, column, encoding), opened, settings, options, destination)
        if not looks_like_paths(data) or not all(isinstance(one, str | Path | IndexSource) for one in references):
            raise UsageError("out= writes files in the format of the input: it needs paths, not data in memory")
        dedup_to_folder(
            as_paths(data),
            out,
            settings,
            options,
            reference=references,
            into=destination,
            overwrite=overwrite,
            resume=resume,
            work_folder=work,
        )
    return read_result(Path(out))


def _references(reference: Data | Index | None, indexes: JobIndexes) -> list[Any]:
    """Paths, indexes as sources, or data in memory."""
    if reference is None:
        return []
    if isinstance(reference, Index):
        return [indexes.reference(reference.store)]
    return indexes.references(list(as_paths(reference))) if looks_like_paths(reference) else [reference]


def dedup_again(
    earlier: str | Path,
    out: str | Path,
    *,
    threshold: Number | None = None,
    keep: str | None = None,
    policy: Policy | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    memory: str | int | None = None,
) -> DedupResult:
    r"""Re-threshold a finished run, or apply another keep rule, without reading the texts again.

    Parameters
    ----------
    earlier : str or Path
        The output folder of a finished run.
    out : str or Path
        The folder to write to.
    threshold : float, str or Fraction, optional
        At least the threshold of the earlier run, which is the default.
    keep : str, optional
        Which item of a pair is kept, as in `dedup`; by default as in the earlier run.
    policy : {"direct", "connected"}, optional
        As in `dedup`; by default as in the earlier run.
    overwrite : bool, default False
        Replace `out` if an earlier run wrote it.
    threads : int, optional
        Number of threads; all processors by default.
    memory : str or int, optional
        Memory limit, such as "4GiB" or a number of bytes; half of the machine's memory by default.

    Returns
    -------
    DedupResult
        `.removed`, `.clusters` and `.run`; the kept rows are in `out`.

    Raises
    ------
    UsageError
        If the threshold is lower than before, `earlier` is not a finished run, or `out` exists.
    BadDataError
        If an input of the earlier run has changed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "in.txt").write_text("one two three four\nOne two three four!\nfive six\n")
    ...     _ = dedup(Path(folder, "in.txt"), out=Path(folder, "first"))
    ...     dedup_again(Path(folder, "first"), Path(folder, "second"), keep="longest").removed["row"].to_pylist()
    [0]
    """
    decide_again(
        earlier,
        out,
        threshold=str(threshold) if isinstance(threshold, Fraction) else threshold,
        keep=keep,
        policy=policy,
        overwrite=overwrite,
        threads=threads,
        memory=memory,
    )
    return read_result(Path(out))
