"""The report of a linking run in its output folder: the page, and its facts, from which it can be created again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lookalike.engine.run_record import damage_reported
from lookalike.errors import UsageError
from lookalike.report.linkage.facts import (
    Bin,
    EvidenceWeight,
    FieldFact,
    HashFact,
    LevelWeight,
    LinkReport,
    PairExample,
    PairField,
)
from lookalike.report.linkage.page import links_page
from lookalike.report.page_file import PAGE, check_page, write_page
from lookalike.write import write_json

FACTS = "report.json"
"""The facts, in the folder of the model."""


def write_link_report(folder: Path, facts: LinkReport, model: Path) -> None:
    """Write the page to the output folder, and the facts next to the model."""
    (folder / PAGE).write_text(links_page(facts), "utf-8")
    write_json(model / FACTS, json.loads(json.dumps(asdict(facts), default=str)))


def report_links(out: str | Path, page: str | Path | None = None) -> Path:
    """Create the page of a finished linking run again."""
    folder = Path(out)
    path = folder / "model" / FACTS
    if not path.is_file():
        raise UsageError(f"{out}: holds no facts for a report (model/{FACTS} is missing); run link again")
    target = folder / PAGE if page is None else Path(page)
    check_page(target)
    with damage_reported(path, "link"):
        page_text = links_page(_facts(json.loads(path.read_text("utf-8"))))
    return write_page(target, page_text)


def _facts(saved: dict[str, Any]) -> LinkReport:
    kinds = {
        "fields": FieldFact, "hashes": HashFact, "weights": LevelWeight, "evidence": EvidenceWeight, "bins": Bin,
    }  # fmt: skip
    for name, kind in kinds.items():
        saved[name] = [kind(**one) for one in saved.get(name, ())]
    for name in ("chosen", "around"):
        saved[name] = [_example(one) for one in saved[name]]
    return LinkReport(**saved)


def _example(saved: dict[str, Any]) -> PairExample:
    return PairExample(**{**saved, "fields": [PairField(**one) for one in saved["fields"]]})
