"""The field of --validate: its value in every record, and the precision that follows from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.compare.levels import measure_records
from lookalike.linkage.fields.reader import Note, choose_kinds, columns_of, has_values
from lookalike.linkage.fields.spec import Field, parse_names
from lookalike.linkage.scoring.score import Pairs, Scores
from lookalike.linkage.scoring.validation import Validation, validate
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Float64, Int32
from lookalike.types.frozen import frozen

LARGEST_VALUE = 1e100
"""A larger number is not meaningful, and its square would be infinite."""


@frozen
class ValidatingField:
    """The date (in days) or number of every record; NaN if it has none."""

    values: Float64
    settings: LinkSettings

    @classmethod
    def read(cls, left: pa.Table, right: pa.Table | None, settings: LinkSettings, note: Note) -> ValidatingField | None:
        """The field that --validate names; None if there is none, or it has no values and no precision is requested."""
        if settings.validate is None:
            return None
        [field] = choose_kinds(left, right, [Field(*parse_names(settings.validate))])
        if field.kind != "date":
            field = replace(field, kind="number")
        try:
            [column] = columns_of(left, right, [field], note)
        except BadDataError as error:
            if settings.precision is None and not has_values(left, right, field):
                note(_not_validated("no record has a value", settings))
                return None
            raise BadDataError(f"--validate {settings.validate}: {error}") from error
        measured = measure_records(column)
        values = np.where(np.abs(measured) <= LARGEST_VALUE, measured, np.nan)
        known, given = np.count_nonzero(np.isfinite(values)), len(column) - column.missing
        if 2 * known < given:
            raise BadDataError(
                f"--validate {settings.validate}: {given - known:,} of its {given:,} values are neither dates nor "
                "numbers; name a column of dates or numbers"
            )
        return cls(values, settings)

    def take(self, records: Int32) -> ValidatingField:
        """The values of some records."""
        return replace(self, values=self.values[records])

    def differences(self, pairs: Pairs) -> Float64:
        """The difference of the two records of each pair."""
        return np.abs(self.values[pairs[0]] - self.values[pairs[1]])

    def validate(self, pairs: CandidatePairs, random: Pairs, scores: Scores, note: Note) -> Validation | None:
        """The precision by score; None if the field carries no information and no precision is requested."""
        if not len(pairs):
            return None
        found, by_chance = self.differences((pairs.left, pairs.right)), self.differences(random)
        option = f"--validate {self.settings.validate}"
        try:
            result = validate(scores.score, found, by_chance, scores.sure())
        except UsageError as error:
            if self.settings.precision is not None:
                weights = self.settings.scoring == "weights"
                other = "--validate (precision is then estimated by the model)" if weights else "--precision"
                raise UsageError(f"{option}: {error}, or omit {other}") from error
            note(_not_validated(str(error), self.settings))
            return None
        for sentence in result.notes:
            note(f"{option}: {sentence}")
        return result


def _not_validated(why: str, settings: LinkSettings) -> str:
    """The note if the validating field carries no information and no precision is requested."""
    instead = "is estimated by the model itself" if settings.scoring == "weights" else "is unknown"
    return f"--validate {settings.validate}: {why}; so the precision {instead}"
