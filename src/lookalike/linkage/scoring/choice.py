"""Chooses how pairs are scored: by words, by levels of agreement, or by points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from lookalike.linkage.compare.custom import TEXTS
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.kinds import has_phrases, names_records, occur_twice
from lookalike.linkage.fields.row_numbers import is_shared
from lookalike.linkage.fields.spec import Field
from lookalike.linkage.partners import is_distinct
from lookalike.linkage.scoring.model import KnownWords, Model
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.settings import LinkSettings
from lookalike.types.wording import list_words

IDENTIFYING = ("code", "phone", "email", "date", "address")
"""Kinds of fields that identify records by themselves if most values are different."""
NUMBERS = ("code", "phone")
"""Those of them whose values may just as well be counts or numbers of rows."""
MOST = 0.5
"""A field that identifies records must be known in both records of this share of all pairs, to be enough by itself."""
NAMES = ("person", "place", "address")
"""Kinds that can also be compared as texts."""
SHOWN = 4
"""Fields that a reason names."""


class ModelChoice(NamedTuple):
    """How pairs are scored (`words`, `levels` or `points`), and the reason, as a clause."""

    name: str
    reason: str


def choose_model(columns: Sequence[Column], two_tables: bool, settings: LinkSettings) -> ModelChoice:
    """The way of scoring that suits the fields.

    Words need a field of kind text. In one table, in addition, no other field may identify records, such as a phone
    number: its levels are better evidence than words. If it is often missing, it needs the help of another field.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> title, phone = (
    ...     Column(name, kind, np.arange(2, dtype=np.int32), pa.array(["a", "b"]))
    ...     for name, kind in (("title", "text"), ("phone", "phone"))
    ... )
    >>> settings = LinkSettings.parse("title,phone")
    >>> choose_model([title, phone], True, settings).name, choose_model([title, phone], False, settings)
    ('words', ModelChoice(name='levels', reason='phone distinguishes most records'))
    """
    if settings.scoring == "points":
        return ModelChoice("points", "--scoring points was given")
    if all(column.kind != "text" for column in columns):
        return ModelChoice("levels", "no field is of kind text")
    if not (texts := texts_of(columns, settings)):
        return ModelChoice("levels", _say(list(settings.custom), "has levels of its own", "have levels of their own"))
    if not two_tables and (telling := identifying(columns)):
        return ModelChoice("levels", _say(telling, "distinguishes most records", "distinguish most records"))
    return words_choice(texts)


def texts_of(columns: Sequence[Column], settings: LinkSettings) -> list[str]:
    """The fields whose words can score pairs; none if a field has levels of its own."""
    return [] if settings.custom else [column.name for column in columns if column.kind == "text"]


def words_choice(texts: Sequence[str], more: str = "") -> ModelChoice:
    """The choice of words, because of some fields, and for one more reason."""
    return ModelChoice("words", _say(texts, "is of kind text", "are of kind text") + more)


def as_texts(given: LinkSettings, columns: Sequence[Column], why: str, own: bool = False) -> LinkSettings | None:
    """The settings with kind text for fields that were recognised as names or addresses; None if none were.

    The names of a few countries stay as they are: their words say no more than that they are equal.
    With `own`, also for names, addresses and texts that have levels of their own, unless other fields have such levels.
    """
    if (given.custom and not own) or given.scoring != "weights":
        return None
    kinds = {column.name: column.kind for column in columns if is_distinct(column)}
    made = replace(given, fields=tuple(_as_text(one, kinds.get(one.name, ""), why) for one in given.fields))
    return made if made.fields != given.fields and not made.custom else None


def have_words(columns: Sequence[Column], two_tables: bool) -> bool:
    """Whether the words of a name, address or text, or the trigrams of single words, say more than levels.

    They do not for surnames, which many people share. In one table, single words must be seen to be listed twice.
    """
    for column in columns:
        alone = names_records(column.codes, 2) and (two_tables or occur_twice(column.codes))
        if column.kind in TEXTS and (alone or has_phrases(column.values)):
            return True
    return False


def _as_text(field: Field, kind: str, why: str) -> Field:
    recognised = field.levels is None and not field.kind and kind in NAMES
    if not recognised and (field.levels is None or kind not in TEXTS):
        return field
    return replace(field, kind="text", why=why, levels=None, compare=None)


def identifying(columns: Sequence[Column]) -> list[str]:
    """The fields that distinguish most records, together with names; none if too few records have them.

    Records with an equal code or number must be alike in other fields, too: equal counts mean nothing.
    """
    telling = [column for column in columns if column.kind in (*IDENTIFYING, "person", "place") and is_distinct(column)]
    others = [column for column in columns if column.kind not in NUMBERS]
    telling = [column for column in telling if column.kind not in NUMBERS or is_shared(column, others)]
    found = [column for column in telling if column.kind in IDENTIFYING]
    if len(telling) == 1 and any((1 - column.missing / max(1, len(column))) ** 2 < MOST for column in found):
        return []
    return [column.name for column in telling] if found else []


def known_choice(known: Model) -> ModelChoice:
    """The way in which a finished run scored pairs."""
    names = {KnownWords: "words", Points: "points"}
    return ModelChoice(names.get(type(known.scoring), "levels"), "the finished run was scored in this way")


def _say(names: Sequence[str], of_one: str, of_several: str) -> str:
    shown = names if len(names) <= SHOWN else [*names[:SHOWN], f"{len(names) - SHOWN} others"]
    return f"{list_words(shown)} {of_one if len(names) == 1 else of_several}"
