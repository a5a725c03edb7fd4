"""Notes for the user."""

from __future__ import annotations

from lookalike.engine.progress import Progress

SHOW_GROUPS = (
    "most pairs that agree there differ in what tells records apart, as branches of a company do. If they are what you "
    "look for, compare only these fields"
)
COMPARED_IN_PARTS = (
    "by a single text, records that share most of their words look the same even if they are not, like products with "
    "the same description: check some links (--review), or compare further fields"
)
UNRELIABLE = (
    "the links are probably less precise than estimated. Compare only fields that tell records apart, such as names, "
    "addresses and numbers of their own, not what many of them share"
)


class Notes(list[str]):
    """Notes about a run: printed at once, and kept for run.json and the report.

    Examples
    --------
    >>> notes = Notes(Progress())
    >>> notes.add("email: no record has a value; the field is ignored")
    >>> notes
    ['email: no record has a value; the field is ignored']
    """

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def add(self, sentence: str) -> None:
        """Print and keep a sentence, passed without its full stop."""
        self.append(sentence)
        self._progress.say(f"Note: {sentence}.")
