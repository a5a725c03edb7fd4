"""Where commands write: a table to a file or to standard output, and the run record of `--json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lookalike.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from lookalike.types import Rejected
    from lookalike.write import Encoders

NAMED = 20
"""How many skipped lines are named on stderr."""


def print_record(run: dict[str, Any]) -> None:
    """Print a run record for `--json`."""
    click.echo(json.dumps(run))


class TableOutput(NamedTuple):
    """The file that `-o` names, or standard output as TSV."""

    path: Path | None

    @classmethod
    def check(
        cls,
        out: str | None,
        overwrite: bool,
        as_json: bool,
        what: str,
        inputs: Sequence[str] = (),
        rejects: bool = False,
    ) -> TableOutput:
        """Refuse, before any work, an output that cannot be written or is an input; `what` names its rows.

        Examples
        --------
        >>> TableOutput.check("pairs.csv", overwrite=False, as_json=True, what="pairs").path.name
        'pairs.csv'
        """
        from lookalike.read import refuse_input_as_output
        from lookalike.write import TABLE_SUFFIXES, output_file

        if out is not None:
            path = output_file(out, TABLE_SUFFIXES, overwrite)
            output = cls(path)
            refuse_input_as_output(path, inputs)
            if rejects:
                refuse_input_as_output(output_file(output.rejected_path, TABLE_SUFFIXES, overwrite), inputs)
            return output
        if sys.stdout is None:
            raise UsageError("standard output is closed; name a file with -o")
        if as_json:
            raise UsageError(f"--json and the {what} would both go to stdout; name a file with -o")
        return cls(None)

    @property
    def rejected_path(self) -> Path:
        """The file next to the output for skipped lines."""
        assert self.path is not None
        return self.path.with_name(self.path.name + ".rejected.jsonl")

    def write(self, tables: Iterable[pa.Table], encoders: Encoders | None = None) -> None:
        """Write tables of one schema, in order; those of a Parquet file are encoded on `encoders`."""
        from lookalike.write import write_tables, write_tsv

        if self.path is None:
            write_tsv(sys.stdout.buffer, tables)
        else:
            write_tables(self.path, iter(tables), encoders)

    def write_rejected(self, rejected: list[Rejected]) -> str:
        """Write skipped lines next to the output file and return the new file's name; without one, their places."""
        from lookalike.write import write_rejected

        if self.path is None or not rejected:
            named = ", ".join(f"{bad.file}:{bad.line}" for bad in rejected[:NAMED])
            more = len(rejected) - NAMED
            return named + (f" and {more:,} more (-o writes them all to a file)" if more > 0 else "")
        write_rejected(self.rejected_path, rejected)
        return str(self.rejected_path)
