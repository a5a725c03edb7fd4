"""rensa on a folder of text files: `python files_rensa.py FOLDER OUT`; the files that stay are copied to OUT."""

import re
import shutil
import sys
from pathlib import Path

from rensa import RMinHash, RMinHashDeduplicator

NUM_PERM, SHINGLE_WORDS, SEED, BANDS, THRESHOLD = 256, 5, 42, 32, 0.8
WORDS = re.compile(r"[^\W_]+")


def shingle(text: str) -> list[str]:
    """Return the distinct runs of five lower-case words, as in `shared`, which imports pyarrow."""
    words = WORDS.findall(text.lower())
    if len(words) <= SHINGLE_WORDS:
        return [" ".join(words)] if words else []
    return list(set(map(" ".join, zip(*(words[start:] for start in range(SHINGLE_WORDS))))))


def main() -> None:
    """Keep a file unless the deduplicator finds an earlier kept one that is similar by estimate."""
    folder, out = map(Path, sys.argv[1:])
    out.mkdir()
    files = sorted(folder.iterdir())
    shingles = [shingle(file.read_text("utf-8")) for file in files]
    sketches = RMinHash.from_token_sets(shingles, num_perm=NUM_PERM, seed=SEED)
    index = RMinHashDeduplicator(THRESHOLD, NUM_PERM, use_lsh=True, num_bands=BANDS, seed=SEED)
    for file, parts, sketch in zip(files, shingles, sketches):
        if not parts or index.add(file.name, sketch):
            shutil.copyfile(file, out / file.name)


if __name__ == "__main__":
    main()
