"""Values for options, right and wrong, read off the commands themselves, so that a new option is covered at once."""

from __future__ import annotations

import importlib
import random
import re

import click

from lookalike.cli.main import COMMANDS

LEFT_OUT = {"demo": "it reads the machine's own files"}
PATHS = {"INPUT", "OTHER", "GALLERY", "DIR", "FILE", "FOLDER", "OUT", "INDEX", "IDS", "english|FILE"}
"""What options that name a file or a folder call it in the help."""
OUTPUTS = {"out", "plot", "page"}
"""Parameters that name what is written."""

INTEGERS = ("1", "2", "3", "7", "16", "0", "-1", "1000000", "2147483648", "9" * 30, "1.5", "x", "", "١", "1_0")
FLOATS = ("0.5", "0.9", "0.1", "1", "0", "-1", "2", "nan", "inf", "-inf", "1e-300", "1e999", "0x1", "x", "", "1/3")
TEXTS = (
    "",
    "\x1b[2J",
    "\n",
    "absent",
    "0",
    "-1",
    "a,b",
    ":",
    "=",
    "*",
    "é",
    "\udcff",
    "x" * 500,
    "--json",
    "%s{}",
    "1e999",
)
COLUMNS = ("text", "id", "n", "name", "phone", "born", "x", "y", "m0", "print", "absent", "")
FIELDS = (
    "text",
    "name",
    "id,text",
    "name,text,phone",
    "name:person,born:date",
    "n:number",
    "text:code,name",
    "name=text",
    "absent",
    ",",
    "text:",
    "text:x",
    "name,name",
    "phone:phone",
    "text:email",
    "text:address",
    "name:person,text:text,phone,born,n",
)
LIKELY = {
    "threshold": ("0.5", "0.8", "0.2", "1", "2", "0.999"),
    "shingle": ("char:3", "word:1", "word:2", "stopword:2", "char:1", "word:999999999999", "char:-1"),
    "measure": ("jaccard", "cosine", "dice", "containment", "overlap", "euclidean", "hamming"),
    "method": ("lsh", "exact", "brute", "merge", "auto"),
    "memory": ("600MiB", "800MB", "1GiB", "4GiB", "1", "9" * 400, "256MiB", "1e3GiB", "-1GiB"),
    "on_error": ("skip",),
    "encoding": (
        "latin-1",
        "utf-16",
        "utf-8-sig",
        "utf-7",
        "idna",
        "cp1252",
        "gb18030",
        "hex",
        "undefined",
        "utf-32-be",
        "shift_jis",
    ),
    "fields": FIELDS,
    "validate": COLUMNS,
    "columns": ("m*", "m0,m1", "*", "absent"),
    "without": ("m0", "id", "*"),
    "keep": ("first", "last", "longest", "shortest", "max:n", "min:id", "max:text", "max:absent", "max:"),
    "language": ("en", "de", "fr", "xx"),
    "length_ratio": ("0.5", "1", "0", "2", "nan"),
    "common": ("0.1", "0.5", "1", "0"),
    "older_than": ("1d", "0s", "90d", "-1d", "1y", "9" * 30 + "d", "1.5h", "d"),
    "on_conflict": ("replace", "skip", "error", "other"),
    "store": ("sets", "text", "other"),
    "review": ("1", "10", "100000", "0"),
}
"""Values worth trying often, by parameter; others have values of their type and words of their help."""


