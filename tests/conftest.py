"""How hypothesis works: few and always the same examples by default, many with FRITH_FULL=1."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=slow_is_fine
)
settings.register_profile(
    "full", deadline=None, max_examples=1_000, suppress_health_check=slow_is_fine
)
settings.load_profile("full" if os.environ.get("FRITH_FULL") == "1" else "default")
