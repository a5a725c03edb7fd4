"""Open the inputs of a finished run again to show some of its items, or explain why that is not possible."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.errors import LookalikeError
from lookalike.matching.pair_graph import FOLDER, SOURCES
from lookalike.read import fetch_items, identity_of, open_inputs
from lookalike.types import READ_LIMITS, RUN_FILE, ReadLimits, Source, Wanted
from lookalike.types.frozen import frozen

Place = tuple[str, int]
"""A file and the number of an item in it."""


@frozen
class RunInputs:
    """The sources of a run, those of `--reference` first."""

    sources: Sequence[Source]
    wanted: Wanted
    references: int = 0
    """How many of the sources, at the front, are references."""
    known: Mapping[tuple[int, int], tuple[int, Sequence[int]]] | None = None
    """By source and block: the number of items, and the rows that are not items."""
    prefix: str = ""
    """The folder that was prepended to relative names to find the files."""
    problems: Sequence[str] = ()
    """Messages about inputs that are missing or have changed."""

    def fetch(self, places: Iterable[Place]) -> tuple[dict[Place, Any], str]:
        """The contents of the items at these places, as far as they can be read, and messages about the rest."""
        names = {_under(self.prefix, file): file for file, _ in places}
        asked = [(_under(self.prefix, file), row) for file, row in places]
        try:
            found = fetch_items(self.sources, asked, self.wanted, self.known)
        except (LookalikeError, OSError) as error:
            return {}, f"The texts could not be read again: {error}."
        return {(names[file], row): value for (file, row), value in found.items()}, ""

    def locate(self, source: int, row: int) -> Place:
        """The place of a row of a source of the run; without a file if any source has changed."""
        if self.known is None or source >= len(self.sources):
            return "", row
        file, row = self.sources[source].locate(row)
        return self.shown(file), row

    def shown(self, name: str) -> str:
        """The name of a file without the folder that was prepended to find it."""
        return name.removeprefix(f"{self.prefix}/") if self.prefix else name


def sources_of_run(sources: Sequence[Source], references: int, blocks: Iterable[Any], wanted: Wanted) -> RunInputs:
    """The inputs of a run that has just ended, whose sources are still open; `blocks` are its block records."""
    return RunInputs(sources, wanted, references, _known(blocks, sources))


def open_inputs_of(out: Path, run: Mapping[str, Any]) -> RunInputs:
    """Open the inputs of a finished run where they were; files that have changed since are omitted."""
    options = run["options"]
    wanted = Wanted(options["column"], (), options.get("on_error") == "skip")
    if "-" in options["inputs"]:
        return RunInputs([], wanted, problems=["The run read standard input, which cannot be read again."])
    saved = _saved(out)
    opened = partial(
        open_inputs,
        encoding=options["encoding"],
        outputs=[out],
        skip_errors=wanted.skip_errors,
        limits=ReadLimits(**saved["limits"]) if "limits" in saved else READ_LIMITS,
    )
    given = [*options.get("reference", ()), *options["inputs"]]
    prefix = next((base for base in _bases(out, given)), "")
    problems: list[str] = []
    sources: list[Source] = []
    references = 0
    for number, one in enumerate(given):
        try:
            found = opened([_under(prefix, one)])
        except (LookalikeError, OSError) as error:
            problems.append(f"{error}.")
            continue
        sources += found
        references += len(found) if number < len(given) - len(options["inputs"]) else 0
    return _checked(out, RunInputs(sources, wanted, references, None, prefix, problems), saved)


def _checked(out: Path, inputs: RunInputs, saved: Mapping[str, Any]) -> RunInputs:
    """Drop the files that were written after the run; add the facts of the pair graph if none has changed."""
    finished = (out / RUN_FILE).stat().st_mtime_ns
    known_files = [[_under(inputs.prefix, name), *about] for name, *about in saved.get("files", ())]
    before = {name: about for name, *about in known_files}
    kept, changed = [], list[str]()
    for source in inputs.sources:
        found = json.loads(json.dumps(identity_of([source])))
        if any(before.get(name, about) != about or about[-1] > finished for name, *about in found if len(about) > 1):
            changed.append(source.name)
        else:
            kept.append(source)
    words = [f"{', '.join(changed[:3])}{' and others' * (len(changed) > 3)} changed after the run."] if changed else []
    same = saved and json.loads(json.dumps(identity_of(inputs.sources))) == known_files
    known = _known(saved["blocks"], inputs.sources) if same else None
    return RunInputs(kept, inputs.wanted, inputs.references, known, inputs.prefix, [*inputs.problems, *words])


def _known(blocks: Iterable[Any], sources: Sequence[Source]) -> dict[tuple[int, int], tuple[int, Sequence[int]]]:
    """The block records; each source learns which of its rows are not items."""
    found = {}
    for source, block, items, aside, *_ in blocks:
        found[source, block] = items, aside
        sources[source].rejected_rows[block] = np.array(aside, np.int64)
    return found


def _saved(out: Path) -> dict[str, Any]:
    """The facts about the inputs in the pair graph; nothing if there is none."""
    path = out / FOLDER / SOURCES
    try:
        found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) and {"files", "blocks"} <= found.keys() else {}


def _bases(out: Path, given: Sequence[str]) -> Iterator[str]:
    """Where relative inputs may be if not in the working folder: in a parent of OUT, if OUT was relative too."""
    local = [one for one in given if "://" not in one and not Path(one).is_absolute()]
    if local and not all(Path(one).exists() for one in local):
        for base in out.resolve().parents:
            if all((base / one).exists() for one in local):
                yield str(base)


def _under(prefix: str, name: str) -> str:
    return name if not prefix or "://" in name or Path(name).is_absolute() else os.path.join(prefix, name)  # noqa: PTH118
