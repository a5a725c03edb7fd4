"""Run a job on both engines and compare all that they write."""

import json
import random
from pathlib import Path

import pyarrow.parquet as pq

from lookalike.engine.settings import Settings
from lookalike.jobs.dedup import DedupOptions, dedup_to_folder
from lookalike.jobs.pairs import pairs_of_files
from lookalike.spark.stages import Sizes, SparkStages

SMALL = Sizes(
    part_bytes=8000, least_part_bytes=4000, joined_bytes=60_000, compared_bytes=40_000, least_compared_bytes=10_000
)
"""Many small tasks, as a large corpus would have."""


def files_in(folder):
    """The bytes of every file that a run has written; what only one engine writes is left out."""
    found = {path.relative_to(folder).as_posix(): path for path in Path(folder).rglob("*") if path.is_file()}
    return {
        name: pq.read_table(path).to_pylist() if name.startswith("kept") and path.suffix == ".parquet"
        else path.read_bytes()
        for name, path in found.items() if name != "run.json" and not name.startswith("graph/")
    }  # fmt: skip


def dedup_on_both(session, folder, inputs, sizes=SMALL, *, options=None, reference=(), **settings):
    """Both outputs must be equal; returns the two records."""
    parsed = Settings.parse(threads=1, **settings)
    chosen = options or DedupOptions()
    local = dedup_to_folder(inputs, folder / "local", parsed, chosen, reference=reference)
    stages = SparkStages(session, "local[2]", sizes)
    spark = dedup_to_folder(inputs, folder / "spark", parsed, chosen, reference=reference, stages=stages)
    assert files_in(folder / "local") == files_in(folder / "spark")
    return local, spark


def pairs_on_both(session, folder, inputs, sizes=SMALL, *, against=(), **settings):
    """Both lists must be equal; returns the records."""
    from lookalike.engine.progress import Progress

    parsed = Settings.parse(threads=1, **settings)
    found = {}
    for name, more in {"local": {}, "spark": {"stages": SparkStages(session, "local[2]", sizes)}}.items():
        (folder / name).mkdir()
        listed, record = pairs_of_files(inputs, parsed, folder / name, Progress(), against, **more)
        found[name] = [row for table in listed.tables() for row in table.to_pylist()], record
    assert found["local"][0] == found["spark"][0]
    return found["local"], found["spark"]


def make_texts(number, seed=1, copies=0.5):
    """Random texts, many of them near copies of earlier ones, some equal, some empty."""
    draw = random.Random(seed)
    words = [f"w{k}" for k in range(300)]
    made = []
    for _ in range(number):
        if made and draw.random() < copies:
            text = list(draw.choice(made))
            for _ in range(draw.randrange(4)):
                if text:
                    text[draw.randrange(len(text))] = draw.choice(words)
        else:
            text = [draw.choice(words) for _ in range(draw.randrange(0, 40))]
        made.append(text)
    return [" ".join(text) for text in made]


def write_lines(path, texts, **more):
    """A JSONL file with ids, texts and small numbers."""
    rows = [{"id": f"{path.stem}{k}", "text": text, "n": k % 7} for k, text in enumerate(texts)]
    path.write_text("".join(json.dumps({**row, **more}) + "\n" for row in rows))
    return path
