import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

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
