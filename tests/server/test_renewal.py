"""Keys and certificates are renewed on SIGHUP; and what a proxy in front of the server needs."""

import json
import os
import signal
import ssl
import subprocess

import pytest

import lookalike as la
from calling import wait_for
from lookalike.server.options import Limits, ServerOptions
from lookalike.server.targets import without_root
from serving import Serving, make_index

OLD, NEW = "o" * 20, "n" * 20


def test_keys_are_read_again(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(f"read {OLD} ann\n")
    with Serving(make_index(tmp_path / "index"), "--keys", keys) as server:

        def status(key):
            return server.call("GET", "/v1/stats", X_API_Key=key).status

        assert (status(OLD), status(NEW)) == (200, 401)
        keys.write_text(f"read {NEW} bob\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: (status(OLD), status(NEW)) == (401, 200))
        keys.write_text("nonsense\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "keys and certificate stay as they were" in server.log())
        assert "line 1" in server.log()
        assert status(NEW) == 200
        assert server.stop() == 0


def certificate(folder, name):
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    subprocess.run([*made, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert.read_text(), key.read_text()


def test_a_certificate_is_read_again(tmp_path):
    old, new = certificate(tmp_path, "old"), certificate(tmp_path, "new")
    cert, key = tmp_path / "cert.pem", tmp_path / "cert.key"
    cert.write_text(old[0])
    key.write_text(old[1])
    with Serving(make_index(tmp_path / "index"), "--tls-cert", cert, "--tls-key", key, ready=False) as server:

        def served():
            return ssl.get_server_certificate((server.host, server.port)).strip()

        assert served() == old[0].strip()
        cert.write_text(new[0])  # with the old key
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "stay as they were" in server.log())
        assert served() == old[0].strip()
        key.write_text(new[1])
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: served() == new[0].strip())
        assert server.stop() == 0


def test_the_signal_ends_a_server_only_if_its_terminal_is_gone(tmp_path):
    index = make_index(tmp_path / "index")
    with Serving(index) as server:
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "no keys or certificates to read again" in server.log())
        assert server.call("GET", "/healthz").status == 200
        assert server.stop() == 0
    master, terminal = os.openpty()
    with Serving(index, stderr=terminal) as server:
        os.close(terminal)
        server.process.send_signal(signal.SIGHUP)
        assert server.call("GET", "/healthz").status == 200
        os.close(master)
        server.process.send_signal(signal.SIGHUP)
        assert server.process.wait(30) == 0


# Behind a proxy


def test_a_path_that_a_proxy_keeps_or_removes(tmp_path):
    with Serving(make_index(tmp_path / "index"), "--root-path", "/seen/items") as server:
        for prefix in ("", "/seen/items"):
            assert server.call("GET", f"{prefix}/v1/items/fox").json()["id"] == "fox"
            assert server.call("GET", f"{prefix}/v1/items/%C3%A9%2F%252F%20%3F%23&+.").status == 200
            assert server.post(f"{prefix}/v1/query", {"text": "a"}).status == 200
            assert b'src="/seen/items/page/main.js"' in server.call("GET", f"{prefix}/").body
        assert server.call("GET", "/seen/items").status == 200
        assert server.call("GET", "/seen/itemsv1/stats").status == 404
        assert server.call("GET", "/openapi.json").json()["servers"] == [{"url": "/seen/items"}]
        assert 'route="/v1/items/{id}"' in server.call("GET", "/seen/items/metrics").body.decode()


def test_access_is_checked_under_the_path_of_a_proxy(tmp_path):
    (tmp_path / "keys").write_text(f"read {OLD} ann\n")
    with Serving(make_index(tmp_path / "index"), "--root-path", "/seen", "--keys", tmp_path / "keys") as server:
        for prefix in ("", "/seen"):
            assert server.call("GET", f"{prefix}/readyz").status == 200
            assert server.call("GET", f"{prefix}/v1/stats").status == 401
            assert server.post(f"{prefix}/v1/items", {"text": "a"}, X_API_Key=OLD).status == 403
            assert server.call("DELETE", f"{prefix}/v1/items/fox", X_API_Key=OLD).status == 403


def test_paths_under_the_path_of_a_proxy():
    scope = {"path": "/a/b", "raw_path": b"/a/%62"}
    assert without_root(scope, "/a") == {"path": "/b", "raw_path": b"/%62"}
    assert without_root({"path": "/a", "raw_path": b"/%61"}, "/a") == {"path": "/", "raw_path": b"/"}
    assert without_root({"path": "/ab", "raw_path": b"/ab"}, "/a")["path"] == "/ab"


@pytest.mark.parametrize(
    ("believed", "logged"), [((), "127.0.0.1"), (("--forwarded-allow-ips", "127.0.0.0/8"), "203.0.113.9")]
)
def test_the_address_of_the_client_is_that_which_a_trusted_proxy_names(tmp_path, believed, logged):
    with Serving(make_index(tmp_path / "index"), *believed) as server:
        server.call("GET", "/v1/items/fox", X_Forwarded_For="198.51.100.1, 203.0.113.9")
        wait_for(lambda: "/v1/items/fox" in server.log())
        lines = [json.loads(line) for line in server.log().splitlines() if "/v1/items/fox" in line]
        assert [line["client"] for line in lines] == [logged]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"root_path": "seen"}, "write a path such as /lookalike"),
        ({"root_path": "/seen/"}, "write a path such as /lookalike"),
        ({"root_path": '/"><script>'}, "write a path such as /lookalike"),
        ({"root_path": "/a/.."}, "write a path such as /lookalike"),
        ({"forwarded_allow_ips": ("proxy",)}, "--forwarded-allow-ips proxy"),
        ({"refresh_seconds": 0.0}, "--refresh must be above 0"),
        ({"limits": Limits(in_flight_bytes=1 << 20)}, "at least twice --max-body"),
        ({"limits": Limits(spool_bytes=1 << 20)}, "at least --max-response"),
        ({"limits": Limits(seconds=float("inf"))}, "--timeout"),
    ],
)
def test_options_that_cannot_work_are_refused(options, said):
    with pytest.raises(la.UsageError, match=said):
        ServerOptions(**options).check()
