"""Names that several folders must agree on."""

import os

INDEX_FILE = "index.json"
"""The file that makes a folder an index."""
RUN_FILE = "run.json"
"""The record of a run: a folder that contains it is a finished output."""
KEPT = "kept"
"""The folder of the kept rows in an output of dedup."""
DEFAULT_ID = "id"
"""The column that names an item, unless another is given."""
TEMPORARY = f"lookalike-{os.urandom(4).hex()}-"
"""The prefix of the temporary folders of this process, so that it removes only its own."""
