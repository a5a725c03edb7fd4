"""One Spark session for all tests of a process: starting the JVM takes seconds."""

import os
import signal
import sys

import pytest

from lookalike.spark.session import open_session

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


handlers = []
"""That PySpark has installed for Ctrl-C."""


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # A JVM that lives for seconds: compiling less saves a third of its time.
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-java-options '{SHORT_LIVED}' pyspark-shell"
    os.environ["SPARK_LOCAL_DIRS"] = str(tmp_path_factory.mktemp("shuffled"))
    real = signal.signal

    def noting(number, handler):
        handlers.append(handler)
        return real(number, handler)

    signal.signal = noting
    with open_session("local[2]", 2 << 30) as opened:
        signal.signal = real
        yield opened


@pytest.fixture
def handler_of_pyspark(session):
    """What PySpark does at Ctrl-C: it cancels all jobs of the context."""
    return next(handler for handler in handlers if handler.__module__.startswith("pyspark."))
