"""A real server process, and requests to it."""

from __future__ import annotations

import http.client
import json
import signal
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import lookalike as la
from calling import start

TEXTS = {
    "rose": "a rose is a rose is a rose and nothing else but a rose, said the gardener to the rain",
    "roses": "a rose is a rose is a rose and nothing else but a rose, said the gardener to the sun",
    "fox": "the quick brown fox jumps over the lazy dog and runs into the deep dark wood behind the house",
    "é/%2F ?#&+.": "an id may hold every kind of character, and still be found, asked for and removed again",
}


class Answer:
    """What came back."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]


class Serving:
    """A process that serves; its log is in a file, unless `stderr` is given."""

    def __init__(self, *arguments, ready=True, stderr=None, **options):
        self._log = tempfile.NamedTemporaryFile("w+", suffix=".log")  # noqa: SIM115
        self.process = start("serve", *arguments, "--port", 0, "--json", stderr=stderr or self._log, **options)
        line = self.process.stdout.readline()
        assert line, self.log()
        self.url = json.loads(line)["url"].rstrip("/")
        self.host, self.port = urlsplit(self.url).hostname, urlsplit(self.url).port
        if ready:
            self.wait_until_ready()

    def log(self):
        return Path(self._log.name).read_text()

    def wait_until_ready(self, seconds=60):
        end = time.monotonic() + seconds
        while self.call("GET", "/readyz").status != 200:
            assert time.monotonic() < end, self.log()
            time.sleep(0.05)

    def call(self, method, path, body=None, kind="application/json", **headers):
        data = body if body is None or isinstance(body, bytes | str) else json.dumps(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None:
            sent["Content-Type"] = kind
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def post(self, path, body, **headers):
        return self.call("POST", path, body, **headers)

    def lines(self, path, *values):
        """NDJSON."""
        data = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in values)
        return self.call("POST", path, data, "application/x-ndjson")

    def stop(self, number=signal.SIGTERM):
        """End it; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(40)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL if self.process.poll() is None else signal.SIGTERM)
        self._log.close()


def make_index(path, texts=TEXTS, **options):
    options = {"threshold": 0.6, "store": "text"} | options
    la.Index.create(path, [{"id": id, "text": text} for id, text in texts.items()], **options).close()
    return path
