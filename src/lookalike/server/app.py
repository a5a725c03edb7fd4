"""The application: routes, errors, and the gate that every request passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from lookalike.errors import LookalikeError
from lookalike.server.explore import explore_routes
from lookalike.server.gate import Gate
from lookalike.server.keys import Keys
from lookalike.server.monitoring.logs import RequestLog
from lookalike.server.problems import PROBLEM_TYPE, Problem, problem_of
from lookalike.server.reviewing.reviewed_run import ReviewedRun
from lookalike.server.reviewing.routes import review_routes
from lookalike.server.routes import add_routes
from lookalike.server.state import ServerState
from lookalike.server.website import page_routes
from lookalike.version import __version__

_ABOUT = """Query an index for similar items, and add to it. Every similarity is exact. Errors are
application/problem+json
(RFC 9457) with a request id."""


def create_app(state: ServerState, keys: Keys | None, reviewed: ReviewedRun | None = None) -> Gate:
    """The ASGI application of a server."""
    app = FastAPI(
        title="lookalike", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", redirect_slashes=False, servers=[{"url": state.options.root_path or "/"}],
    )  # fmt: skip
    add_routes(app, state)
    explore_routes(app, state)
    if reviewed is not None:
        review_routes(app, state, reviewed)
    page_routes(app, state)
    app.add_exception_handler(Problem, _problem_reply)
    app.add_exception_handler(LookalikeError, _error_reply)
    app.add_exception_handler(HTTPException, _http_reply)
    app.add_exception_handler(RequestValidationError, _validation_reply)
    return Gate(app, state.options, keys, state.metrics, RequestLog(state.options.log))


def _reply(request: Request, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    body = problem.body(request.scope["state"]["request_id"])
    return Response(body, problem.status, {**problem.headers, **(headers or {})}, PROBLEM_TYPE)


async def _problem_reply(request: Request, error: Any) -> Response:
    return _reply(request, error)


async def _error_reply(request: Request, error: Any) -> Response:
    """The response to an error that no route expects, such as a full disk."""
    return _reply(request, problem_of(error))


async def _http_reply(request: Request, error: Any) -> Response:
    """The responses to 404 and 405 of the framework; OPTIONS returns the methods of the path."""
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
    if error.status_code == 405 and request.method == "OPTIONS":
        return Response(status_code=204, headers=headers)
    known = {404: f"there is nothing at {request.url.path[:200]}", 405: f"{request.method} is not allowed here"}
    return _reply(request, Problem(error.status_code, known.get(error.status_code, str(error.detail))), headers)


def _methods(request: Request) -> list[str]:
    """The methods allowed at a path; the framework knows only those of one route."""
    found = {"OPTIONS"}
    for route in request.app.routes:
        if route.matches(request.scope)[0] != Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return sorted(found | ({"HEAD"} if "GET" in found else set()))


async def _validation_reply(request: Request, error: Any) -> Response:
    wrong = error.errors()[0]
    place = ".".join(map(str, wrong["loc"][1:]))
    return _reply(request, Problem(422, f"{place}: {wrong['msg']}"))
