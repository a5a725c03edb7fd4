"""The terminal: commands, their options, progress and summaries. Only this folder knows click and rich.

Commands import what they need when they run, so that `lookalike --help` responds at once.
"""

from lookalike.cli import interrupted

interrupted.end_quietly()  # before anything is imported that takes time
