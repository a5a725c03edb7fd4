"""The command with everything small (pieces of work, blocks, room for sets): little data then goes the way of much.

Run as a program of its own, since only such a one can be killed.
"""

import faulthandler
import os
import sys
from dataclasses import replace

import lookalike.cli.progress
from lookalike.cli.main import main
from lookalike.engine.execution import Execution
from lookalike.engine.memory import Budget
from lookalike.types import ReadLimits

SECONDS = float(os.environ.get("SAVE_SECONDS", "0" if sys.argv[1:2] == ["link"] else "inf"))
parse = Execution.parse


def parse_small(_, *given, **named):
    """What `Execution.parse` makes, with small blocks; `link` saves whenever it can."""
    return replace(parse(*given, **named), limits=ReadLimits(block_bytes=1 << 15), save_seconds=SECONDS)


if __name__ == "__main__":
    faulthandler.enable()
    lookalike.cli.progress.PLAIN_SECONDS = 0.2
    lookalike.cli.progress.MOVING_SECONDS = 0.001
    Execution.parse = classmethod(parse_small)
    Budget.split = classmethod(
        lambda cls, total_bytes: cls(total_bytes, held_bytes=0, sets_bytes=1 << 18, piece_bytes=1 << 16)
    )
    main(sys.argv[1:])
