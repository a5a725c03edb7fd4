"""The command with everything small (pieces of work, blocks, room for sets): little data then goes the way of much.

Run as a program of its own, since only such a one can be killed.
"""

import faulthandler
import sys

import lookalike.cli.progress
import lookalike.linkage.resume
import lookalike.read.streams
from lookalike.cli.main import main
from lookalike.engine.memory import Budget

if __name__ == "__main__":
    faulthandler.enable()
    lookalike.cli.progress.PLAIN_SECONDS = 0.2
    lookalike.read.streams.BLOCK_BYTES = 1 << 15
    lookalike.linkage.resume.LEAST = 1
    Budget.split = classmethod(
        lambda cls, total_bytes: cls(total_bytes, held_bytes=0, sets_bytes=1 << 18, piece_bytes=1 << 16)
    )
    main(sys.argv[1:])
