"""`link`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from lookalike.api.inputs import Data, as_paths, open_sources
from lookalike.engine.execution import Execution
from lookalike.engine.progress import Progress
from lookalike.errors import UsageError
from lookalike.linkage.fields.spec import Field
from lookalike.linkage.finished import Finished
from lookalike.linkage.job import LinkResult, link_files, link_in_memory, read_links
from lookalike.linkage.later import SIDES, read_without
from lookalike.linkage.later_job import choose_sides, link_later_files, link_later_in_memory
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable
from lookalike.read import looks_like_paths
from lookalike.types import DEFAULT_ID


def link(
    left: Data | None = None,
    right: Data | None = None,
    fields: str | Sequence[str | Field] = (),
    *,
    against: str | Path | LinkResult | None = None,
    without: str | Path | Sequence[object] | None = None,
    into: Literal["left", "right"] | None = None,
    id: str | None = None,
    labels: Data | None = None,
    review: int | None = None,
    validate: str | None = None,
    precision: float | None = None,
    probability: float = 0.5,
    one_to_one: Literal["auto", "optimal", "greedy", "left", "right", "no"] = "auto",
    scoring: Literal["weights", "points"] = "weights",
    nicknames: str | Path | None = None,
    seed: int = 1,
    encoding: str | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    work: str | Path | None = None,
) -> LinkResult:
    """Find the records in one or two tables that describe the same entity, without labels.

    Parameters
    ----------
    left : Data, optional
        A list of dicts; a table (pyarrow, pandas, polars, DuckDB, Hugging Face datasets); or paths (a str, a Path, a
        list of Path). Can be omitted only with `against` and `without`.
    right : Data, optional
        The other table. Without it, the records of `left` are compared with each other.
    fields : str or sequence of str or Field
        The columns to compare: "name"; "surname=last_name" if the tables use different names; with a kind, as in
        "born:date" (person, place, text, address, code, phone, email, date, number). A str holds names separated by
        commas. A `Field` can define its own comparison. "all" is every column, those of two tables matched by name and
        by values; "record:text" is the whole record as one text.
    against : str, Path or LinkResult, optional
        A finished run, or its output folder. `left` (and `right`) are then new records, which are linked to those of
        that run and to each other, with its fields, options and weights. Clusters keep their numbers.
    without : str, Path or sequence, optional
        With `against`: ids of records to remove, or a file with one id per line. In a str, ids are separated by commas.
    into : {"left", "right"}, optional
        With `against`, if two tables were linked and one is given: the table that it belongs to; by default the left.
    id : str, optional
        The column with ids: "NAME", or "LEFT=RIGHT". By default "id" if there is one, otherwise row numbers (FILE:ROW
        for paths).
    labels : Data, optional
        Labelled pairs, a file or a table: `left` and `right` (ids), `match` (1 or 0). They refine weights and
        probabilities; `.run["labels"]` has precision, recall and F1 measured on held-out labels.
    review : int, optional
        Propose this many pairs whose labels would help most: `.review` is a table with an empty column `match`, which
        `labels` takes once it is filled in. Not with `out`.
    validate : str, optional
        A column of dates or numbers, not in `fields`, from which the share of correct links is estimated.
    precision : float, optional
        Raise the cut until this share of the links is estimated to be correct.
    probability : float, default 0.5
        Without `precision`: link if the model's probability is at least this.
    one_to_one : {"auto", "optimal", "greedy", "left", "right", "no"}, default "auto"
        At most one link per record: the best set of links ("optimal"), or the best link first ("greedy"); "left" or
        "right": only for the records of that table. "auto": if most records already have one partner.
    scoring : {"weights", "points"}, default "weights"
        "weights" are learned from the data; "points" are 100 per field, less for differences.
    nicknames : str or Path, optional
        "english", or a file with a group of names per line: nicknames then agree with full names.
    seed : int, default 1
        Seed of the hash functions.
    encoding : str, optional
        Encoding of text files: by default UTF-8, or that of the finished run with `against`.
    threads : int, optional
        Number of threads; all processors by default.
    memory : str or int, optional
        Memory limit, such as "4GiB" or a number of bytes; half of the machine's memory by default.
    out : str or Path, optional
        With paths: the folder to write to, as `lookalike link -o` does.
    overwrite : bool, default False
        Replace `out` if an earlier run wrote it.
    resume : bool, default False
        Continue a run into `out` that was interrupted.
    work : str or Path, optional
        Folder for work files; next to `out` by default.

    Returns
    -------
    LinkResult
        `.links` and `.clusters` (pyarrow tables) and `.run`, the record of the run; with `against` also `.changes`.

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
    >>> later = link([{"name": "Dora Orr", "phone": "555-0187"}], against=found, into="right")
    >>> later.changes.select(["id", "table", "change", "partner"]).to_pylist()[1]
    {'id': 2, 'table': 'right', 'change': 'joined', 'partner': 11}
    """
    if against is not None:
        decided = {
            "fields": fields, "id": id, "validate": validate, "precision": precision, "probability": probability,
            "one_to_one": one_to_one, "scoring": scoring, "nicknames": nicknames, "seed": seed,
            "labels": None if labels is None else "given", "review": review,
        }  # fmt: skip
        LinkSettings.refuse_others(decided)
        execution = Execution.parse(threads, memory)
        given = [data for data in (left, right) if data is not None]
        later = {"against": against, "without": without, "into": into}
        if out is None:
            return _link_later(given, execution, encoding, **later)
        return _write_later(given, execution, encoding, out, overwrite, resume, work, **later)
    if left is None or without is not None or into is not None:
        raise UsageError("without= and into= need against=, the finished run" if left is not None else "no records")
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
        return link_in_memory(sides[0], sides[1] if len(sides) > 1 else None, settings, labels, review)
    if not all(map(looks_like_paths, given if labels is None else [*given, labels])):
        raise UsageError("out= needs paths, not tables in memory")
    if review is not None:
        raise UsageError("review= has no out=: write the table .review to a file")
    known = None if labels is None else as_paths(labels)[0]
    paths = [as_paths(data) for data in given]
    other = paths[1] if len(paths) > 1 else []
    link_files(paths[0], other, out, settings, Progress(), overwrite, resume=resume, work_folder=work, labels=known)
    return read_links(Path(out))


def _link_later(given: list[Data], execution: Execution, encoding: str | None, **later: Any) -> LinkResult:
    """With `against`, in memory."""
    against = later["against"]
    known = against.finished if isinstance(against, LinkResult) else Path(against)
    if known is None:
        raise UsageError("against= needs the result of link, or its output folder")
    old = Finished.load(known, execution) if isinstance(known, Path) else known.with_execution(execution)
    gone = [] if later["without"] is None else read_without(later["without"])
    if not given and not gone:
        raise UsageError("against= needs new records, or ids to remove with without=")
    settings = old.settings if encoding is None else replace(old.settings, encoding=encoding)
    sides = choose_sides(old, given, later["into"], "the finished run")
    new = [_open_side(data, settings, side) if _is_given(data) else None for data, side in zip(sides, SIDES)]
    place = str(known) if isinstance(known, Path) else "the finished run"
    return link_later_in_memory(new, old, gone, place)


def _write_later(
    given: list[Data],
    execution: Execution,
    encoding: str | None,
    out: str | Path,
    overwrite: bool,
    resume: bool,
    work: str | Path | None,
    **later: Any,
) -> LinkResult:
    """With `against`, from files to an output folder."""
    against = later.pop("against")
    folder = against.finished if isinstance(against, LinkResult) else against
    if not isinstance(folder, str | Path) or not all(map(looks_like_paths, given)):
        raise UsageError("out= needs paths, and the folder of a finished run; not tables in memory")
    link_later_files(
        [as_paths(data) for data in given], out, folder, execution, Progress(), encoding=encoding,
        overwrite=overwrite, resume=resume, work_folder=work, **later,
    )  # fmt: skip
    return read_links(Path(out))


def _is_given(data: Any) -> bool:
    """Whether there are new records of a table."""
    return not (isinstance(data, list | tuple) and not data)


def _open_side(data: Data, settings: LinkSettings, name: str) -> RecordTable:
    if looks_like_paths(data):
        first = next(iter(settings.columns("left")), DEFAULT_ID)
        return RecordTable.read(open_sources(data, first, settings.encoding), settings, name)
    return RecordTable.of(data, settings, name)
