"""The routes of the API for items and queries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response

from lookalike.index.contract import Lookup
from lookalike.index.stored_items import StoredItem, find_items, read_items
from lookalike.server import models
from lookalike.server.answers.space import Holding
from lookalike.server.answers.streaming import Asking, StreamedAnswers, reply_to_list, reply_to_one, reply_with
from lookalike.server.bodies import LONG_BYTES, NDJSON, is_ndjson, read_json_body
from lookalike.server.collection import Addition, Asked, Removal
from lookalike.server.contents import parse_json
from lookalike.server.problems import PROBLEM_TYPE, Problem, no_item
from lookalike.server.state import ServerState
from lookalike.server.targets import raw_path

ON_CONFLICT = ("replace", "skip", "error")
ITEMS = "/v1/items/"
CHARACTERS_PER_MATCH = 32
"""Queries of a group are answered together: their characters count in addition to the matches that are asked for."""
_PROBLEM = {"model": models.ProblemAnswer, "content": {PROBLEM_TYPE: {}}}


def about(
    summary: str, *codes: int, model: type[Any] | None = None, given: dict[str, Any] | None = None, status: int = 200
) -> dict[str, Any]:
    """The description of a route: what it does, its input, its response and its errors."""
    good: dict[int | str, dict[str, Any]] = {} if model is None else {200: {"model": model}}
    responses = good | dict.fromkeys((401, 403, *codes, 429, 503), _PROBLEM)
    found = {"summary": summary, "responses": responses, "status_code": status, "openapi_extra": given}
    return {**found, "response_model": None}


def body_of(schema: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    """The description of a body in JSON or another format."""
    content = {"application/json": {"schema": schema}, **others}
    return {"requestBody": {"required": True, "content": content}}


def bodies_of(model: type[Any]) -> dict[str, Any]:
    """The description of a body: one object, a list of them, or one on each line."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    either = {"oneOf": [schema, {"type": "array", "items": schema}]}
    return body_of(either, **{NDJSON: {"schema": {"type": "string"}}})


def parameters(**described: tuple[str, str]) -> dict[str, Any]:
    """The description of parameters after the question mark: type and meaning of each."""
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": {"type": kind}, "description": meaning}
            for name, (kind, meaning) in described.items()
        ]
    }


ADDING = parameters(
    if_new=("boolean", "Add only what resembles nothing in the index."),
    on_conflict=("string", "If the id exists: replace, skip or error."),
)
ASKING = parameters(
    k=("integer", "Default maximum number of matches per query."),
    threshold=("string", "Default threshold: that of the index, or a stricter one."),
    text=("boolean", "Whether matches have their texts."),
)
BY_ID = parameters(id=("string", "The id of an item."))


def reply(found: Any) -> Response:
    """An answer as JSON."""
    return Response(orjson.dumps(found), media_type="application/json")


def check_parameters(request: Request, described: dict[str, Any]) -> None:
    """Refuse parameters that are unknown or repeated: otherwise a misspelt `if_new` would go unnoticed."""
    known = [one["name"] for one in described["parameters"]]
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in known:
            raise Problem(422, f"unknown parameter {name[:40]!r}; possible are {', '.join(known)}")
        if given.count(name) > 1:
            raise Problem(422, f"the parameter {name} is given {given.count(name)} times")


