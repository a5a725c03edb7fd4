"""`faces` and `fingerprints`: find one item among many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.api.inputs import Data, as_paths, has_columns
from lookalike.errors import UsageError
from lookalike.lookup.faces import find_faces
from lookalike.lookup.fingerprints import find_prints
from lookalike.lookup.prints import Prints
from lookalike.lookup.read_numbers import Measurements, measurements_in, read_measurements
from lookalike.lookup.read_prints import PRINTS, as_prints, prints_in, read_prints
from lookalike.read import looks_like_paths
from lookalike.read.columns import check_column
from lookalike.read.tables import as_table
from lookalike.types import strings_to_arrow


def faces(
    probes: Data,
    gallery: Data | None = None,
    *,
    k: int = 10,
    noise: float = 0.02,
    recall: float = 0.999,
    close: float | None = None,
    tolerances: npt.ArrayLike | None = None,
    threshold: int | None = None,
    r: int = 3,
    edge: float = 0.1,
    widths: npt.ArrayLike | None = None,
    functions: int | None = None,
    seed: int = 1,
    id: str | None = None,
    columns: Sequence[str] = (),
    without: Sequence[str] = (),
    encoding: str = "utf-8",
) -> pa.Table:
    """Find the people in a gallery who have nearly the same measurements as each probe.

    Parameters
    ----------
    probes : Data
        One row per item and one column per measurement: a NumPy array, a list of lists or of dicts; a table (pyarrow,
        pandas, polars, DuckDB, Hugging Face datasets); or paths (a str, a Path, a list of Path).
    gallery : Data, optional
        The items to search. Without it, each probe is looked up among all the others.
    k : int, default 10
        Largest number of matches per probe.
    noise : float, default 0.02
        Standard deviation of the difference between two measurements of one person, in standard deviations of the
        measurement.
    recall : float, default 0.999
        Target recall for pairs with that noise.
    close : float, optional
        A measurement is close within this many standard deviations; by default three times the noise.
    tolerances : array_like, optional
        A tolerance for each measurement, in its own unit; takes precedence over `close`.
    threshold : int, optional
        Number of close measurements that makes a match. By default halfway between all of them and the number that is
        close by chance.
    r : int, default 3
        Number of measurements per cell.
    edge : float, default 0.1
        Within this share of a cell from its edge, the adjacent cell is searched too.
    widths : array_like, optional
        Widths of the cells; by default those that need the fewest comparisons.
    functions : int, optional
        Number of hash functions; by default as many as `recall` needs.
    seed : int, default 1
        Seed of the hash functions.
    id : str, optional
        The column with ids. Without it, rows are numbered from 0; items in files are named by "id" or FILE:ROW.
    columns : sequence of str, optional
        Columns that are measurements; `*` matches anything. By default those that start with a number.
    without : sequence of str, optional
        Columns that are not measurements.
    encoding : str, default "utf-8"
        Encoding of text files.

    Returns
    -------
    pyarrow.Table
        left (probe), right (member of the gallery), score (number of close measurements), rank; best first.

    Raises
    ------
    UsageError
        If an option is out of range, an input is missing, or only one of the two is paths.
    BadDataError
        If a measurement is not a finite number; the message names row and column.

    Examples
    --------
    >>> import numpy as np
    >>> people = np.random.default_rng(1).normal(170, 10, (1000, 40))
    >>> faces(people[[3]] + 0.1, people).to_pylist()
    [{'left': 0, 'right': 3, 'score': 40, 'rank': 1}]
    """
    given = [probes] if gallery is None else [probes, gallery]
    if any(map(looks_like_paths, given)) and not all(map(looks_like_paths, given)):
        raise UsageError("probes and gallery must both be paths, or both be in memory")
    reading: dict[str, Any] = {"id": id, "columns": columns, "without": without}
    mine = _measurements(probes, "probes", encoding, **reading)
    others = None if gallery is None else _measurements(gallery, "gallery", encoding, names=mine.names, **reading)
    found = find_faces(
        mine.values,
        None if others is None else others.values,
        k=k,
        noise=noise,
        recall=recall,
        close=close,
        tolerances=None if tolerances is None else np.asarray(tolerances, np.float64),
        threshold=threshold,
        r=r,
        edge=edge,
        widths=None if widths is None else np.asarray(widths, np.float64),
        functions=functions,
        seed=seed,
    )
    if id is None and not looks_like_paths(probes):
        return found.table()
    return found.table(mine.ids, (mine if others is None else others).ids)


def _measurements(
    data: Any,
    place: str,
    encoding: str,
    *,
    id: str | None,
    columns: Sequence[str],
    without: Sequence[str],
    names: list[str] | None = None,
) -> Measurements:
    """One side of a face lookup. Without named columns, it has neither names nor ids."""
    if looks_like_paths(data):
        return read_measurements(
            as_paths(data), id=id, columns=columns, without=without, names=names or None, encoding=encoding
        )
    if has_columns(data):
        table = as_table(data, "measurements")
        if table.num_columns != 1 or not hasattr(table.schema.types[0], "value_type"):
            return measurements_in(table, place, id=id, columns=columns, without=without, names=names or None)
        data = table.column(0).to_pylist()  # a single column of lists: vectors
    if id is not None or columns or without:
        raise UsageError(f"{place}: id, columns and without need a table with named columns")
    return Measurements(pa.nulls(0), [], data)


def fingerprints(
    probes: Data | Prints,
    gallery: Data | Prints | None = None,
    *,
    k: int = 10,
    threshold: float | None = None,
    triples: int = 1024,
    scale: Literal["spread", "none"] = "spread",
    rotation: Literal["angles", "axis", "none"] = "angles",
    edge: float = 0.15,
    seed: int = 1,
    encoding: str = "utf-8",
) -> pa.Table:
    """Find the prints in a gallery that come from the same finger as each probe.

    Parameters
    ----------
    probes : Data or Prints
        A list with a matrix or table per print: x, y and perhaps the angle in degrees of a minutia in each row; one
        table of all minutiae (pyarrow, pandas, polars, DuckDB, Hugging Face datasets, a list of dicts) with columns
        x, y and perhaps angle and print; or paths (a str, a Path, a list of Path) of `.xyt` files, tables or ISO/IEC
        19794-2:2005 templates.
    gallery : Data or Prints, optional
        The prints to search. Without it, each print is looked up among all the others.
    k : int, default 10
        Largest number of matches per print.
    threshold : float, optional
        Smallest Jaccard similarity of a match; by default well above what is usual between prints of the gallery.
    triples : int, default 1024
        Number of triples of grid squares that are drawn.
    scale : {"spread", "none"}, default "spread"
        Scale prints to the same size; "none" if all have the same resolution.
    rotation : {"angles", "axis", "none"}, default "angles"
        Align prints by the mean direction of their ridges, or by their main axis.
    edge : float, default 0.15
        Within this share of a square from its edge, a minutia also counts for the adjacent square.
    seed : int, default 1
        Seed of the triples.
    encoding : str, default "utf-8"
        Encoding of text files.

    Returns
    -------
    pyarrow.Table
        left (probe), right (print of the gallery), score (Jaccard similarity of the grid squares), rank; best first.
        Prints are numbered from 0 unless files, or the column "print", name them.

    Raises
    ------
    UsageError
        If an option is out of range or an input is missing.
    BadDataError
        If a print cannot be read; the message names the place.

    Examples
    --------
    >>> import numpy as np
    >>> prints = np.random.default_rng(1).uniform(0, 300, (20, 50, 2))
    >>> fingerprints([prints[7] + 25], list(prints)).to_pylist()
    [{'left': 0, 'right': 7, 'score': 1.0, 'rank': 1}]
    """
    mine, names = _prints(probes, "probes", encoding)
    theirs, their_names = (None, names) if gallery is None else _prints(gallery, "gallery", encoding)
    found = find_prints(
        mine,
        theirs,
        k=k,
        threshold=threshold,
        triples=triples,
        edge=edge,
        scale=scale,
        rotation=rotation,
        seed=seed,
    )
    return found.table(names, their_names)


def _prints(data: Any, place: str, encoding: str) -> tuple[Prints, pa.Array | None]:
    """One side of a fingerprint lookup, and the names of its prints if it has them."""
    if isinstance(data, Prints):
        return data, None
    if looks_like_paths(data):
        prints = read_prints(as_paths(data), encoding)
        return prints, strings_to_arrow(prints.names)
    if has_columns(data):
        table = as_table(data, "minutiae")
        prints = prints_in(_columns(table, place), place)
        named = any(name.lower() in PRINTS for name in table.column_names)
        return prints, strings_to_arrow(prints.names) if named else None
    items = list(data)
    if not items or not all(map(has_columns, items)):
        return as_prints(items), None
    tables = [as_table(one, "minutiae") for one in items]
    places = [f"print {number}" for number in range(len(tables))]
    return Prints.joined([prints_in(_columns(one, where), where) for one, where in zip(tables, places)]), None


def _columns(table: pa.Table, place: str) -> dict[str, pa.ChunkedArray]:
    for name in table.column_names:
        check_column(name, place, table.column_names)
    return {name: table[name] for name in table.column_names}
