"""Names that several folders must agree on."""

import os

INDEX_FILE = "index.sqlite"
"""The file that makes a folder an index."""
INDEX_APPLICATION = 0x6C6F6F6B
"""What its header says that it belongs to."""
EARLIER_INDEX_FILE = "index.json"
"""The file that made a folder an index of format 1."""
RUN_FILE = "run.json"
"""The record of a run: a folder that contains it is a finished output."""
KEPT = "kept"
"""The folder of the kept rows in an output of dedup."""
DEFAULT_ID = "id"
"""The column that names an item, unless another is given."""
TEMPORARY = f"lookalike-{os.urandom(4).hex()}-"
"""The prefix of the temporary folders of this process, so that it removes only its own."""
