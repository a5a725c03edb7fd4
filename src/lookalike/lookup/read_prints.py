"""Minutiae from files: .xyt text, tables, and ISO/IEC 19794-2:2005 templates.

Knows how minutiae are stored, not how they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.errors import BadDataError
from lookalike.families.cells import LARGEST_MEASUREMENT
from lookalike.lookup.prints import Prints
from lookalike.lookup.read_numbers import as_numbers, read_columns
from lookalike.lookup.read_templates import MAGIC, parse_template
from lookalike.read.columns import missing_column
from lookalike.read.inputs import find_files
from lookalike.read.streams import check_encoding
from lookalike.types import Float64, Int64

TABLES = (".csv", ".tsv", ".parquet")
ANGLES, PRINTS = ("angle", "theta"), ("print", "finger", "id")
"""Accepted names of the columns with the direction and with the name of the print."""


def read_prints(
    inputs: Sequence[str | Path], encoding: str = "utf-8", note: Callable[[str], None] | None = None
) -> Prints:
    r"""The fingerprints of all files, in order.

    Parameters
    ----------
    inputs
        Files, folders, globs. Templates are recognised by their first bytes. Tables (`.csv`, `.tsv`, `.parquet`) have
        columns x and y, optionally angle (or theta), and print (or finger, id) if there are several prints in a file.
        Any other file has one minutia per line: x and y, optionally the angle in degrees and a quality.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "thumb.xyt").write_text("10 20 90 55\n30 40 180 60\n")
    ...     prints = read_prints([folder])
    >>> len(prints), prints.x.tolist(), prints.angles.tolist()
    (1, [10.0, 30.0], [90.0, 180.0])
    """
    encoding = check_encoding(encoding)
    parts = []
    for file in find_files(inputs, note):
        if file.suffix in TABLES:
            parts.append(prints_in(read_columns(file, encoding), file.name))
            continue
        with file.reading(), file.open_decompressed() as stream:
            data: bytes = stream.read()
        parts.append(parse_template(data, file.name) if data.startswith(MAGIC) else parse_xyt(data, file.name))
    return Prints.joined(parts)


def parse_xyt(data: bytes, name: str) -> Prints:
    r"""The print in an .xyt file: one minutia per line, x y theta quality; theta and quality are optional.

    Examples
    --------
    >>> parse_xyt(b"1 2\n3 4 90\n", "thumb.xyt").angles.tolist()
    [nan, 90.0]
    >>> parse_xyt(b"1 2\n3 up\n", "thumb.xyt")
    Traceback (most recent call last):
    lookalike.errors.BadDataError: thumb.xyt:2: not a minutia (x y theta quality): '3 up'
    """
    rows = []
    for number, line in enumerate(data.split(b"\n"), 1):
        fields = line.split()
        if not fields:
            continue
        try:
            values = [float(field) for field in fields]
        except ValueError:
            values = []
        if not 2 <= len(values) <= 4 or not (np.abs(values) <= LARGEST_MEASUREMENT).all():
            shown = line.decode("utf-8", "backslashreplace").strip()[:80]
            raise BadDataError(f"{name}:{number}: not a minutia (x y theta quality): {shown!r}")
        rows.append([*values, np.nan][:3] if len(values) == 2 else values[:3])
    x, y, angles = np.array(rows, np.float64).reshape(-1, 3).T
    return Prints.single(name, x, y, angles)


def prints_in(table: Mapping[str, Any], place: str) -> Prints:
    """The prints in a table, given as columns by name: x and y, perhaps angle (or theta), print (or finger, id).

    Examples
    --------
    >>> prints_in({"x": np.array([1.0]), "y": np.array([2.0])}, "thumb").names
    ['thumb']
    """
    names = {name.lower(): name for name in table}
    for needed in ("x", "y"):
        if needed not in names:
            raise missing_column(needed, place, list(table))
    x, y = (as_numbers(table[names[one]], f"{place}: ", one) for one in ("x", "y"))
    angle = next((names[one] for one in ANGLES if one in names), None)
    angles = np.full(len(x), np.nan) if angle is None else as_numbers(table[angle], f"{place}: ", angle)
    owner = next((names[one] for one in PRINTS if one in names), None)
    if owner is None:
        return Prints.single(place, x, y, angles)
    return _group_by_name([str(value) for value in table[owner].to_pylist()], x, y, angles)


def _group_by_name(owners: list[str], x: Float64, y: Float64, angles: Float64) -> Prints:
    """Prints in the order in which their names first appear."""
    number: dict[str, int] = {}
    owner: Int64 = np.array([number.setdefault(name, len(number)) for name in owners], np.int64)
    order = np.argsort(owner, kind="stable")
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(owner, minlength=len(number)))])
    return Prints(list(number), indptr, x[order], y[order], angles[order])


def as_prints(data: Sequence[Any]) -> Prints:
    """Prints from memory: one matrix per print, whose rows are the x, y and optionally angle (degrees) of a minutia.

    Examples
    --------
    >>> as_prints([np.array([[1, 2], [3, 4]]), np.array([[5, 6, 90]])]).angles.tolist()
    [nan, nan, 90.0]
    """
    parts = []
    for number, one in enumerate(data):
        try:
            minutiae = np.asarray(one, np.float64)
        except (TypeError, ValueError) as error:
            raise BadDataError(f"print {number}: not numbers: {error}") from error
        if minutiae.ndim != 2 or minutiae.shape[1] not in (2, 3):
            raise BadDataError(f"print {number}: must be a matrix with columns x, y and optionally the angle")
        bad = np.argwhere(~(np.abs(minutiae) <= LARGEST_MEASUREMENT))
        if len(bad):
            row, column = bad[0].tolist()
            raise BadDataError(
                f"print {number}, row {row}, column {column}: {minutiae[row, column]:g} is not finite, or too large"
            )
        angles = minutiae[:, 2] if minutiae.shape[1] == 3 else np.full(len(minutiae), np.nan)
        parts.append(Prints.single(str(number), minutiae[:, 0], minutiae[:, 1], angles))
    return Prints.joined(parts)
