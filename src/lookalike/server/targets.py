"""What a request asks for: its path under the path that a proxy has, and its parameters, which must be UTF-8."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

from lookalike.server.problems import Problem

Scope = MutableMapping[str, Any]


def raw_path(scope: Scope) -> bytes:
    """The path before it was percent-decoded, without parameters."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0]


def without_root(scope: Scope, root: str) -> Scope:
    """A scope whose paths start after the path of the server, which some proxies remove and others keep."""
    if not root or not (scope["path"] == root or scope["path"].startswith(root + "/")):
        return scope
    raw = raw_path(scope)
    raw = raw[len(root) :] if raw.startswith(root.encode()) else scope["path"][len(root) :].encode()
    return {**scope, "path": scope["path"][len(root) :] or "/", "raw_path": raw or b"/"}


def check_utf8(scope: Scope) -> None:
    """Refuse a path or parameters that are not UTF-8 once they are percent-decoded.

    Examples
    --------
    >>> check_utf8({"path": "/", "query_string": b"id=%ED%A0%80"})
    Traceback (most recent call last):
    lookalike.server.problems.Problem: the parameters are not UTF-8
    """
    for part, raw in (("path is", raw_path(scope)), ("parameters are", scope["query_string"])):
        try:
            (unquote_to_bytes(raw) if b"%" in raw else raw).decode()
        except UnicodeDecodeError:
            raise Problem(422, f"the {part} not UTF-8") from None
