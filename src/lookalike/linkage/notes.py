"""Notes for the user."""

from __future__ import annotations

from lookalike.engine.progress import Progress

MANY_WRONG = 0.3
"""The estimated share of wrong links from which a warning is shown."""
WIDE = 0.3
"""The width of the precision interval from which a warning is shown."""


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

    def doubt_precision(self, share: float, low: float | None, high: float | None) -> None:
        """Warn if many links are probably wrong, or if the estimate is uncertain."""
        if share < 0.5:
            self.add(
                f"most links are probably wrong (about {1 - share:.0%}): the tables may share few records or none, and "
                "the fields hardly distinguish a record from similar ones. Add fields, or set --precision"
            )
        elif 1 - share > MANY_WRONG:
            self.add(
                f"about {1 - share:.0%} of the links are probably wrong: the fields hardly distinguish a record from "
                "similar ones. Add fields, or set --precision"
            )
        elif low is not None and high is not None and high - low > WIDE:
            self.add(
                f"between {low:.0%} and {high:.0%} of the links are correct: it is hard to say how similar different "
                "records are. Look at some links, or label some (--review)"
            )
