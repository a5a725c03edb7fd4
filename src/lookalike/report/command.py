"""The command that repeats a run, as typed in a shell. Knows the options of run.json, not what they do."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

_DEFAULTS: dict[str, Any] = {
    "column": "text", "id": None, "shingle": "word:5", "bag": False, "language": "en", "on_error": "stop",
    "encoding": "utf-8", "measure": "jaccard", "length_ratio": None, "recall": 0.99, "hashes": 256, "seed": 1,
    "keep": "first", "policy": "direct", "transpose": False, "index": "best", "common": None,
}  # fmt: skip
"""Options that need not be written if they have these values."""
_ALWAYS = ("threshold", "method")


def command_of(command: str, run: Mapping[str, Any], out: str, exists: bool = False) -> str:
    """How to repeat a run of dedup or pairs, quoted for a POSIX shell. Threads and memory do not change the result.

    If its output `exists`, the command replaces it, with its report.

    Examples
    --------
    >>> options = {"inputs": ["my news.jsonl"], "threshold": 0.7, "method": "lsh", "keep": "longest", "bag": True}
    >>> command_of("dedup", {"options": options, "audit": {"sample": 300}}, "out")
    "lookalike dedup 'my news.jsonl' -o out --threshold 0.7 --method lsh --bag --keep longest --audit 300"
    >>> command_of("pairs", {"options": options, "engine": {"name": "spark", "master": "yarn"}}, "out.csv", True)[-50:]
    ' --engine spark --master yarn --report --overwrite'
    """
    options = dict(run["options"])
    if earlier := options.get("from"):
        inputs: Sequence[str] = ["--from", earlier]
        options = {name: options[name] for name in ("threshold", "keep", "policy")}
    else:
        inputs = options["inputs"]
    words = ["lookalike", command]
    words += ["./" + one if one.startswith("-") and one not in ("-", "--from") else one for one in inputs]
    words += ["-o", out]
    for name in ("reference", "against"):
        for one in options.get(name, ()):
            words += [f"--{name}", one]
    if into := run.get("into", {}).get("index"):
        words += ["--into", into]
    words += _flags(options)
    if audit := run.get("audit"):
        words += ["--audit", str(audit["sample"])]
    if engine := run.get("engine"):
        words += ["--engine", engine["name"], *(["--master", engine["master"]] if engine.get("master") else [])]
    return shlex.join([*words, *(["--report", "--overwrite"] if exists else [])])


def _flags(options: Mapping[str, Any]) -> list[str]:
    words = []
    for name in [*_ALWAYS, *_DEFAULTS]:
        if name not in options or (name in _DEFAULTS and options[name] == _DEFAULTS[name]):
            continue
        flag, value = "--" + name.replace("_", "-"), options[name]
        words += [flag] if value is True else [flag, str(value)]
    return words
