"""Every command on about 300 rows: wall and processor seconds of the fastest of several runs, as a table.

Importing NumPy and pyarrow is the first row: no command can take less.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from people import make_tables
from products import make_products
from small import LOOKALIKE, Took, draw_texts, measure

ROWS = 300
MINUTIAE = 45


def write_inputs(folder: Path) -> None:
    """Texts, vectors, people, products, measurements and prints."""
    draw = np.random.default_rng(1)
    texts = [" ".join(words) for words in draw_texts(ROWS)]
    for name, some in (("texts", texts), ("more", texts[: ROWS // 3])):
        pq.write_table(
            pa.table({"id": [f"{name}{n}" for n in range(len(some))], "text": some}), folder / f"{name}.parquet"
        )
    vectors = draw.normal(size=(ROWS, 64)).astype(np.float32)
    np.save(folder / "vectors.npy", np.concatenate([vectors, vectors[:50] + 0.01]))
    for name, (left, right, *_) in (
        ("people", make_tables(ROWS, ROWS, 0.3)),
        ("products", make_products(ROWS, ROWS, 0.3)),
    ):
        pq.write_table(left, folder / f"{name}_a.parquet")
        pq.write_table(right, folder / f"{name}_b.parquet")
    faces = np.concatenate([measured := draw.normal(size=(ROWS, 20)), measured[:50] + draw.normal(0, 0.02, (50, 20))])
    columns = {f"m{n}": faces[:, n] for n in range(20)}
    pq.write_table(pa.table({"id": [f"p{n}" for n in range(len(faces))], **columns}), folder / "faces.parquet")
    _write_prints(folder / "prints.csv")


def _write_prints(path: Path) -> None:
    """Prints with random minutiae, the second half of which repeats the first with small differences."""
    draw = np.random.default_rng(2)
    first = draw.uniform(0, 500, (ROWS // 2, MINUTIAE, 2))
    places = np.concatenate([first, first + draw.normal(0, 2, first.shape)])
    angles = np.tile(draw.uniform(0, 360, (ROWS // 2, MINUTIAE)), (2, 1))
    names = np.repeat([f"print{n}" for n in range(len(places))], MINUTIAE)
    table = {"print": names, "x": places[..., 0].ravel(), "y": places[..., 1].ravel(), "angle": angles.ravel()}
    pa.csv.write_csv(pa.table(table), path)


def commands_of(folder: Path) -> dict[str, list[str]]:
    """The arguments of each command; OUT stands for a file or folder that does not exist."""
    at = {path.stem: str(path) for path in folder.iterdir()}
    return {
        "dedup": ["dedup", at["texts"], "-o", "OUT"],
        "dedup --report": ["dedup", at["texts"], "-o", "OUT", "--report"],
        "pairs": ["pairs", at["texts"], "-o", "OUT.parquet"],
        "pairs --method exact": ["pairs", at["texts"], "--method", "exact", "-o", "OUT.parquet"],
        "pairs of vectors": ["pairs", at["vectors"], "--measure", "cosine", "--threshold", "0.9", "-o", "OUT.parquet"],
        "neighbors": ["neighbors", at["texts"], "-o", "OUT.parquet"],
        "link people": ["link", at["people_a"], at["people_b"], "--fields", "name,address,phone", "-o", "OUT"],
        "link products": ["link", at["products_a"], at["products_b"], "--fields", "all", "-o", "OUT"],
        "faces": ["faces", at["faces"], "-o", "OUT.parquet"],
        "fingerprints": ["fingerprints", at["prints"], "-o", "OUT.parquet"],
        "tune": ["tune"],
        "index create": ["index", "create", "OUT", at["texts"]],
        "index query": ["index", "query", at["index"], at["more"], "-o", "OUT.parquet"],
        "index stats": ["index", "stats", at["index"]],
        "index check": ["index", "check", at["index"]],
        "report": ["report", at["finished"], "-o", "OUT.html"],
        "audit": ["audit", at["finished"]],
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        inputs, outputs = Path(place, "in"), Path(place, "out")
        inputs.mkdir()
        outputs.mkdir()
        write_inputs(inputs)
        prepare = [["index", "create", inputs / "index", inputs / "texts.parquet"]]
        prepare += [["dedup", inputs / "texts.parquet", "-o", inputs / "finished"]]
        for arguments in prepare:
            subprocess.run([LOOKALIKE, *arguments], check=True, capture_output=True)
        calls = {"importing NumPy and pyarrow": lambda _: [sys.executable, "-c", "import numpy, pyarrow.parquet"]}
        for name, arguments in commands_of(inputs).items():
            calls[name] = lambda out, words=arguments: [
                str(LOOKALIKE),
                *(word.replace("OUT", str(out)) for word in words),
            ]
        _print_table(measure(calls, chosen.repeat, outputs))


def _print_table(found: dict[str, list[Took]]) -> None:
    print(f"| command ({ROWS} rows) | seconds | processor seconds |\n| --- | --- | --- |")
    for name, runs in found.items():
        print(f"| {name} | {min(run.wall for run in runs):.2f} | {min(run.processor for run in runs):.2f} |")


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as users have it
    main()
