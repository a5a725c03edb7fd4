"""Where packs are stored, and how they are named.

The name of a pack contains a digest of its sources: its own module, every kernel module that this one imports, directly
or indirectly, and the code that builds packs. An edit to any of them changes the name, so machine code of old sources
is never found.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

try:
    from _blake2 import blake2b  # `hashlib` loads OpenSSL as well, which takes as long as loading ten packs
except ImportError:
    from hashlib import blake2b

KERNELS = Path(__file__).parent.parent
SHIPPED = KERNELS / "packs"
"""Packs that came with the package, or were built by `make install`."""
CACHE = "LOOKALIKE_CACHE"
"""The environment variable that sets another folder for packs built on this machine."""
_IMPORTS = re.compile(r"^from lookalike\.kernels(?:\.(\w+))? import (.*)$", re.M)
_MAKERS = (
    "compile.py",
    *(
        f"pack/{name}.py"
        for name in ("build", "call", "glue", "image", "linked", "numba_types", "signature", "thrifty")
    ),
)
_MAGIC = b"lookalike kernels 3\n"
_DIGEST_BYTES = 16


@cache
def cache_folder() -> Path:
    """The folder for packs built on this machine; it belongs to the user, so that nobody else can put code there."""
    named = os.environ.get(CACHE)
    if named:
        return Path(named) / "kernels"
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "lookalike" / "kernels"
    instead = Path(tempfile.gettempdir()) / f"lookalike-{os.getuid() if hasattr(os, 'getuid') else 'user'}" / "kernels"
    for folder in (usual, instead):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if _is_private(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="lookalike-kernels-"))


def _is_private(folder: Path) -> bool:
    """Whether only this user can write to a folder, so that the machine code in it can be trusted."""
    about = folder.stat()
    mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return mine and not about.st_mode & 0o022 and os.access(folder, os.W_OK)


def modules() -> list[str]:
    """The names of all modules that may contain kernels."""
    return sorted(path.stem for path in KERNELS.glob("*.py") if path.stem not in ("__init__", "compile"))


@cache
def _source(name: str) -> tuple[bytes, tuple[str, ...]]:
    """The source of a module, and the kernel modules that it imports."""
    text = _bytes_of(f"{KERNELS}/{name}.py")
    imported = set()
    for module, names in _IMPORTS.findall(text.decode()):
        imported.update([module] if module else re.findall(r"\w+", re.sub(r"\bas \w+", "", names)))
    return text, tuple(sorted(imported - {"compile"}))


def _with_imports(name: str) -> Iterator[str]:
    seen, waiting = {name}, [name]
    while waiting:
        current = waiting.pop()
        yield current
        new = set(_source(current)[1]) - seen
        seen |= new
        waiting += sorted(new)


def _bytes_of(path: str | Path) -> bytes:
    with open(path, "rb", 0) as file:  # noqa: PTH123 (a small job reads dozens: half the time of `Path.read_bytes`)
        return file.read()


@cache
def _makers_digest() -> blake2b:
    """A digest that has read the code that builds packs: once, not for each of the modules of a job."""
    total = blake2b(digest_size=_DIGEST_BYTES)
    for maker in _MAKERS:
        total.update(_bytes_of(f"{KERNELS}/{maker}"))
    return total


@cache
def digest(module: str) -> str:
    """A digest of everything that a module's machine code depends on, except for the processor."""
    total = _makers_digest().copy()
    for name in sorted(_with_imports(module)):
        total.update(name.encode() + b"\0" + _source(name)[0])
    return total.hexdigest()[:16]


def _checksum(contents: bytes) -> bytes:
    return blake2b(contents, digest_size=_DIGEST_BYTES).digest()


def file_name(unit: str, cpu: str) -> str:
    """The file name of a unit's pack."""
    return f"{unit}.{digest(unit.partition('.')[0])}.{cpu}.pack"


def find(unit: str, cpu: str) -> str | None:
    """The path of a unit's pack, if there is one."""
    name = file_name(unit, cpu)
    shipped = f"{SHIPPED}/{name}"
    if os.path.exists(shipped):  # noqa: PTH110
        return shipped
    built = cache_folder() / name
    return str(built) if built.exists() else None


def try_lock(folder: Path) -> IO[str] | None:
    """Acquire a lock on building packs in a folder, held until closed; None if another process holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / ".lock").open("w")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # a system without such locks: at worst, packs are built twice
        pass
    except OSError:
        file.close()
        return None
    return file


def write(path: Path, header: dict[str, Any], code: bytes) -> None:
    """Write a pack atomically, and remove the unit's packs that were made from other sources."""
    text = json.dumps(header).encode()
    contents = len(text).to_bytes(8, "little") + text + code
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")  # as `remove_partial` expects it
    partial.write_bytes(_MAGIC + _checksum(contents) + contents)
    partial.replace(path)
    for old in path.parent.glob(f"{header['unit']}.*.{header['cpu']}.pack"):
        if old != path:
            old.unlink(missing_ok=True)


def remove_partial(folder: Path, process: int | None = None) -> None:
    """Remove packs that a process, or any process, was writing when it was killed."""
    for partial in folder.glob(f".*.pack.{process or '*'}"):
        partial.unlink(missing_ok=True)


def read(path: str | Path) -> tuple[dict[str, Any], bytes] | None:
    """Read the header and the code of a pack; None if it is damaged."""
    data = _bytes_of(path)
    start = len(_MAGIC) + _DIGEST_BYTES
    contents = data[start:]
    if data[:start] != _MAGIC + _checksum(contents):
        return None
    end = 8 + int.from_bytes(contents[:8], "little")
    return json.loads(contents[8:end]), contents[end:]
