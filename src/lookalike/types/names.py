"""Names that several rooms must agree on."""

RUN_FILE = "run.json"
"""The record of a run: a folder that holds it is a finished output."""
KEPT = "kept"
"""The folder of the rows that stay, in an output of dedup."""
DEFAULT_ID = "id"
"""The column that names an item, unless another is given."""
