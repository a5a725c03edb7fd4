"""API keys: they grant read or write access, are stored as hashes, and are compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from lookalike.errors import UsageError

HASHED = re.compile(r"sha256:([0-9a-fA-F]{64})")
SHORTEST = 16
"""The least number of characters of a key: shorter ones can be guessed."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key; only its hash is stored."""

    digest: bytes
    name: str
    writes: bool


class Keys:
    r"""The keys of a server.

    Examples
    --------
    >>> keys = Keys.parse("read 0123456789abcdef newsroom\n# a comment\n", "keys.txt")
    >>> keys.find("0123456789abcdef").name, keys.find("wrong") is None
    ('newsroom', True)
    """

    def __init__(self, keys: list[Key]) -> None:
        self._keys = keys

    @classmethod
    def load(cls, path: Path) -> Keys:
        """Read a file with a line `read|write KEY name` for each key."""
        try:
            return cls.parse(path.read_text("utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--keys {path}: {getattr(error, 'strerror', None) or error}") from None

    @classmethod
    def parse(cls, text: str, place: str) -> Keys:
        """Read lines; `place` is the file that messages name."""
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                found.append(_parse_line(line, f"{place}: line {number}"))
        if not found:
            raise UsageError(f"{place}: contains no keys; write lines such as: read KEY name")
        if len({key.digest for key in found}) < len(found):
            raise UsageError(f"{place}: a key occurs twice; give each name a key of its own")
        return cls(found)

    def find(self, given: str) -> Key | None:
        """Look up a key, in constant time."""
        digest = _digest(given)
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _parse_line(line: str, place: str) -> Key:
    words = line.split(None, 2)
    if len(words) < 3 or words[0] not in ("read", "write"):
        raise UsageError(f"{place}: write `read KEY name` or `write KEY name`")
    access, secret, name = words
    if hashed := HASHED.fullmatch(secret):
        return Key(bytes.fromhex(hashed[1]), name.strip(), access == "write")
    if len(secret) < SHORTEST:
        raise UsageError(f"{place}: the key has {len(secret)} characters; use at least {SHORTEST}")
    return Key(_digest(secret), name.strip(), access == "write")
