"""text-dedup: its command `python -m text_dedup.minhash`, with the hash that its help calls faster."""

import os
import shutil
import subprocess
import sys

from shared import CORES, NUM_PERM, SHINGLE_WORDS, read_arguments, report

HASH_BITS = 32


def main() -> None:
    """Run the command on a cache of its own, so that nothing of an earlier run is used again."""
    arguments = read_arguments()
    cache = arguments.target.with_name(arguments.target.name + ".cache")
    command = [sys.executable, "-m", "text_dedup.minhash", "--path", "parquet", "--split", "train"]
    options = {
        "data_files": arguments.source,
        "cache_dir": cache,
        "output": arguments.target,
        "column": "text",
        "ngram": SHINGLE_WORDS,
        "min_length": 0,  # its default, 5, drops shorter items from the output whatever they resemble
        "num_perm": NUM_PERM,
        "threshold": arguments.threshold,
        "hash_func": "xxh3",
        "hash_bits": HASH_BITS,
        "num_proc": CORES,
    }
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    offline = {"HF_HOME": str(cache), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    subprocess.run(command, check=True, env={**os.environ, **offline}, stdout=sys.stderr)
    shutil.rmtree(cache, ignore_errors=True)
    report(f"num_perm {NUM_PERM}, its bands, xxh3, {HASH_BITS}-bit hashes, {CORES} processes, nothing checked")


if __name__ == "__main__":
    main()
