"""The routes for users who review the result of a run before they delete anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response

from lookalike.server.answers.streaming import reply_with
from lookalike.server.problems import Problem
from lookalike.server.reviewing.reviewed_run import DECISIONS, ReviewedRun
from lookalike.server.routes import about, body_of, check_parameters, parameters, read_value, reply
from lookalike.server.state import ServerState

MOST = 100
"""Groups, or members of a group, that are listed at a time."""
PAGING = parameters(**{"from": ("integer", "The first to list, from 0 on."), "count": ("integer", f"{MOST} at most.")})
LISTING = {
    "parameters": PAGING["parameters"]
    + parameters(sort=("string", "doubt or size."), source=("string", "A file: only groups with items of it."))[
        "parameters"
    ]
}
DECIDING = {
    "type": "object",
    "required": ["group", "row", "decision"],
    "properties": {
        "group": {"type": "integer"},
        "row": {"type": "integer"},
        "decision": {"enum": [*DECISIONS, None]},
    },
}


def review_routes(app: FastAPI, state: ServerState, run: ReviewedRun) -> None:
    """Groups, their items, and decisions about them."""

    @app.get("/v1/review", **about("What there is to review", 413))
    async def summary() -> Response:
        """The run, its sources, and how much has been decided."""
        return await reply_with(state, await state.run(_as_json, run.summary))

    @app.get("/v1/review/groups", **about("Clusters or links", 413, 422, given=LISTING))
    async def groups(request: Request) -> Response:
        """Groups by `sort=doubt` or `sort=size`, of one `source`, `count` of them from `from` on."""
        check_parameters(request, LISTING)
        given = request.query_params
        sort = given.get("sort", "doubt")
        if sort not in ("doubt", "size"):
            raise Problem(422, f"sort must be doubt or size, not {sort[:40]!r}")
        first, count = _page(request)
        return await reply_with(state, await state.run(_as_json, run.groups, sort, given.get("source"), first, count))

    @app.get("/v1/review/groups/{group}", **about("A cluster or link", 404, 413, 422, given=PAGING))
    async def group(request: Request, group: str) -> Response:
        """The items of a group with their texts, and where they agree."""
        check_parameters(request, PAGING)
        first, count = _page(request)
        return await reply_with(state, await state.run(_as_json, run.group, _checked(run, group), first, count))

    @app.post("/v1/review/decisions", **about("Decide", 404, 408, 413, 415, 422, 503, given=body_of(DECIDING)))
    async def decide(request: Request) -> Response:
        """Decide about an item of a group: keep, remove, unsure, or null to take it back. Row -1 is the kept item."""
        given = await read_value(state, request)
        if not isinstance(given, dict) or given.keys() != {"group", "row", "decision"}:
            raise Problem(422, 'a decision is {"group": 0, "row": 0, "decision": "keep"}')
        group = _checked(run, given["group"])
        size = int(run.sizes[group]) - 1
        row = given["row"]
        if type(row) is not int or not (-1 if run.kind == "dedup" else 0) <= row < size:
            raise Problem(422, f"row must be an integer below {size}")
        if given["decision"] is not None and given["decision"] not in DECISIONS:
            raise Problem(422, f"decision must be {', '.join(DECISIONS)} or null")
        return reply(await state.run(run.decide, group, row, given["decision"]))


def _as_json(work: Callable[..., Any], *arguments: Any) -> bytes:
    return orjson.dumps(work(*arguments))


def _page(request: Request) -> tuple[int, int]:
    """The first to list, and how many."""
    return _number(request, "from", 0), min(_number(request, "count", 20), MOST)


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return default
    if not given.isascii() or not given.isdigit() or len(given) > 12:
        raise Problem(422, f"{name} must be a number, not {given[:40]!r}")
    return int(given)


def _checked(run: ReviewedRun, given: Any) -> int:
    text = str(given)
    if isinstance(given, bool) or not text.isascii() or not text.isdigit() or len(text) > 12:
        raise Problem(422, "group must be a number")
    if int(text) >= len(run.doubt):
        raise Problem(404, f"there is no group {text}; the last is {len(run.doubt) - 1}")
    return int(text)
