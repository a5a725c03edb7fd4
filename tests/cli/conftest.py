import pytest

from cli.calling import COPY, FOX, IDEAS, caller, jsonl, process


@pytest.fixture(scope="session", autouse=True)
def _compiled(tmp_path_factory):
    """Compile the kernels before anything is timed, interrupted or short of disk."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "a.txt").write_text("one two\none two\n")
    assert process("dedup", folder / "a.txt", "-o", folder / "out").code == 0
    assert process("pairs", folder / "a.txt").code == 0
    assert process("neighbors", folder / "a.txt").code == 0


@pytest.fixture
def cli(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return caller(capfd, monkeypatch)


@pytest.fixture
def news(tmp_path):
    """Three items, the second a copy of the first."""
    path = tmp_path / "news.jsonl"
    path.write_bytes(jsonl({"id": "a", "text": FOX}, {"id": "b", "text": COPY}, {"id": "c", "text": IDEAS}))
    return path
