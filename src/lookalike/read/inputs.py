"""INPUT of the command line (files, folders, globs, URLs, standard input) -> sources.

Finds files and names them; the formats know what is in them.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.read.documents import DocumentsSource
from lookalike.read.earlier import INDEX_FILES, INDEX_HEAD, LINE_FILES, names_an_index, read_record
from lookalike.read.files import File, first_line, stamp
from lookalike.read.formats import FORMATS, UNCOMPRESSED_ONLY, open_source
from lookalike.read.names import kept_paths
from lookalike.read.streams import check_encoding
from lookalike.read.unreadable import UnreadableSource, find_binary, refuse_json_table
from lookalike.read.walking import NO_INPUT, Finding, known_stamps, match, regular_stamp, silent, walk
from lookalike.types import KEPT, READ_LIMITS, RUN_FILE, TEMPORARY, ReadLimits, Source, parse_record
from lookalike.types.wording import count

_EXTRAS = {"http": "http", "https": "http", "s3": "s3"}
"""By the scheme of a URL, the extra of this package that reads it."""
NAMED = 3
"""How many skipped files a note names."""


class InputFile(NamedTuple):
    """A file of the input and how it was found."""

    file: File
    given: str
    """What the user typed."""
    in_folder: bool
    """Whether it was found in a folder: there a plain text file is one item, elsewhere each of its lines."""
    error: str = ""
    """Why it cannot be read, if errors are skipped."""
    is_link: bool | None = None
    """Whether its path is a link, if that is known."""

    @property
    def is_document(self) -> bool:
        """Whether the file is one item."""
        suffix = self.file.suffix
        return suffix not in FORMATS or (self.in_folder and suffix == ".txt")

    @property
    def is_named(self) -> bool:
        """Whether the user typed its name, not that of a folder or a glob."""
        return self.file.name == _shown(self.given)


def open_inputs(
    inputs: Sequence[str | Path],
    *,
    encoding: str = "utf-8",
    spool: Path | None = None,
    outputs: Sequence[Path] = (),
    skip_errors: bool = False,
    note: Callable[[str], None] | None = None,
    limits: ReadLimits = READ_LIMITS,
) -> list[Source]:
    r"""Open the inputs in the order given; within folders and globs sorted by path.

    Parameters
    ----------
    inputs
        Files, folders, globs, URLs that fsspec knows, `-` for JSONL on standard input. An output folder of an
        earlier run stands for the rows that it kept; one inside an input folder is skipped.
    encoding
        The encoding of text formats.
    spool
        A folder for a copy of standard input, since sources are read more than once.
    outputs
        The folders that will be written to: files in them are not input, even if they are inside an input folder.
    skip_errors
        List folders and files without permission, found in an input folder, among the bad lines instead of raising.
    note
        Called with a message about each input that is skipped.
    limits
        The sizes of blocks.

    Raises
    ------
    UsageError
        If there is nothing to read, or a .json file that was named is a table.
    BadDataError
        If a folder inside an input folder cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("first line\nsecond line\n")
    ...     [source.kept_path for source in open_inputs([f"{folder}/*.txt"])]
    ['a.txt']
    """
    encoding = check_encoding(encoding)
    how = Finding([folder.resolve() for folder in outputs], skip_errors, note or silent)
    found: list[InputFile] = []
    for given in inputs:
        found += _texts_of(_find(os.fspath(given), spool, found, how), encoding, how)
    for one in found:
        if one.file.suffix == ".json" and one.is_named:
            refuse_json_table(one.file, encoding)
    names = kept_paths([one.file.kept_path for one in found], lambda row: _absolute(found[row].file))
    found = [
        one if one.file.kept_path == name else one._replace(file=replace(one.file, kept_path=name))
        for one, name in zip(found, names)
    ]
    sources: list[Source] = []
    for (error, is_document), group in groupby(found, lambda one: (one.error, one.is_document)):
        members = list(group)
        if error:
            sources += [UnreadableSource(one.file.name, one.file.kept_path, one.file, error) for one in members]
        elif is_document:
            sources.append(_open_documents(members, encoding, limits))
        else:
            sources += [_open_file(one.file, encoding, limits) for one in members]
    return sources


def find_files(
    inputs: Sequence[str | Path], note: Callable[[str], None] | None = None, skip_errors: bool = False
) -> list[File]:
    """The files that the user named, for readers of whole files; folders and globs sorted by path.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "b.xyt").write_text("1 2 3"), Path(folder, "a.xyt").write_text("1 2 3")
    ...     [Path(file.name).name for file in find_files([folder])]
    ['a.xyt', 'b.xyt']
    """
    if "-" in map(str, inputs):
        raise UsageError("standard input (-) is not supported here; pass a file")
    how = Finding(skip_errors=skip_errors, note=note or silent)
    return [one.file for given in inputs for one in _find(os.fspath(given), None, [], how)]


def open_sides(
    inputs: Sequence[str | Path],
    against: Sequence[str | Path],
    encoding: str,
    spool: Path | None,
    limits: ReadLimits = READ_LIMITS,
    *,
    skip_errors: bool = False,
    note: Callable[[str], None] | None = None,
) -> tuple[list[Source], list[Source]]:
    """The sources of INPUT, and those of `--against` if given."""
    if "-" in map(str, inputs) and "-" in map(str, against):
        raise UsageError("standard input (-) was given both as INPUT and with --against; save one of them to a file")
    opened = partial(open_inputs, encoding=encoding, spool=spool, limits=limits, skip_errors=skip_errors, note=note)
    return opened(inputs), opened(against) if against else []


def identity_of(sources: Sequence[Source]) -> list[list[Any]]:
    """Name, size and modification time of every file, to detect whether the input has changed.

    Examples
    --------
    >>> identity_of([])
    []
    """
    files = [file for source in sources for file in getattr(source, "files", None) or [source.file]]  # type: ignore[attr-defined]
    return [[file.name, file.nbytes, *(file.stamp or ())] for file in files]


def check_inputs(inputs: Sequence[str | Path]) -> None:
    """Refuse inputs that do not exist, without opening anything, so that a typo is reported at once.

    Examples
    --------
    >>> check_inputs(["-", "s3://bucket/news.jsonl"])
    """
    for one in inputs:
        given = os.fspath(one)
        if not given:
            raise UsageError("an input is the empty string; give a file, folder or glob")
        if given != "-" and "://" not in given and not Path(given).exists() and not glob.has_magic(given):
            raise UsageError(f"{given}: no such file or folder")


def _texts_of(found: list[InputFile], encoding: str, how: Finding) -> list[InputFile]:
    """Leave out the files of a folder that are plainly not text, with a note."""
    documents = [one for one in found if one.in_folder and one.is_document and not one.error and not one.file.system]
    binary = [documents[number].file for number in find_binary([one.file for one in documents], encoding)]
    if not binary:
        return found
    given, names = found[0].given, [file.name.rpartition("/")[2] for file in binary]
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")
    if len(binary) == len(found):
        raise UsageError(f"{given}: none of its files is text ({shown})")
    how.note(f"{given}: skipped {count(len(binary), 'file that is', 'files that are')} not text: {shown}.")
    left_out = set(map(id, binary))
    return [one for one in found if id(one.file) not in left_out]


def _open_documents(members: list[InputFile], encoding: str, limits: ReadLimits) -> Source:
    given = {one.given for one in members}
    name = given.pop() if len(given) == 1 else members[0].file.name
    return DocumentsSource(name, [one.file for one in members], encoding, limits)


def _open_file(file: File, encoding: str, limits: ReadLimits) -> Source:
    if file.compression and file.suffix in UNCOMPRESSED_ONLY:
        raise UsageError(f"{file.name}: compressed {file.suffix} files are not supported; decompress it first")
    return open_source(file, encoding, limits)


def _find(given: str, spool: Path | None, before: list[InputFile], how: Finding) -> list[InputFile]:
    if given == "-":
        if any(one.given == "-" for one in before):
            raise UsageError("standard input (-) was given more than once; it can be read only once")
        return [InputFile(spool_stdin(spool), given, False)]
    found = list(_find_url(given, how) if "://" in given else _find_local(given, how))
    apart = Path(given).is_dir() and how.is_apart(given)  # then only links can lead to what is written
    doubtful = [one for one in found if one.file.system is None and not (apart and one.is_link is False)]
    if inside := [one for one in doubtful if how.is_written(one.file.path, one.is_link)]:
        found = [one for one in found if one not in inside]
        if not found or Path(given).exists():  # matches of a glob that are in the output may be omitted
            raise UsageError(
                f"{inside[0].file.name}: is in the output folder, which would be replaced; choose another output folder"
            )
    if not found and not read_record(Path(given)):  # an earlier run may have kept nothing
        what = "the folder has no files to read" if Path(given).is_dir() or "://" in given else "no file matches"
        raise UsageError(f"{given}: {what}")
    return found


def _find_local(given: str, how: Finding) -> Iterator[InputFile]:
    check_inputs([given])
    path = Path(given)
    if path.is_dir():
        yield from _find_in_folder(given, given, how)
    elif path.is_file():
        yield InputFile(_local(given, path.name), given, False)
    elif path.exists():
        raise UsageError(f"{given}: not a regular file; pipe it to standard input (-) instead")
    elif glob.has_magic(given):
        for one in match(given, how):
            # a recursive glob also matches the files in a folder
            path = Path(one.path)
            if one.error:
                yield _unreadable(one.path, given, one.error, how)
            elif path.is_file():
                yield InputFile(_local(one.path, path.name), given, False)
            elif path.is_dir() and "**" not in given:
                yield from _find_in_folder(one.path, given, how)


def _find_in_folder(folder: str, given: str, how: Finding) -> Iterator[InputFile]:
    """Every file below a folder except hidden ones, sorted by path."""
    base = Path(folder, KEPT) if read_record(Path(folder)) else Path(folder)
    within = 0 if base == Path() else len(str(base).rstrip(os.sep)) + 1
    by_parts = sorted(walk(folder, how), key=lambda one: one.path.replace(os.sep, "\0"))
    for (path, whole, error), known in zip(by_parts, known_stamps([one.path for one in by_parts])):
        if error:
            yield _unreadable(path, given, error, how)
            continue
        kept_path = path[within:].replace(os.sep, "/")
        if known:
            yield InputFile(File(_shown(path), kept_path, path, known[0], known), given, whole, "", False)
            continue
        try:
            if found := regular_stamp(path):
                yield InputFile(_local(path, kept_path, found[:2]), given, whole, is_link=found.is_link)
        except (OSError, UsageError) as failure:
            why = failure.strerror or "" if isinstance(failure, OSError) else "Permission denied"
            yield _unreadable(path, given, why, how)


def _unreadable(name: str, given: str, why: str, how: Finding) -> InputFile:
    """Raise an error for a path in an input folder that cannot be read, or list it among the bad lines."""
    error = f"cannot be read: {why}"
    if not how.skip_errors:
        raise BadDataError(f"{name}: {error}; change its permissions, or leave it out with --on-error skip")
    return InputFile(File(name, Path(name).name, name), given, True, error)


def _local(name: str, kept_path: str, found: tuple[int, int] | None = None) -> File:
    try:
        found = found or stamp(name)
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from error
    if not os.access(name, os.R_OK):
        raise UsageError(f"{name}: cannot be read: permission denied")
    return File(_shown(name), kept_path, name, found[0], found)


def _shown(name: str) -> str:
    """A name whose bytes that are not UTF-8 are escaped."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def _find_url(given: str, how: Finding) -> Iterator[InputFile]:
    # imported here: a run on local files does not need it
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(given)
        if glob.has_magic(path) and not system.exists(path):
            for match in sorted(system.glob(path)):
                if system.isfile(match):
                    yield InputFile(_remote(system, match, match.rsplit("/", 1)[-1]), given, False)
        elif system.isdir(path):
            path, lines = _kept_remote(system, path)
            for inner in _without_outputs(system, path, how):
                within = inner.removeprefix(path).lstrip("/")
                if not any(part.startswith(".") for part in within.split("/")):
                    yield InputFile(_remote(system, inner, within), given, within not in lines)
        elif system.exists(path):
            yield InputFile(_remote(system, path, path.rsplit("/", 1)[-1], given), given, False)
        else:
            raise UsageError(f"{given}: no such file or folder")
    except UsageError:
        raise
    except ImportError as error:
        extra = _EXTRAS.get(given.partition("://")[0])
        needed = f"needs an extra package; pip install 'lookalike[{extra}]'" if extra else first_line(error)
        raise UsageError(f"{given}: {needed}") from error
    except ValueError as error:
        raise UsageError(f"{given}: {first_line(error)}") from error
    except Exception as error:  # each kind of file system has its own
        raise BadDataError(f"{given}: cannot be read: {first_line(error)}") from error


