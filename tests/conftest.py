"""How hypothesis works: few and always the same examples by default, many with FRITH_FULL=1."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=slow_is_fine
)
settings.register_profile(
    "full", deadline=None, max_examples=1_000, suppress_health_check=slow_is_fine
)
settings.load_profile("full" if os.environ.get("FRITH_FULL") == "1" else "default")


@pytest.fixture(autouse=True, scope="session")
def few_steps():
    """Without noise the flagship makes many steps, each a pass; a tenth of them shows as much."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("frith.trees.boosting.LIMIT_STEPS", 40)
        patch.setattr("frith.learners.forest.LIMIT_STEPS", 40)
        yield
