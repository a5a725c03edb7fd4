"""What requests and answers may take, one by one and all together."""

import asyncio
import http.client
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calling import wait_for
from lookalike.server.answers.space import Holding, Space
from lookalike.server.answers.spool import Spool
from lookalike.server.bodies import LineSplitter, parsed_bytes
from lookalike.server.problems import Problem
from lookalike.server.protocol import Protocol
from serving import Serving, make_index

LINES = "application/x-ndjson"
SAME = {f"d{number}": "a " * (2000 + number) for number in range(150)}
"""Texts with the same set, so that each of them matches."""
ASKED = {"text": "a a a a a", "k": 150}
LINE = json.dumps(ASKED).encode() + b"\n"


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    return make_index(tmp_path_factory.mktemp("bounds") / "index", SAME, threshold=0.5, shingle="word:1")


@contextmanager
def watched(server):
    """Notes how long /healthz takes at most: it took 7 to 10 s. Other tests keep the processors busy meanwhile."""
    slowest, stop = [0.0], threading.Event()

    def watch():
        while not stop.is_set():
            started = time.monotonic()
            assert server.call("GET", "/healthz").status == 200
            slowest[0] = max(slowest[0], time.monotonic() - started)
            time.sleep(0.02)

    with ThreadPoolExecutor(1) as threads:
        watching = threads.submit(watch)
        try:
            yield slowest
        finally:
            stop.set()
        watching.result()


def peak_bytes(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) << 10


