"""The terminal: commands, their options, progress and summaries. Only this folder knows click.

Commands import what they need when they run, so that `lookalike --help` responds at once.
"""

import gc

from lookalike.cli import interrupted

GARBAGE_OBJECTS = 100_000
"""The number of new objects after which Python collects garbage. With the default of 700, that took a tenth of the time
of a small job, during imports. Arrays are freed immediately in any case."""

# before anything is imported that takes time
interrupted.end_quietly()
gc.set_threshold(GARBAGE_OBJECTS, 10, 10)