VALID = {
    "k": ("1", "2", "10"),
    "hashes": ("1", "16", "64", "256"),
    "seed": ("0", "7", "18446744073709551615"),
    "threads": ("1", "2", "3"),
    "audit": ("1", "5", "1000"),
    "threshold": ("0.5", "0.8", "0.2", "1", "0.999"),
    "shingle": ("char:3", "word:1", "word:2", "stopword:2", "char:1"),
    "memory": ("600MiB", "800MB", "1GiB", "4GiB"),
    "encoding": ("latin-1", "utf-8-sig", "cp1252", "utf-16"),
    "fields": (
        "text",
        "name",
        "id,text",
        "name,text,phone",
        "name:person,born:date",
        "name:person,text:text,phone,born,n",
    ),
    "keep": ("first", "last", "longest", "shortest", "max:n", "min:id"),
    "language": ("en", "de", "fr"),
    "length_ratio": ("0.5", "0.9", "1"),
    "common": ("0.1", "0.5"),
    "policy": ("direct", "connected"),
    "index": ("length", "prefix", "position", "suffix", "best"),
    "bits": ("8", "64"),
    "width": ("1", "6"),
    "recall": ("0.9", "0.5", "0.999"),
    "column": ("text", "text", "name", "n"),
    "id": ("id", "n", "print"),
    "validate": ("born", "n"),
    "noise": ("0.02", "0.1"),
    "close": ("0.1", "1"),
    "r": ("1", "2", "3"),
    "edge": ("0", "0.1"),
    "triples": ("1", "64", "2000"),
    "scale": ("spread", "none"),
    "rotation": ("angles", "axis", "none"),
    "scoring": ("weights", "points"),
    "one_to_one": ("optimal", "greedy", "left", "right", "no", "auto"),
    "nicknames": ("english",),
    "precision": ("0.5", "0.9"),
    "probability": ("0.1", "0.9"),
    "sample": ("1", "1000"),
    "columns": ("m*", "m0"),
    "without": ("m0",),
    "method": LIKELY["method"],
    "measure": ("jaccard", "cosine", "dice"),
    "on_error": ("skip",),
    "older_than": ("1d", "12h", "0m"),
    "on_conflict": ("replace", "skip", "error"),
    "store": ("sets", "text"),
    "review": ("1", "10", "100"),
    "into": ("left", "right"),
    "by": ("text", "id", "n"),
}
"""Values that are right by themselves; for parameters that are not here, there is no such knowledge."""
NEEDS = {
    "common": "--method=merge",
    "index": "--method=exact",
    "bits": "--measure=hamming",
    "width": "--measure=euclidean",
}
"""Options that only go with another."""


def command_named(name: str) -> click.Command:
    """The command as the program has it; `index add` is a command of a group."""
    group, _, of_group = name.partition(" ")
    found: click.Command = importlib.import_module(f"lookalike.cli.{group}").command
    return found.commands[of_group] if of_group and isinstance(found, click.Group) else found


def _all_commands() -> list[str]:
    """Every command that is tried, those of groups one by one."""
    found = []
    for name in COMMANDS:
        command = None if name in LEFT_OUT else command_named(name)
        of_group = command.commands if isinstance(command, click.Group) else {"": command}
        found += [f"{name} {one}".strip() for one in of_group if command is not None]
    return found


FUZZED = _all_commands()


def options_of(name: str) -> list[click.Option]:
    """Options of a command, without those that say where to write."""
    found = [one for one in command_named(name).params if isinstance(one, click.Option)]
    return [one for one in found if one.name not in OUTPUTS]


def names_path(option: click.Option) -> bool:
    """Whether the value is a file or a folder."""
    return option.metavar in PATHS or isinstance(option.type, click.Path)


def value_of(option: click.Option, some: random.Random, calm: bool) -> str:
    """Some value of an option that takes one; a right one if `calm`."""
    name = str(option.name).strip("_")
    if name == "engine":  # a cluster takes longer to start than all the rest
        return some.choice(("local", "local", "other", ""))
    if calm and name in VALID:
        return some.choice(VALID[name])
    likely = LIKELY.get(name, ())
    if likely and some.random() < 0.7:
        return some.choice(likely)
    if option.metavar and re.search("COLUMN|NAME", option.metavar) and some.random() < 0.7:
        return some.choice(COLUMNS)
    words = re.findall(r"[\w:*]+", f"{option.metavar or ''} {option.help or ''}")
    if isinstance(option.type, click.types.IntParamType):
        pools = [INTEGERS, INTEGERS, INTEGERS[:5]]
    elif isinstance(option.type, click.types.FloatParamType):
        pools = [FLOATS, FLOATS, FLOATS[:4]]
    else:
        pools = [words, INTEGERS, FLOATS, TEXTS]
    return some.choice(some.choice([pool for pool in pools if pool]))


def spelled(option: click.Option, value: str | None, some: random.Random) -> list[str]:
    """An option as it is typed."""
    flag = some.choice(option.opts)
    if value is None:
        return [flag]
    return [f"{flag}={value}"] if flag.startswith("--") and some.random() < 0.2 else [flag, value]
