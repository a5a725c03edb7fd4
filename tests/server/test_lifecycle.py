"""Starting and stopping, keys, several servers, a crash under load, and the client."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from calling import process, wait_for
from lookalike.errors import ResourceError
from lookalike.server.options import Limits, ServerOptions
from lookalike.server.reviewing.decisions import append_line
from serving import TEXTS, Serving, make_index

ROSE = TEXTS["rose"]
READ, WRITE = "r" * 20, "w" * 20


@pytest.fixture
def refused(cli, monkeypatch):
    """What `serve` answers if it does not start, in this process; if it starts, the test fails."""
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: pytest.fail("it started"))
    return lambda *arguments: cli("serve", *arguments)


def test_it_refuses_to_start_unsafely(refused, tmp_path):
    index = make_index(tmp_path / "index")
    (tmp_path / "keys").write_text("# none\nread short ann\n")
    for arguments, said in (
        ((index, "--host", "0.0.0.0"), "without --keys"),
        ((index, "--keys", tmp_path / "keys"), "line 2"),
        ((tmp_path / "nothing",), "is not an index"),
    ):
        done = refused(*arguments)
        assert (done.code, said in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tls_cert": Path("x")}, "belong together"),
        ({"limits": Limits(items=0)}, "--max-items must be above 0"),
        ({"limits": Limits(seconds=-1)}, "--timeout must be above 0"),
        ({"allow_origins": ("evil",)}, "https://news.example"),
        ({"port": 70_000}, "from 0 to 65535"),
        ({"drain_delay_seconds": -1.0}, "--drain-delay"),
        ({"log": "some"}, "all, errors or none"),
        ({"host": "::"}, "without --keys"),
    ],
)
def test_options_that_cannot_work_are_refused(options, said):
    with pytest.raises(la.UsageError, match=said):
        ServerOptions(**options).check()


def test_keys_grant_reading_or_writing(tmp_path):
    hashed = "sha256:" + __import__("hashlib").sha256(WRITE.encode()).hexdigest()
    (tmp_path / "keys").write_text(f"# who may ask\nread {READ} newsroom\nwrite {hashed} crawler\n")
    with Serving(make_index(tmp_path / "index"), "--keys", tmp_path / "keys", "--host", "0.0.0.0") as server:
        server.host = "127.0.0.1"
        assert server.call("GET", "/").status == 200
        answer = server.call("GET", "/v1/stats")
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert server.call("GET", "/v1/stats", Authorization="Bearer wrong").status == 401
        assert server.call("GET", "/metrics").status == 401
        assert server.call("GET", "/v1/stats", X_API_Key=READ).status == 200
        item = {"id": "n", "text": "a new one"}
        assert server.post("/v1/items", item, Authorization=f"Bearer {READ}").status == 403
        assert server.call("DELETE", "/v1/items/rose", Authorization=f"Bearer {READ}").status == 403
        assert server.post("/v1/items", item, Authorization=f"Bearer {WRITE}").status == 200
        assert READ not in server.log()
        assert '"key":"newsroom"' in server.log()
        with la.connect(f"http://127.0.0.1:{server.port}", key=WRITE) as remote:
            assert "n" in remote
        with la.connect(f"http://127.0.0.1:{server.port}") as remote, pytest.raises(la.UsageError, match="needs a key"):
            remote.stats()


def test_one_writes_and_others_follow(tmp_path):
    index = make_index(tmp_path / "index")
    with Serving(index) as writer:
        done = process("serve", index, "--port", 0)
        assert done.code == 2
        assert f"process {writer.process.pid}" in done.err
        assert "--read-only" in done.err
        with Serving(index, "--read-only", "--refresh", 0.05) as reader:
            assert reader.post("/v1/items", {"text": "a"}).status == 403
            assert reader.call("DELETE", "/v1/items/rose").status == 403
            writer.post("/v1/items", {"id": "new", "text": "something new under the sun"})
            wait_for(lambda: reader.call("GET", "/v1/items/new").status == 200)
            writer.call("DELETE", "/v1/items/new")
            wait_for(lambda: reader.call("GET", "/v1/items/new").status == 404)


def test_a_signal_finishes_requests_in_progress(tmp_path):
    with Serving(make_index(tmp_path / "index")) as server:
        answers = []

        def lines():
            """Slowly sent lines, which go on after the signal."""
            import http.client

            connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
            connection.putrequest("POST", "/v1/items")
            connection.putheader("Content-Type", "application/x-ndjson")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders()
            for number in range(10):
                line = json.dumps({"id": f"slow{number}", "text": f"text {number}"}).encode() + b"\n"
                connection.send(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                time.sleep(0.1)
            connection.send(b"0\r\n\r\n")
            answers.extend(connection.getresponse().read().splitlines())
            connection.close()

        thread = threading.Thread(target=lines)
        thread.start()
        time.sleep(0.4)
        server.process.send_signal(signal.SIGTERM)
        thread.join(30)
        assert server.process.wait(30) == 0
        assert len(answers) == 10
    with la.Index.open(tmp_path / "index", read_only=True) as index:
        assert all(f"slow{number}" in index for number in range(10))


def test_a_load_balancer_sees_that_the_server_is_stopping(tmp_path):
    index = make_index(tmp_path / "index")
    with Serving(index, "--drain-delay", 60) as server:
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: server.call("GET", "/readyz").status == 503)  # each call is a new connection
        assert "is stopping" in server.call("GET", "/readyz").json()["detail"]
        assert server.call("GET", "/healthz").status == 200
        assert server.post("/v1/items", {"id": "late", "text": "what comes meanwhile is answered"}).json()["added"]
        assert server.process.poll() is None
        assert server.stop(signal.SIGTERM) == 0  # a second signal does not wait for the delay
    with Serving(index, "--drain-delay", 60) as server:
        assert server.call("GET", "/v1/items/late").status == 200
        assert server.stop(signal.SIGINT) == 0


def test_in_a_terminal_it_says_how_to_stop_it_and_logs_failures_only(tmp_path):
    index = make_index(tmp_path / "index", {"rose": ROSE})
    master, terminal = os.openpty()
    with Serving(index, stderr=terminal) as server:
        assert server.call("GET", "/v1/items/rose").status == 200
        assert server.call("GET", "/v1/items/nobody").status == 404
        assert server.stop(signal.SIGINT) == 0
    os.close(terminal)
    said = os.read(master, 1 << 16).decode().splitlines()
    os.close(master)
    assert said[0].startswith(f"{index}: 1 item, at http://127.0.0.1:")
    assert said[1:4] == [
        "Only programs on this machine can connect, and they need no key.",
        "To let others connect, use --keys FILE and --host 0.0.0.0.",
        "Press Ctrl-C to stop.",
    ]
    logged = [json.loads(line) for line in said[4:] if line.startswith("{")]
    assert [line["path"] for line in logged if line["path"] != "/readyz"] == ["/v1/items/nobody"]


def test_keys_alone_let_nobody_else_connect(tmp_path):
    (tmp_path / "keys").write_text(f"read {READ} ann\n")
    with Serving(make_index(tmp_path / "index"), "--keys", tmp_path / "keys") as server:
        assert "Only programs on this machine can connect. To let others connect, use --host 0.0.0.0." in server.log()
        assert server.call("GET", "/v1/items/rose", X_API_Key=READ).status == 200
        wait_for(lambda: "/v1/items/rose" in server.log())


def test_a_server_killed_under_load_keeps_acknowledged_changes(tmp_path):
    index = make_index(tmp_path / "index", store="sets")
    acknowledged, stop = [], threading.Event()
    with Serving(index, "--log", "none") as server:

        def work(worker):
            for number in range(10**6):
                name = f"{worker}-{number}"
                try:
                    if server.post("/v1/items", {"id": name, "text": f"text of {name} {ROSE}"}).json()["added"]:
                        acknowledged.append(name)
                    server.post("/v1/query", {"text": ROSE})
                except (OSError, ValueError, __import__("http").client.HTTPException):
                    return
                if stop.is_set():
                    return

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(acknowledged) > 150, 60)
        server.process.kill()
        stop.set()
        for thread in threads:
            thread.join()
    with Serving(index) as server:
        missing = [name for name in acknowledged if server.call("GET", f"/v1/items/{name}").status != 200]
        assert missing == []
        assert server.stop() == 0
    assert process("index", "check", index).code == 0


def test_too_many_requests_get_429_with_retry_after(tmp_path):
    import socket

    with Serving(make_index(tmp_path / "index"), "--max-requests", 2) as server:
        head = (
            b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        )
        held = [socket.create_connection((server.host, server.port)) for _ in range(2)]
        for one in held:
            one.sendall(head)
        wait_for(lambda: server.call("GET", "/v1/stats").status == 429)
        assert server.call("GET", "/v1/stats").headers["retry-after"] == "1"
        assert server.call("GET", "/healthz").status == 200
        for one in held:
            one.close()
        wait_for(lambda: server.call("GET", "/v1/stats").status == 200)


def test_pages_of_an_allowed_site_may_ask(tmp_path):
    site = {"Origin": "https://news.example"}
    with Serving(make_index(tmp_path / "index"), "--allow-origin", site["Origin"]) as server:
        preflight = server.call("OPTIONS", "/v1/query", Access_Control_Request_Method="POST", **site)
        assert (preflight.status, preflight.headers["access-control-allow-origin"]) == (204, site["Origin"])
        answer = server.post("/v1/query", {"text": ROSE}, **site)
        assert answer.headers["access-control-allow-origin"] == site["Origin"]
        assert server.post("/v1/items", {"text": "a"}, Origin="https://evil.example").status == 403


def test_https(refused, tmp_path):
    import ssl
    import urllib.request

    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", key, "-out", cert], check=True, capture_output=True)
    with Serving(make_index(tmp_path / "index"), "--tls-cert", cert, "--tls-key", key, ready=False) as server:
        trusted = ssl.create_default_context(cafile=str(cert))
        trusted.check_hostname = False
        with urllib.request.urlopen(f"{server.url}/healthz", context=trusted, timeout=20) as answer:
            assert answer.status == 200
    assert "--tls-cert" in refused(tmp_path / "index", "--tls-cert", key, "--tls-key", key).err


def test_the_client_answers_as_the_index_does(tmp_path):
    made = make_index(tmp_path / "index")
    asked = [ROSE, TEXTS["fox"] + " at night", "nothing like it", None]
    named = [{"id": f"q{at}", "text": text} for at, text in enumerate(asked)]
    with la.Index.open(made) as index:
        expected = [index.query(asked), index.query(named, k=1), index.query(asked, threshold=0.95)]
    with Serving(made) as server, la.connect(server.url) as remote:
        found = [remote.query(asked), remote.query(named, k=1), remote.query(asked, threshold=0.95)]
        assert found == [one.cast(two.schema) for one, two in zip(expected, found)]
        assert len(remote) == len(TEXTS)
        added = remote.add(
            [{"id": "new", "text": ROSE + " again"}, {"id": "owl", "text": "owls fly by night"}], if_new=True
        )
        assert added.select(["id", "added", "match"]).to_pylist() == [
            {"id": "new", "added": False, "match": "rose"},
            {"id": "owl", "added": True, "match": None},
        ]
        assert "owl" in remote
        assert remote.get(["owl", "nobody"])["text"].to_pylist() == ["owls fly by night"]
        assert remote.get(["owl"]).schema.field("added_at").type == pa.timestamp("us", "UTC")
        assert remote.remove(["owl", "nobody"]) == 1
        assert remote.compare("a b c d e", "a b c d e")["similarity"] == 1
        with pytest.raises(la.UsageError, match="row 1"):
            remote.add([{"id": "a", "text": "fine"}, {"id": "b" * 10, "text": "x" * (5 << 20)}])
        with pytest.raises(la.UsageError, match="below that of the index"):
            remote.query(["a"], threshold=0.1)
    with pytest.raises(la.ResourceError, match="is the server running"):
        la.connect(server.url).stats()


@pytest.mark.parametrize("measure", ["cosine", pytest.param("euclidean", marks=pytest.mark.slow), "hamming"])
def test_the_client_sends_vectors(tmp_path, measure):
    random = np.random.default_rng(5)
    rows = random.normal(size=(60, 12)) if measure != "hamming" else random.integers(0, 2, (60, 64)).astype(bool)
    threshold = {"cosine": 0.7, "euclidean": 3, "hamming": 24}[measure]
    with la.Index.create(tmp_path / "one", measure=measure, threshold=threshold) as index:
        index.add(rows)
        expected = index.query(rows)
    la.Index.create(tmp_path / "two", measure=measure, threshold=threshold).close()
    with Serving(tmp_path / "two") as server, la.connect(server.url) as remote:
        remote.add(rows)
        assert remote.query(rows).equals(expected)


def test_a_database_can_be_served(database):
    place = database.new_index()
    make_index(place)
    with Serving(place) as server:
        assert server.post("/v1/query", {"text": ROSE}).json()["matches"][0]["id"] == "rose"
        assert server.post("/v1/items?if_new=true", {"id": "x", "text": ROSE}).json()["match"] == "rose"
        assert server.post("/v1/items", {"id": "y", "text": "new"}).json()["added"]
        assert server.call("DELETE", "/v1/items/y").status == 204
        assert server.call("GET", "/v1/stats").json()["items"] == len(TEXTS)
        assert server.call("GET", "/v1/random").status == 200
        assert server.call("GET", "/metrics").status == 200
        assert server.stop() == 0


def test_a_run_is_reviewed(cli, refused, tmp_path):
    lines = [{"id": id, "text": text} for id, text in TEXTS.items()]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "out"
    assert cli("dedup", tmp_path / "in.jsonl", "-o", out, "--threshold", "0.6").code == 0
    with Serving("--run", out) as server:
        assert server.call("GET", "/v1/review").json()["groups"] == 1
        listed = server.call("GET", "/v1/review/groups?sort=size").json()
        assert (listed["total"], listed["groups"][0]["title"], listed["groups"][0]["size"]) == (1, "rose", 2)
        (member,) = server.call("GET", "/v1/review/groups/0").json()["members"]
        assert (member["id"], member["text"], member["decision"]) == ("roses", TEXTS["roses"], None)
        start, end = member["right_shared"][0]
        assert TEXTS["roses"][start:end] == TEXTS["roses"].removesuffix(" sun")
        assert server.post("/v1/review/decisions", {"group": 0, "row": 0, "decision": "keep"}).status == 200
        assert server.post("/v1/review/decisions", {"group": 0, "row": -1, "decision": "unsure"}).status == 200
        assert server.post("/v1/review/decisions", {"group": 0, "row": 5, "decision": "keep"}).status == 422
        assert server.call("GET", "/v1/review/groups/9").status == 404
        assert server.call("GET", "/v1/review/groups?sort=size&source=other").json()["total"] == 0
    with (tmp_path / "out.decisions.jsonl").open("a") as file:
        file.write('{"file": "a", "row": 1}\n{"cut sho')  # without a decision; a crash has cut the second
    with Serving("--run", out) as server:  # decisions are kept
        found = server.call("GET", "/v1/review/groups/0").json()
        assert (found["members"][0]["decision"], found["keeper"]["decision"]) == ("keep", "unsure")
        assert server.post("/v1/review/decisions", {"group": 0, "row": 0, "decision": "remove"}).status == 200
    lines = (tmp_path / "out.decisions.jsonl").read_text().splitlines()
    saved = [json.loads(lines[number]) for number in (0, 1, 4)]
    assert [(one["id"], one["decision"]) for one in saved] == [
        ("roses", "keep"),
        ("rose", "unsure"),
        ("roses", "remove"),
    ]
    assert "run.json is missing" in refused("--run", make_index(tmp_path / "index")).err
    (out / "removed.parquet").write_bytes(b"PAR1")
    done = refused("--run", out)
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert done.err.startswith(f"lookalike: --run {out}: damaged or edited (")


def test_a_decision_that_cannot_be_saved_is_refused(cli, tmp_path):
    text = "one two three four five six seven"
    (tmp_path / "in.txt").write_text(f"{text}\n{text}\n")
    assert cli("dedup", tmp_path / "in.txt", "-o", tmp_path / "out", "--quiet").code == 0
    saved = tmp_path / "out.decisions.jsonl"
    with Serving("--run", tmp_path / "out") as server:
        saved.symlink_to("/dev/full")
        done = server.post("/v1/review/decisions", {"group": 0, "row": 0, "decision": "keep"})
        assert (done.status, "no space left" in done.json()["detail"]) == (503, True)
        assert server.call("GET", "/v1/review").json()["decided"] == 0
        saved.unlink()
        assert server.post("/v1/review/decisions", {"group": 0, "row": 0, "decision": "keep"}).status == 200


def test_half_a_decision_is_taken_back(tmp_path):
    path = tmp_path / "decisions.jsonl"
    append_line(path, b'"first"')
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 3, before[1]))
    try:
        with pytest.raises(ResourceError, match="no space left"):
            append_line(path, b'"second"')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    append_line(path, b'"third"')
    assert path.read_bytes() == b'"first"\n"third"\n'


def test_links_are_reviewed(cli, tmp_path):
    (tmp_path / "a.csv").write_text("id,name,city\na1,John Smith,Boston\na2,Mary Jones,Denver\na3,Ann Lee,Reno\n")
    (tmp_path / "b.csv").write_text("id,name,city\nb1,Jon Smith,Boston\nb2,Mary Jones,Denver\nb9,Zed Quill,Austin\n")
    out = tmp_path / "out"
    options = ("--fields", "name,city", "--scoring", "points", "-o", out)
    assert cli("link", tmp_path / "a.csv", tmp_path / "b.csv", *options).code == 0
    with Serving("--run", out) as server:
        assert server.call("GET", "/v1/review").json()["threshold"] == 150  # three quarters of the points
        listed = server.call("GET", "/v1/review/groups").json()
        assert [one["title"] for one in listed["groups"]] == ["a1 - b1", "a2 - b2"]  # the first is the most doubtful
        (found,) = server.call("GET", f"/v1/review/groups/{listed['groups'][0]['group']}").json()["members"]
        name = found["fields"][0]
        assert (name["field"], name["left"], name["right"]) == ("name", "John Smith", "Jon Smith")
        assert server.post("/v1/review/decisions", {"group": 0, "row": 0, "decision": "remove"}).status == 200
    assert json.loads((tmp_path / "out.decisions.jsonl").read_text())["decision"] == "remove"


def test_the_message_about_a_loop_that_was_never_used_is_dropped_and_others_are_not():
    code = """
import logging
from lookalike.server.serve import leave_unclosed_loops_unsaid
leave_unclosed_loops_unsaid()
logging.getLogger("asyncio").error("deallocating an open event loop")
logging.getLogger("asyncio").error("another problem")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "another problem\n"
