"""A finished run under review: its clusters or links, and the decisions about them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lookalike.engine.run_record import damage_reported, read_run
from lookalike.errors import UsageError
from lookalike.features.passages import compare_texts
from lookalike.features.shingles import Shingling
from lookalike.jobs.run_inputs import RunInputs, open_inputs_of
from lookalike.server.reviewing.decisions import Columns, Decisions, Name
from lookalike.types import RUN_FILE, Float64, Int64, parse_record

SIDES = ("left", "right")
DECISIONS = ("keep", "remove", "unsure")
FILES = ("file", "kept_file", "left_file", "right_file")
"""Columns that name the sources of a row."""
NAMED: dict[str, list[Columns]] = {
    "dedup": [("file", "row"), ("kept_file", "kept_row")],
    "link": [("left", "right"), ("left", "right")],
}
"""The columns that a decision is about: of a removed item or a link, and of a kept item."""
TEXT_CHARACTERS = 500_000
"""Of a longer text, the beginning is shown."""
SHOWN_CHARACTERS = 100_000
"""In longer texts, passages are not marked."""


@dataclass(slots=True)
class ReviewedRun:
    """Groups of rows of a result: a kept item and the items removed for it, or a link between two records."""

    folder: Path
    run: Mapping[str, Any]
    kind: str
    """dedup or link."""
    rows: pa.Table
    """Removed items with their keepers, or links; the rows of a group are adjacent."""
    starts: Int64
    """Where each group begins, and the end."""
    doubt: Float64
    """For each group, how close its most doubtful row is to the threshold: 0 is closest."""
    inputs: RunInputs | None = None
    decisions: Decisions = field(init=False)
    """In a separate file next to the output folder, because another run may replace that folder."""
    _orders: dict[str, Int64] = field(default_factory=dict)
    _sources: list[str] | None = None

    def __post_init__(self) -> None:
        path = self.folder.with_name(self.folder.name + ".decisions.jsonl")
        self.decisions = Decisions(path, NAMED[self.kind][0])

    @classmethod
    def open(cls, folder: Path) -> ReviewedRun:
        """The output folder of dedup or link.

        Raises
        ------
        UsageError
            If it is not one.
        BadDataError
            If its files are damaged.
        """
        links = folder / "links.parquet"
        with damage_reported(f"--run {folder}", "link" if links.is_file() else "dedup"):
            found = cls._open_links(folder, links) if links.is_file() else cls._open_dedup(folder)
            found.summary()
        found.decisions.load(found.rows, found.starts, NAMED[found.kind])
        return found

    @classmethod
    def _open_dedup(cls, folder: Path) -> ReviewedRun:
        run = read_run(folder)
        if not (folder / "removed.parquet").is_file():
            raise UsageError(f"--run {folder}: removed.parquet is missing; name the output folder of dedup or link")
        rows = pq.read_table(folder / "removed.parquet")
        value = "similarity" if "similarity" in rows.column_names else "distance"
        found = cls._grouped(folder, run, "dedup", rows, ["kept_file", "kept_row"], value)
        found.inputs = open_inputs_of(folder, run)
        return found

    @classmethod
    def _open_links(cls, folder: Path, links: Path) -> ReviewedRun:
        record = folder / RUN_FILE
        run = parse_record(record.read_bytes()) if record.is_file() else None
        if run is None:
            raise UsageError(
                f"--run {folder}: {RUN_FILE} is missing or damaged; name the output folder of dedup or link"
            )
        rows = _add_files(folder, pq.read_table(links))
        value = "probability" if rows["probability"].null_count < len(rows) else "score"
        return cls._grouped(folder, run, "link", rows, [], value)

    @classmethod
    def _grouped(
        cls, folder: Path, run: Mapping[str, Any], kind: str, rows: pa.Table, keys: Sequence[str], value: str
    ) -> ReviewedRun:
        values = np.asarray(rows[value].to_numpy(zero_copy_only=False), np.float64)
        nearness = np.nan_to_num(np.abs(values - _limit(run, kind)), nan=np.inf)
        if not keys or not len(rows):
            return cls(folder, run, kind, rows, np.arange(len(rows) + 1), nearness)
        joined = [rows[key].combine_chunks().dictionary_encode().indices.to_numpy() for key in keys]
        order = np.lexsort([*reversed(joined)])
        stacked = np.stack([one[order] for one in joined])
        edges = np.flatnonzero(np.concatenate([[True], (stacked[:, 1:] != stacked[:, :-1]).any(axis=0)]))
        starts = np.concatenate([edges, [len(rows)]])
        doubt = np.minimum.reduceat(nearness[order], edges)
        return cls(folder, run, kind, rows.take(pa.array(order)), starts, doubt)

    @property
    def sizes(self) -> Int64:
        """How many items each group has."""
        return np.diff(self.starts) + 1

    def sources(self) -> list[str]:
        """The files of the items."""
        if self._sources is None:
            files = {file for name in self._files for file in self.rows[name].unique().to_pylist()}
            self._sources = sorted(file for file in files if file is not None)
        return self._sources

    @property
    def _files(self) -> list[str]:
        return [name for name in FILES if name in self.rows.column_names]

    def summary(self) -> dict[str, Any]:
        """What there is to review."""
        return {
            "kind": self.kind,
            "folder": str(self.folder),
            "groups": len(self.doubt),
            "threshold": _limit(self.run, self.kind),
            "sources": self.sources(),
            "decided": len(self.decisions),
            "decisions_file": str(self.decisions.path),
            "problems": list(self.inputs.problems) if self.inputs else [],
        }

    def groups(self, sort: str, source: str | None, first: int, count: int) -> dict[str, Any]:
        """Some of the groups, in an order: by size, or by doubt."""
        order = self._order(sort)
        if source is not None and len(order):
            there = np.zeros(len(self.rows), np.bool_)
            for name in self._files:
                there |= pc.equal(self.rows[name], source).fill_null(False).to_numpy()
            order = order[np.logical_or.reduceat(there, self.starts[:-1])[order]]
        return {"total": len(order), "groups": [self.outline(int(one)) for one in order[first : first + count]]}

    def _order(self, sort: str) -> Int64:
        """All groups, in an order that never changes."""
        if sort not in self._orders:
            self._orders[sort] = np.argsort(-self.sizes if sort == "size" else self.doubt, kind="stable")
        return self._orders[sort]

    def outline(self, group: int) -> dict[str, Any]:
        """A one-line summary of a group."""
        (head,) = self._rows(group, 0, 1)
        values = pc.min_max(self.rows[self._value].slice(*self._place(group))).as_py()
        title = head["kept_id"] if self.kind == "dedup" else f"{head['left']} - {head['right']}"
        return {
            "group": group,
            "title": str(title),
            "size": self._place(group)[1] + 1,
            "lowest": values["min"],
            "highest": values["max"],
            "decided": self.decisions.count(group),
        }

    def group(self, group: int, first: int, count: int) -> dict[str, Any]:
        """The items of a group with their texts, and where they agree."""
        rows = self._rows(group, first, count)
        found = {**self.outline(group), "value": self._value, "members": []}
        if self.kind == "link":
            found["members"] = [self._link(group, row) for row in rows]
            return found
        (head,) = self._rows(group, 0, 1)
        keeper = (head["kept_file"], head["kept_row"])
        assert self.inputs is not None
        texts, problem = self.inputs.fetch([keeper, *((row["file"], row["row"]) for row in rows)])
        text = _text(texts.get(keeper))
        found["keeper"] = {"id": str(head["kept_id"]), "file": keeper[0], **_cut(text)}
        found["keeper"]["decision"] = self._decision(group, -1)
        found["problem"] = problem
        for at, row in enumerate(rows, first):
            found["members"].append(self._member(group, at, row, text, _text(texts.get((row["file"], row["row"])))))
        return found

    def _link(self, group: int, row: dict[str, Any]) -> dict[str, Any]:
        """A link: both values of each field, and how far they agree."""
        sides = [self._record(side, row[side]) for side in SIDES]
        fields = [
            {"field": name, "left": sides[0].get(name), "right": sides[1].get(name), **value}
            for name, value in row.items()
            if isinstance(value, dict)
        ]
        about = {name: row[name] for name in (*SIDES, *self._files, "score", "probability")}
        return {**about, "fields": fields, "row": 0, "decision": self._decision(group, 0)}

    def _record(self, side: str, id: Any) -> dict[str, Any]:
        """The record of a table, if the run has saved it."""
        path = _table_path(self.folder, side)
        if not path.is_file():
            return {}
        found = pq.read_table(path, filters=[(pq.read_schema(path).names[0], "==", id)]).to_pylist()
        return {name: None if value is None else str(value) for name, value in found[0].items()} if found else {}

    def _member(self, group: int, at: int, row: dict[str, Any], kept: str | None, text: str | None) -> dict[str, Any]:
        shared: dict[str, Any] = {"left_shared": [], "right_shared": []}
        if kept is not None and text is not None and len(kept) + len(text) <= SHOWN_CHARACTERS:
            compared = compare_texts(kept, text, self._shingling)
            shared = {"left_shared": compared.left_spans, "right_shared": compared.right_spans}
        about = {"row": at, "id": str(row["id"]), "file": row["file"], self._value: row[self._value]}
        return {**about, **_cut(text), **shared, "decision": self._decision(group, at)}

    @property
    def _shingling(self) -> Shingling:
        options = self.run["options"]
        return Shingling.parse(options["shingle"], bag=options["bag"], language=options["language"])

    @property
    def _value(self) -> str:
        if self.kind == "link":
            return "score" if self.rows["probability"].null_count == len(self.rows) else "probability"
        return "similarity" if "similarity" in self.rows.column_names else "distance"

    def _place(self, group: int) -> tuple[int, int]:
        """The first row of a group, and the number of its rows."""
        return int(self.starts[group]), int(self.starts[group + 1] - self.starts[group])

    def _rows(self, group: int, first: int, count: int) -> list[dict[str, Any]]:
        """Some rows of a group, which may have any number of them."""
        start, size = self._place(group)
        first = min(first, size)
        rows: list[dict[str, Any]] = self.rows.slice(start + first, min(count, size - first)).to_pylist()
        return rows

    # Decisions

    def _name(self, group: int, row: int) -> Name:
        """What a decision is about; row -1 is the kept item."""
        left, right = NAMED[self.kind][row < 0]
        columns = self.rows.select([left, right]).slice(int(self.starts[group]) + max(row, 0), 1)
        return columns[left][0].as_py(), columns[right][0].as_py()

    def _decision(self, group: int, row: int) -> str | None:
        return self.decisions.of(self._name(group, row))

    def decide(self, group: int, row: int, decision: str | None) -> dict[str, Any]:
        """Record a decision, or withdraw it; it is on disk when this returns."""
        (one,) = self._rows(group, max(row, 0), 1)
        if self.kind == "link":
            about = {"left": one["left"], "right": one["right"]}
        else:
            side = "kept_" if row < 0 else ""
            about = {name: one[f"{side}{name}"] for name in ("id", "file", "row")}
        line = {**about, "decision": decision, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        self.decisions.decide(group, line)
        return line


def _limit(run: Mapping[str, Any], kind: str) -> float:
    """The threshold of the run."""
    options = run["options"]
    given = options.get("threshold") if kind == "dedup" else options.get("probability")
    if kind == "link" and options.get("scoring") == "points":
        given = (run.get("cut") or {}).get("score")
    top, _, bottom = str(given if isinstance(given, int | float | str) else 0.5).partition("/")
    return float(top) / float(bottom or 1)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _cut(text: str | None) -> dict[str, Any]:
    """A text, or the beginning of a long one."""
    cut = text is not None and len(text) > TEXT_CHARACTERS
    return {"text": text[:TEXT_CHARACTERS] if cut and text is not None else text, "cut": cut}


def _table_path(folder: Path, side: str) -> Path:
    """The records of a table; a table that was linked with itself has one file for both sides."""
    path = folder / "model" / f"{side}.parquet"
    return path if path.is_file() else path.with_name("left.parquet")


def _add_files(folder: Path, links: pa.Table) -> pa.Table:
    """Add the columns left_file and right_file to links if the files are known."""
    try:
        noted = json.loads((folder / "model" / "model.json").read_text("utf-8"))["files"]
        columns = [_files_of(folder, side, noted, links[side]) for side in SIDES]
    except (OSError, ValueError, KeyError, TypeError, IndexError, pa.ArrowException):
        return links  # a run of an earlier version, or its records were deleted
    for side, column in zip(SIDES, columns):
        links = links.append_column(f"{side}_file", column)
    return links


def _files_of(folder: Path, side: str, noted: dict[str, Any], ids: pa.ChunkedArray) -> pa.Array:
    path = _table_path(folder, side)
    files = noted[path.stem]
    first = pq.read_schema(path).names[0]
    records = pq.read_table(path, columns=[first]).column(0).combine_chunks().cast(ids.type)
    places = pc.index_in(ids.combine_chunks(), value_set=records)
    ends = np.cumsum([count for _, count in files])
    if not len(ends) or ends[-1] != len(records) or places.null_count:
        raise ValueError(f"{path}: the files of its records are not known")
    owners = np.searchsorted(ends, places.to_numpy(zero_copy_only=False), "right")
    return pa.array([name for name, _ in files]).take(pa.array(owners))
