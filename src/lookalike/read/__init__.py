"""Any source -> blocks of items.

`open_inputs` takes the inputs of the command line, `open_data` the data of a Python caller. Both return sources
(`lookalike.types.Source`); nothing here knows what is done with the items.
"""

from lookalike.read.columns import is_text, join_column
from lookalike.read.earlier import LINE_FILES, line_files
from lookalike.read.inputs import check_inputs, identity_of, open_inputs, open_sides
from lookalike.read.inverted import invert, open_inverted
from lookalike.read.overwriting import refuse_input_as_output, refuse_inputs_in
from lookalike.read.rows import fetch_items
from lookalike.read.tables import looks_like_paths, open_data

__all__ = [
    "LINE_FILES",
    "check_inputs",
    "fetch_items",
    "identity_of",
    "invert",
    "is_text",
    "join_column",
    "line_files",
    "looks_like_paths",
    "open_data",
    "open_inputs",
    "open_inverted",
    "open_sides",
    "refuse_input_as_output",
    "refuse_inputs_in",
]
