import pytest


@pytest.fixture(autouse=True)
def _compiled(compiled_commands):
    """Kernels are compiled before anything is timed, interrupted or short of disk."""
