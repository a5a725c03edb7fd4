"""Runs the examples of a documentation page in order, in one folder.

A page has three kinds of examples: Python sessions (```python with >>>), console sessions (```console with $) whose
output is shown, and commands alone (```sh). `python tests/support/pages.py PAGE...` renews what they print.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from lookalike.cli.main import run

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FLAGS = doctest.ELLIPSIS
SHELL = re.compile(r"[|;<>&*]|^(?!lookalike )")
"""Commands that need a shell: pipes and redirections, and programs of others."""


def furnish(folder: Path) -> None:
    """Put the files that examples read where a checkout has them."""
    for path in (DOCS / "news.jsonl", *sorted((DOCS / "data").glob("*"))):
        (folder / path.relative_to(DOCS.parent)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path.relative_to(DOCS.parent))


def call(command: str) -> tuple[int, str]:
    """Exit code of a command, and what a terminal would show: stdout and stderr together."""
    if SHELL.search(command):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, shell=True, text=True, env=os.environ | {"PATH": path}, **both)
        return done.returncode, done.stdout
    shown = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True)
    with redirect_stdout(shown), redirect_stderr(shown):
        code = run(shlex.split(command)[1:])
    return code, shown.buffer.getvalue().decode()


class _Runner(doctest.DocTestRunner):
    """Remembers what examples printed instead of what the page says."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=FLAGS)
        self.wrong: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out, test, example, got):
        self.wrong.append((example, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        raise AssertionError(f"line {test.lineno + example.lineno}: {example.source}") from exc_info[1]


class Page:
    """A page whose examples run in the current folder."""

    def __init__(self, text: str) -> None:
        self.text, self.names, self.attempted, self.wrong = text, {"__name__": "__main__"}, 0, []

    def run(self) -> str:
        """Run every example; return the page with what they printed, and list in `wrong` where it differs."""
        return BLOCK.sub(self._block, self.text)

    def _block(self, match: re.Match[str]) -> str:
        kind, body = match.groups()
        return f"```{kind}\n{getattr(self, '_' + kind)(body)}```"

    def _python(self, body: str) -> str:
        if ">>>" not in body:
            return body
        test = doctest.DocTestParser().get_doctest(body, {}, "page", None, 0)
        test.globs = self.names  # itself, not a copy: functions of earlier blocks must see what later ones assign
        runner = _Runner()
        runner.run(test, clear_globs=False)
        self.attempted += len(test.examples)
        lines = body.splitlines(keepends=True)
        for example, got in reversed(runner.wrong):
            self.wrong.append(f">>> {example.source}{example.want}--- but printed\n{got}")
            start = example.lineno + example.source.count("\n")
            lines[start : start + example.want.count("\n")] = [got]
        return "".join(lines)

    def _console(self, body: str) -> str:
        checker, shown = doctest.OutputChecker(), []
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            code, printed = call(command)
            assert code in (0, 2, 3, 4), f"{command}: {printed}"
            self.attempted += 1
            right = checker.check_output(expected, printed, FLAGS)
            self.wrong += [] if right else [f"$ {command}\n{expected}--- but printed\n{printed}"]
            shown.append(f"$ {command}\n{expected if right else printed}")
        return "".join(shown)

    def _sh(self, body: str) -> str:
        for line in body.splitlines():
            command = line.partition(" #")[0].strip()
            if command:
                code, printed = call(command)
                self.attempted += 1
                self.wrong += [f"{command} ended with {code}: {printed}"] if code else []
        return body


def main(paths: list[str]) -> None:
    """Write into each page what its examples print."""
    for path in map(Path, paths):
        page, before = Page(path.read_text("utf-8")), Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            furnish(Path(folder))
            os.chdir(folder)
            try:
                text = page.run()
            finally:
                os.chdir(before)
        path.write_text(text, "utf-8")
        print(
            path, page.attempted, "examples,", len(page.wrong), "renewed", *page.wrong, sep="\n" if page.wrong else " "
        )


if __name__ == "__main__":
    main(sys.argv[1:])
