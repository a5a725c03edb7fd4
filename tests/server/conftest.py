import pytest

from serving import Serving, make_index


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all tests that leave its items as they were."""
    with Serving(make_index(tmp_path_factory.mktemp("server") / "index"), "--max-items", 50, "--timeout", 2) as one:
        yield one
