"""Open the store that INDEX names: a folder, or tables in a PostgreSQL database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookalike.engine.progress import Progress
from lookalike.errors import UsageError
from lookalike.index.contract import Store
from lookalike.index.folder.store import Folder, create_folder
from lookalike.index.kind import Kind
from lookalike.index.places import is_database
from lookalike.read.earlier import is_index_folder
from lookalike.read.formats import names_data
from lookalike.write import OutputFolder


def _folder(place: str | Path) -> Path:
    if not isinstance(place, str | Path):
        raise UsageError(f"the path of the index must be text or a Path, not {place!r}")
    if not os.fspath(place):
        raise UsageError("the path of the index is the empty string; name a folder")
    return Path(place)


def _database(place: str | Path) -> tuple[Any, Any]:
    """The module for databases, which needs an extra package, and the place in the database."""
    from lookalike.index.postgres.place import Place

    found = Place.parse(str(place))
    try:
        from lookalike.index.postgres import store
    except ImportError as error:
        raise UsageError(
            f"{found.name}: an index in PostgreSQL needs psycopg ({error}); pip install 'lookalike[postgres]'"
        ) from None
    return store, found


def check_new(place: str | Path) -> None:
    """Refuse the name of a new index if something has it, or if it is that of a data file: INDEX was forgotten.

    Examples
    --------
    >>> check_new("news.jsonl")
    Traceback (most recent call last):
    lookalike.errors.UsageError: news.jsonl is the name of a data file, not of an index: `lookalike index create INDEX \
news.jsonl`
    """
    if is_database(place):
        return  # the database knows
    path = _folder(place)
    create = f"`lookalike index create INDEX {path}`"
    if path.is_file():
        raise UsageError(f"{path} is a file, not an index: {create}")
    if is_index_folder(path):
        raise UsageError(f"{path}: already exists; add to it with `lookalike index add`, or choose another name")
    if os.path.lexists(path):
        raise UsageError(f"{path}: already exists and is not an index; choose another name")
    if names_data(str(path)):
        raise UsageError(f"{path} is the name of a data file, not of an index: {create}")


@contextmanager
def create_store(place: str | Path, kind: Kind, **execution: Any) -> Iterator[Store]:
    """A new store, to be filled in the block; it appears with everything added in the block, or not at all."""
    if is_database(place):
        module, found = _database(place)
        with module.create_database(found, kind, **execution) as store:
            yield store
        return
    check_new(place)
    with OutputFolder(_folder(place), resumable=False) as partial:
        create_folder(partial, kind)
        with Folder(partial, writing=True, **execution) as made:
            yield made


def open_store(place: str | Path, *, writing: bool, grouped: bool = False, **execution: Any) -> Store:
    """A store that exists.

    Raises
    ------
    UsageError
        If it is not an index, or if another process is writing to it.
    BadDataError
        If it is damaged.
    """
    if is_database(place):
        module, found = _database(place)
        store: Store = module.open_database(found, writing=writing, grouped=grouped, **execution)
        return store
    return Folder(_folder(place), writing=writing, grouped=grouped, **execution)


def snapshot_store(place: str | Path, to: str | Path, progress: Progress) -> int:
    """Copy an index, which may be in use, to a new folder; return its size in bytes."""
    if is_database(place):
        _, found = _database(place)
        raise UsageError(f"{found.name}: use pg_dump, which copies the tables of a PostgreSQL index while it is in use")
    if is_database(to):
        raise UsageError("a snapshot is a folder; name one that does not exist")
    if os.path.lexists(_folder(to)):
        raise UsageError(f"{to}: already exists; choose another name")
    from lookalike.index.folder.snapshot import snapshot_folder

    return snapshot_folder(_folder(place), _folder(to), progress)


def check_store(place: str | Path) -> list[str]:
    """All problems of an index; empty if there are none."""
    if is_database(place):
        _, found = _database(place)
        from lookalike.index.postgres.health import check_database

        return check_database(found)
    from lookalike.index.folder.health import check_folder

    return check_folder(_folder(place))
