"""The number of threads: one per processor, of which tests see one or two (tests/conftest.py)."""

import os
from types import SimpleNamespace

from lookalike.engine.settings import Settings
from lookalike.engine.workers import count_threads


def test_by_default_there_is_a_thread_for_each_processor():
    assert count_threads(None) == Settings.parse().execution.threads == len(os.sched_getaffinity(0))


def test_a_third_of_the_tests_have_two_threads_by_default(request):
    conftest = request.config.pluginmanager.get_plugin(str(request.config.rootpath / "tests" / "conftest.py"))
    seen = []
    for number in range(60):
        conftest.pytest_runtest_setup(SimpleNamespace(nodeid=f"tests/test_it.py::test_{number}"))
        seen.append(count_threads(None))
    conftest.pytest_runtest_setup(request.node)
    assert set(seen) == {1, 2}
    assert 10 <= seen.count(2) <= 30
