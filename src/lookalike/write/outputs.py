"""Output folders that appear complete or not at all.

Everything is written to a hidden folder next to the final one, which is renamed when it is complete.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from lookalike.errors import ResourceError, UsageError, interrupt_behind
from lookalike.types import KEPT, RUN_FILE, parse_record
from lookalike.write.files import FREE_OR_MOVE, disk_errors, is_full, unpublished
from lookalike.write.flushing import MANY_FILES, flush, flush_tree
from lookalike.write.locks import FileLock, LockedError
from lookalike.write.ownership import LOCK_TEXT, check_replaceable, check_work_folders

LOCK_FILE = "lock"
"""Held by the run that writes to the folder."""
WORK = "work"
"""Where a run keeps pieces of its work, inside the folder that it writes to."""
MANIFEST = "manifest.jsonl"
"""The list of finished pieces, in the work folder."""
_FREE_AND_RESUME = "free some space and continue with --resume, or choose another location with -o"


class OutputFolder:
    """An output folder, to be filled in a `with` block.

    The block receives the path of a hidden folder next to the final one. When the block ends, the folder is flushed to
    disk and renamed. If it raises, the folder is removed; but if the run was interrupted or the disk is full, the
    finished pieces in the work folder are left for `resume`.

    Parameters
    ----------
    path
        The final path; its parent folders are created.
    overwrite
        Replace an earlier output (a folder with a `run.json` of lookalike and no other files) or an empty folder;
        never anything else.
    resume
        Continue with the pieces that a killed run left in this folder.
    work
        Where to create the folder for pieces of work; by default inside the hidden folder.
    resumable
        Whether the run can be resumed later; otherwise no pieces are left.
    many_files
        With more files than this, all are flushed at once instead of one by one.

    Examples
    --------
    >>> import tempfile
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
        many_files: int = MANY_FILES,
    ) -> None:
        for given, option in ((path, "-o"), (work, "--work")):
            if given is not None and not os.fspath(given):
                raise UsageError(f"{option} is the empty string; name a folder")
        if Path(path).is_symlink() and not Path(path).exists():
            raise UsageError(f"{path}: is a symbolic link to nothing; remove it or choose another name")
        self.path = Path(path).resolve()
        self.overwrite = overwrite
        self.resume = resume
        self._resumable = resumable
        self._many_files = many_files
        self._advice = _FREE_AND_RESUME if resumable else FREE_OR_MOVE
        self._partial = self.path.parent / f".{self.path.name}.partial"
        self.work = self._partial / WORK if work is None else Path(work).resolve() / _work_name(self.path)
        self.spool = self.work.with_name(f"{self.work.name}-spool")
        """Where input that can be read only once is copied."""
        self._lock = FileLock(self._partial / LOCK_FILE, LOCK_TEXT)
        self._taken = False
        """Whether the hidden folder was made or locked by this run, which may then empty it."""
        self._made: list[Path] = []
        self.publishing_seconds = 0.0
        """How long it took to flush and rename the output."""
        self.complete = False
        """Set when everything is written and others rely on it: from then on, nothing is removed, even after an
        error."""
        self._check()

    @property
    def places(self) -> list[Path]:
        """The folders that are replaced or emptied: the output itself, and those of work files."""
        return [self.path, self._partial, self.work, self.spool]

    def __enter__(self) -> Path:
        try:
            with disk_errors(self.path, self._advice):
                parents = [*self.path.parents, *self.work.parents]
                self._made = [parent for parent in parents if not parent.exists()]
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._take()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self._partial

    def _take(self) -> None:
        """Create the hidden folder, or reuse that of a killed run, and lock it."""
        check_work_folders(self._partial, LOCK_FILE, (self.work, self.spool))
        existed = self._partial.exists()
        self._taken = not existed
        self._partial.mkdir(exist_ok=True)
        unpublished.add(self._partial)
        try:
            self._lock.acquire()
        except LockedError as error:
            self._taken = False
            raise UsageError(f"{self.path}: another run is writing to it; {error}") from None
        self._taken = True
        if existed and self._has_pieces() and not self.resume and not self.overwrite:
            self._taken = False
            self._lock.release()
            raise UsageError(
                f"{self.path}: an earlier run into it did not finish; continue it with --resume, or start again with "
                "--overwrite"
            )
        if self.resume:
            self._tidy()
        else:
            _empty(self._partial, {LOCK_FILE})
            self.clear_work()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with disk_errors(self.path, self._advice):
                if error is None:
                    try:
                        self._finish()
                    except BaseException as failure:
                        error = failure
                        raise
                elif isinstance(error, OSError) and (is_full(error) or self._is_about_output(error)):
                    raise error
                elif is_full(error.__cause__):
                    raise error.__cause__  # raised for a file in the folder: the advice here is about the run
        finally:
            keep = error is not None and self._is_worth_keeping(error)
            _despite_interrupt(lambda: self._clean_up(keep, failed=kind is not None))

    def _finish(self) -> None:
        """Flush and rename the folder.

        Until all of it is on disk, the pieces of work stay: a run that is stopped while it waits for the disk can be
        resumed. After that, an interrupt no longer stops it.
        """
        started = time.perf_counter()
        shutil.rmtree(self.spool, ignore_errors=True)
        flush_tree(self._partial, self._many_files, leave_out=(self.work, self._lock.path))
        _despite_interrupt(self._rename)
        self.publishing_seconds = time.perf_counter() - started

    def _rename(self) -> None:
        """Remove the pieces of work and move the folder into place; can be done twice."""
        self.clear_work()
        self._lock.remove()
        if self._partial.exists():
            self._publish()

    def _is_worth_keeping(self, error: BaseException) -> bool:
        """Whether the pieces of a run that failed are left for `--resume`; says so if it was interrupted."""
        later = self.resume or isinstance(error, KeyboardInterrupt | ResourceError | OSError | MemoryError)
        keep = later and self._resumable and self._has_pieces()
        if keep and isinstance(error, KeyboardInterrupt):
            error.args = ("finished work is kept: continue with --resume",)
        return keep

    def _clean_up(self, keep: bool, failed: bool) -> None:
        """Leave what `--resume` needs, or nothing; can be done twice."""
        unpublished.discard(self._partial)
        if not self._taken:
            return
        if keep and not self.complete:
            self._tidy()
        elif not (failed and self.complete):
            self.clear_work()
            shutil.rmtree(self._partial, ignore_errors=True)
        self._lock.release()
        for parent in self._made:
            # after a failure the parents are empty; after a success this does nothing
            with suppress(OSError):
                parent.rmdir()

    def flush(self) -> None:
        """Wait until everything written is on disk, because something else is going to rely on it."""
        with disk_errors(self.path, self._advice):
            flush_tree(self._partial, self._many_files)

    def completed(self) -> dict[str, Any] | None:
        """The record of a run that was killed after it had written everything, just before the folder was renamed."""
        path = self._partial / RUN_FILE
        return parse_record(path.read_bytes()) if path.is_file() else None

    def publish_completed(self) -> None:
        """Rename the folder of such a run to its final name."""
        check_work_folders(self._partial, LOCK_FILE, (self.work, self.spool))
        with disk_errors(self.path, self._advice):
            try:
                self._lock.acquire()
            except LockedError as error:
                raise UsageError(f"{self.path}: another run is writing to it; {error}") from None
            self._finish()

    def _is_about_output(self, error: OSError) -> bool:
        """Whether an error is about a file of this output, rather than about the input."""
        if not isinstance(error.filename, str | bytes):
            return True
        place = Path(os.fsdecode(error.filename)).absolute()
        return any(folder in (place, *place.parents) for folder in self.places)

    def _has_pieces(self) -> bool:
        return any(self._pieces())

    def _pieces(self) -> Iterator[Path]:
        return self.work.glob("*.arrow")

    def _tidy(self) -> None:
        """Delete everything that a resumed run cannot use: it may be incomplete, and takes space on a full disk."""
        _empty(self._partial, {LOCK_FILE, WORK, KEPT})
        if self.work.is_dir():
            _empty(self.work, {MANIFEST, *(piece.name for piece in self._pieces())})
        whole = self._whole_files()
        for path in (self._partial / KEPT).rglob("*"):
            if path.is_file() and path.relative_to(self._partial).as_posix() not in whole:
                path.unlink()

    def _whole_files(self) -> set[str]:
        """The files of surviving rows that are complete, as listed in the manifest."""
        manifest = self.work / MANIFEST
        return {line.get("name", "") for line in whole_lines(manifest)} if manifest.is_file() else set()

    def clear_work(self) -> None:
        """Remove the pieces of work."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.spool, ignore_errors=True)

    def _check(self) -> None:
        """Refuse to replace anything but an earlier output."""
        if not os.path.lexists(self.path):
            return
        if not self.overwrite:
            raise UsageError(f"{self.path}: already exists; choose another name or use --overwrite")
        if not self.path.is_dir():
            raise UsageError(f"{self.path}: is a file; choose another name for the output folder")
        check_replaceable(self.path)

    def _publish(self) -> None:
        """Move the new folder into place; the old one is removed only afterwards."""
        self._check()
        if not self.path.exists():
            self._partial.rename(self.path)
        else:
            self._replace(self.path.with_name(f".{self.path.name}.old-{os.urandom(4).hex()}"))
        flush(self.path.parent)

    def _replace(self, old: Path) -> None:
        """Move the new folder to where the old one is, which is then removed; if that fails, the old one stays."""

        def settle() -> None:
            if self.path.exists():
                shutil.rmtree(old, ignore_errors=True)
            elif old.exists():
                old.rename(self.path)

        try:
            self.path.rename(old)
            self._partial.rename(self.path)
        finally:
            _despite_interrupt(settle)


def _work_name(path: Path) -> str:
    """A work folder per output, so that runs into different outputs do not share one."""
    return f"lookalike-{path.name}-{zlib.crc32(os.fsencode(path)):08x}"


_ABOUT_PIECES = ({"name", "bytes", "crc32"}, {"name", "dropped"})


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a manifest up to the first damaged one; a kill may have cut off the last one."""
    found: list[dict[str, Any]] = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            break
        # after the first line, each is about a piece: saved, or dropped
        if not isinstance(record, dict) or (found and not any(keys <= record.keys() for keys in _ABOUT_PIECES)):
            break
        found.append(record)
    return found


def _despite_interrupt(action: Callable[[], None]) -> None:
    """Do what must be done even if a signal comes meanwhile, and what can be done twice."""
    try:
        action()
    except (KeyboardInterrupt, OSError) as error:
        stopped = interrupt_behind(error)
        if stopped is None:
            raise
        action()
        raise stopped from None


def _empty(folder: Path, but: set[str]) -> None:
    for found in folder.iterdir():
        if found.name in but:
            continue
        if found.is_dir() and not found.is_symlink():
            shutil.rmtree(found)
        else:
            found.unlink()
