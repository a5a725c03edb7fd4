"""Malformed and hostile requests, and requests made from the OpenAPI description: no 500, no crash, no leak."""

import json
import os

import psutil
import pytest

import lookalike as la
from attacking import Attack, hostile_bodies, hostile_targets, operations
from calling import process, wait_for
from serving import TEXTS, Serving, make_index

# Every value for every parameter and field


@pytest.fixture(scope="module")
def reviewing(tmp_path_factory):
    """A server with an index, and with a run to review."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "in.jsonl").write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()))
    assert process("dedup", folder / "in.jsonl", "-o", folder / "out", "--threshold", "0.6").code == 0
    with Serving(make_index(folder / "index"), "--run", folder / "out", "--log", "none") as server:
        yield server


def failures(server, requests):
    """The requests that are answered with an error of the server, and how many had any other answer."""
    wrong, others = [], 0
    for method, target, body in requests:
        answer = server.call(method, target, body)
        if answer.status >= 500:
            wrong.append((answer.status, method, target[:200], (body or b"")[:200]))
        others += answer.status < 500
    return wrong, others


def test_no_value_of_a_parameter_is_an_error_of_the_server(reviewing):
    listed = list(operations(reviewing))
    assert len(listed) >= 16
    wrong, others = failures(
        reviewing, ((method, target, None) for path, method, names in listed for target in hostile_targets(path, names))
    )
    assert wrong == []
    assert others > 2000


def every(count, bodies):
    return [body for number, body in enumerate(bodies) if number % count == 0]


@pytest.mark.parametrize("share", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_no_value_of_a_field_is_an_error_of_the_server(reviewing, share):
    bodies = every(share, hostile_bodies())
    paths = [path for path, method, _ in operations(reviewing) if method == "POST"]
    assert len(paths) == 4
    wrong, others = failures(reviewing, (("POST", path, body) for path in paths for body in bodies))
    assert wrong == []
    assert others > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "threshold", "items"),
    [
        ("cosine", 0.9, [[1.0, 0.0, 0.5]]), ("euclidean", 2, []), ("hamming", 2, [[True, False, True, True]]),
        ("jaccard", 0.6, []), ("dice", 0.7, ["a b c d e f"]),
    ],
)  # fmt: skip
def test_no_value_is_an_error_whatever_the_index_holds(tmp_path, measure, threshold, items):
    index = tmp_path / "index"
    la.Index.create(index, items or None, measure=measure, threshold=threshold).close()
    with Serving(index, "--log", "none") as server:
        targets = [(method, path, names) for path, method, names in operations(server)]
        asked = [(method, target, None) for method, path, names in targets for target in hostile_targets(path, names)]
        sent = [("POST", path, body) for method, path, _ in targets if method == "POST" for body in hostile_bodies()]
        assert failures(server, [*asked, *sent])[0] == []


# Random requests, many at a time


def attack(tmp_path, count):
    """Returns how often each status came; nothing may be wrong with the server, then or afterwards."""
    texts = TEXTS | {f"long{number}": TEXTS["rose"] * (1 + 10 * number) for number in range(60)}
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items())
    )
    assert process("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "out", "--threshold", "0.6").code == 0
    index = make_index(tmp_path / "index", texts)
    options = ("--timeout", 2, "--max-requests", 64, "--max-response", "1MiB", "--max-spool", "8MiB")
    with Serving(index, "--run", tmp_path / "out", *options) as server:
        process_of_server = psutil.Process(server.process.pid)
        attack = Attack(server)
        attack.run(count)
        assert attack.wrong == []
        assert attack.slowest_health < 5  # while other tests keep the processors busy
        assert process_of_server.memory_info().rss < 600 << 20
        wait_for(lambda: "lookalike_requests_in_progress 0.0" in server.call("GET", "/metrics").body.decode())
        wait_for(lambda: process_of_server.num_fds() < 60)
        assert server.post("/v1/query", {"text": TEXTS["fox"]}).json()["matches"]
        assert server.stop() == 0
        assert "Traceback" not in server.log(), server.log()[-3000:]
        assert "exception was never retrieved" not in server.log()
    assert process("index", "check", index).code == 0
    print(f"{count:,} requests: {dict(attack.statuses)}, health within {attack.slowest_health:.2f} s")
    return attack.statuses


def test_hostile_requests_do_no_harm(tmp_path):
    statuses = attack(tmp_path, 500)
    assert {200, 400, 403, 404, 405, 415, 422, None} <= set(statuses)


@pytest.mark.slow
def test_ten_thousand_hostile_requests_do_no_harm(tmp_path):
    assert sum(attack(tmp_path, int(os.environ.get("ATTACK_REQUESTS", "10000"))).values()) >= 5000


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
