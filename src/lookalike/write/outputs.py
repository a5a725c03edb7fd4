"""Where results go: a folder or a file that appears whole or not at all.

Everything is written under a hidden name beside the final one and renamed when it is complete.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeGuard

from lookalike.errors import ResourceError, UsageError
from lookalike.types import KEPT, RUN_FILE

LOCK_FILE = "lock"
"""Held by the run that fills the folder."""
WORK = "work"
"""Where a run keeps pieces of its work, inside the folder that it fills."""
MANIFEST = "manifest.jsonl"
"""What a run has finished, in the work folder."""
MANY_FILES = 200
"""From here on, everything is flushed at once."""
TABLE_SUFFIXES = (".parquet", ".csv", ".jsonl", ".tsv")
"""What a table's file name can end in."""

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FREE_OR_MOVE = "free some space or choose another place"
_GO_ON = "free some space and go on with --resume, or choose another place with -o"


class OutputFolder:
    """An output folder, to be filled within a `with` block.

    The block gets the path of a hidden folder beside the final one. When the block ends, all of it is flushed
    to disk and renamed. When it raises, all of it is removed; but what an interrupted run, or one whose disk is
    full, has finished in the work folder is left for `resume`.

    Parameters
    ----------
    path
        The final name; its parent folders are made.
    overwrite
        Replace an earlier output (a folder with `run.json` in it) or an empty folder; never anything else.
    resume
        Take over what a killed run into this folder has left.
    work
        Where another folder for pieces of work is to be made; inside the hidden folder unless told.
    resumable
        Whether the run could go on later; otherwise nothing is left for it.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with OutputFolder(Path(parent, "out")) as folder:
    ...         _ = (folder / "run.json").write_text("{}")
    ...     sorted(found.name for found in Path(parent).rglob("*"))
    ['out', 'run.json']
    """

    def __init__(
        self,
        path: str | Path,
        overwrite: bool = False,
        resume: bool = False,
        work: str | Path | None = None,
        *,
        resumable: bool = True,
    ) -> None:
        self.path = Path(path).resolve()
        self.overwrite = overwrite
        self.resume = resume
        self._resumable = resumable
        self._advice = _GO_ON if resumable else _FREE_OR_MOVE
        self._partial = self.path.parent / f".{self.path.name}.partial"
        self.work = self._partial / WORK if work is None else Path(work).resolve() / _work_name(self.path)
        self.spool = self.work.with_name(f"{self.work.name}-spool")
        """Where input that can be read only once is put."""
        self._lock: int | None = None
        self._made: list[Path] = []
        self._check()

    def __enter__(self) -> Path:
        with disk_errors(self.path, self._advice):
            self._made = [parent for parent in self.path.parents if not parent.exists()]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._take()
        return self._partial

    def _take(self) -> None:
        """Make the hidden folder, or take over that of a run that was killed, and hold it."""
        existed = self._partial.exists()
        self._partial.mkdir(exist_ok=True)
        self._lock = os.open(self._partial / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if existed and self._has_pieces() and not self.resume and not self.overwrite:
                raise UsageError(
                    f"{self.path}: an earlier run into it did not finish; go on with --resume, or start again with "
                    "--overwrite"
                )
        except BlockingIOError:
            self._release()
            raise UsageError(f"{self.path}: another run is writing to it") from None
        except UsageError:
            self._release()
            raise
        if self.resume:
            self._tidy()
        else:
            _empty(self._partial, {LOCK_FILE})
            self.clear_work()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        keep = False
        try:
            with disk_errors(self.path, self._advice):
                if error is not None:
                    # what can go on later is left for --resume
                    stopped = KeyboardInterrupt | ResourceError | OSError | MemoryError
                    later = self.resume or isinstance(error, stopped)
                    keep = later and self._resumable and self._has_pieces()
                    if isinstance(error, OSError):
                        raise error
                    if _is_full(error.__cause__):
                        raise error.__cause__  # what a file in the folder said of itself: here, it can go on
                    return
                self.clear_work()
                (self._partial / LOCK_FILE).unlink()
                flush_tree(self._partial)
                self._publish()
        finally:
            if keep:
                self._tidy()
            else:
                self.clear_work()
                shutil.rmtree(self._partial, ignore_errors=True)
            self._release()
            for parent in self._made:
                # after a failure the folders on the way are empty; after a success this does nothing
                with suppress(OSError):
                    parent.rmdir()

    def _has_pieces(self) -> bool:
        return any(self._pieces())

    def _pieces(self) -> Iterator[Path]:
        return self.work.glob("*.arrow")

    def _tidy(self) -> None:
        """Leave what a run can go on with: the rest may be half of something, and takes room on a full disk."""
        _empty(self._partial, {LOCK_FILE, WORK, KEPT})
        if self.work.is_dir():
            _empty(self.work, {MANIFEST, *(piece.name for piece in self._pieces())})
        whole = self._whole_files()
        for path in (self._partial / KEPT).rglob("*"):
            if path.is_file() and path.relative_to(self._partial).as_posix() not in whole:
                path.unlink()

    def _whole_files(self) -> set[str]:
        """The surviving rows that are written to the end, by the manifest of the work."""
        manifest = self.work / MANIFEST
        return {line.get("name", "") for line in whole_lines(manifest)} if manifest.is_file() else set()

    def clear_work(self) -> None:
        """Remove the pieces of work."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.spool, ignore_errors=True)

    def _check(self) -> None:
        """Refuse what must not be replaced."""
        if not os.path.lexists(self.path):
            return
        if not self.overwrite:
            raise UsageError(f"{self.path}: exists already; choose another name or give --overwrite")
        if not self.path.is_dir():
            raise UsageError(f"{self.path}: is a file, where an output folder should go")
        if any(self.path.iterdir()) and not (self.path / RUN_FILE).is_file():
            raise UsageError(f"{self.path}: is not an output of lookalike ({RUN_FILE} is missing); not replaced")

    def _publish(self) -> None:
        """Put the new folder in place; the old one goes only when the new one stands."""
        self._check()
        if not self.path.exists():
            self._partial.rename(self.path)
        else:
            old = _beside(self.path, "old")
            self.path.rename(old)
            try:
                self._partial.rename(self.path)
            except BaseException:
                old.rename(self.path)
                raise
            shutil.rmtree(old, ignore_errors=True)
        flush(self.path.parent)


def _work_name(path: Path) -> str:
    """One work folder for each output: runs into others must not meet there."""
    return f"lookalike-{path.name}-{zlib.crc32(os.fsencode(path)):08x}"


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a manifest; one that was cut off by a kill counts as not written."""
    found = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found


def _empty(folder: Path, but: set[str]) -> None:
    for found in folder.iterdir():
        if found.name in but:
            continue
        if found.is_dir() and not found.is_symlink():
            shutil.rmtree(found)
        else:
            found.unlink()


def _beside(path: Path, what: str) -> Path:
    """A new hidden folder in the same parent, so that renaming it is atomic; as readable as any other."""
    made = Path(tempfile.mkdtemp(prefix=f".{path.name}.{what}-", dir=path.parent))
    made.chmod(0o777 & ~_umask())
    return made


def _umask() -> int:
    # there is no way to read it but to set it
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A hidden name to write a file to; it gets its own name when the block ends well.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with whole_file(Path(parent, "a.txt")) as partial:
    ...         _ = partial.write_text("all of it")
    ...     Path(parent, "a.txt").read_text()
    'all of it'
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.partial-", dir=path.parent)
        os.close(handle)
        partial = Path(name)
        try:
            partial.chmod(0o666 & ~_umask())
            yield partial
            flush(partial)
            partial.replace(path)
            flush(path.parent)
        finally:
            partial.unlink(missing_ok=True)


def output_file(path: str | Path, suffixes: tuple[str, ...] = TABLE_SUFFIXES, overwrite: bool = False) -> Path:
    """Check that a file may be written, before the work is done.

    Examples
    --------
    >>> output_file("pairs.csv").name
    'pairs.csv'
    """
    found = Path(path)
    if found.suffix.lower() not in suffixes:
        raise UsageError(f"{found}: the name must end in {', '.join(suffixes)}")
    if found.is_dir():
        raise UsageError(f"{found}: is a folder, where a file should go")
    if found.exists() and not overwrite:
        raise UsageError(f"{found}: exists already; choose another name or give --overwrite")
    return found


@contextmanager
def disk_errors(path: Path, advice: str = _FREE_OR_MOVE) -> Iterator[None]:
    """Say where the disk is full, how much was free and what to do, instead of a bare system error."""
    try:
        yield
    except OSError as error:
        if _is_full(error):
            raise ResourceError(
                f"{path}: no space left on the disk ({free_bytes(path) / 1e6:,.0f} MB free); {advice}"
            ) from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}:
            raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
        raise


def _is_full(error: BaseException | None) -> TypeGuard[OSError]:
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def free_bytes(path: Path) -> int:
    """How much room there is on the disk of a path, which need not exist yet."""
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    return shutil.disk_usage(there).free


def flush_tree(folder: Path) -> None:
    """Make sure that everything in a folder is on disk."""
    found = [Path(parent, name) for parent, _, files in os.walk(folder, topdown=False) for name in (*files, ".")]
    if len(found) > MANY_FILES:
        # one by one, each would wait for the disk
        os.sync()
        return
    for path in found:
        flush(path)


def flush(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
