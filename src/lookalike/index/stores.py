"""Open the store that INDEX names: a folder, or tables in a PostgreSQL database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookalike.errors import UsageError
from lookalike.index.contract import Store
from lookalike.index.folder.store import Folder, create_folder
from lookalike.index.kind import Kind
from lookalike.index.places import is_database
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


@contextmanager
def create_store(place: str | Path, kind: Kind, **execution: Any) -> Iterator[Store]:
    """A new store, to be filled in the block; it appears with everything added in the block, or not at all."""
    if is_database(place):
        module, found = _database(place)
        with module.create_database(found, kind, **execution) as store:
            yield store
        return
    path = _folder(place)
    if os.path.lexists(path):
        raise UsageError(f"{path}: already exists; add to it with `lookalike index add`, or choose another name")
    with OutputFolder(path, resumable=False) as partial:
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


def check_store(place: str | Path) -> list[str]:
    """All problems of an index; empty if there are none."""
    if is_database(place):
        _, found = _database(place)
        from lookalike.index.postgres.health import check_database

        return check_database(found)
    from lookalike.index.folder.health import check_folder

    return check_folder(_folder(place))
