"""The web page and its files, and the endpoints for monitoring."""

from __future__ import annotations

import hashlib
import re
from importlib import resources

from fastapi import FastAPI, Request
from fastapi.responses import Response

from lookalike.server.problems import Problem
from lookalike.server.routes import reply
from lookalike.server.state import ServerState

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def _load(root: str) -> dict[str, tuple[bytes, str, str]]:
    """The files of the page with their types and tags; pages link to files under the path of the server."""
    found = {}
    for one in resources.files("lookalike.server").joinpath("page").iterdir():
        content = one.read_bytes()
        if one.name.endswith(".html"):
            content = re.sub(rb'(href|src)="/', rb'\1="%b/' % root.encode(), content)
        found[one.name] = content, _TYPES[one.name.rpartition(".")[2]], f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return found


def page_routes(app: FastAPI, state: ServerState) -> None:
    """The page, /docs, and /healthz, /readyz, /metrics."""
    files = _load(state.options.root_path)

    def file(request: Request, name: str) -> Response:
        if name not in files:
            raise Problem(404, f"the page has no file {name[:100]!r}")
        content, kind, tag = files[name]
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return file(request, "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return file(request, "docs.html")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon(request: Request) -> Response:
        return file(request, "icon.svg")

    @app.get("/page/{name}", include_in_schema=False)
    async def part(request: Request, name: str) -> Response:
        return file(request, name)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        return reply({"status": "ok"})

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        return reply(await state.health.check())

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        content = await state.health.run(state.metrics.text)
        return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")
