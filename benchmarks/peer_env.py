"""The peers' own virtual environment, made on first use from the pinned versions.

It knows the names of packages and nothing of what they do.
"""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".peers"
PYTHON = ENVIRONMENT / "bin" / "python"
CONSTRAINTS = HERE / "peers-constraints.txt"


def install_packages(packages: tuple[str, ...]) -> str | None:
    """Install packages, each once for a set of pinned versions; return why it failed, or None."""
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    wanted = hashlib.sha256(CONSTRAINTS.read_bytes() + repr(packages).encode()).hexdigest()
    stamp = ENVIRONMENT / f"installed-{packages[0]}"
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    print(f"installing {', '.join(packages)}", file=sys.stderr, flush=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "-c", str(CONSTRAINTS), *packages], capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return errors[-1] if errors else "pip failed"
    stamp.write_text(wanted)
    return None


def version_of(package: str) -> str:
    """Return the installed version of a package."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([str(PYTHON), "-c", code], capture_output=True, text=True, check=True).stdout.strip()
