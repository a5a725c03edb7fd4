"""gaoya on a folder of text files: `python files_gaoya.py FOLDER OUT`; the files that stay are copied to OUT."""

import shutil
import sys
from itertools import compress
from pathlib import Path

from gaoya.minhash import MinHashStringIndex

NUM_PERM, SHINGLE_WORDS, THRESHOLD = 256, 5, 0.8


def keep_first(texts: list[str], threshold: float) -> tuple[list[bool], MinHashStringIndex]:
    """Keep a text unless the index returns an earlier kept one for it."""
    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=threshold,
        num_bands=None,
        band_size=None,
        num_hashes=NUM_PERM,
        analyzer="word",
        lowercase=True,
        ngram_range=(SHINGLE_WORDS, SHINGLE_WORDS),
        id_container="smallvec",
    )
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    kept: list[bool] = []
    for item, similar in enumerate(index.par_bulk_query(texts)):
        kept.append(not any(other < item and kept[other] for other in similar))
    return kept, index


def main() -> None:
    """Copy the files that stay."""
    folder, out = map(Path, sys.argv[1:])
    out.mkdir()
    files = sorted(folder.iterdir())
    kept, _ = keep_first([file.read_text("utf-8") for file in files], THRESHOLD)
    for file in compress(files, kept):
        shutil.copyfile(file, out / file.name)


if __name__ == "__main__":
    main()
