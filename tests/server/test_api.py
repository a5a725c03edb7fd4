"""What the API answers, and how it refuses: single objects, lists and NDJSON, over real connections."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

import lookalike as la
from calling import wait_for
from serving import TEXTS, Serving, make_index

ROSE, ROSES = TEXTS["rose"], TEXTS["roses"]
NEAR = la.jaccard(ROSE, ROSES, shingle="word:5")
ODD = [*TEXTS, "", ".", "..", "a/../b", "%41", "\0", "\u202e", "🌹", "x" * 3000, "\n", "+", "0"]


def problem(answer, status):
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["request_id"] == answer.headers["x-request-id"]
    return found["detail"]


def test_one_query_a_list_and_lines_have_the_same_answers(server):
    question = {"text": ROSE, "k": 5}
    (first, second) = server.post("/v1/query", question).json()["matches"]
    assert first == {"id": "rose", "similarity": 1.0, "text": ROSE}
    assert second == {"id": "roses", "similarity": NEAR, "text": ROSES}
    answers = [{"matches": [first, second]}, {"id": 7, "matches": []}]
    other = {"id": 7, "text": "nothing like it"}
    assert server.post("/v1/query", [question, other]).json() == answers
    answer = server.lines("/v1/query", question, other)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.lines() == answers
    assert server.lines("/v1/query?k=1&text=false", {"text": ROSE}).lines() == [
        {"matches": [{"id": "rose", "similarity": 1.0}]}
    ]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/query?treshold=0.9", "unknown parameter 'treshold'; possible are k, threshold, text"),
        ("/v1/query?k=1&k=2", "k is given 2 times"),
        ("/v1/query?k=99999999999999999999", "not '99999999999999999999'"),
        ("/v1/items?if_nwe=true", "unknown parameter 'if_nwe'"),
    ],
)
def test_parameters_that_are_not_understood_are_refused(server, path, said):
    assert said in problem(server.post(path, {"text": "a"}), 422)


def test_long_values_of_a_client_are_not_echoed(server):
    assert len(server.call("GET", f"/v1/items/{'x' * 50_000}").body) < 1000


def test_checks_of_health_need_no_host(server):
    with socket.create_connection((server.host, server.port)) as one:
        one.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 200 ")


def test_the_threshold_can_be_stricter(server):
    for stricter in (0.95, "19/20", 1):
        found = server.post("/v1/query", {"text": ROSE, "threshold": stricter}).json()["matches"]
        assert [one["id"] for one in found] == ["rose"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is empty"),
        (b"{", "not valid JSON"),
        (b'{"text": "a"}{"text": "b"}', "not valid JSON"),
        (b'{"text": "\xff"}', "not valid JSON"),
        (b'{"text": "\\ud800"}', "not valid JSON"),
        (b'{"text": NaN}', "not valid JSON"),
        (b"[" * 5000, "not valid JSON"),
        (b"7", "an item is an object"),
        ({"k": 3}, "has none of the fields"),
        ({"text": 7}, "a text is a string"),
        ({"text": "a", "tokens": ["b"]}, "more than one"),
        ({"text": "a", "k": 0}, "k must be"),
        ({"text": "a", "k": 10**30}, "k must be"),
        ({"text": "a", "k": True}, "k must be"),
        ({"text": "a", "k": 1.5}, "k must be"),
        ({"text": "a", "threshold": 0.1}, "below that of the index"),
        ({"text": "a", "threshold": "high"}, "threshold"),
        ({"text": "a", "threshold": [1]}, "threshold"),
        ({"text": "a", "treshold": 0.9}, "unknown field 'treshold'"),
        ({"tokens": ["a", "b"]}, "the index holds texts"),
        ({"vector": [1, 2]}, "the index holds texts"),
    ],
)
def test_bad_questions_are_refused(server, body, said):
    assert said in problem(server.post("/v1/query", body), 422)


@pytest.mark.parametrize("id", [7.5, True, [1], {"a": 1}, 1 << 64])
def test_bad_ids_are_refused(server, id):
    said = problem(server.post("/v1/items", {"id": id, "text": "a"}), 422)
    assert said.startswith("an id is a string or an integer of 64 bits, not a")


def test_each_line_has_its_answer_or_its_error(server):
    long = b'{"text": "' + b"x" * (33 << 20) + b'"}'
    lines = [b'{"text": "a b"}\r', b"", b"  ", b"{", b'{"k": 1}', long, b'{"text": "c d"}']
    body = b"\n".join(lines)  # the last one has no newline
    found = server.call("POST", "/v1/query", body, "application/x-ndjson").lines()
    assert [one.get("error", {}).get("status") for one in found] == [None, 422, 422, 413, None]


def test_limits_have_codes_of_their_own(server):
    assert "50 at a time" in problem(server.post("/v1/query", [{"text": "a"}] * 51), 413)
    assert "33,554,432 bytes" in problem(server.post("/v1/query", b" " * (33 << 20)), 413)
    assert "longer than" in problem(server.post("/v1/query", {"text": "x" * (5 << 20)}), 413)
    assert "application/json" in problem(server.post("/v1/query", b"text=a", kind="text/plain"), 415)
    assert problem(server.post("/v1/query", b"{}", Content_Encoding="gzip"), 415)
    assert problem(server.call("GET", "/v1/nothing"), 404)
    answer = server.call("PUT", "/v1/items", b"{}")
    assert problem(answer, 405)
    assert answer.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, POST"
    answer = server.call("OPTIONS", "/v1/query")
    assert (answer.status, answer.headers["allow"]) == (204, "OPTIONS, POST")
    answer = server.call("HEAD", "/v1/stats")
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("id", ODD)
def test_ids_of_every_kind(server, id):
    path = f"/v1/items/{quote(id, safe='')}"
    if id not in TEXTS:
        problem(server.call("GET", path), 404)
        assert server.post("/v1/items", {"id": id, "text": f"text of {id!r}"}).json()["added"]
    try:
        for way in (path, f"/v1/items?id={quote(id, safe='')}", f"/v1/neighbors?id={quote(id, safe='')}"):
            found = server.call("GET", way).json()
            assert found.get("item", found)["id"] == id
    finally:
        if id not in TEXTS:
            assert server.call("DELETE", path).status == 204
            problem(server.call("DELETE", path), 404)


def test_ids_that_are_not_utf8_are_refused(server):
    assert problem(server.call("GET", "/v1/items/%ff"), 422)
    assert problem(server.call("GET", "/v1/items?id=%ff"), 422)


def test_a_body_that_does_not_arrive_times_out(server):
    with socket.create_connection((server.host, server.port)) as half:
        kind = "Content-Type: application/json\r\nContent-Length: 99"
        head = f"POST /v1/query HTTP/1.1\r\nHost: localhost\r\n{kind}\r\n\r\n{{"
        half.sendall(head.encode())
        half.settimeout(20)
        assert half.recv(100).startswith(b"HTTP/1.1 408")
    with socket.create_connection((server.host, server.port)) as half:
        half.sendall(head.replace("/v1/query", "/v1/compare").encode())
        wait_for(lambda: "requests_in_progress 1.0" in server.call("GET", "/metrics").body.decode())
        half.shutdown(socket.SHUT_WR)
    wait_for(lambda: '"path":"/v1/compare","status":499' in server.log())
    assert server.call("GET", "/healthz").status == 200


def test_lines_are_answered_before_the_body_ends(server):
    with socket.create_connection((server.host, server.port), 20) as one:
        head = (
            "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
        )
        line = json.dumps({"text": ROSE}).encode() + b"\n"
        one.sendall(head.encode() + f"{len(line):x}\r\n".encode() + line + b"\r\n")
        got = b""
        while b'"matches"' not in got:
            got += one.recv(4096)
        one.sendall(b"0\r\n\r\n")
        while not got.endswith(b"0\r\n\r\n"):
            got += one.recv(4096)


def test_security_headers_and_other_sites(server):
    answer = server.call("GET", "/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert "does not answer as" in problem(server.call("GET", "/v1/stats", Host="evil.example"), 403)
    evil = {"Origin": "https://evil.example"}
    assert problem(server.post("/v1/items", {"text": "a"}, **evil), 403)
    preflight = server.call("OPTIONS", "/v1/items", Access_Control_Request_Method="POST", **evil)
    assert problem(preflight, 403)
    own = {"Origin": f"http://127.0.0.1:{server.port}"}
    assert server.post("/v1/query", {"text": "a"}, **own).status == 200


def test_compare_shows_shared_passages(server):
    found = server.post("/v1/compare", {"left": ROSE, "right": {"id": "roses"}}).json()
    assert found["similarity"] == NEAR
    shared, left, right = (la.shingles(one) for one in (ROSE, ROSE, ROSES))
    assert found["shared"] == len(shared & right)
    assert (found["left_only"], found["right_only"]) == (len(left - right), len(right - left))
    assert [one["text"] for one in found["passages"]] == [ROSE.removesuffix(" rain")]
    start, end = found["right_shared"][0]
    assert ROSES[start:end] == ROSES.removesuffix(" sun")
    assert problem(server.post("/v1/compare", {"left": "a", "right": {"id": "nobody"}}), 404)
    assert problem(server.post("/v1/compare", {"left": "a"}), 422)


def test_what_explore_shows(server):
    stats = server.call("GET", "/v1/stats").json()
    assert (stats["items"], stats["kind"]["holds"]) == (len(TEXTS), "sets")
    assert sum(one["items"] for one in server.call("GET", "/v1/additions").json()) == len(TEXTS)
    assert server.call("GET", "/v1/buckets").status == 200
    near = server.call("GET", "/v1/neighbors?id=rose").json()
    assert [(one["id"], one["similarity"]) for one in near["matches"]] == [("roses", NEAR)]
    assert server.call("GET", "/v1/random").json()["item"]["id"] in TEXTS


def test_metrics_and_request_ids_are_reported(server):
    assert server.post("/v1/query", {"text": ROSE}).status == 200  # this test may be the first
    metrics = server.call("GET", "/metrics").body.decode()
    assert f"lookalike_items {len(TEXTS)}.0" in metrics
    assert 'lookalike_requests_total{method="POST",route="/v1/query",status="200"}' in metrics
    given = server.call("GET", "/healthz", X_Request_ID="trace-7")
    assert given.headers["x-request-id"] == "trace-7"
    wait_for(lambda: '"trace-7"' in server.log())
    (logged,) = [json.loads(line) for line in server.log().splitlines() if '"trace-7"' in line]
    assert (logged["request_id"], logged["status"]) == ("trace-7", 200)
    described = server.call("GET", "/openapi.json").json()
    assert {"/v1/items", "/v1/query", "/v1/compare", "/v1/items/{id}", "/v1/stats"} <= described["paths"].keys()


def test_only_one_of_concurrent_similar_items_is_added(tmp_path):
    with Serving(make_index(tmp_path / "index", {})) as server:

        def add(number):
            item = {"id": f"n{number}", "text": ROSE}
            if number % 2:
                return server.lines("/v1/items?if_new=true", item).lines()[0]
            return server.post("/v1/items?if_new=true", item).json()

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(add, range(64)))
        (first,) = [one["id"] for one in answers if one["added"]]
        assert {one["match"] for one in answers if not one["added"]} == {first}
        assert server.call("GET", "/v1/stats").json()["items"] == 1


def test_adding_replaces_skips_or_refuses(tmp_path):
    with Serving(make_index(tmp_path / "index")) as server:
        assert server.post("/v1/items", {"id": "fox", "text": "new text"}).json()["added"]
        assert server.call("GET", "/v1/items/fox").json()["text"] == "new text"
        assert not server.post("/v1/items?on_conflict=skip", {"id": "fox", "text": "x"}).json()["added"]
        assert problem(server.post("/v1/items?on_conflict=error", {"id": "fox", "text": "x"}), 409)
        both = server.post("/v1/items?on_conflict=error", [{"id": "fox", "text": "x"}, {"id": "owl", "text": "y"}])
        assert [one.get("error", {}).get("status") for one in both.json()] == [409, None]
        numbered = server.post("/v1/items", [{"text": "no id"}, {"id": 5, "text": "an integer"}, {"text": None}]).json()
        assert [type(one["id"]) for one in numbered] == [int, int, int]


def test_vectors_tokens_and_bits(tmp_path):
    la.Index.create(tmp_path / "v", measure="cosine", threshold=0.9).close()
    with Serving(tmp_path / "v") as server:
        assert server.post("/v1/items", {"id": "a", "vector": [1, 0, 0.5]}).json()["added"]
        found = server.post("/v1/query", {"vector": [2, 0, 1]}).json()["matches"]
        assert [(one["id"], round(one["similarity"], 9)) for one in found] == [("a", 1)]
        assert "has 2 values" in problem(server.post("/v1/query", {"vector": [1, 2]}), 422)
        assert "is too large" in problem(server.post("/v1/query", {"vector": [1, 2, 1e300]}), 422)
        assert "the index holds vectors" in problem(server.post("/v1/query", {"text": "a"}), 422)
        assert server.call("GET", "/v1/items/a").json()["vector"] == [1, 0, 0.5]
    la.Index.create(tmp_path / "b", measure="hamming", threshold=2).close()
    with Serving(tmp_path / "b") as server:
        bits = "01" * 32
        assert server.post("/v1/items", {"id": 1, "bits": bits}).json()["added"]
        assert server.post("/v1/query", {"bits": "11" + bits[2:]}).json()["matches"] == [{"id": 1, "distance": 1.0}]
        assert server.call("GET", "/v1/neighbors?id=1").json()["item"]["bits"] == bits
    la.Index.create(tmp_path / "t", threshold=0.5).close()
    with Serving(tmp_path / "t") as server:
        assert server.lines("/v1/items", {"id": "s", "tokens": ["x", "y"]}, {"id": "n", "tokens": [1, 2]}).status == 200
        assert server.post("/v1/query", {"tokens": ["y", "x"]}).json()["matches"] == [{"id": "s", "similarity": 1.0}]
        assert server.post("/v1/query", {"tokens": [2, 1]}).json()["matches"] == [{"id": "n", "similarity": 1.0}]


def talk(server, sent, *, half_close=False):
    """Send bytes, and return all that comes back."""
    with socket.create_connection((server.host, server.port), 20) as one:
        one.sendall(sent)
        if half_close:
            one.shutdown(socket.SHUT_WR)
        got = b""
        while piece := one.recv(4096):
            got += piece
    return got


def test_invalid_http_is_answered_with_a_problem(server):
    for sent, status in ((b"hello\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 431)):
        got = talk(server, sent)
        assert got.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"application/problem+json" in got


def test_a_request_head_that_does_not_arrive_times_out(server):
    assert talk(server, b"GET / HTTP/1.1\r\nHost: loc").startswith(b"HTTP/1.1 408")  # after 2 seconds here


def test_a_client_that_closes_one_side_gets_the_response(server):
    body = json.dumps({"text": ROSE}).encode()
    head = (
        f"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    got = talk(server, head.encode() + b"\r\n\r\n" + body, half_close=True)
    assert got.startswith(b"HTTP/1.1 200")
    assert json.loads(got.partition(b"\r\n\r\n")[2])["matches"][0]["id"] == "rose"
