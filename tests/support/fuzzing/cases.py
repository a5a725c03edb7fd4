"""A case: files in a folder of its own, and a command on them. It depends on the seed and its number alone."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

from fuzzing.files import COMMON, MAKERS, PACKERS
from fuzzing.mutations import mutate
from fuzzing.options import FUZZED, NEEDS, names_path, options_of, spelled, value_of
from fuzzing.rows import Random, lists, minutiae, numbers, people, text, texts, vectors

IN = "in"
OTHERS = ("b", "ä ö", "new\nline", "\x1b[31mred", "[x]", "a*b", "-x", "\udcff", "UPPER", ".hidden", "sub/c")
PLACES = (
    "",
    ".",
    "in/absent",
    "in/*",
    "in/**",
    "in/*.absent",
    "/dev/null",
    "-",
    "memory://absent",
    "absent://x",
    "tmp",
    "in/[",
)
OUT_NAMES = ("out", "out", "out", "out/", "new/sub/out", "in/out", "in", "", "old", "tmp", "out\x1b\n", "ö", "o" * 300)
OUT_FILES = (".csv", ".tsv", ".parquet", ".jsonl", ".svg", ".png", ".txt", "")
LIKELY_FILES = {"tune": (".svg", ".svg", ".png"), "report": (".html",)}
OWN_FORMATS = {
    "fingerprints": (".xyt", ".fmr", ".csv", ".parquet"),
    "faces": (".csv", ".tsv", ".parquet", ".npy", ".fvecs"),
    "link": (".csv", ".jsonl", ".parquet", ".tsv"),
}
OWN_TABLES = {"fingerprints": (minutiae,), "faces": (numbers,), "link": (people, people, texts)}
OTHER_TABLES = (texts, texts, texts, lists, vectors)
VECTORS = (".npy", ".fvecs", ".bvecs")
FOLDERS = ("dedup", "link")
"""Commands whose output is a folder."""
WITHOUT_FILES = ("tune", "audit", "report", "serve", "index remove", "index stats", "index check", "index compact")
WITHOUT_OUTPUT = ("audit", "serve", "index create", *WITHOUT_FILES[4:])
READING_ITEMS = ("dedup", "pairs", "neighbors", "link")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TWO_WORDS = ["--shingle", "word:2", "--threshold", "0.5"]


@dataclass
class Case:
    """What is run, and where its output goes."""

    command: str
    arguments: list[str]
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)
    """Values of -o and --plot."""
    stdin: str | None = None
    full: bool = False
    """Whether nothing can be written to standard output."""
    before: list[str] | None = None
    """A command that runs first; what it leaves is an input as well."""
    more: list[str] = field(default_factory=list)
    """Options that refer to what the command before leaves."""
    changed: str | None = None
    """The index of the command before, if this one changes it."""
    kill_after: float | None = None
    """Seconds after which the command before is killed."""
    as_process: bool = False
    """Whether to run it as users do, instead of in a fork of the fuzzer."""
    signal_after: tuple[float, int] | None = None
    """Seconds after which a signal is sent, and its number."""


def make_case(place: Path, seed: int, number: int) -> Case:
    """Write the files of a case, and choose its command."""
    some = Random(f"{seed}/{number}")
    for name in (IN, "tmp"):
        (place / name).mkdir(parents=True)
    command = some.choice([*FUZZED, *(name for name in FUZZED if name not in WITHOUT_FILES), "dedup", "pairs", "link"])
    some.tables = OWN_TABLES.get(command, OTHER_TABLES)
    files = [_write_file(place, command, some, first=number == 0) for number in range(some.choice((1, 1, 1, 2, 4)))]
    inputs = _inputs(command, files, some)
    case = Case(command, [], inputs, full=some.random() < 0.02, as_process=some.random() < 0.01)
    if inputs and some.random() < 0.04:
        inputs[0] = _add_no_file(place, some)
    if some.random() < 0.05:
        (place / "old").write_text("an old file")
    _add_earlier_run(place, case, files, some)
    if command == "serve" or some.random() < 0.05:
        case.signal_after = (some.random() ** 2 * (1 if command == "serve" else 0.3), int(some.choice(SIGNALS)))
    if some.random() < 0.03:
        _plant_link(place, files, some)
    words = command.split()
    case.arguments = [*words, *_options(case, files, some)]
    where = some.choice((len(words), len(case.arguments)))
    case.arguments[where:where] = case.inputs
    if "-" in case.arguments:
        case.stdin = some.choice(files)
    return case


def _write_file(place: Path, command: str, some: Random, first: bool) -> str:
    suffix = some.choice(OWN_FORMATS.get(command, COMMON) if some.random() < 0.75 else tuple(MAKERS))
    data = MAKERS[suffix](some)
    if some.random() < 0.02:
        data *= some.choice((50, 500))
    data = mutate(data, some) if some.random() < 0.4 else data
    if some.random() < 0.12:
        packing = some.choice(tuple(PACKERS))
        suffix, data = suffix + packing, mutate(PACKERS[packing](data), some)
    if some.random() < 0.04:
        suffix = some.choice(tuple(MAKERS))  # the name lies
    name = "a" if first and some.random() < 0.8 else some.choice(OTHERS)
    path = place / IN / (name + (suffix.upper() if some.random() < 0.03 else suffix))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path.relative_to(place).as_posix()


def _write_plain(place: Path) -> str:
    """A file without mistakes."""
    (place / IN / "plain.txt").write_text("a b c d e f g\na b c d e f g\na b c d e f\nother words are here\n" * 3)
    return f"{IN}/plain.txt"


def _write_labels(place: Path, some: Random) -> str:
    """Labelled pairs of people, mostly well formed."""
    rows = "".join(
        f"{some.randrange(12)},{some.randrange(12)},{some.choice('0011x')}\n" for _ in range(some.choice((0, 3, 40)))
    )
    data = f"left,right,match\n{rows}".replace("x", some.choice(("1", "0", "x", "")))
    (place / IN / "labels.csv").write_bytes(mutate(data.encode(), some) if some.random() < 0.3 else data.encode())
    return f"{IN}/labels.csv"


def _add_no_file(place: Path, some: Random) -> str:
    """Something in the input folder that is no file; it or the folder is read."""
    path = place / IN / some.choice(("odd.jsonl", "odd.txt", "odd"))
    kind = some.randrange(4)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    else:
        path.symlink_to("." if kind == 2 else "absent")
    return some.choice((IN, f"{IN}/*", f"{IN}/**", f"{IN}/{path.name}"))


def _plant_link(place: Path, files: list[str], some: Random) -> None:
    """A link where an output or the work of a run goes, to something that must stay as it is."""
    name = some.choice(("out", "out.csv", "out.parquet", ".out.partial", ".out.csv.partial", "earlier"))
    target = some.choice((IN, files[0], "tmp", "absent", "."))
    if some.random() < 0.2 and target == files[0]:
        (place / name).hardlink_to(place / target)
    else:
        (place / name).symlink_to(target)


def _inputs(command: str, files: list[str], some: Random) -> list[str]:
    if command == "tune":
        return [] if some.random() < 0.95 else files[:1]
    if command in ("audit", "report", "serve"):
        return [some.choice([*["earlier"] * 9, "in", "in/absent", ""])]
    if command == "index create":
        return [some.choice([*["out"] * 9, *OUT_NAMES]), *files[: some.choice((0, 1, 1, 2))]]
    if command.startswith("index"):
        index = some.choice(
            [*["earlier"] * 12, "in", "in/absent", "", "postgresql://", "postgresql://absent.invalid/x"]
        )
        ids = some.choices(("r0", "r1", "0", "1", "in/plain.txt:0", "absent", "", "\n"), k=some.choice((0, 1, 3)))
        return [index, *{"index add": files[:2], "index query": files[:2], "index remove": ids}.get(command, [])]
    chosen = files[: some.choice((1, 1, 2, 4))]
    if some.random() < 0.12:
        chosen[some.randrange(len(chosen))] = some.choice(("in", "in", *PLACES))
    return [] if some.random() < 0.01 else chosen


def _add_earlier_run(place: Path, case: Case, files: list[str], some: Random) -> None:
    """Let a run come first: a finished one to audit, to change or to refer to, or a killed one to resume."""
    if case.command == "index create":
        case.outputs = case.inputs[:1]
    elif case.command == "report" or (case.command == "serve" and some.random() < 0.3):
        _add_reported(place, case, files, some)
    elif (
        case.command.startswith("index")
        or case.command == "serve"
        or (case.command == "dedup" and some.random() < 0.08)
    ):
        _add_index(place, case, files, some)
    elif case.command == "link" and some.random() < 0.15:
        case.before = ["link", files[0], "-o", "earlier", "--fields", "name,text", "--quiet"]
        case.more = ["--against", "earlier", *some.choice(([], [], ["--without", "0,1"]))]
    elif case.command == "link" and some.random() < 0.1:
        case.more = ["--labels", _write_labels(place, some), "--fields", "name,text"]
    elif case.command == "audit" or (case.command == "dedup" and some.random() < 0.08):
        source = files[0] if some.random() < 0.5 else _write_plain(place)
        case.before = ["dedup", source, "-o", "earlier", "--quiet", *some.choice(([], ["--on-error", "skip"]))]
        if case.command == "dedup":
            case.inputs = []
    elif case.command in READING_ITEMS and some.random() < 0.05:
        made = some.choice((["dedup", files[0], "-o", "earlier"], ["index", "create", "earlier", files[0]]))
        case.before = [*made, "--quiet"]
        case.inputs = [*some.choice((["earlier"], ["."], ["earlier/kept"], ["earlier/*"], [*case.inputs, "earlier/"]))]
    elif case.command in FOLDERS and some.random() < 0.06:
        case.kill_after = some.random() ** 2 * 0.3
        case.before = [
            case.command,
            *case.inputs,
            "-o",
            "out",
            *(["--fields", "text"] if case.command == "link" else []),
        ]


def _add_reported(place: Path, case: Case, files: list[str], some: Random) -> None:
    """A finished run of dedup, pairs or link; its report goes beside it, unless `-o` says otherwise."""
    source = files[0] if some.random() < 0.5 else _write_plain(place)
    made = some.choice(("dedup", "pairs", "link") if case.command == "report" else ("dedup", "link"))
    name = f"earlier{some.choice(('.parquet', '.csv', '.jsonl', '.tsv'))}" if made == "pairs" else "earlier"
    more = {"dedup": ["--on-error", "skip"], "pairs": TWO_WORDS, "link": ["--fields", "text"]}[made]
    case.before = [made, source, "-o", name, "--quiet", *some.choice((more, more[:2]))]
    if case.command == "serve":
        case.inputs, case.more = [], ["--run", "earlier"]
        return
    case.inputs = [name if one == "earlier" else one for one in case.inputs]
    case.outputs = ["earlier.report.html" if made == "pairs" else "earlier/report.html"]


def _add_index(place: Path, case: Case, files: list[str], some: Random) -> None:
    """An index, which the command changes, or refers to."""
    source = files[0] if some.random() < 0.6 else _write_plain(place)
    measure = ["--measure", some.choice(("cosine", "euclidean", "hamming"))] if source.endswith(VECTORS) else []
    kind = some.choice(([], [], TWO_WORDS)) + measure
    store = some.choice(([], [], ["--store", "text"], ["--on-error", "skip"]))
    case.before = ["index", "create", "earlier", source, "--quiet", *kind, *store]
    if case.command == "dedup":
        case.more = [*kind, *some.choice((["--into"], ["--into"], ["--reference"])), "earlier"]
    if case.command in ("dedup", "serve", "index add", "index remove", "index compact"):
        case.changed = "earlier"


def _options(case: Case, files: list[str], some: Random) -> list[str]:
    given: list[str] = ["--quiet"] if some.random() < 0.6 else []
    given += ["--port", "0", "--drain-delay", "0"] if case.command == "serve" else []
    given += _output(case, some) + case.more
    known, calm = options_of(case.command), some.random() < 0.7
    if case.command in ("dedup", "pairs", "neighbors") and files[0].endswith(VECTORS) and some.random() < 0.85:
        given += ["--measure", some.choice(("cosine", "euclidean", "hamming"))]
    few = (0, 1, 2, 3, 4) if case.command in ("report", "serve") else (0, 1, 1, 2, 3, 5)
    for option in some.sample(known, min(len(known), some.choice(few))):
        if option.is_flag:
            value = None
        elif names_path(option):
            value = some.choice(files) if calm else some.choice((*files, "in", "earlier", *PLACES))
        else:
            value = value_of(option, some, calm)
        given += spelled(option, value, some)
        given += [NEEDS[option.name]] if calm and option.name in NEEDS else []
    if case.command == "link" and some.random() < (0.05 if case.more else 0.95):
        given += ["--fields", value_of(next(one for one in known if one.name == "fields"), some, calm)]
    if case.command == "dedup" and case.before and not case.inputs and not case.more:
        given += ["--from", "earlier"]
    if case.kill_after is not None and some.random() < 0.8:
        given += ["--resume"]
    return [*given, "--absent"] if some.random() < 0.01 else given


def _output(case: Case, some: Random) -> list[str]:
    if case.command in WITHOUT_OUTPUT or some.random() < (0.02 if case.command in FOLDERS else 0.4):
        return []
    name = "out" if some.random() < 0.85 else some.choice((*OUT_NAMES, *case.inputs))
    if case.command not in FOLDERS:
        likely = LIKELY_FILES.get(case.command, (".csv", ".parquet", ".tsv", ".jsonl"))
        name += some.choice(likely) if some.random() < 0.9 else some.choice(OUT_FILES)
    case.outputs = [name]
    return ["--plot" if case.command == "tune" else "-o", name]


def spoil(place: Path, left: str, seed: int, number: int) -> None:
    """Mutate some files that an earlier run has left, in folders or by themselves."""
    some = Random(f"{seed}/{number}/spoil")
    made = [path for path in place.glob(left) if not path.is_symlink()]
    found = sorted(path for one in made for path in (one, *one.rglob("*")) if path.is_file())
    for path in some.sample(found, min(len(found), some.choice((0, 0, 1, 2)))):
        kind = some.randrange(4)
        if kind == 0:
            path.unlink()
        elif kind == 1:
            path.write_text(text(some))
        else:
            path.write_bytes(mutate(path.read_bytes(), some))
