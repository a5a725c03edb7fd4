"""A finished run, for use by a later one: settings, learned weights, the records, and their clusters.

In an output folder it is the folder `model`, with model.json, and left.parquet and right.parquet for the records.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.execution import Execution
from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.fields.nicknames import Nicknames
from lookalike.linkage.fields.spec import Field
from lookalike.linkage.scoring.model import Model
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable
from lookalike.read.columns import one_array
from lookalike.types import RUN_FILE, Int64, to_arrow, to_numpy
from lookalike.types.frozen import frozen
from lookalike.types.parquet import read_table
from lookalike.version import __version__
from lookalike.write import write_json, write_tables

FOLDER, MODEL_FILE = "model", "model.json"
FORMAT = 1
KEPT_SETTINGS = ("id", "validate", "precision", "probability", "one_to_one", "scoring", "seed", "encoding")


@frozen
class Finished:
    """A finished run."""

    settings: LinkSettings
    """With the kinds of all fields."""
    model: Model
    left: RecordTable
    right: RecordTable | None
    clusters: Int64
    """The cluster of each record, those of the left table first; -1 for none."""
    used: int
    """All clusters so far, including vanished ones, have smaller numbers."""

    def save(self, out: Path) -> None:
        """Write the folder `model` to an output folder."""
        folder = out / FOLDER
        folder.mkdir()
        split = len(self.left.ids)
        names, files, parts = {"left": self.left.name}, {"left": self.left.files}, {"left": self.left.parts}
        _write_records(folder / "left.parquet", self.left, self.clusters[:split])
        if self.right is not None:
            names["right"], files["right"], parts["right"] = self.right.name, self.right.files, self.right.parts
            _write_records(folder / "right.parquet", self.right, self.clusters[split:])
        saved = {
            "format": FORMAT,
            "version": __version__,
            "settings": _write_settings(self.settings),
            "tables": names,
            "files": files,
            "parts": parts,
            "clusters_used": self.used,
            **self.model.to_dict(),
        }
        write_json(folder / MODEL_FILE, saved)

    @classmethod
    def load(cls, out: Path, execution: Execution) -> Finished:
        """Read a finished run from its output folder."""
        saved = read_model(out)
        if saved.get("settings", {}).get("functions"):
            raise UsageError(
                f"--against {out}: field {saved['settings']['functions'][0]} is compared by a function, which a folder "
                "cannot hold; use the result of la.link in memory"
            )
        try:
            settings = _read_settings(saved["settings"], execution)
            model, tables = Model.from_dict(saved), saved["tables"]
            used = int(saved["clusters_used"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadDataError(f"{out / FOLDER / MODEL_FILE}: damaged ({error}); link all records again") from None
        read = {side: _read_records(out / FOLDER / f"{side}.parquet", name) for side, name in tables.items()}
        for side, (table, numbers) in list(read.items()):
            files, parts = (saved.get(name, {}).get(side, ()) for name in ("files", "parts"))
            read[side] = replace(table, files=tuple(map(tuple, files)), parts=tuple(parts)), numbers
        clusters = np.concatenate([numbers for _, numbers in read.values()])
        right = read["right"][0] if "right" in read else None
        return cls(settings, model, read["left"][0], right, clusters, used)

    def with_execution(self, execution: Execution) -> Finished:
        """The same, with other threads and memory."""
        return replace(self, settings=replace(self.settings, execution=execution))


def read_model(out: Path) -> dict[str, Any]:
    """The content of model.json of an output folder."""
    path = out / FOLDER / MODEL_FILE
    if not (out / RUN_FILE).is_file() or not (out / "links.parquet").is_file():
        raise UsageError(f"--against {out}: is not a folder that lookalike link wrote")
    if not path.is_file():
        raise UsageError(
            f"--against {out}: does not hold its records and weights, because an earlier version wrote it; link the "
            "records again into a new folder"
        )
    try:
        saved = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise BadDataError(f"{path}: damaged ({error}); link all records again") from None
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise BadDataError(f"{path}: another version of lookalike wrote it; link all records again with this one")
    return saved


def _write_settings(settings: LinkSettings) -> dict[str, Any]:
    saved: dict[str, Any] = {name: getattr(settings, name) for name in KEPT_SETTINGS}
    saved["fields"] = [[one.left, one.right, one.kind, one.why, one.levels] for one in settings.fields]
    saved["functions"] = [one.name for one in settings.fields if one.compare is not None]
    nicknames = settings.nicknames
    saved["nicknames"] = None if nicknames is None else {"source": nicknames.source, "groups": nicknames.groups}
    return saved


def _read_settings(saved: dict[str, Any], execution: Execution) -> LinkSettings:
    nicknames = saved["nicknames"]
    if nicknames is not None:
        nicknames = Nicknames(nicknames["source"], tuple(map(tuple, nicknames["groups"])))
    fields = tuple(Field(*one) for one in saved["fields"])
    same = {name: saved[name] for name in KEPT_SETTINGS}
    return LinkSettings(fields=fields, nicknames=nicknames, execution=execution, **same)


def _write_records(path: Path, records: RecordTable, clusters: Int64) -> None:
    """Write the records, with id and cluster as the first columns."""
    columns: list[pa.Array | pa.ChunkedArray] = [records.ids, to_arrow(np.ascontiguousarray(clusters))]
    names = ["record", "cluster"]
    for name in records.table.column_names:
        columns.append(records.table.column(name))
        names.append(name)
    write_tables(path, iter([pa.table(columns, names=_unlike(names))]))


def _unlike(names: list[str]) -> list[str]:
    """The names, with the first two changed if necessary to differ from all others."""
    first, others = names[:2], names[2:]
    while set(first) & set(others):
        first = [f"{name}_" for name in first]
    return first + others


def _read_records(path: Path, name: str) -> tuple[RecordTable, Int64]:
    try:
        table = read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise BadDataError(f"{path}: cannot be read ({error}); link all records again") from None
    ids, clusters = one_array(table.column(0)), to_numpy(one_array(table.column(1)))
    return RecordTable(name, table.select(range(2, table.num_columns)), ids), np.array(clusters, np.int64)
