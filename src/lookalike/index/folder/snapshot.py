"""Copy an index while it is in use: the segments of one state, and the file that says which they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from lookalike.engine.progress import Progress
from lookalike.errors import UsageError
from lookalike.index.folder.checked_file import CheckedFile
from lookalike.index.folder.earlier import check_earlier
from lookalike.index.folder.errors import DamagedError
from lookalike.index.folder.state_file import StateFile
from lookalike.types import INDEX_FILE
from lookalike.write import OutputFolder

RETRIES = 20
"""How often it is tried again while a writer replaces the segments."""
COPIED_BYTES = 8 << 20
"""A file is copied in pieces of this size."""


def snapshot_folder(path: Path, to: Path, progress: Progress) -> int:
    """Copy a consistent state to a new folder, which appears complete or not at all; return its size in bytes.

    Every block that was copied is compared with its checksum.

    Raises
    ------
    DamagedError
        If a segment is damaged; no folder appears.
    """
    if to.resolve().is_relative_to(path.resolve()):
        raise UsageError(f"{to}: is inside the index; choose a folder elsewhere")
    check_earlier(path, writing=False)
    with OutputFolder(to, resumable=False) as partial, _opened_state(path, partial) as segments:
        total = sum(segment.seek(0, 2) for segment in segments.values())
        with progress.stage("copying", total, "B"):
            for name, segment in segments.items():
                segment.seek(0)
                with (partial / name).open("wb") as copy:
                    while piece := segment.read(COPIED_BYTES):
                        copy.write(piece)
                        progress.advance(len(piece))
                _check(path / name, partial / name)
        return total + (partial / INDEX_FILE).stat().st_size


@contextmanager
def _opened_state(path: Path, to: Path) -> Iterator[dict[str, BinaryIO]]:
    """Copy the state, and open its segments: an open file can be read even after a writer has removed it."""
    file = StateFile(path, writing=False)
    with ExitStack() as stack:
        stack.callback(file.close)
        for _ in range(RETRIES):
            with ExitStack() as attempt, file.reading():
                state = file.read()
                names = [part.segment for part in state.parts if part.segment is not None]
                try:
                    segments: dict[str, BinaryIO] = {
                        name: attempt.enter_context((path / name).open("rb")) for name in names
                    }
                except FileNotFoundError as error:
                    missing = error
                    continue
                file.copy_to(to / INDEX_FILE)
                stack.enter_context(attempt.pop_all())
                break
        else:
            raise DamagedError(Path(missing.filename), "the file is missing")
        yield segments


def _check(source: Path, copy: Path) -> None:
    """Check what was copied, and name the file that is damaged."""
    try:
        CheckedFile(copy).check_all()
    except DamagedError as error:
        raise DamagedError(source, error.what) from None
