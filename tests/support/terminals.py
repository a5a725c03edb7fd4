"""A terminal of any size: commands run on it as for a user, and it remembers what stays on its screen and above it."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import re
import struct
import subprocess
import termios
import time

from calling import LOOKALIKE, environment

_PIECES = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b\][^\x07]*\x07|([^\x1b])")


class Screen:
    """What a terminal shows, and what has scrolled off its top. A sequence that it does not know fails the test."""

    def __init__(self, rows, columns, reflows=True):
        self.rows, self.columns, self.reflows = rows, columns, reflows
        self.cells, self.continued = [[]], [False]
        self.row = self.column = 0
        self.cursor_visible = True

    @property
    def top(self):
        return max(0, len(self.cells) - self.rows)

    def lines(self):
        """All lines, those off the screen included; a line that was too wide is one line."""
        joined = []
        for cells, continued in zip(self.cells, self.continued):
            joined = [*joined[:-1], joined[-1] + cells] if continued else [*joined, cells]
        return ["".join(cells).rstrip() for cells in joined]

    def visible(self):
        return ["".join(cells).rstrip() for cells in self.cells[self.top :]]

    def feed(self, text):
        for parameters, letter, character in (found.groups() for found in _PIECES.finditer(text)):
            if letter:
                self._control(parameters, letter)
            elif character:
                self._put(character)

    def _control(self, parameters, letter):
        number = int(parameters) if parameters.isdigit() else 0
        if letter == "A":
            self.row = max(self.top, self.row - (number or 1))
        elif letter == "G":
            self.column = (number or 1) - 1
        elif letter == "K":
            self.cells[self.row][slice(None) if number == 2 else slice(self.column, None)] = []
        elif parameters == "?25":
            self.cursor_visible = letter == "h"
        else:
            assert letter == "m", f"unknown sequence: {parameters}{letter}"

    def _put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self._down(False)
        elif character == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
        else:
            assert character.isprintable(), repr(character)
            if self.column == self.columns:
                self._down(True)
                self.column = 0
            cells = self.cells[self.row]
            cells.extend(" " * (self.column + 1 - len(cells)))
            cells[self.column] = character
            self.column += 1

    def _down(self, continued):
        self.row += 1
        if self.row == len(self.cells):
            self.cells.append([])
            self.continued.append(continued)
        self.continued[self.row] = continued

    def resize(self, rows, columns):
        """Lines that became too wide are folded, or cut, as terminals differ in it; the cursor stays where it was."""
        self.rows, self.columns = rows, columns
        if not self.reflows:
            self.cells = [cells[:columns] for cells in self.cells]
            self.column = min(self.column, columns)
            return
        before, row, column = list(zip(self.cells, self.continued)), self.row, self.column
        self.cells, self.continued = [], []
        for number, (cells, continued) in enumerate(before):
            if not continued:
                line, start = [], len(self.cells)
            if number == row:
                at = len(line) + column
                within = max(0, at - 1) // columns  # after the last column, the cursor waits there
                self.row, self.column = start + within, at - within * columns
            line = line + cells
            folded = [line[first : first + columns] for first in range(0, len(line), columns)] or [[]]
            self.cells[start:] = folded
            self.continued[start:] = [False, *[True] * (len(folded) - 1)]


class Terminal:
    """A command on a terminal of its own, after some lines of earlier commands."""

    def __init__(
        self, *arguments, rows=24, columns=80, earlier=(), program=(LOOKALIKE,), reflows=True, encoding="utf-8", **more
    ):
        self.screen, self.raw = Screen(rows, columns, reflows), b""
        self._decoder, self._unfinished = codecs.getincrementaldecoder(encoding)(), ""
        self.master, self._slave = os.openpty()
        self.resize(rows, columns)
        for line in earlier:
            self.screen.feed(f"{line}\r\n")
        self.process = subprocess.Popen(
            [*map(str, program), *map(str, arguments)],
            stdin=self._slave, stdout=self._slave, stderr=self._slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env=environment(**{"TERM": "xterm", "PYTHONIOENCODING": encoding} | more),
        )  # fmt: skip
        os.close(self._slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if (self.screen.rows, self.screen.columns) != (rows, columns):
            self.screen.resize(rows, columns)

    def type(self, keys):
        os.write(self.master, keys)

    def read_until(self, text, seconds=60):
        """Read until the text has been written; False if the command ended before."""
        end = time.monotonic() + seconds
        while text is None or text not in self.raw:
            assert time.monotonic() < end, f"waited {seconds} s in vain for {text}: {self.raw[-500:]}"
            piece = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                piece = os.read(self.master, 1 << 12)
            if not piece:
                assert not self._unfinished, self._unfinished
                return False
            self.raw += piece
            arrived = self._unfinished + self._decoder.decode(piece)
            self._unfinished = re.search("(\x1b[^A-Za-z\x07]*)?$", arrived)[0]
            self.screen.feed(arrived.removesuffix(self._unfinished))
        return True

    def finish(self):
        """Read to the end; the exit code."""
        self.read_until(None)
        os.close(self.master)
        return self.process.wait(60)
