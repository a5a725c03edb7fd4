"""Values of hundreds of megabytes, in any format: each is in memory only once while it is processed, or refused first.

The only part of `read` that knows about them. Sources use three things of it: `LongBlock` for a row longer than a
block, `read_long_text` for a file that is one item, and `LongPages` for a Parquet column. See
docs/decisions/0018-long-rows.md.
"""

from lookalike.read.long.pages import LongPages
from lookalike.read.long.repeats import decoded_sizes
from lookalike.read.long.rows import LongBlock, LongRow, check_row, largest_row
from lookalike.read.long.texts import read_long_text, text_at

__all__ = [
    "LongBlock",
    "LongPages",
    "LongRow",
    "check_row",
    "decoded_sizes",
    "largest_row",
    "read_long_text",
    "text_at",
]
