"""Malformed and hostile requests, and requests made from the OpenAPI description: no 500, no crash, no leak."""

import json
import random
import re
import socket

import psutil
import pytest

from calling import process
from serving import TEXTS, Serving, make_index

PATHS = [
    "/", "/v1/query", "/v1/items", "/v1/items/rose", "/v1/compare", "/v1/stats", "/v1/neighbors", "/v1/random",
    "/v1/nothing", "/docs", "/metrics", "/page/../serve.py", "/page/%2e%2e/serve.py", "//", "/v1/items/%00",
    "/v1/items/%ff%fe", "/v1/items?id=%ff", "/v1/query?k=x", "/v1/query?threshold=nan", "/v1/items?if_new=maybe",
]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW", "get"]
KINDS = ["application/json", "application/x-ndjson", "text/plain", "application/json; charset=latin-1", "", "\x7f"]
VALUES = [
    None, True, 0, -1, 10**12, 1e308, "", "a", "\0", "\u202e", "🌹" * 50, "a " * 5000, [], {}, [[]], ["a", 1], [None],
    {"id": "rose"}, [1.5, 2], "0101", {"text": "a"},
]  # fmt: skip
NAMES = ["text", "id", "k", "threshold", "tokens", "vector", "bits", "left", "right", "x"]


def bodies(draw):
    """A body of one of many kinds."""
    made = {draw.choice(NAMES): draw.choice(VALUES) for _ in range(draw.randrange(4))}
    text = json.dumps(draw.choice([made, [made] * draw.randrange(3), draw.choice(VALUES)])).encode()
    damaged = bytearray(text or b"x")
    damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    return draw.choice(
        [
            text, text, text + b"\n" + text, bytes(damaged), text[: len(text) // 2], b"", b"[" * 3000, b'{"a":' * 2000,
            b'{"text": 1e999}', b'{"k": ' + b"9" * 5000 + b"}", b'{"text": "\xff\xfe"}', b'{"text": "\\ud800"}',
            b'{"text": "a", "text": "b"}', b"\xef\xbb\xbf{}", b"NaN", draw.randbytes(50), b"\r\n\r\n" + text + b"\r\n",
        ]
    )  # fmt: skip


def raw_request(draw):
    """The bytes of a request, some of which lie about themselves."""
    body = bodies(draw)
    method, path, kind = draw.choice(METHODS), draw.choice(PATHS), draw.choice(KINDS[: draw.choice([2, 6])])
    length = draw.choice([len(body)] * 8 + [len(body) + 5, max(0, len(body) - 3), -1, 10**18])
    head = [f"{method} {path} HTTP/1.1", f"Host: {draw.choice(['localhost'] * 9 + ['evil.example', '', '['])}"]
    head += [f"Content-Type: {kind}", f"Content-Length: {length}", "Connection: close"]
    if draw.random() < 0.1:
        head.append(
            draw.choice(["Transfer-Encoding: chunked", "X" * 9000 + ": a", "Authorization: Bearer \xe9", "Bad"])
        )
    whole = "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body
    return whole if draw.random() < 0.95 else whole[: draw.randrange(len(whole))]


def exchange(server, sent, draw):
    """Send bytes, sometimes slowly or without an end; returns the status, if there is one."""
    with socket.create_connection((server.host, server.port), 20) as one:
        try:
            if draw.random() < 0.02:
                for at in range(0, min(len(sent), 30)):
                    one.sendall(sent[at : at + 1])
                one.sendall(sent[30:])
            else:
                one.sendall(sent)
            if draw.random() < 0.7:
                one.shutdown(socket.SHUT_WR)
            elif draw.random() < 0.3:
                return None  # closed without waiting
            one.settimeout(6)
            got = b""
            while len(got) < 1000 and (piece := one.recv(4096)):
                got += piece
        except (TimeoutError, ConnectionError):
            return None
    found = re.match(rb"HTTP/1\.1 (\d+)", got)
    return int(found[1]) if found else None


def attack(tmp_path, count):
    draw = random.Random(11)
    index = make_index(tmp_path / "index")
    statuses = []
    with Serving(index, "--timeout", 1, "--log", "none") as server:
        memory = psutil.Process(server.process.pid).memory_info
        for number in range(count):
            if number == count // 3:
                before = memory().rss
            statuses.append(exchange(server, raw_request(draw), draw))
        assert server.process.poll() is None
        assert server.call("GET", "/healthz").status == 200
        assert server.post("/v1/query", {"text": TEXTS["fox"]}).json()["matches"]
        grown = memory().rss - before
        assert server.stop() == 0
        assert "Traceback" not in server.log(), server.log()[-3000:]
    told = [one for one in statuses if one is not None]
    assert len(told) > count / 3
    assert {one for one in told if one >= 500} == set()
    assert {200, 400, 404, 405, 415, 422} <= set(told)
    assert grown < 40 << 20
    assert process("index", "check", index).code == 0


def test_hostile_requests_do_no_harm(tmp_path):
    attack(tmp_path, 250)


@pytest.mark.slow
def test_ten_thousand_hostile_requests_do_no_harm(tmp_path):
    attack(tmp_path, 10_000)


def schema_requests(url, examples):
    """Requests made from the description by schemathesis; every answer is one that the description allows."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings

    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    statuses = []

    for operation in schema.get_all_operations():
        found = operation.ok()

        @settings(
            max_examples=examples, deadline=None, phases=[Phase.generate], database=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=found.as_strategy())
        def each(case):
            statuses.append(case.call(base_url=url).status_code)

        each()
    return statuses


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("examples", [3, pytest.param(300, marks=pytest.mark.slow)])
def test_requests_made_from_the_description(tmp_path, examples):
    with Serving(make_index(tmp_path / "index"), "--log", "none") as server:
        statuses = schema_requests(server.url, examples)
        assert len(statuses) > 20
        assert [one for one in statuses if one >= 500] == []
        assert 200 in statuses
        assert server.call("GET", "/healthz").status == 200


@pytest.mark.slow
def test_a_stream_of_any_length_takes_no_memory(tmp_path):
    """A client that sends everything before it reads: answers wait in a file, and memory stays flat."""
    import http.client

    with Serving(make_index(tmp_path / "index"), "--log", "none") as server:
        memory = psutil.Process(server.process.pid).memory_info
        line = json.dumps({"text": TEXTS["rose"] * 20}).encode() + b"\n"

        def lines(count):
            for _ in range(count):
                yield line * 100

        peaks = []
        for count in (500, 5000):
            connection = http.client.HTTPConnection(server.host, server.port, timeout=600)
            connection.request(
                "POST", "/v1/query", lines(count), {"Content-Type": "application/x-ndjson"}, encode_chunked=True
            )
            answer, found = connection.getresponse(), 0
            while piece := answer.read(1 << 16):
                found += piece.count(b"\n")
            connection.close()
            assert found == 100 * count
            peaks.append(memory().rss)
        assert peaks[1] - peaks[0] < 60 << 20
