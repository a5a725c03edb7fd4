"""Access rights: keys, names of this host, and pages of other sites."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers

from lookalike.server.keys import Keys
from lookalike.server.options import ServerOptions, is_loopback
from lookalike.server.problems import Problem

WRITING = {("POST", "/v1/items"), ("DELETE", "/v1/items"), ("POST", "/v1/review/decisions")}
_OPEN = ("/healthz", "/readyz", "/docs", "/openapi.json", "/", "/favicon.ico")
"""Paths that anyone may request: the page without data, and health checks."""
_HEALTH = ("/healthz", "/readyz")
Scope = MutableMapping[str, Any]


def is_open(path: str) -> bool:
    """Whether a path needs no key and is exempt from the limit on requests."""
    return path in _OPEN or path.startswith("/page/")


def is_writing(method: str, path: str) -> bool:
    """Whether a request changes something."""
    return (method, path) in WRITING or (method == "DELETE" and path.startswith("/v1/items/"))


def check_access(scope: Scope, headers: Headers, keys: Keys | None) -> str | None:
    """The name of the key; refuses callers without a key, or without the right one."""
    if keys is None or is_open(scope["path"]):
        return None
    given = headers.get("x-api-key")
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if given is None and scheme.lower() == "bearer":
        given = token.strip()
    key = None if given is None else keys.find(given)
    if key is None:
        wrong = "needs a key" if given is None else "the key is unknown"
        raise Problem(401, f"{wrong}; send it as Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})
    if is_writing(scope["method"], scope["path"]) and not key.writes:
        raise Problem(403, f"the key of {key.name!r} may read, but not write")
    return key.name


def check_origin(scope: Scope, headers: Headers, options: ServerOptions) -> bool | None:
    """Refuse requests from pages of other sites; return True for a CORS preflight request."""
    if options.keys is None and scope["path"] not in _HEALTH:  # health checks of load balancers may name no host
        _check_host(headers.get("host", ""), options)
    origin = headers.get("origin")
    if origin is None:
        return None
    allowed = _allows(origin, options)
    if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
        if not allowed:
            raise Problem(403, f"pages of {origin[:200]} may not send requests; start the server with --allow-origin")
        return True
    own = headers.get("host", "")
    if not allowed and scope["method"] not in ("GET", "HEAD", "OPTIONS") and origin.partition("://")[2] != own:
        raise Problem(403, f"pages of {origin[:200]} may not make changes; start the server with --allow-origin")
    return None


def _allows(origin: str, options: ServerOptions) -> bool:
    return origin in options.allow_origins or "*" in options.allow_origins


def _check_host(host: str, options: ServerOptions) -> None:
    """Without keys, accept only names of this machine: a page elsewhere could point its own name to this address."""
    name = host[: host.rindex("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
    if name and (is_loopback(name.lower()) or name == options.host):
        return
    raise Problem(403, f"the server does not answer as {host[:200]!r} without keys; use localhost or 127.0.0.1")


def cors_headers(scope: Scope, origin: str | None, options: ServerOptions) -> dict[str, str]:
    """The headers that let a page of an allowed origin read the response."""
    if origin is None or not options.allow_origins:
        return {}
    if not _allows(origin, options):
        return {"Vary": "Origin"}
    found = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": "X-Request-ID, Retry-After",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Vary": "Origin",
    }
    if scope["method"] == "OPTIONS":
        found |= {
            "Access-Control-Allow-Methods": "GET, POST, DELETE",
            "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key, X-Request-ID",
            "Access-Control-Max-Age": "600",
        }
    return found