def _kept_remote(system: Any, path: str) -> tuple[str, set[str]]:
    """The folder with the rows to read, and which plain text files have one item per line: see `earlier`."""
    run_file, kept = f"{path.rstrip('/')}/{RUN_FILE}", f"{path.rstrip('/')}/{KEPT}"
    record = parse_record(system.cat_file(run_file)) if system.isfile(run_file) and system.isdir(kept) else None
    return (path, set()) if record is None else (kept, set(record.get(LINE_FILES, ())))


def _without_outputs(system: Any, path: str, how: Finding) -> list[str]:
    """The files below a folder, sorted, except those in earlier outputs."""
    found: list[str] = sorted(system.find(path))
    if "file" in system.protocol:
        found = [inner for inner in found if not how.is_written(inner)]
    for run_file in [inner for inner in found if inner.endswith(f"/{RUN_FILE}")]:
        folder = run_file.removesuffix(RUN_FILE)
        kept, links = f"{folder}{KEPT}/", f"{folder}links.parquet"
        is_output = folder.rstrip("/") != path.rstrip("/") and any(one.startswith((kept, links)) for one in found)
        if is_output and parse_record(system.cat_file(run_file)) is not None:
            how.note_skipped(folder.rstrip("/"))
            found = [inner for inner in found if not inner.startswith(folder)]
    for file in [inner for inner in found if inner.endswith(tuple(f"/{name}" for name in INDEX_FILES))]:
        folder, name = file[: file.rindex("/") + 1], file[file.rindex("/") + 1 :]
        if names_an_index(name, system.cat_file(file, start=0, end=INDEX_HEAD)):
            if folder.rstrip("/") == path.rstrip("/"):
                raise UsageError(f"{path}: {NO_INPUT}")
            how.note_index(folder.rstrip("/"))
            found = [inner for inner in found if not inner.startswith(folder)]
    return found


