"""The command with everything small (pieces of work, blocks, room for sets): little data then goes the way of much.

Run as a program of its own, since only such a one can be killed.
"""

import faulthandler
import sys
from dataclasses import replace

import lookalike.cli.progress
import lookalike.linkage.resume
from lookalike.cli.main import main
from lookalike.engine.execution import Execution
from lookalike.engine.memory import Budget
from lookalike.types import ReadLimits

parse = Execution.parse


def parse_small(_, *given, **named):
    """What `Execution.parse` makes, with small blocks."""
    return replace(parse(*given, **named), limits=ReadLimits(block_bytes=1 << 15))


if __name__ == "__main__":
    faulthandler.enable()
    lookalike.cli.progress.PLAIN_SECONDS = 0.2
    Execution.parse = classmethod(parse_small)
    lookalike.linkage.resume.LEAST = 1
    Budget.split = classmethod(
        lambda cls, total_bytes: cls(total_bytes, held_bytes=0, sets_bytes=1 << 18, piece_bytes=1 << 16)
    )
    main(sys.argv[1:])
