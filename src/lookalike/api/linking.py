"""`link`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from lookalike.api.inputs import Data, as_paths, open_sources
from lookalike.engine.progress import Progress
from lookalike.errors import UsageError
from lookalike.linkage.job import LinkResult, link_files, link_in_memory, read_links
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import Side
from lookalike.read import looks_like_paths
from lookalike.report.linkage.page import links_page


def link(
    left: Data,
    right: Data | None = None,
    fields: str | Sequence[str] = (),
    *,
    id: str | None = None,
    validate: str | None = None,
    precision: float | None = None,
    probability: float = 0.5,
    one_to_one: Literal["auto", "optimal", "greedy", "no"] = "auto",
    scoring: Literal["weights", "points"] = "weights",
    nicknames: str | Path | None = None,
    seed: int = 1,
    encoding: str = "utf-8",
    threads: int | None = None,
    memory: str | int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    work: str | Path | None = None,
) -> LinkResult:
    """Find the records of one table, or of two, that are the same entity; no labels are needed.

    Parameters
    ----------
    left : Data
        A list of dicts; a table (pyarrow, pandas, polars, DuckDB, Hugging Face datasets); or paths (a str, a Path, a
        list of Path).
    right : Data, optional
        The other table. Without it, the records of `left` are compared with each other.
    fields : str or sequence of str
        The columns to compare: "name"; "surname=last_name" if the tables use different names; with a kind, as in
        "born:date" (person, text, address, code, phone, email, date, number). A str holds names separated by commas.
    id : str, optional
        The column with ids: "NAME", or "LEFT=RIGHT". By default "id" if there is one, otherwise row numbers (FILE:ROW
        for paths).
    validate : str, optional
        A date or number that is not in `fields`, from which the share of valid links is estimated.
    precision : float, optional
        Link from the score at which this share of the links is valid.
    probability : float, default 0.5
        Without `precision`: link if the model's probability is at least this.
    one_to_one : {"auto", "optimal", "greedy", "no"}, default "auto"
        At most one link per record: the best set of links, or the best link first. "auto": if most records already
        have one partner.
    scoring : {"weights", "points"}, default "weights"
        "weights" are learned from the data; "points" are 100 per field, less for differences.
    nicknames : str or Path, optional
        "english", or a file with a group of names per line: nicknames then agree with full names.
    seed : int, default 1
        Seed of the hash functions.
    encoding : str, default "utf-8"
        Encoding of text files.
    threads : int, optional
        Number of threads; all processors by default.
    memory : str or int, optional
        Memory to use, such as "4GiB" or a number of bytes; half of the machine's by default.
    out : str or Path, optional
        With paths: the folder to write to, as `lookalike link -o` does.
    overwrite : bool, default False
        Replace `out` if an earlier run wrote it.
    resume : bool, default False
        Continue a run into `out` that was interrupted.
    work : str or Path, optional
        Folder for work files; beside `out` by default.

    Returns
    -------
    LinkResult
        `.links` and `.clusters` (pyarrow tables) and `.run`, the record of the run.

    Raises
    ------
    UsageError
        If an option is out of range, an input is missing, or `out` exists.
    BadDataError
        If the data cannot be read, or `precision` cannot be estimated from `validate`.
    ResourceError
        If the records do not fit into memory.

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
    settings = LinkSettings.parse(
        fields,
        id=id,
        validate=validate,
        precision=precision,
        probability=probability,
        one_to_one=one_to_one,
        scoring=scoring,
        seed=seed,
        threads=threads,
        encoding=encoding,
        memory=memory,
        nicknames=nicknames,
    )
    given = [left] if right is None else [left, right]
    if out is None:
        sides = [_open_side(data, settings, name) for data, name in zip(given, ("left", "right"))]
        return link_in_memory(sides[0], sides[1] if len(sides) > 1 else None, settings)
    if not all(map(looks_like_paths, given)):
        raise UsageError("out= needs paths, not tables in memory")
    paths = [as_paths(data) for data in given]
    other = paths[1] if len(paths) > 1 else []
    link_files(paths[0], other, out, settings, Progress(), overwrite, links_page, resume=resume, work_folder=work)
    return read_links(Path(out))


def _open_side(data: Data, settings: LinkSettings, name: str) -> Side:
    if looks_like_paths(data):
        return Side.read(open_sources(data, settings.fields[0].left, settings.encoding), settings, name)
    return Side.of(data, settings, name)
