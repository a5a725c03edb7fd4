import gc
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from calling import COPY, FOX, IDEAS, caller, jsonl
from databases import server

# Kernels are loaded inside the first example of a test, so examples have no deadline. `make test-slow` tries more.
settings.register_profile(
    "lookalike", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True,
    max_examples=int(os.environ.get("LOOKALIKE_EXAMPLES", 40)),
)  # fmt: skip
settings.load_profile("lookalike")

# What has been collected stays until the end: looking for garbage in it would take a twentieth of the time.
gc.disable()

# Other tests keep the other processors busy, and two threads take as long for a small run as one, with half as much
# processor time again. So every third test sees two processors, and runs with two threads unless it asks for another
# number; the others see one. The choice depends on the name of the test alone: what fails also fails by itself.
ONE, TWO = {0}, {0, 1}
seen = ONE
os.sched_getaffinity = lambda _: seen


def pytest_runtest_setup(item):
    global seen
    seen = TWO if zlib.crc32(item.nodeid.encode()) % 3 == 0 else ONE


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def data_folder():
    """Real data to measure on; where it is absent the test is skipped and says so."""
    place = Path(os.environ.get("LOOKALIKE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not place.is_dir():
        pytest.skip("no real data: set LOOKALIKE_DATA")
    return place


@pytest.fixture(scope="session")
def database():
    """A PostgreSQL server."""
    yield server
    server.stop()


@pytest.fixture(params=["folder", "postgres"])
def place(request, tmp_path):
    """Where an index can be created: in a folder, and in a database."""
    return tmp_path / "index" if request.param == "folder" else request.getfixturevalue("database").new_index()


@pytest.fixture
def cli(capfd, monkeypatch, tmp_path):
    """Run a command in this process: its exit code, what it printed, and what it said."""
    monkeypatch.chdir(tmp_path)
    return caller(capfd, monkeypatch)


@pytest.fixture
def news(tmp_path):
    """Three items, the second a copy of the first."""
    path = tmp_path / "news.jsonl"
    path.write_bytes(jsonl({"id": "a", "text": FOX}, {"id": "b", "text": COPY}, {"id": "c", "text": IDEAS}))
    return path
