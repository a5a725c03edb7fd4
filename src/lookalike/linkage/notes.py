"""Notes for the user."""

from __future__ import annotations

from lookalike.engine.progress import Progress


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
