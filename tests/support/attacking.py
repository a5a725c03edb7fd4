"""Hostile requests: values for every parameter and field that the description of the API names, and random bytes."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

RAW_VALUES = [
    "", "0", "1", "-1", "-0", "2", "99", "100", "101", "1000", "1001", "999999999999", "9" * 12, "9" * 13,
    "9" * 19, "9" * 5000,
    "1.5", "1e999", "-1e999", "1e-999", "1e999999999", "NaN", "Infinity", "-inf", "1/0", "0/0", "1/3", "9/10", "1/3/4",
    "0.9000000000000000000000000000000000001", "0.8123456789012345678901234567", "0x10", "1_000", "true", "null",
    "[]", "{}",
    "%ED%A0%80", "%ED%B0%80%ED%A0%80", "%ff", "%c0%80", "%00", "a%00b", "%0a", "%0d%0a", "%e2%80%ae",
    "%F4%90%80%80", "%", "%%", "%zz", "%u0041",
    "%EF%BF%BD", "%EF%BF%BF", "%d9%a3", "%c2%b2", "..", "%2e%2e", "%2f", "../..", "%25", "+", "a" * 20000, "rose",
    "doubt", "size", "replace", "skip", "error",
]  # fmt: skip
"""As they stand in a path or after a question mark."""
JSON_VALUES = [
    "null", "true", "false", "0", "-0", "1", "-1", "1.5", "1e308", "-1e308", "1e-320", "1e999", "NaN", "Infinity",
    "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "1" * 400, '""',
    '"a"', '"\\u0000"',
    '"\\ud800"', '"\\udc00\\ud800"', '"\\u202e"', '"\\uffff"', '"1/0"', '"nan"', '"1e999999999"',
    '"0.8123456789012345678901234567"',
    '"9999999999/10000000000"', '"0101"', '"012"', '"٣"', '"' + "a " * 3000 + '"', '"' + "x" * 40000 + '"', "[]",
    "{}", "[[]]", "[null]", "[true]", "[1]",
    "[1,2,3]", '["a",1]', '["a","b"]', "[1.5,-2]", "[1e308,1e308]", "[1e39]", "[0,1,1,0]", "[2]",
    "[9223372036854775808]", '[{"id":"rose"}]',
    '{"id":"rose"}', '{"id":null}', '{"id":1e999}', '{"id":true}', '{"id":"\\u0000"}', '{"id":["rose"]}',
    '{"id":"rose","text":"a"}',
    "[" * 900 + "]" * 900, "[" * 5000 + "]" * 5000, '{"a":' * 900 + "1" + "}" * 900, '"replace"', '"keep"', '"remove"',
]  # fmt: skip
"""As they stand in a body."""
TEXT = '"a rose is a rose is a rose and nothing else but a rose"'
FIELDS = ["id", "text", "tokens", "vector", "bits", "k", "threshold", "left", "right", "group", "row", "decision", "x"]
SAMPLE_BODIES = [
    f'{{"text":{TEXT}}}', f'{{"text":{TEXT},"k":3,"threshold":0.7}}', f'{{"left":{TEXT},"right":{{"id":"rose"}}}}',
    '{"group":0,"row":0,"decision":"keep"}', '{"group":0,"row":-1,"decision":null}', '{"vector":[1,2,3],"k":1}',
    '{"bits":"0110"}', '{"tokens":["a","b"]}',
]  # fmt: skip
KINDS = ["application/json", "application/x-ndjson"]
ODD_KINDS = ["text/plain", "", "application/json; charset=latin-1", "multipart/form-data", "a" * 9000, "\x7f"]
WAYS = {"plain": 60, "chunked": 8, "slow": 4, "cut": 6, "leave": 8, "half": 8, "lie": 3, "unread": 3}
"""How a request is sent, and how often."""
ODD_HEADERS = [
    "Authorization: Bearer \xe9", "X-API-Key: \x7f", "X-Request-ID: " + "a" * 300, "Origin: https://evil.example",
    "Bad", "Expect: 100-continue", "Content-Encoding: gzip", "X: " + "x" * 70_000, "Upgrade: websocket",
    "Content-Length: 1",
]  # fmt: skip
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get"]
OTHER_PATHS = [
    "/", "/docs", "/openapi.json", "/favicon.ico", "/healthz", "/readyz", "/metrics", "/page/api.js",
    "/page/../serve.py", "/page/%2e%2e/serve.py",
    "/page/%00", "/page/%ED%A0%80", "//", "/v1", "/v1/", "/v1/nothing", "/v1/items/", "/v1/review/groups/", "*",
    "http://localhost/v1/stats",
    "/v1/items/%ff%fe", "/%ff", "/?%ff=1", "/healthz?%ED%A0%80", "/\xff", "/v1/stats?" + "a=1&" * 3000,
]  # fmt: skip


def operations(server):
    """The routes of the description: path, method, and the names of their parameters."""
    paths = server.call("GET", "/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method, about in methods.items():
            yield path, method.upper(), [one["name"] for one in about.get("parameters", ()) if one["in"] == "query"]


def hostile_targets(path, names):
    """Every parameter of a path, in it and after it, with every value."""
    for name in re.findall(r"\{(\w+)\}", path):
        for value in RAW_VALUES:
            yield path.replace(f"{{{name}}}", value)
    plain = re.sub(r"\{\w+\}", "0", path)
    yield plain
    for name in [*names, "x", "%ff"]:
        for value in RAW_VALUES:
            yield f"{plain}?{name}={value}"
        yield f"{plain}?{name}"
        yield f"{plain}?{name}=1&{name}=2"


def hostile_bodies():
    """Every field with every value, beside fields that are right."""
    yield from (value.encode() for value in JSON_VALUES)
    for sample in SAMPLE_BODIES:
        for name in FIELDS:
            known = json.loads(sample)
            known.pop(name, None)
            others = json.dumps(known)[1:-1]
            for value in JSON_VALUES:
                if name in sample or name in ("id", "k", "threshold"):
                    yield f'{{{others}{", " if others else ""}"{name}":{value}}}'.encode()


class Attack:
    """Random requests over some connections at a time; it keeps the status of each, and those that must not be."""

    def __init__(self, server, seed=1):
        self.server, self._seed = server, seed
        self._targets = [target for path, _, names in operations(server) for target in hostile_targets(path, names)]
        self._bodies = list(hostile_bodies())
        self.statuses = Counter()
        self.wrong = []
        self.slowest_health = 0.0

    def run(self, count, connections=16):
        """Send requests while somebody looks whether the server is well."""
        with ThreadPoolExecutor(connections + 1) as threads:
            sent = [threads.submit(self._send, number) for number in range(count)]
            watching = threads.submit(self._watch, sent)
            for one in sent:
                one.result()
            watching.result()

    def _watch(self, sent):
        while not all(one.done() for one in sent):
            started = time.monotonic()
            if self.server.call("GET", "/healthz").status != 200:
                self.wrong.append(("/healthz", "is not well"))
            self.slowest_health = max(self.slowest_health, time.monotonic() - started)
            time.sleep(0.05)

    def _send(self, number):
        draw = random.Random(f"{self._seed}-{number}")
        raw, ways = self._request(draw)
        try:
            status = self._exchange(draw, raw, ways)
        except (OSError, http.client.HTTPException):
            status = "closed"
        self.statuses[status] += 1
        if isinstance(status, int) and status >= 500 and status != 503:
            self.wrong.append((status, raw[:400]))

    def _request(self, draw):
        method = draw.choice(["GET", "POST"] * 4 + METHODS)
        target = draw.choice(self._targets) if draw.random() < 0.8 else draw.choice(OTHER_PATHS)
        body = self._body(draw) if method != "GET" or draw.random() < 0.1 else b""
        if body and draw.random() < 0.6:
            target = draw.choice(["/v1/query", "/v1/query", "/v1/items", "/v1/compare", "/v1/review/decisions"])
        kind = draw.choice(KINDS) if draw.random() < 0.9 else draw.choice(ODD_KINDS)
        host = "localhost" if draw.random() < 0.95 else draw.choice(["evil.example", "", "[", "[::1]:x", "\xff"])
        head = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"Content-Type: {kind}"]
        ways = draw.choices(
            ["plain", "chunked", "slow", "cut", "leave", "half", "lie", "unread"], [60, 8, 4, 6, 8, 8, 3, 3]
        )[0]
        if ways == "chunked":
            head.append("Transfer-Encoding: chunked")
            cuts = sorted(draw.randrange(len(body) + 1) for _ in range(3))
            pieces = [body[low:high] for low, high in zip([0, *cuts], [*cuts, len(body)])]
            body = b"".join(f"{len(one):x}\r\n".encode() + one + b"\r\n" for one in pieces if one) + b"0\r\n\r\n"
        else:
            lie = draw.choice([5, -3, 10**18, 10**30]) if ways == "lie" else 0
            head.append(f"Content-Length: {max(-1, len(body) + lie)}")
        if draw.random() < 0.1:
            head.append(draw.choice(ODD_HEADERS))
        return "\r\n".join([*head, "", ""]).encode("latin-1", "replace") + body, ways

    def _body(self, draw):
        body = draw.choice(self._bodies)
        choice = draw.random()
        if choice < 0.15:
            lines = [draw.choice(self._bodies) for _ in range(draw.choice([2, 30, 300]))]
            return draw.choice([b"\n", b"\r\n", b"\n\n"]).join(lines)
        if choice < 0.25:
            return b"[" + b",".join(draw.choice(self._bodies) for _ in range(draw.choice([1, 5, 60]))) + b"]"
        if choice < 0.35:
            damaged = bytearray(body)
            for _ in range(3):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            return bytes(damaged)
        if choice < 0.4:
            return draw.randbytes(draw.choice([1, 50, 5000]))
        if choice < 0.42:
            return draw.choice([b"{},", b"[],", b'{"":0},', b"1,", b'"",']) * draw.choice([1000, 300_000])
        return body

    def _exchange(self, draw, raw, ways):
        """The status of the answer; None if nobody waits for it."""
        with socket.create_connection((self.server.host, self.server.port), 20) as one:
            if ways == "cut":
                one.sendall(raw[: draw.randrange(len(raw))])
                if draw.random() < 0.5:
                    return None
                one.shutdown(socket.SHUT_WR)
            elif ways == "slow":
                for at in range(0, 40, 4):
                    one.sendall(raw[at : at + 4])
                    time.sleep(0.02)
                one.sendall(raw[40:])
            else:
                one.sendall(raw)
            if ways == "leave":
                return None
            if ways == "half":
                one.shutdown(socket.SHUT_WR)
            if ways == "unread":
                time.sleep(0.3)
                return None
            one.settimeout(15)
            return self._read(one)

    def _read(self, one):
        """Read the head and a part of the rest; a connection that stays open is closed."""
        got = b""
        while b"\r\n\r\n" not in got:
            piece = one.recv(1 << 16)
            if not piece:
                break
            got += piece
        found = re.match(rb"HTTP/1\.1 (\d+)", got)
        return int(found[1]) if found else "closed"
