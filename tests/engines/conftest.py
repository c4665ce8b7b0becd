"""A PostgreSQL server and a Spark session of the tests' own, started once and only if asked for."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import uuid
from pathlib import Path

import pytest

from tests.engines.databases import DuckDBStore, PostgresStore


@pytest.fixture
def postgres(postgres_server):
    """A schema of the test's own."""
    with PostgresStore(postgres_server.get_uri(), f"s{uuid.uuid4().hex}") as store:
        yield store


@pytest.fixture
def duckdb(tmp_path):
    return DuckDBStore(tmp_path)


@pytest.fixture(params=["duckdb", "postgres"])
def store(request):
    """Each database in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two tasks at a time, each tried up to four times, as on a cluster."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        _needs("Spark needs Java: apt-get install default-jre-headless")
    if importlib.util.find_spec("pyspark") is None:
        _needs("Spark needs pyspark: pip install 'frith[spark]'")
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.master": "local[2,4]",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),  # kernels of the tests
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")  # tasks that fail on purpose are long to read about
        yield session
        session.stop()


def _needs(what: str) -> None:
    """Leave the test out at a desk; where everything must be checked, fail."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)
