"""Compile the kernels for common processors when a wheel is built, so that installing it compiles nothing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """Called by hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the packs; an editable install gets its own by `make install`, or at first use."""
        if version == "editable" or sys.platform != "linux" or platform.machine() != "x86_64":
            return
        source = Path(self.root) / "src"
        for old in (source / "lookalike" / "kernels" / "packs").glob("*.pack"):
            old.unlink()
        with tempfile.TemporaryDirectory() as folder:
            # By another name: pip removes the paths of an environment in which this checkout is installed as editable.
            linked = Path(folder, "src")
            linked.symlink_to(source.resolve(), target_is_directory=True)
            # pip makes what a build needs importable by PYTHONPATH, so what it says has to stay
            places = [str(linked), *filter(None, [os.environ.get("PYTHONPATH")])]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
            command = [sys.executable, "-m", "lookalike.kernels.pack.provide", "--shipped"]
            subprocess.run(command, check=True, env=environment)