def _remote(system: Any, path: str, kept_path: str, name: str | None = None) -> File:
    size = system.info(path).get("size") or 0
    # the query of a URL is not part of the file name
    return File(name or system.unstrip_protocol(path), kept_path.partition("?")[0], path, size, None, system)


def _absolute(file: File) -> str:
    return os.path.abspath(file.path) if file.system is None else file.name  # noqa: PTH100


def spool_stdin(spool: Path | None) -> File:
    """Copy standard input to a file in `spool`, or in a temporary folder: sources are read more than once."""
    if sys.stdin is None:
        raise UsageError("standard input (-) is closed; pipe data into it or pass a file")
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY)) if spool is None else spool
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "stdin.jsonl"
    try:
        with path.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out, 1 << 20)
    except OSError as error:
        raise ResourceError(
            f"standard input could not be copied to {folder}: {error.strerror}; free some space or pass a file"
        ) from error
    temporary = None if spool else TemporaryFolder(folder)
    return File("stdin", "stdin.jsonl", str(path), path.stat().st_size, stamp(str(path)), keep_alive=temporary)


class TemporaryFolder:
    """A folder that is removed when this object is no longer referenced, or when the program ends."""

    def __init__(self, path: Path) -> None:
        weakref.finalize(self, shutil.rmtree, path, True)
