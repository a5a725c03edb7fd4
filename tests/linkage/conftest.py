import pytest

from lookalike.linkage.link import link_tables


@pytest.fixture(scope="module")
def few_random_pairs():
    """Chance is measured on a tenth of the random pairs, which otherwise take half of the time of a small run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(link_tables.__kwdefaults__, "random_pairs", 100_000)
        yield
