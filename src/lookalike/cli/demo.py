"""`lookalike demo`: dedup on the Python sources of this machine, where vendored copies are real duplicates."""

from __future__ import annotations

import site
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lookalike.cli.options import CONTEXT, json_and_quiet

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 8
"""Members of a cluster that are listed."""

_EXAMPLE = "\b\nExample:\n  lookalike demo --threshold 0.7"


@click.command("demo", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.option("-o", "--out", default="lookalike-demo", show_default=True, help="The output folder.")
@click.option("--threshold", default="0.8", show_default=True, help="Lowest similarity of a pair.")
@click.option("--threads", type=int, help="Number of threads. [default: all processors]")
@click.option("--overwrite", is_flag=True, help="Replace the output folder of an earlier run.")
@json_and_quiet
def command(out: str, threshold: str, threads: int | None, overwrite: bool, as_json: bool, quiet: bool) -> None:
    """Deduplicate the Python source files of this installation and its packages.

    Nothing is deleted: kept files are copied to OUT/kept, and OUT/removed.parquet has the reason for each removal.
    """
    from lookalike.cli.output import print_record
    from lookalike.cli.progress import open_progress
    from lookalike.cli.summary import summarize_dedup
    from lookalike.engine.settings import Settings
    from lookalike.jobs.dedup import dedup_to_folder, read_result
    from lookalike.write import OutputFolder

    settings = Settings.parse(threshold=threshold, threads=threads, on_error="skip")
    OutputFolder(out, overwrite)
    progress = open_progress(quiet)
    sources = find_sources()
    progress.say(f"Looking for near-duplicates among the Python files in {', '.join(map(str, sources))}")
    run = dedup_to_folder(
        [f"{folder}/**/*.py" for folder in sources], out, settings, overwrite=overwrite, progress=progress
    )
    if as_json:
        print_record(run)
    summarize_dedup(run, out, progress)
    progress.say("")
    for line in describe_cluster(read_result(Path(out)).removed, sources):
        progress.say(line)
    progress.say("")
    progress.say("Next: lookalike dedup YOUR_FILES -o out   (lookalike dedup -h lists all options)")


def find_sources() -> list[Path]:
    """The folders of Python's library and packages, without those inside another."""
    found = [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), *site.getsitepackages()]
    folders = sorted({Path(folder).resolve() for folder in found if folder and Path(folder).is_dir()})
    return [one for one in folders if not any(other in one.parents for other in folders)]


def describe_cluster(removed: pa.Table, sources: list[Path]) -> list[str]:
    """The most interesting cluster: copies of one file, not all identical, in the most packages."""
    by_keeper: dict[str, list[tuple[str, float]]] = {}
    for row in removed.select(["file", "kept_file", "similarity"]).to_pylist():
        by_keeper.setdefault(row["kept_file"], []).append((row["file"], row["similarity"]))
    if not by_keeper:
        return ["No near-duplicates found; try a lower --threshold."]

    def interest(keeper: str) -> tuple[bool, int, int]:
        members = by_keeper[keeper]
        packages = {_package(file, sources) for file, _ in members} | {_package(keeper, sources)}
        return any(similarity < 1 for _, similarity in members), len(packages), len(members)

    keeper = max(sorted(by_keeper), key=interest)
    members = sorted(by_keeper[keeper], key=lambda member: (-member[1], member[0]))
    lines = [f"The most interesting cluster ({len(members) + 1} files):", f"  kept     {_short(keeper, sources)}"]
    lines += [f"  {similarity:7.4f}  {_short(file, sources)}" for file, similarity in members[:SHOWN]]
    return lines + ([f"  ... and {len(members) - SHOWN} more"] if len(members) > SHOWN else [])


def _short(file: str, sources: list[Path]) -> str:
    path = Path(file)
    for folder in sources:
        if folder in path.parents:
            return str(path.relative_to(folder))
    return file


def _package(file: str, sources: list[Path]) -> str:
    parts = Path(_short(file, sources)).parts
    inside = parts[parts.index("site-packages") + 1 :] if "site-packages" in parts else parts
    return inside[0] if inside else file
