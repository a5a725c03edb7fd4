"""`connect`: an index behind HTTP, with the methods of `Index`. Needs no web framework."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import pyarrow as pa

from lookalike.api.inputs import Data, Number, open_sources
from lookalike.api.persistent import OnConflict
from lookalike.errors import BadDataError, LookalikeError, ResourceError, UsageError
from lookalike.features.shingles import is_list
from lookalike.read import looks_like_paths
from lookalike.types import DEFAULT_ID, Source, Wanted

if TYPE_CHECKING:
    import http.client

TOGETHER = 500
"""Items per request."""
ALL = 1000
"""The number of matches for k=None: the default limit of a server."""


def connect(url: str, key: str | None = None, *, timeout: float = 60.0) -> RemoteIndex:
    """Connect to an index that `lookalike serve` makes available.

    Parameters
    ----------
    url : str
        The address of the server, such as "http://127.0.0.1:8378".
    key : str, optional
        The key, if the server requires one.
    timeout : float, default 60
        Seconds to wait for an answer.

    Returns
    -------
    RemoteIndex

    Raises
    ------
    UsageError
        If the URL is not that of a server.

    Examples
    --------
    >>> connect("ftp://news.example")
    Traceback (most recent call last):
    lookalike.errors.UsageError: ftp://news.example: write a URL such as http://127.0.0.1:8378
    """
    return RemoteIndex(url, key, timeout)


class RemoteIndex:
    """An index behind HTTP. Made by `connect`; threads may share it, and wait for each other.

    Unlike `Index.add`, `add` sends items a few hundred at a time: after an error, the items before the bad one have
    been added.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = 60.0) -> None:
        import http.client  # imported on use: it is slow to load

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise UsageError(f"{url}: write a URL such as http://127.0.0.1:8378")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._failures = (http.client.HTTPException, OSError)
        self._url, self._path = url.rstrip("/"), parts.path.rstrip("/")
        self._connection: http.client.HTTPConnection = kind(parts.hostname, parts.port, timeout=timeout)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._lock = threading.Lock()
        self._known: dict[str, Any] | None = None

    # Requests

    def _send(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        headers = self._headers | ({"Content-Type": kind} if body is not None else {})
        again = self._connection.sock is not None and not path.startswith("/v1/items")
        while True:
            try:
                self._connection.request(method, self._path + path, body, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except self._failures as error:
                self._connection.close()
                if not again:  # a connection that was kept may have been closed meanwhile
                    reason = str(error) or type(error).__name__
                    raise ResourceError(f"{self._url}: {reason}; is the server running?") from None
                again = False

    def _call(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
        with self._lock:
            status, content = self._send(method, path, body, kind)
        if status < 400:
            return content
        raise self._error(status, content)

    def _error(self, status: int, content: bytes, place: str = "") -> LookalikeError:
        try:
            detail = json.loads(content)["detail"]
        except (ValueError, KeyError, TypeError):
            detail = f"the server answered {status}"
        kind = ResourceError if status in (408, 429) or status >= 500 else UsageError
        return kind(f"{self._url}: {place}{detail}")

    def _object(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self._call(method, path, None if body is None else json.dumps(body).encode()))

    def _lines(self, path: str, rows: list[dict[str, Any]], first: int) -> list[dict[str, Any]]:
        """Send items, one per line; an error names its row."""
        body = "".join(json.dumps(row) + "\n" for row in rows).encode()
        answers = [json.loads(line) for line in self._call("POST", path, body, "application/x-ndjson").splitlines()]
        for at, answer in enumerate(answers):
            if wrong := answer.get("error"):
                raise self._error(wrong["status"], json.dumps(wrong).encode(), f"data: row {first + at}: ")
        if len(answers) != len(rows):
            raise ResourceError(f"{self._url}: {len(answers)} answers to {len(rows)} items; the connection ended early")
        return answers

    # Data

    @property
    def _stats(self) -> dict[str, Any]:
        if self._known is None:
            self._known = self.stats()
        return self._known

    def _rows(self, data: Data) -> Iterator[dict[str, Any]]:
        """Items in the format of the server."""
        options = self._stats["options"]
        numbered = not looks_like_paths(data)
        for source in open_sources(data, options["column"], options["encoding"]):
            yield from _items_of(source, options["column"], options["id"] or DEFAULT_ID, numbered, options["measure"])

    def add(self, data: Data, if_new: bool = False, *, on_conflict: OnConflict = "replace") -> pa.Table:
        """Add items; id, added, match, similarity (or distance) for each. See `Index.add`."""
        path = f"/v1/items?if_new={str(if_new).lower()}&on_conflict={quote(on_conflict)}"
        column = self._stats["kind"]["column"]
        found: list[dict[str, Any]] = []
        for rows in _groups(self._rows(data)):
            found += self._lines(path, rows, len(found))
        return pa.table(
            {
                "id": _ids([row["id"] for row in found]),
                "added": pa.array([row["added"] for row in found], pa.bool_()),
                "match": _ids([row["match"] for row in found]),
                column: pa.array([row[column] for row in found], pa.float64()),
            }
        )

    def query(self, data: Data, k: int | None = 10, threshold: Number | None = None) -> pa.Table:
        """The most similar items of each item: left, right, similarity (or distance), rank. See `Index.query`.

        With k=None, at most as many as a server lists by default (1,000).
        """
        given = {"k": ALL if k is None else k, "text": "false"}
        if threshold is not None:
            given["threshold"] = str(threshold)
        column = self._stats["kind"]["column"]
        left: list[Any] = []
        matches: list[tuple[Any, float, int]] = []
        row = 0
        for rows in _groups(self._rows(data)):
            for asked, answer in zip(rows, self._lines(f"/v1/query?{urlencode(given)}", rows, row)):
                listed = answer["matches"]
                left += [asked.get("id", row)] * len(listed)
                matches += [(one["id"], one[column], rank) for rank, one in enumerate(listed, 1)]
                row += 1
        return pa.table(
            {
                "left": _ids(left) if left else pa.array([], pa.int64()),
                "right": _ids([one[0] for one in matches]),
                column: pa.array([one[1] for one in matches], pa.float64()),
                "rank": pa.array([one[2] for one in matches], pa.int64()),
            }
        )

    def get(self, ids: Iterable[str | int]) -> pa.Table:
        """The items with some ids, in the order of the ids: id, added_at, and text or vector. See `Index.get`."""
        if isinstance(ids, str):
            raise UsageError("ids is a string; pass a list of ids")
        found = []
        for one in ids:
            with self._lock:
                status, content = self._send("GET", f"/v1/items/{quote(str(one), safe='')}", None, "")
            if status != 404:
                found.append(json.loads(content) if status < 400 else _raise(self._error(status, content)))
        times = pa.array([one["added_at"].removesuffix("Z") for one in found], pa.string())
        columns = {"id": _ids([one["id"] for one in found])}
        columns["added_at"] = times.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
        for name in ("text", "vector", "bits"):
            if any(name in one for one in found):
                columns[name] = pa.array([one.get(name) for one in found])
        return pa.table(columns)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str | int) and len(self.get([id])) > 0

    def remove(self, ids: Iterable[str | int] = ()) -> int:
        """Remove items by id; return how many were removed."""
        if isinstance(ids, str):
            raise UsageError("ids is a string; pass a list of ids")
        removed = 0
        for one in ids:
            with self._lock:
                status, content = self._send("DELETE", f"/v1/items/{quote(str(one), safe='')}", None, "")
            if status >= 400 and status != 404:
                raise self._error(status, content)
            removed += status < 400
        return removed

    def compare(self, left: str, right: str) -> dict[str, Any]:
        """How similar two texts are, and which passages they share."""
        found: dict[str, Any] = self._object("POST", "/v1/compare", {"left": left, "right": right})
        return found

    def stats(self) -> dict[str, Any]:
        """Items, bytes, segments, options."""
        found: dict[str, Any] = self._object("GET", "/v1/stats")
        return found

    def refresh(self) -> bool:
        """Do nothing and return False: a server follows changes by itself."""
        return False

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __len__(self) -> int:
        return int(self.stats()["items"])

    def __repr__(self) -> str:
        return f"RemoteIndex({self._url!r})"

    def __enter__(self) -> RemoteIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()


def _raise(error: LookalikeError) -> Any:
    raise error


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while group := list(islice(rows, TOGETHER)):
        yield group


def _items_of(source: Source, column: str, id_: str, numbered: bool, measure: str) -> Iterator[dict[str, Any]]:
    names = source.column_names()
    wanted = Wanted(column, (id_,) if names is None or id_ in names else ())
    row = 0
    for block in source.blocks():
        items = block.items(wanted)
        name = _field(items.features, measure)
        packed = is_list(items.features) and items.features.type.value_type == pa.uint8()
        ids = items.columns[id_].to_pylist() if wanted.columns else [None] * len(items)
        for value, id in zip(items.features.to_pylist(), ids):
            content = {name: _bits(value, packed) if name == "bits" and value is not None else value}
            if id is None and not numbered:
                id = ":".join(map(str, source.locate(row)))
            if id is not None and not isinstance(id, str | int):
                raise BadDataError(f"{source.name}: row {row}: an id is a string or an integer, not {id!r}")
            yield content if id is None else {"id": id, **content}
            row += 1


def _field(features: pa.Array, measure: str) -> str:
    """The field that holds items of this type."""
    if not is_list(features):
        return "text"
    if measure == "hamming":
        return "bits"
    values = features.type.value_type
    return "vector" if pa.types.is_floating(values) or measure == "euclidean" else "tokens"


def _bits(values: list[int], packed: bool) -> str:
    """Bits, the first one first; bytes hold eight, the lowest one first."""
    if packed:
        return "".join(f"{one:08b}"[::-1] for one in values)
    return "".join("1" if one else "0" for one in values)


def _ids(values: list[Any]) -> pa.Array:
    """Integers if all are; otherwise strings."""
    if all(value is None or isinstance(value, int) for value in values):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else str(value) for value in values], pa.large_string())
