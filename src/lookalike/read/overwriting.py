"""Refuse, before any work, an output that is an input or contains one, since the input would be destroyed."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from lookalike.errors import UsageError
from lookalike.read.inputs import find_files

_LOCAL_URLS = ("file://", "local://")


def refuse_input_as_output(out: Path, inputs: Sequence[str | Path]) -> None:
    """Refuse to replace a file that would be read as input: by name, in a folder, or through any kind of link."""
    if not out.exists():
        return
    for given in _local(inputs):
        for file in find_files([given], skip_errors=True):
            if _is_same(file.path, out):
                raise UsageError(
                    f"{out}: is an input ({given}), which would be replaced; choose another name for the output"
                )


def refuse_inputs_in(folders: Sequence[Path], inputs: Sequence[str | Path]) -> None:
    """Refuse an output folder that is an input or contains one.

    A folder or a glob that contains the output folder, among other things, is allowed: files in the output folder are
    then not read.
    """
    there = [folder for folder in folders if folder.exists()]
    is_within = cache(_is_within)  # asked once for all files of a folder
    for given in _local(inputs) if there else ():
        exact = os.path.lexists(given)
        matches = [given] if exact else glob.iglob(given, recursive=True)  # noqa: PTH207
        inside = None
        for one in matches:
            place = _folder_of(Path(one))
            inside = next((folder for folder in there if is_within(place, folder)), None)
            if inside is None:  # so something is left to read, and the other matches need not be looked at
                break
        if inside is not None:
            raise UsageError(
                f"{given}: is an input in the output folder {inside}, which would be replaced; choose another output"
            )


def _local(inputs: Sequence[str | Path]) -> Iterator[str]:
    """The inputs that are local paths."""
    for one in inputs:
        given = os.fspath(one)
        for scheme in _LOCAL_URLS:
            given = given.removeprefix(scheme)
        if given not in ("", "-") and "://" not in given:
            yield given


def _is_same(path: str, out: Path) -> bool:
    try:
        return out.samefile(path)
    except OSError:  # the reader will report what is wrong with it
        return False


def _folder_of(path: Path) -> Path:
    """The folder of a file; a folder or a link itself, which may lead anywhere."""
    return path if path.is_dir() or path.is_symlink() else path.parent


def _is_within(path: Path, folder: Path) -> bool:
    """Whether a path is a folder or inside it: by its own name, or after resolving links."""
    places = {place for start in (path.absolute(), path.resolve()) for place in (start, *start.parents)}
    return any(place.exists() and place.samefile(folder) for place in places)
