"""Whether the columns that options name exist, by the beginning of the input: before a plan is reported."""

from __future__ import annotations

from lookalike.engine.settings import ItemSettings
from lookalike.read.columns import missing_column
from lookalike.types import Source


def check_columns(sources: list[Source], items: ItemSettings) -> None:
    """Refuse names of the compared column, or of ids, that are not in the input.

    Examples
    --------
    >>> from lookalike.read import open_data
    >>> check_columns([open_data([{"key": 1, "text": "a"}], "text")], ItemSettings.parse(id="ky"))
    Traceback (most recent call last):
    lookalike.errors.WrongColumnError: data: no column 'ky'; its columns are 'key', 'text'; did you mean id='key'?
    """
    check_compared(sources, items.column)
    if items.id is not None:
        check_optional(sources, items.id, "id")


def check_compared(sources: list[Source], column: str) -> None:
    """Refuse a compared column that a source does not have. Of files of JSON, the first and the last are opened."""
    known, unknown = _by_names(sources)
    for source in [*known, *unknown[:1], *unknown[1:][-1:]]:
        if present := _columns_without(source, column):
            raise missing_column(column, source.name, present, "column")


def check_optional(sources: list[Source], column: str, option: str, form: str = "{}") -> None:
    """Refuse a column that is nowhere: every table must have it, or without tables, some line of JSON."""
    known, unknown = _by_names(sources)
    for source in known:
        if present := _columns_without(source, column):
            raise missing_column(column, source.name, present, option, form)
    if known:
        return
    lacking = None
    for source in unknown:
        present = _columns_without(source, column)
        if present is None:
            return
        if present and lacking is None:
            lacking = missing_column(column, source.name, present, option, form)
    if lacking is not None:
        raise lacking


def _by_names(sources: list[Source]) -> tuple[list[Source], list[Source]]:
    """The sources that know their columns, and those of JSON, in which each line has its own."""
    unknown = [source for source in sources if source.column_names() is None]
    return [source for source in sources if source.column_names() is not None], unknown


def _columns_without(source: Source, column: str) -> list[str] | None:
    """The columns of a source that does not have this one; None if it has it. Without rows, there may be no columns."""
    known = source.column_names()
    if known is None:
        from lookalike.read.jsonl import list_columns_until  # formats are imported when a file has them

        known = list_columns_until(source, column)
    return None if column in known else [*known]
