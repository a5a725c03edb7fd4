"""Errors as clients see them: application/problem+json (RFC 9457) with an appropriate status."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson

from lookalike.errors import BadDataError, LookalikeError, ResourceError, UsageError
from lookalike.index.folder.errors import DamagedError

PROBLEM_TYPE = "application/problem+json"
LONGEST_ID = 200
"""The most characters of an id that a message repeats."""


class Problem(Exception):  # noqa: N818 - the name that the standard gives it
    """An error response.

    Examples
    --------
    >>> Problem(404, "no such item").described()
    {'type': 'about:blank', 'title': 'Not Found', 'status': 404, 'detail': 'no such item'}
    """

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}

    def described(self, request_id: str | None = None) -> dict[str, Any]:
        """As an object."""
        found = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return found if request_id is None else {**found, "request_id": request_id}

    def body(self, request_id: str) -> bytes:
        """As JSON."""
        return orjson.dumps(self.described(request_id))


def problem_of(error: LookalikeError) -> Problem:
    """The problem that describes an error of the index to the client.

    Examples
    --------
    >>> problem_of(UsageError("--threshold 0.1 is below that of the index")).detail
    'threshold 0.1 is below that of the index'
    """
    text = str(error)
    if isinstance(error, DamagedError):
        return Problem(500, text)
    if isinstance(error, ResourceError):
        return Problem(503, text, {"Retry-After": "5"})
    if isinstance(error, UsageError | BadDataError):
        return Problem(422, text.removeprefix("--").replace(" --", " "))
    return Problem(500, text)


def no_item(id: str) -> Problem:
    """The problem for an unknown id; long ids are truncated.

    Examples
    --------
    >>> no_item("rose").detail
    "the index has no item 'rose'"
    """
    return Problem(404, f"the index has no item {id if len(id) <= LONGEST_ID else id[:LONGEST_ID] + '...'!r}")
