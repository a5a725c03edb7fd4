"""The manifest, `index.json`: what the index is, and which files in its folder are valid. Replaced atomically."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lookalike.errors import BadDataError, UsageError
from lookalike.index.folder.errors import DamagedError
from lookalike.index.places import MANIFEST
from lookalike.version import __version__
from lookalike.write import whole_file

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """One state of the index."""

    options: dict[str, Any]
    """As the user would write them."""
    store: str
    """`sets` or `text`."""
    vectors: dict[str, Any] | None = None
    """Dimension and type, if the items are vectors."""
    decided: bool = True
    """False while nothing has been added, and it is unknown whether items are sets or vectors."""
    plan: dict[str, Any] | None = None
    """Bands and rows, for human readers: they follow from the options."""
    known_answers: str = ""
    """The keys of some fixed items: another version of lookalike must find the same."""
    generation: int = 0
    log: str = "log-000000.bin"
    segments: list[str] = field(default_factory=list)
    """In input order."""
    removed: str | None = None
    """The file with the numbers of the items that were removed."""
    added: int = 0
    """The number of items ever added, excluding those in the log."""
    integers: bool = True
    """Whether all ids were integers, excluding those in the log."""
    runs: list[str] = field(default_factory=list)
    """The most recent batch jobs that have added their items."""

    @property
    def files(self) -> list[str]:
        """The files that are valid besides the manifest."""
        return [*self.segments, self.log, *([self.removed] if self.removed else [])]

    def save(self, folder: Path) -> None:
        """Replace the manifest of a folder; it is on disk when this returns."""
        content = {"format": FORMAT, "lookalike": __version__, **asdict(self)}
        content["checksum"] = _checksum(content)
        with whole_file(folder / MANIFEST) as partial:
            partial.write_text(json.dumps(content, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """The manifest of a folder.

        Raises
        ------
        UsageError
            If the folder is not an index.
        BadDataError
            If it is damaged, or in a format that this version cannot read.
        """
        path = folder / MANIFEST
        try:
            content = json.loads(path.read_bytes())
            found, told = int(content.pop("format")), content.pop("checksum")
        except (FileNotFoundError, NotADirectoryError):
            if folder.is_dir() and any(folder.glob("log-*.bin")):
                raise DamagedError(path, "the file is missing") from None
            raise UsageError(f"{folder}: is not an index; create one with `lookalike index create`") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise DamagedError(path, "the file is damaged") from None
        if found != FORMAT:
            raise BadDataError(
                f"{path}: the index has format {found}, and lookalike {__version__} reads format {FORMAT}; use the "
                f"version that wrote it ({content.get('lookalike')}), or create the index again"
            )
        if told != _checksum({"format": found, **content}):
            raise DamagedError(path, "the file is damaged")
        content.pop("lookalike")
        return cls(**content)


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())
