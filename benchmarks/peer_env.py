"""The virtual environments of the peers, created on first use from the pinned versions.

Peers share one (`.peers/`), except those with an environment of their own (`.peers-NAME/`) because their dependencies
are incompatible. Knows the names of packages, but nothing about what they do.
"""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONSTRAINTS = HERE / "peers-constraints.txt"


def python_of(own: str = "") -> Path:
    """Return the Python of the shared environment, or of the one that a tool has of its own."""
    return HERE / (f".peers-{own}" if own else ".peers") / "bin" / "python"


PYTHON = python_of()


def constraints_of(own: str) -> Path:
    """Return the pinned versions: those of `peers-constraints-OWN.txt` if there is such a file."""
    special = CONSTRAINTS.with_name(f"peers-constraints-{own}.txt")
    return special if own and special.exists() else CONSTRAINTS


def install_packages(packages: tuple[str, ...], own: str = "") -> str | None:
    """Install packages, each once for a set of pinned versions; return why it failed, or None."""
    python, constraints = python_of(own), constraints_of(own)
    folder = python.parent.parent
    if not python.exists():
        venv.create(folder, with_pip=True)
    wanted = hashlib.sha256(constraints.read_bytes() + repr(packages).encode()).hexdigest()
    stamp = folder / f"installed-{packages[0]}"
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    print(f"installing {', '.join(packages)}", file=sys.stderr, flush=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "-c", str(constraints), *packages], capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return errors[-1] if errors else "pip failed"
    stamp.write_text(wanted)
    return None


def version_of(package: str, own: str = "") -> str:
    """Return the installed version of a package."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([str(python_of(own)), "-c", code], capture_output=True, text=True, check=True).stdout.strip()