def length_of(server, body, kind=LINES):
    """The status and the number of bytes of an answer that is not kept."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("POST", "/v1/query", body, {"Content-Type": kind})
    answer = connection.getresponse()
    total = 0
    while piece := answer.read(1 << 20):
        total += len(piece)
    connection.close()
    return answer.status, total


def head_of(body, kind):
    head = f"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode()


def test_few_questions_with_long_answers_take_little_memory(same):
    with Serving(same, "--log", "none") as server, watched(server) as slowest:
        before = peak_bytes(server)
        status, total = length_of(server, LINE * 300)
        assert (status, total > 150 << 20) == (200, True)
        assert length_of(server, json.dumps([ASKED] * 300), "application/json")[0] == 413
        assert peak_bytes(server) - before < 130 << 20
    assert slowest[0] < 4


def test_an_answer_that_is_too_long_is_refused(same):
    with Serving(same, "--log", "none", "--max-response", "300KiB") as server:
        short = {"text": "a a a a a", "k": 2}
        answer = server.post("/v1/query", ASKED)
        assert (answer.status, "longer than 307,200 bytes" in answer.json()["detail"]) == (413, True)
        assert len(server.post("/v1/query", short).json()["matches"]) == 2
        assert len(server.post("/v1/query?text=false", ASKED).json()["matches"]) == 150
        for found in (server.lines("/v1/query", ASKED, short).lines(), server.post("/v1/query", [ASKED, short]).json()):
            assert [found[0]["error"]["status"], len(found[1]["matches"])] == [413, 2]
        assert "send fewer items" in server.post("/v1/query", [short] * 100).json()["detail"]
        assert server.call("GET", "/v1/neighbors?id=d7&k=149").status == 413
        (one, *_) = server.call("GET", "/v1/neighbors?id=d7&k=2").json()["matches"]
        assert (one["similarity"], one["text"]) == (1.0, SAME[one["id"]])


def test_answers_of_every_length_are_whole(same):
    """Some are written at once, some in memory, some in files."""
    with Serving(same, "--log", "none") as server:
        for k in (1, 12, 40, 65, 150):
            (found,) = server.lines("/v1/query", {**ASKED, "k": k}).lines()
            assert server.post("/v1/query", {**ASKED, "k": k}).json() == found
            assert server.post("/v1/query", [{**ASKED, "k": k}] * 2).json() == [found] * 2
            assert [one["text"] for one in found["matches"]] == [SAME[one["id"]] for one in found["matches"]]
            assert len(found["matches"]) == k


def test_a_client_that_only_sends_is_stopped_with_an_error_line(same):
    options = ("--max-spool", "4MiB", "--max-response", "2MiB", "--timeout", 1)
    with Serving(same, "--log", "none", *options) as server:
        line = json.dumps({**ASKED, "id": "x" * 1000}).encode() + b"\n"
        body = line * 40_000  # more than the buffers of the system; its answers would have 24 GB
        connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        connection.request("POST", "/v1/query", body, {"Content-Type": LINES})
        *answers, last = connection.getresponse().read().splitlines()
        connection.close()
        assert 1 < len(answers) < 100
        assert all(len(json.loads(answer)["matches"]) == 150 for answer in answers)
        error = json.loads(last)["error"]
        assert (error["status"], "wait for their clients" in error["detail"]) == (503, True)
        assert server.post("/v1/query", ASKED).status == 200


def test_a_client_that_reads_nothing_is_cut_off(same):
    with Serving(same, "--log", "none", "--timeout", 1, "--max-requests", 4) as server:
        process = psutil.Process(server.process.pid)
        before = process.num_fds()
        for kind, body in ((LINES, LINE * 100), ("application/json", json.dumps([ASKED] * 60).encode())):
            held = [socket.create_connection((server.host, server.port)) for _ in range(4)]
            for one in held:
                one.sendall(head_of(body, kind) + body)
            wait_for(lambda: server.call("GET", "/v1/stats").status == 429)
            wait_for(lambda: server.call("GET", "/v1/stats").status == 200)
            wait_for(lambda: process.num_fds() <= before)
            for one in held:
                one.close()


def test_a_client_that_leaves_is_noticed(same):
    with Serving(same, "--log", "none") as server:
        body = LINE * 5000  # minutes of work
        one = socket.create_connection((server.host, server.port))
        one.sendall(head_of(body, LINES) + body)
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
        one.close()
        quiet = "lookalike_requests_in_progress 0.0"
        wait_for(lambda: quiet in server.call("GET", "/metrics").body.decode(), 10)


def test_bodies_in_memory_are_bounded(same):
    with Serving(same, "--log", "none", "--max-body", "8MiB", "--max-in-flight", "32MiB") as server:
        before = peak_bytes(server)
        empty = b"[" + b"{}," * (2 << 20) + b"{}]"  # 6 MiB that become 600
        with ThreadPoolExecutor(8) as threads, watched(server) as slowest:
            answers = list(threads.map(lambda _: server.post("/v1/query", empty), range(16)))
            lines = server.call("POST", "/v1/query", empty + b"\n" + b'{"text": "a"}', LINES).lines()
            assert server.post("/v1/query", empty).status == 413
        assert {answer.status for answer in answers} <= {413, 503}
        assert [one.get("error", {}).get("status") for one in lines] == [413, None]
        assert peak_bytes(server) - before < 120 << 20
        assert slowest[0] < 4
        assert server.post("/v1/query", {"text": "a " * 100_000}).status == 200  # everything was given back


def test_metrics_and_health_do_not_count_as_requests(same):
    with Serving(same, "--log", "none", "--max-requests", 1) as server:
        with socket.create_connection((server.host, server.port)) as held:
            held.sendall(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
            wait_for(lambda: server.call("GET", "/v1/stats").status == 429)
            for path in ("/metrics", "/healthz", "/readyz"):
                assert server.call("GET", path).status == 200
        wait_for(lambda: server.call("GET", "/v1/stats").status == 200)


def connect(server, sent=b""):
    opened = socket.create_connection((server.host, server.port), 20)
    opened.sendall(sent)
    return opened


def test_connections_are_bounded(same):
    started = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    with Serving(same, "--log", "none", "--max-connections", 3) as server, ExitStack() as held:
        for _ in range(3):
            held.enter_context(connect(server, started))

        def refused():
            """The answer to a connection that sends nothing; one that is accepted gets none."""
            with connect(server) as one, suppress(TimeoutError):
                one.settimeout(0.2)
                return one.recv(1000)

        wait_for(refused)  # the three may not have been accepted yet
        assert refused().startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 1\r\n" in refused()
        assert b"3 connections are open" in refused()
        held.close()
        wait_for(lambda: not refused())
        assert server.call("GET", "/healthz").status == 200


def test_idle_connections_make_room_for_others(same):
    def ask(one):
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = b""
        while not got.endswith(b'{"status":"ok"}'):
            piece = one.recv(1000)
            assert piece, "the connection was closed"
            got += piece

    with Serving(same, "--log", "none", "--max-connections", 3) as server, ExitStack() as held:
        opened = []
        for _ in range(5):
            opened.append(held.enter_context(connect(server)))
            ask(opened[-1])
        assert [one.recv(1000) for one in opened[:2]] == [b"", b""]  # the oldest were closed
        for one in opened[2:]:
            ask(one)


# The parts


def test_of_connections_idle_since_the_same_tick_the_oldest_makes_room():
    ended = []

    class Idle(Protocol):
        def __init__(self, number):
            self._number, self.transport = number, SimpleNamespace(is_closing=lambda: False)
            self.timeout_keep_alive_task = SimpleNamespace(when=lambda: 5.0)

        def timeout_keep_alive_handler(self):
            ended.append(self._number)

    newest = Idle(9)
    newest.connections = {Idle(number) for number in (3, 1, 2)}
    assert newest._end_idle()
    assert ended == [1]


def test_what_a_request_holds_is_given_back():
    space = Space(100)
    with pytest.raises(Problem) as refused, Holding(space) as held:  # noqa: PT012
        held.take(60)
        with pytest.raises(Problem) as busy, Holding(space) as other:
            other.take(60)
        assert busy.value.status == 503
        held.take(60)
    assert refused.value.status == 413
    assert space.free == 100


def test_a_long_line_counts_while_it_arrives():
    space = Space(1 << 20)
    splitter = LineSplitter(1 << 22, Holding(space))
    assert splitter.add(b"x" * 300_000) == []
    assert space.free < 1 << 20
    assert len(splitter.add(b"\n")[0]) == 300_000
    assert space.free == 1 << 20
    assert splitter.add(b"x" * (2 << 20)) == []
    (refused,) = splitter.add(b"\n")
    assert refused.status == 413
    assert space.free == 1 << 20


@pytest.mark.parametrize("part", [b"{},", b"[],", b'{"":0},', b"1,", b'"a",', b"1.5,", b'{"a":{}},', b'"text text"'])
def test_the_memory_of_a_parsed_body_is_not_underestimated(part):
    import tracemalloc

    import orjson

    body = b"[" + part * 20_000 + b"0]" if part.endswith(b",") else b"[" + part + b"]"
    tracemalloc.start()
    value = json.loads(orjson.dumps(orjson.loads(body)))  # orjson's own memory is not traced, that of json is
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert value
    assert taken <= parsed_bytes(body) + 100_000


@given(
    st.lists(st.tuples(st.sampled_from(["write", "read"]), st.integers(0, 400_000)), max_size=12),
    st.integers(0, 2 << 20),
)
def test_a_spool_is_a_queue(steps, most):
    asyncio.run(model(steps, most))


async def model(steps, most):
    """What was accepted comes out in order, and the space is given back."""
    space = Space(most)
    with ThreadPoolExecutor(1) as threads:
        spool = Spool(space, threads)
        pieces = spool.pieces()
        sent = got = b""
        for number, (step, size) in enumerate(steps):
            if step == "write" and size:
                content = bytes([number]) * size
                if spool.fits_memory(size) or size <= space.free:
                    await spool.write(content)
                    sent += content
                else:
                    with pytest.raises(Problem, match="wait for their clients"):
                        await spool.write(content)
            elif step == "read" and len(got) < len(sent):
                got += await anext(pieces)
            assert spool.pending == len(sent) - len(got)
        await spool.end()
        async for piece in pieces:
            got += piece
        spool.close()
    assert got == sent
    assert space.free == most
