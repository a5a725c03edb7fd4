import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from calling import COPY, FOX, IDEAS, caller, jsonl
from compiling import share_compiled_kernels
from lookalike.cli.main import run

share_compiled_kernels()

# Kernels compile inside the first example of a test, so examples have no deadline.
settings.register_profile("lookalike", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("lookalike")


@pytest.fixture(scope="session")
def data_folder():
    """Real data to measure on; where it is absent the test is skipped and says so."""
    place = Path(os.environ.get("LOOKALIKE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not place.is_dir():
        pytest.skip("no real data: set LOOKALIKE_DATA")
    return place


@pytest.fixture(scope="session")
def compiled_commands(tmp_path_factory):
    """The kernels of the main commands are compiled, once."""
    folder = tmp_path_factory.mktemp("compiled")
    texts, out = str(folder / "a.txt"), str(folder / "out")
    (folder / "a.txt").write_text("one two\none two\n")
    for command in (["dedup", texts, "-o", out], ["pairs", texts], ["neighbors", texts]):
        assert run(command) == 0


@pytest.fixture
def cli(compiled_commands, capfd, monkeypatch, tmp_path):
    """Run a command in this process: its exit code, what it printed, and what it said."""
    monkeypatch.chdir(tmp_path)
    return caller(capfd, monkeypatch)


@pytest.fixture
def news(tmp_path):
    """Three items, the second a copy of the first."""
    path = tmp_path / "news.jsonl"
    path.write_bytes(jsonl({"id": "a", "text": FOX}, {"id": "b", "text": COPY}, {"id": "c", "text": IDEAS}))
    return path
