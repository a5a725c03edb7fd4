"""Small valid files of every format that some command reads."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from fuzzing.rows import NAMES, Random, odd, text
from lookalike.lookup.read_templates import write_template
from lookalike.lookup.simulated import draw_prints


def jsonl(some: Random) -> bytes:
    """Lines of JSON."""
    rows = some.rows()
    rows = odd(rows, some) if some.random() < 0.3 else rows
    end = some.choice(("\n", "\n", "\r\n", "\n\n"))
    return "".join(json.dumps(row, ensure_ascii=some.random() < 0.5) + end for row in rows).encode(
        "utf-8", "surrogatepass"
    )


def separated(separator: str) -> Callable[[Random], bytes]:
    """CSV or TSV."""

    def make(some: Random) -> bytes:
        rows = some.rows()
        rows = odd(rows, some) if some.random() < 0.3 else rows
        header = list(rows[0]) if rows and rows[0] else ["id", "text"]
        if some.random() < 0.1:
            header[some.randrange(len(header))] = some.choice(("", header[0], " text ", "\ufeffid", '"'))
        quote = some.choice(("always", "never", "needed"))

        def cell(value: object) -> str:
            shown = "" if value is None else str(value)
            plain = quote == "never" or (quote == "needed" and not set(shown) & set('"\n\r,\t'))
            return shown if plain else '"' + shown.replace('"', '""') + '"'

        lines = [separator.join(map(cell, line)) for line in [header, *(row.values() for row in rows)]]
        return (some.choice(("\n", "\n", "\n", "\r\n", "\r\n", "\r")).join(lines) + some.choice(("", "\n"))).encode(
            "utf-8", "surrogatepass"
        )

    return make


def _column(some: Random, count: int) -> pa.Array:
    """A column of an unusual type."""
    day = datetime(2020, 1, 1, tzinfo=UTC)
    made: list[tuple[Any, pa.DataType | None]] = [
        (text(some), pa.large_string()),
        (text(some).encode(), pa.binary()),
        (b"\xff\xfe", pa.large_binary()),
        (day, pa.timestamp("ns", "UTC")),
        (day.date(), pa.date32()),
        (Decimal("1.50"), pa.decimal128(20, 2)),
        (7, pa.uint64()),
        (-7, pa.int8()),
        (1.5, pa.float16()),
        (True, pa.bool_()),
        ({"a": 1}, pa.struct([("a", pa.int32())])),
        ([("k", "v")], pa.map_(pa.string(), pa.string())),
        ([[1]], pa.list_(pa.list_(pa.int32()))),
        ([1.0, 2.0], pa.list_(pa.float32(), 2)),
        ([text(some)], pa.large_list(pa.large_string())),
        ([b"a"], pa.list_(pa.binary())),
        ([2**63], pa.list_(pa.uint64())),
        ([True], pa.list_(pa.bool_())),
        (None, pa.null()),
        (text(some), pa.string()),
        ([float("nan"), 1.0], pa.list_(pa.float64())),
        (b"abcd", pa.binary(4)),
        ([day], pa.list_(pa.timestamp("us", "UTC"))),
        ([], pa.list_(pa.null())),
        (3, pa.duration("s")),
        ([text(some)], pa.list_view(pa.string()) if some.random() < 0.1 else None),
    ]
    value, kind = some.choice(made)
    values = [None if some.random() < 0.2 else value for _ in range(count)]
    array = pa.array(values, kind)
    return array.dictionary_encode() if some.random() < 0.2 and pa.types.is_string(array.type) else array


def table(some: Random) -> pa.Table:
    """A table of one of the usual kinds, or with columns of unusual types."""
    if some.random() < 0.6:
        rows = some.rows()
        return (
            pa.Table.from_pylist(rows)
            if rows
            else pa.table({"id": pa.array([], pa.string()), "text": pa.array([], pa.string())})
        )
    count = some.choice((0, 1, 5, 200))
    names = some.choice(
        (["text"], ["id", "text"], ["id", "text", "text"], ["id", "text", "n", ""], ["x", "y", "angle", "print"])
    )
    return pa.Table.from_arrays([_column(some, count) for _ in names], names=names)


def parquet(some: Random) -> bytes:
    """A Parquet file; uncompressed ones let mutations reach the values."""
    out = io.BytesIO()
    options: dict[str, Any] = {
        "compression": some.choice(("none", "snappy", "zstd", "gzip", "brotli", "lz4")),
        "row_group_size": some.choice((1, 3, 1000)),
        "use_dictionary": some.random() < 0.5,
        "data_page_version": some.choice(("1.0", "2.0")),
        "write_page_checksum": some.random() < 0.2,
        "store_schema": some.random() < 0.7,
    }
    made = table(some)
    try:
        pq.write_table(made, out, **options)
    except (pa.ArrowException, NotImplementedError):  # a type that Parquet does not have
        out = io.BytesIO()
        pq.write_table(pa.table({"text": ["a", "b"]}), out)
    return out.getvalue()


def feathered(some: Random) -> bytes:
    """An Arrow file, which no command knows."""
    out = io.BytesIO()
    feather.write_feather(pa.table({"text": [text(some)]}), out)
    return out.getvalue()


def npy(some: Random) -> bytes:
    """Vectors, sometimes of other shapes and kinds."""
    kinds = (
        "<f4",
        "<f4",
        "<f4",
        "<f4",
        "<f8",
        "<f8",
        "u1",
        "<f2",
        ">f4",
        "i1",
        "u1",
        "<i8",
        "?",
        "<c8",
        "S3",
        "O",
        "M8[s]",
        [("a", "<f4")],
    )
    shape = some.choice(
        ((9, 4), (9, 4), (9, 4), (30, 4), (12, 16), (12, 16), (1, 3), (0, 4), (4, 0), (5,), (), (2, 3, 2), (300, 2))
    )
    values = np.random.default_rng(some.getrandbits(32)).normal(size=shape) * some.choice((1, 100, 1e30))
    if some.random() < 0.2 and values.size:
        values.flat[some.randrange(values.size)] = some.choice((np.nan, np.inf, -0.0, 1e308))
    out, kind = io.BytesIO(), np.dtype(some.choice(kinds))
    with np.errstate(all="ignore"):
        made = np.zeros(shape, kind) if kind.kind in "VMOSc" else values.astype(kind)
    np.save(out, np.asfortranarray(made) if some.random() < 0.2 else made, allow_pickle=True)
    return out.getvalue()


def fvecs(some: Random) -> bytes:
    """Vectors, each with its dimension before it."""
    width = some.choice((1, 4, 4, 33))
    return b"".join(struct.pack(f"<i{width}f", width, *(some.random() for _ in range(width))) for _ in range(9))


def bvecs(some: Random) -> bytes:
    """Vectors of bytes."""
    width = some.choice((1, 4, 16))
    return b"".join(struct.pack("<i", width) + some.randbytes(width) for _ in range(9))


def dat(some: Random) -> bytes:
    """Sets of integers, one in a line."""
    most = some.choice((3, 50, 2**31, 2**64))
    return "".join(
        " ".join(str(some.randint(0, most)) for _ in range(some.randint(0, 9))) + "\n" for _ in range(12)
    ).encode()


def page(some: Random) -> bytes:
    """A web page."""
    parts = [
        some.choice(("<p>{}</p>", "<div>{}", "<script>{}</script>", "<!-- {} -->", "<td>{}", "&#x{};{}"))
        for _ in range(9)
    ]
    charset = some.choice(("", '<meta charset="latin-1">', '<meta charset="x">'))
    return (charset + "".join(part.replace("{}", text(some)) for part in parts)).encode("utf-8", "surrogatepass")


def plain(some: Random) -> bytes:
    """Lines of text."""
    encoding = some.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"))
    return some.choice(("\n", "\r\n")).join(text(some) for _ in range(12)).encode(encoding, "replace")


def xyt(some: Random) -> bytes:
    """A fingerprint in text."""
    lines = [
        f"{some.randint(0, 400)} {some.randint(0, 400)} {some.randint(0, 179)} {some.randint(0, 100)}"
        for _ in range(some.choice((0, 1, 2, 40)))
    ]
    return "\n".join(lines).encode()


def template(some: Random) -> bytes:
    """A fingerprint as an ISO template."""
    return write_template(draw_prints(some.choice((1, 2)), some.choice((2, 30)), seed=some.randint(1, 99)))


def nicknames(some: Random) -> bytes:
    """Groups of names."""
    return b"".join(" ".join(some.choices(NAMES, k=some.randint(0, 4))).encode() + b"\n" for _ in range(5))


MAKERS: dict[str, Callable[[Random], bytes]] = {
    ".jsonl": jsonl,
    ".ndjson": jsonl,
    ".csv": separated(","),
    ".tsv": separated("\t"),
    ".txt": plain,
    ".parquet": parquet,
    ".npy": npy,
    ".fvecs": fvecs,
    ".bvecs": bvecs,
    ".dat": dat,
    ".html": page,
    ".htm": page,
    ".md": plain,
    ".xyt": xyt,
    ".fmr": template,
    ".names": nicknames,
    ".json": jsonl,
    ".feather": feathered,
    ".arrow": feathered,
}
"""What makes a valid file, by suffix."""
COMMON = (".jsonl", ".csv", ".tsv", ".parquet", ".parquet", ".npy", ".txt", ".dat")

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True) if data else b"",
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