def flag(request: Request, name: str, default: bool) -> bool:
    """A parameter that is true or false."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if given.lower() not in ("true", "false", "1", "0"):
        raise Problem(422, f"{name} must be true or false, not {given[:40]!r}")
    return given.lower() in ("true", "1")


async def read_value(state: ServerState, request: Request) -> Any:
    """The JSON value of a body."""
    if is_ndjson(request):
        raise Problem(415, "send one object as application/json")
    with Holding(state.in_flight) as held:
        return parse_json(await read_json_body(request, state.options.limits, held))


async def answer_body(state: ServerState, request: Request, asking: Asking) -> Response:
    """Answer one object, a list, or NDJSON."""
    limits = state.options.limits
    if is_ndjson(request):
        return StreamedAnswers(state, request, asking)
    with Holding(state.in_flight) as held:
        body = await read_json_body(request, limits, held)
        value = parse_json(body) if len(body) <= LONG_BYTES else await state.on_files(parse_json, body)
        if not isinstance(value, list):
            long = len(body) > LONG_BYTES  # its numbers or tokens are checked one by one
            job = await state.on_files(asking.parse_one, value) if long else asking.parse_one(value)
            return await reply_to_one(state, (await asking.answers([job]))[0])
        if len(value) > limits.items:
            raise Problem(413, f"the list has {len(value):,} items; at most {limits.items:,} at a time, or send NDJSON")
        return await reply_to_list(state, asking, value)


def shown(item: StoredItem) -> dict[str, Any]:
    """A stored item as clients see it."""
    when = datetime.fromtimestamp(item.added_at / 1e6, UTC).isoformat(timespec="microseconds")
    found = {"id": item.id, "added_at": when.replace("+00:00", "Z"), "size": item.size}
    values = {"text": item.text, "vector": item.vector, "bits": item.bits}
    return found | {name: value for name, value in values.items() if value is not None}


def path_id(request: Request) -> str:
    """The id in a path, percent-decoded; or the parameter `id`, for ids that a path cannot hold, such as `..`."""
    raw = raw_path(request.scope)
    return unquote_to_bytes(raw[len(ITEMS) :]).decode() if raw.startswith(ITEMS.encode()) else query_id(request)


def query_id(request: Request) -> str:
    """The parameter `id`."""
    id = request.query_params.get("id")
    if id is None:
        raise Problem(422, f"give the id of an item: {request.url.path}?id=ID")
    return id


def number_of(lookup: Lookup, id: str) -> int:
    """The number of an item of the index, or 404."""
    number = find_items(lookup, [id])[0]
    if number is None:
        raise no_item(id)
    return number


def _stored_item(state: ServerState, id: str) -> bytes:
    lookup = state.index.store.lookup
    return orjson.dumps(shown(read_item(lookup, number_of(lookup, id), id)))


def read_item(lookup: Lookup, number: int, id: str) -> StoredItem:
    """What is stored of an item; 404 if a database has lost it since it was looked up."""
    try:
        return read_items(lookup, [number])[0]
    except KeyError:
        raise no_item(id) from None


def add_routes(app: FastAPI, state: ServerState) -> None:
    """The routes that add, query, get and remove items."""
    add_body, query_body = bodies_of(models.ItemIn) | ADDING, bodies_of(models.QuestionIn) | ASKING

    @app.post("/v1/items", **about("Add items", 408, 409, 413, 415, 422, model=models.ItemAnswer, given=add_body))
    async def add_items(request: Request) -> Response:
        """Add one item, a list, or NDJSON. With `if_new=true`, only items that resemble nothing in the index."""
        state.check_writing()
        check_parameters(request, ADDING)
        if_new, conflict = flag(request, "if_new", False), request.query_params.get("on_conflict", "replace")
        if conflict not in ON_CONFLICT:
            raise Problem(422, f"on_conflict must be {', '.join(ON_CONFLICT)}, not {conflict[:40]!r}")

        def parse(given: Any) -> Addition:
            return Addition(state.contents.new_item(given), if_new, conflict)

        return await answer_body(state, request, Asking(parse, state.writer.submit_all))

    @app.post(
        "/v1/query",
        **about("Query for similar items", 408, 413, 415, 422, model=models.QuestionAnswer, given=query_body),
    )
    async def query(request: Request) -> Response:
        """One question, a list, or NDJSON. `k` and `threshold` can also be parameters, as defaults for all."""
        defaults, with_text = state.plain_defaults, True
        if request.scope["query_string"]:
            check_parameters(request, ASKING)
            defaults, with_text = state.defaults(request.query_params), flag(request, "text", True)

        def parse(given: Any) -> Asked:
            return Asked(state.contents.question(given, defaults), with_text)

        asking = Asking(
            parse,
            state.reader.submit_all,
            weigh=lambda asked: asked.question.k + asked.question.item.length // CHARACTERS_PER_MATCH,
            alone=lambda asked: asked._replace(alone=True),
        )
        return await answer_body(state, request, asking)

    @app.get(f"{ITEMS}{{id:path}}", **about("Get an item", 404, 413, 422, model=models.StoredItemAnswer))
    @app.get("/v1/items", **about("Get an item by ?id=", 404, 413, 422, model=models.StoredItemAnswer, given=BY_ID))
    async def get_item(request: Request) -> Response:
        """What is stored of an item."""
        return await reply_with(state, await state.run(_stored_item, state, path_id(request)))

    @app.delete(f"{ITEMS}{{id:path}}", **about("Remove an item", 404, 422, status=204))
    @app.delete("/v1/items", **about("Remove an item by ?id=", 404, 422, status=204, given=BY_ID))
    async def remove_item(request: Request) -> Response:
        """Remove an item."""
        state.check_writing()
        answer = await state.writer.submit(Removal(path_id(request)))
        if isinstance(answer, Problem):
            raise answer
        return Response(status_code=204)
