"""The routes that show what is in the index, and why items are similar."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response

from lookalike.index.contract import Lookup
from lookalike.index.stored_items import neighbors_of, read_items
from lookalike.server import models
from lookalike.server.answers.streaming import reply_with
from lookalike.server.comparing import compare
from lookalike.server.problems import Problem, no_item
from lookalike.server.rendering import Matched
from lookalike.server.routes import (
    BY_ID,
    about,
    body_of,
    check_parameters,
    number_of,
    parameters,
    query_id,
    read_item,
    read_value,
    reply,
    shown,
)
from lookalike.server.state import ServerState
from lookalike.types import Int64

BINS = 48
"""Bars of the chart of additions."""
NEAR = {"parameters": BY_ID["parameters"] + parameters(k=("integer", "Neighbours at most."))["parameters"]}
TRIES = 200
"""How many items are tried to find one with neighbours."""


def explore_routes(app: FastAPI, state: ServerState) -> None:
    """Statistics, neighbours, and comparisons."""
    two = body_of(models.CompareIn.model_json_schema())

    @app.post(
        "/v1/compare",
        **about("Compare two texts", 404, 408, 413, 415, 422, model=models.CompareAnswer, given=two),
    )
    async def compare_two(request: Request) -> Response:
        """How similar two texts (or items of the index) are, and which passages they share."""
        return await reply_with(state, await state.run(_compared, state, await read_value(state, request)))

    @app.get("/v1/stats", **about("Sizes and options"))
    async def stats() -> Response:
        """Items, bytes, segments, options and plan of the index."""
        found = await state.run(partial(state.index.store.describe, buckets=False))
        more = {"read_only": state.options.read_only, "review": state.options.run is not None}
        more["index"] = not state.options.without_index
        kind = state.index.kind
        vectors = kind.settings.items.vectors
        held = "undecided" if not kind.decided else "sets" if vectors is None else "vectors"
        if vectors is not None and vectors.scalar == "bits":
            held = "bits"
        dimension = None if vectors is None else vectors.dimension
        told = {"column": kind.measure.column, "holds": held, "dimension": dimension}
        return reply({**found, "server": more, "kind": told})

    @app.get("/v1/additions", **about("Additions over time"))
    async def additions() -> Response:
        """How many items were added in each of several periods."""
        return reply(await state.run(_additions, state))

    @app.get("/v1/buckets", **about("Sizes of buckets"))
    async def buckets() -> Response:
        """How many buckets have 1 item, 2 or 3, 4 to 7, ...; `estimated` if they were counted in a sample."""
        sizes = await state.run(state.index.store.bucket_sizes)
        more = {"estimated": True} if sizes.estimated else {}
        rows = [{"from": size, "to": 2 * size - 1, "buckets": count, **more} for size, count in sizes.counts.items()]
        return reply(rows)

    @app.get("/v1/neighbors", **about("Neighbours of an item", 404, 413, 422, given=NEAR))
    async def neighbors(request: Request) -> Response:
        """An item of the index, and the items that are similar to it."""
        check_parameters(request, NEAR)
        k = int(state.defaults(request.query_params)["k"])
        return await reply_with(state, await state.run(_with_neighbors, state, query_id(request), k))

    @app.get("/v1/random", **about("A random item", 404, 413))
    async def some() -> Response:
        """A random item with its neighbours; preferably one that has any."""
        return await reply_with(state, await state.run(_random, state))


def _compared(state: ServerState, value: Any) -> bytes:
    return orjson.dumps(compare(state, value))


def _additions(state: ServerState) -> list[dict[str, Any]]:
    lookup = state.index.store.lookup
    times = lookup.times(lookup.numbers())
    if not len(times):
        return []
    counts, edges = np.histogram(times / 1e6, BINS if times.max() > times.min() else 1)
    return [
        {"from": float(low), "to": float(high), "items": count}
        for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:])
    ]


def _with_neighbors(state: ServerState, id: str, k: int) -> Matched:
    lookup = state.index.store.lookup
    return _described(lookup, number_of(lookup, id), id, k)


def _described(lookup: Lookup, number: int, id: str, k: int) -> Matched:
    about = {"item": shown(read_item(lookup, number, id))}
    try:
        near = neighbors_of(lookup, number, k)
    except KeyError:  # a database has lost the item
        raise no_item(id) from None
    return Matched(lookup, about, near.right, near.similarity, _all_shown)


def _all_shown(lookup: Lookup, numbers: Int64) -> list[dict[str, Any] | None]:
    return [shown(item) for item in read_items(lookup, numbers.tolist())]


def _random(state: ServerState) -> Matched:
    lookup = state.index.store.lookup
    number = None
    for _ in range(TRIES):
        start = random.randrange(lookup.total) if lookup.total else 0
        number = lookup.next_from(start)
        number = lookup.next_from(0) if number is None else number
        if number is None:
            raise Problem(404, "the index has no items")
        if len(neighbors_of(lookup, number, 1).right):
            break
    assert number is not None
    return _described(lookup, number, "that was chosen", 10)
