"""Mutated files and random options: an answer or one line of error, never a traceback, input untouched."""

import os

from fuzzing import run_cases


def test_mutated_files_and_random_options(compiled_commands, tmp_path):
    seconds = float(os.environ.get("FUZZ_SECONDS", "20"))
    number, codes, failures = run_cases(tmp_path, seconds, seed=int(os.environ.get("FUZZ_SEED", "13")))
    print(f"{number} cases, by exit code: {codes}")
    assert not failures, "\n\n".join(failures[:20])
