"""The surviving rows of sources as one table in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import PurePath

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from lookalike.engine.corpus import Corpus
from lookalike.errors import BadDataError
from lookalike.types import Bool, Wanted, strings_to_arrow, to_arrow

_NAMELESS = {".txt", ".dat", ".fvecs", ".bvecs"}
"""Formats without columns."""


def kept_table(corpus: Corpus, keep: Bool, first_source: int) -> pa.Table:
    """The rows where `keep` is true, of all sources from `first_source` on, with all their columns."""
    tables = [_of_source(corpus, number, keep) for number in range(first_source, len(corpus.sources))]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BadDataError(f"the kept rows do not fit in one table ({error}); write them to files with out=") from None


def _of_source(corpus: Corpus, number: int, keep: Bool) -> pa.Table:
    source = corpus.sources[number]
    layout = source.layout()
    blocks = corpus.blocks(number)
    if layout.kind == "table":
        pieces = [block.kept_rows(keep[first:last]) for first, last, block in blocks]
        return pa.concat_tables(pieces) if pieces else layout.schema.empty_table()  # type: ignore[union-attr]
    suffixes = PurePath(source.kept_path).suffixes
    if layout.kind == "lines" and not _NAMELESS & set(suffixes):
        rows = layout.prefix + b"".join(block.kept_rows(keep[first:last]) for first, last, block in blocks)
        return _parse(rows, suffixes, corpus.settings.items.encoding, source.name)
    return _texts(corpus, number, keep)


def _parse(rows: bytes, suffixes: list[str], encoding: str, name: str) -> pa.Table:
    text = io.BytesIO(rows.decode(encoding).encode().removeprefix(b"\xef\xbb\xbf"))
    try:
        if ".csv" in suffixes or ".tsv" in suffixes:
            options = pyarrow.csv.ParseOptions(delimiter="\t" if ".tsv" in suffixes else ",", newlines_in_values=True)
            return pyarrow.csv.read_csv(text, parse_options=options)
        return pyarrow.json.read_json(text) if text.getbuffer().nbytes else pa.table({})
    except pa.ArrowInvalid as error:
        raise BadDataError(
            f"{name}: the rows do not fit in one table ({error}); write them to files with out="
        ) from None


def _texts(corpus: Corpus, number: int, keep: Bool) -> pa.Table:
    """Files without columns: each item's file and text."""
    source = corpus.sources[number]
    column = corpus.settings.items.column
    wanted = Wanted(column, (), corpus.settings.items.skip_errors)

    def pieces() -> Iterator[pa.Table]:
        start = int(corpus.starts[number])
        for first, last, block in corpus.blocks(number):
            files = [source.locate(row)[0] for row in range(first - start, last - start)]
            table = pa.table({"file": strings_to_arrow(files), column: block.items(wanted).features})
            yield table.filter(to_arrow(keep[first:last]))

    found = list(pieces())
    schema = pa.schema([("file", pa.large_string()), (column, pa.large_string())])
    return pa.concat_tables(found) if found else schema.empty_table()
