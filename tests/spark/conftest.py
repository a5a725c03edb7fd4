"""One Spark session for all tests of a process: starting the JVM takes seconds."""

import os
import sys

import pytest

from lookalike.spark.session import open_session


@pytest.fixture(scope="session")
def session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with open_session("local[2]", 2 << 30) as opened:
        yield opened
