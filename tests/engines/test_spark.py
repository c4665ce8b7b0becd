"""Spark: the sums of memory, whatever fails on the way, and nothing but sums on the driver."""

import gc
import importlib.util
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frith import C45Classifier, ForestRegressor, Ledger, open_table
from frith.curator import Curator
from frith.domain import Categorical, Date, Domain, Numeric, Ordered
from frith.engines import MemoryEngine
from frith.engines import spark as module
from frith.engines.spark import SparkEngine
from frith.errors import DataError, SourceError
from frith.growing.grower import Grower
from frith.growing.random_trees import grow_random_trees
from frith.kernels import ConfusionCounts, LeafCounts, RecordCount
from frith.learners import BY_NAME
from frith.privacy.budget import Budget
from tests.engines.test_conformance import SumByLabel, SumOfCodes
from tests.strategies import forest_over
from tests.tables import person_domain, small_domain, small_table

pytestmark = [
    pytest.mark.xdist_group("spark"),  # one session for all of them
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

MIXED = Domain(
    (
        Categorical("text", ("a", "b", "c"), other="c"),
        Categorical("number", (0, 1, 2.5), missing=0),
        Categorical("truth", (False, True)),
        Categorical("bytes", ("x", "y")),
        Categorical("nothing", ("p", "q"), missing="q"),
        Date("day", "2020-01-01", "2020-03-01", missing=True),
        Date("time", "2020-01-01 00:00", "2020-03-01 00:00"),
        Date("instant", "2020-01-01 00:00", "2020-03-01 00:00", missing=True),
        Date("written", "2020-01-01", "2020-03-01", missing=True),
        Ordered("size", ("small", "large"), missing=True),
        Numeric("double", -5, 5, cells=7, missing=True),
        Numeric("float", 0, 1, cells=5),
        Numeric("decimal", 0, 100, cells=9),
        Numeric("spelled", 0, 10, scale="log", cells=6, missing=True),
        Numeric("whole", 0, 9, cells=10),
    ),
    Categorical("class", (0, 1, 2)),
)


DAYS = [date(1900, 1, 1), date(2020, 1, 1), date(2020, 2, 29), date(2999, 1, 1)]


def mixed_table(rows, seed=0):
    """Cells of every type that Spark and a domain share: inside, outside, and missing."""
    rng = np.random.default_rng(seed)

    def some(values, kind):
        cells = [values[i] for i in rng.integers(0, len(values), rows)]
        return pa.array([None if rng.random() < 0.1 else c for c in cells], kind)

    return pa.table(
        {
            "text": some(["a", "b", "c", "d", "", "é"], pa.string()),
            "unused": pa.array([None] * rows, pa.list_(pa.int8())),
            "day": some(DAYS, pa.date32()),
            "time": some(
                [datetime.combine(day, time(1, 2, 3)) for day in DAYS], pa.timestamp("us")
            ),
            "instant": some(
                [datetime.combine(day, time(1, 2, 3)) for day in DAYS], pa.timestamp("us", "UTC")
            ),
            "written": some(["2020-01-01", "2020-02-02 10:00:00", "2020-02-30", "?"], pa.string()),
            "size": some(["small", "large", "huge"], pa.string()),
            "number": some(
                [Decimal("1.00"), Decimal("2.50"), Decimal("7.25")], pa.decimal128(5, 2)
            ),
            "truth": some([True, False], pa.bool_()),
            "bytes": some([b"x", b"y", b"\xff\x00"], pa.binary()),
            "nothing": pa.nulls(rows, pa.null()),
            "double": some([-7.0, 0.5, 4.5, np.nan, np.inf, -np.inf], pa.float64()),
            "float": some([0.1, 0.5, 0.9], pa.float32()),
            "decimal": some(
                [Decimal("3.1415"), Decimal("-1"), Decimal("1e6")], pa.decimal128(38, 4)
            ),
            "spelled": some(["1", " 2.5", "1e1", "many", "nan"], pa.string()),
            "whole": some([1, 5, -3, 100], pa.int16()),
            "class": some([0, 1, 2, 3], pa.int64()),
        }
    )


def kernels(domain):
    """A count, a random forest, a level of a growing tree, and what a forest predicts."""
    grower = Grower(domain, 1, 4)
    children = grower.split(0, 0)
    level, _ = grower.level(list(children))
    trees = grow_random_trees(domain, 3, 3, np.random.default_rng(0))
    predicted = ConfusionCounts(forest_over(domain, trees, "product"))
    return [RecordCount(), LeafCounts(trees, domain), level, predicted]


def assert_sums_of_memory(engine, table, asked=None):
    memory = MemoryEngine(table, engine.domain, threads=1)
    for kernel in asked or kernels(engine.domain):
        sums = engine.aggregate(kernel)
        assert sums.dtype == np.int64
        assert np.array_equal(sums, memory.aggregate(kernel))


class Watched(SparkEngine):
    """Remembers what came back to the driver."""

    def __init__(self, *args):
        super().__init__(*args)
        self.came_back = []

    def _run(self, job):
        self.came_back.append(super()._run(job))
        return self.came_back[-1]


# -- sums ------------------------------------------------------------------------------------------


def test_sums_are_those_of_memory_and_only_sums_reach_the_driver(spark):
    table = mixed_table(500)
    engine = Watched(spark.createDataFrame(table).repartition(3), MIXED)
    assert_sums_of_memory(engine, table)
    for kernel, parts in zip(kernels(MIXED), engine.came_back, strict=True):
        assert parts.column_names == ["slice", "sums"]
        sizes = [len(cell.as_buffer()) for cell in parts.column("sums")]
        assert max(sizes) <= 8 * np.prod(kernel.shape)  # whatever the number of records


@pytest.mark.parametrize("partitions", [1, 9], ids=["one partition", "a row in each"])
def test_any_partitions_give_the_same_sums(spark, partitions):
    table = mixed_table(9, seed=1)
    rows = spark.createDataFrame(table).repartitionByRange(partitions, "double", "text", "whole")
    assert_sums_of_memory(SparkEngine(rows, MIXED), table, kernels(MIXED)[1:2])


def test_empty_partitions_add_nothing(spark):
    frame = spark.range(0, 40, 1, 4).filter("id >= 10 and id < 20")  # three of four are empty
    frame = frame.selectExpr("cast(id % 3 as string) as a", "id % 2 as class")
    domain = Domain((Categorical("a", ("0", "1", "2")),), Categorical("class", (0, 1)))
    engine = SparkEngine(frame, domain)
    assert engine.aggregate(RecordCount()).tolist() == [10]
    trees = grow_random_trees(domain, 1, 1, np.random.default_rng(0))
    assert engine.aggregate(LeafCounts(trees, domain)).tolist() == [[2, 1], [2, 2], [1, 2]]


@pytest.mark.parametrize("domain", [small_domain(), person_domain()], ids=["records", "persons"])
def test_an_empty_table_gives_zeros_of_the_full_shape(spark, domain):
    empty = spark.createDataFrame(
        [], "color string, round string, size double, who int, good string"
    )
    engine = SparkEngine(empty, domain)
    kernel = kernels(domain)[2]
    sums = engine.aggregate(kernel)
    assert sums.shape == kernel.shape
    assert not sums.any()


def test_large_sums_travel_in_slices(spark):
    values = tuple(range(module.SLICE_CELLS))
    domain = Domain((Categorical("a", values),), Categorical("class", (0, 1)))
    table = pa.table({"a": [0, 1, values[-1], values[-1], 20_000], "class": [0, 1, 1, 1, 0]})
    trees = grow_random_trees(domain, 1, 1, np.random.default_rng(0))
    engine = Watched(spark.createDataFrame(table).repartition(2), domain)
    assert_sums_of_memory(engine, table, [LeafCounts(trees, domain)])
    assert sorted(set(engine.came_back[0].column("slice").to_pylist())) == [0, 1]


def test_sums_do_not_depend_on_how_spark_plans(spark):
    table = mixed_table(50, seed=2)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        engine = SparkEngine(spark.createDataFrame(table).repartition(2), MIXED)
        assert_sums_of_memory(engine, table, kernels(MIXED)[1:2])
        people = small_table(60)
        engine = SparkEngine(spark.createDataFrame(people), person_domain())
        assert_sums_of_memory(engine, people, kernels(person_domain())[1:2])
    finally:
        for name in ("adaptive.enabled", "execution.arrow.maxRecordsPerBatch"):
            spark.conf.unset(f"spark.sql.{name}")
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_derived_columns_are_recomputed_with_the_same_sums(spark):
    table = mixed_table(40, seed=3)
    column = SumOfCodes((0, 5))
    engine = SparkEngine(spark.createDataFrame(table), MIXED)
    engine.derive(column)
    assert_sums_of_memory(engine, table, [SumByLabel(column, (3,))])


# -- persons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["double", "decimal(9,2)"])
def test_persons_keep_the_records_that_they_keep_in_memory(spark, kind):
    """Numbers and texts of one spelling are one person, whatever the partitions."""
    table = small_table(300, people=40)
    table.loc[::17, "who"] = None
    frame = spark.createDataFrame(table).selectExpr(
        "color", "round", "size", "good", f"cast(who as {kind}) who"
    )
    engine = SparkEngine(frame.repartition(3), person_domain())
    assert_sums_of_memory(engine, table, kernels(person_domain())[1:])


def test_each_task_bounds_its_persons_before_records_travel():
    """And bounding twice keeps what bounding once keeps."""
    domain = person_domain(records=2)
    rows = pa.Table.from_pandas(small_table(5_000, people=3))
    names = [*domain.names, "good", "who"]
    whole = rows.select(names)
    parts = whole.to_batches(max_chunksize=1_000)
    dealt = [b for part in parts for b in module.deal_persons(iter([part]), names, domain)]
    assert [b.num_rows for b in dealt] == [3 * 2] * 5
    (kept,) = module.bound_partition(iter(dealt), domain)
    batch = module.unpack_records(pa.Table.from_batches([kept]), domain)
    out = np.zeros(kernels(domain)[1].shape, dtype=np.int64)
    kernels(domain)[1].add(batch, out)
    assert np.array_equal(out, MemoryEngine(whole, domain).aggregate(kernels(domain)[1]))


def test_the_bounded_copy_is_made_once_and_goes_with_its_engine(spark):
    table = small_table(50)
    engine = SparkEngine(spark.createDataFrame(table), person_domain())
    engine.aggregate(RecordCount())
    copy = engine._bounded
    assert copy.columns == ["records"]  # who they were is not kept
    assert copy.storageLevel.useMemory
    engine.aggregate(RecordCount())
    assert engine._bounded is copy
    del engine
    gc.collect()
    assert not copy.storageLevel.useMemory


def test_persons_are_dealt_to_many_partitions(spark, monkeypatch):
    monkeypatch.setattr(module, "PERSON_ROWS", 30)
    table = small_table(100, people=9)
    engine = SparkEngine(spark.createDataFrame(table).repartition(2), person_domain())
    assert_sums_of_memory(engine, table, kernels(person_domain())[1:2])
    assert engine._bounded.rdd.getNumPartitions() == 4


# -- failures --------------------------------------------------------------------------------------


class Flaky(SparkEngine):
    """Every task of every stage yields all it has and then fails, the first time."""

    how = "raises"

    def _map(self, frame, work, schema):
        how = self.how

        def yields_and_fails(batches):
            from pyspark import TaskContext

            yield from work(batches)
            if TaskContext.get().attemptNumber() == 0:
                if how == "dies":
                    os._exit(1)
                raise RuntimeError("the first attempt")

        return super()._map(frame, yields_and_fails, schema)


@pytest.mark.parametrize(
    ("domain", "how"),
    [(small_domain(), "dies"), (person_domain(), "raises")],
    ids=["records", "persons"],
)
def test_a_task_that_yields_and_then_fails_is_counted_once(spark, domain, how):
    table = small_table(100)
    engine = Flaky(spark.createDataFrame(table).repartition(2), domain)
    engine.how = how
    assert_sums_of_memory(engine, table, kernels(domain)[1:2])


def failing(spark):
    """A table that cannot be read where a color is red, and says so with the color."""
    from pyspark.sql import functions as f

    color = f.when(f.col("color") == "red", f.raise_error(f.concat(f.lit("secret "), "color")))
    rows = spark.createDataFrame(small_table(50)).repartition(1)
    frame = rows.withColumn("color", color.otherwise(f.col("color")))
    return SparkEngine(frame, small_domain())


def test_a_task_that_always_fails_is_charged_once_and_releases_nothing(spark, tmp_path):
    """And what it failed on is told to no one."""
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    model = C45Classifier(epsilon=0.25, max_depth=2, ledger=ledger.path)
    with pytest.raises(SourceError, match="a Spark job failed part-way") as failure:
        model.fit(failing(spark))
    assert "secret" not in str(failure.value)
    assert failure.value.__cause__ is failure.value.__context__ is None
    assert not hasattr(model, "forest_")
    assert ledger.spent == Fraction(1, 4)


def test_a_failed_pass_leaves_the_curator_with_a_charge_and_no_answer(spark):
    curator = Curator(failing(spark), Budget.of(1))
    with pytest.raises(SourceError):
        curator.noisy_counts(kernels(small_domain())[1], Fraction(1, 2), "leaves")
    assert curator.remaining_share == Fraction(1, 2)
    counted = curator.noisy_counts(RecordCount(), Fraction(1, 2), "records")  # reads no color
    assert counted.values.shape == (1,)


def test_workers_without_frith_are_found_out_before_anything_is_charged(spark, monkeypatch):
    monkeypatch.setattr(module, "_checked", set())
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/such/python")
    with pytest.raises(SourceError, match="workers cannot run frith"):
        SparkEngine(spark.createDataFrame(small_table(20)), small_domain())


# -- pins ------------------------------------------------------------------------------------------


def test_a_file_replaced_between_two_passes_fails_the_second(spark, tmp_path):
    path = tmp_path / "a table [1].parquet"
    small_table(50).to_parquet(path)
    engine = SparkEngine(spark.read.parquet(str(tmp_path)), small_domain())
    assert engine.aggregate(RecordCount()).tolist() == [50]
    small_table(60).to_parquet(path)
    with pytest.raises(SourceError, match="changed"):
        engine.aggregate(RecordCount())


@pytest.mark.parametrize("change", ["replaced", "gone"])
def test_a_file_that_changes_during_a_pass_fails_it(spark, tmp_path, change):
    path = tmp_path / "table.parquet"
    small_table(50).to_parquet(path)
    engine = SparkEngine(spark.read.parquet(str(path)), small_domain())
    with pytest.raises(SourceError, match="changed"):
        engine._run(lambda: path.unlink() if change == "gone" else path.write_bytes(b"other"))


def test_new_files_beside_the_pinned_ones_are_not_read(spark, tmp_path):
    small_table(50).to_parquet(tmp_path / "a.parquet")
    engine = SparkEngine(spark.read.parquet(str(tmp_path)), small_domain())
    small_table(60).to_parquet(tmp_path / "b.parquet")
    assert engine.aggregate(RecordCount()).tolist() == [50]


def test_files_that_only_spark_can_see_are_pinned_through_spark(spark, tmp_path):
    path = tmp_path / "a b%20[x]{y}*.parquet"
    path.write_bytes(b"1234")
    (tmp_path / "a b%20x{y}*.parquet").write_bytes(b"what a pattern would match")
    uri = path.as_uri()
    (first,) = module._list_remote(spark, [uri])
    assert first[1] == 4
    assert module._list_remote(spark, [uri]) == [first]
    path.write_bytes(b"12345")
    assert module._list_remote(spark, [uri]) != [first]
    path.unlink()
    assert module._list_remote(spark, [uri]) == [module._GONE]


def test_a_table_whose_file_is_gone_is_not_opened(spark, tmp_path):
    path = tmp_path / "table.parquet"
    small_table(50).to_parquet(path)
    frame = spark.read.parquet(str(path))
    path.unlink()
    with pytest.raises(SourceError, match="cannot be found"):
        SparkEngine(frame, small_domain())


# -- the door --------------------------------------------------------------------------------------


def test_a_source_is_opened_by_what_it_is(spark, tmp_path):
    table = small_table(50)
    frame = spark.createDataFrame(table)
    assert isinstance(open_table(frame, small_domain()), SparkEngine)
    with pytest.raises(DataError, match="label column"):
        open_table(frame, small_domain(), y=table["good"])
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "t.parquet")
    engine = open_table(f"spark+parquet:{tmp_path}/t.parquet", small_domain())
    assert engine.aggregate(RecordCount()).tolist() == [50]
    frame.createOrReplaceTempView("people")
    assert open_table("spark+table:people", small_domain())._files == []
    with pytest.raises(SourceError, match="no parquet table"):
        open_table(f"spark+parquet:{tmp_path}/none.parquet", small_domain())


def test_what_spark_needs_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ImportError, match=r"pip install 'frith\[spark\]'"):
        open_table("spark+parquet:somewhere", small_domain())


def test_a_spark_that_does_not_start_is_an_error_of_the_source(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")

    class NoJava:
        def getOrCreate(self):  # noqa: N802 - Spark's name
            raise RuntimeError("JAVA_GATEWAY_EXITED")

    monkeypatch.setattr(sql.SparkSession, "builder", NoJava())
    with pytest.raises(SourceError, match="Java"):
        open_table("spark+parquet:somewhere", small_domain())


@pytest.mark.parametrize(
    "kind",
    ["array<string>", "map<string,int>", "struct<a:int>", "interval day to second"],
)
@pytest.mark.parametrize("name", ["color", "good", "who"])
def test_types_without_a_place_in_a_domain_are_named_at_the_door(spark, kind, name):
    kinds = dict.fromkeys(("color", "round", "size", "who", "good"), "string") | {name: kind}
    frame = spark.createDataFrame([], ", ".join(f"{n} {k}" for n, k in kinds.items()))
    with pytest.raises(DataError, match=f"'{name}'"):
        SparkEngine(frame, person_domain())


def test_a_column_of_another_type_fails_at_the_first_pass(spark):
    """Files behind a table may have types that their writer guessed from records."""

    def frame(kind):
        kinds = dict.fromkeys(("color", "round", "good"), "string") | {"size": kind}
        return spark.createDataFrame([], ", ".join(f"{n} {k}" for n, k in kinds.items()))

    types = SparkEngine(frame("double"), small_domain()).types
    assert SparkEngine(frame("double"), small_domain(), types=types).aggregate(RecordCount()) == 0
    for kind in ("date", "string"):
        engine = SparkEngine(frame(kind), small_domain(), types=types)
        with pytest.raises(SourceError, match="not of the types"):
            engine.aggregate(RecordCount())


def test_columns_are_found_by_their_exact_names(spark):
    """Spark itself ignores case, and reads dots and quotes as syntax."""
    names = ["a.b", "A.B", "x`y", "", "twice", "twice", "class"]
    frame = spark.createDataFrame([("1", "2", "1", "2", "1", "2", "no")]).toDF(*names)

    def domain(*columns):
        attributes = [Categorical(c, ("1", "2")) for c in columns]
        return Domain(attributes, Categorical("class", ("no", "yes")))

    asked = domain("a.b", "A.B", "x`y")
    grower = Grower(asked, 1, 4)
    level, _ = grower.level([0])
    sums = SparkEngine(frame, asked).aggregate(level)
    assert sums[0, :, 0].tolist() == [1, 0, 0, 1, 1, 0, 1]
    with pytest.raises(DataError, match="2 columns 'twice'"):
        SparkEngine(frame, domain("twice"))
    with pytest.raises(DataError, match="no column 'X`Y'"):
        SparkEngine(frame, domain("X`Y"))


def test_a_streaming_table_is_refused(spark):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(DataError, match="streaming"):
        SparkEngine(stream, small_domain())


# -- learners --------------------------------------------------------------------------------------

SMALL = {
    "random-decision": {"n_trees": 3, "random_state": 0},
    "signal": {"random_state": 0},
    "gini": {"max_depth": 1, "min_support": 5},
    "id3": {"max_depth": 2},
    "c45": {"max_depth": 2},
    "info-gain": {"n_trees": 2, "max_depth": 2, "random_state": 0},
}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_learner_grows_the_forest_that_it_grows_in_memory(spark, name, monkeypatch):
    monkeypatch.setattr("frith.growing.boosting.LIMIT_STEPS", 4)  # each is a pass
    table, domain = small_table(120), small_domain(records=120)
    options = SMALL.get(name, {})
    engine = open_table(spark.createDataFrame(table).repartition(2), domain)
    forest = BY_NAME[name](epsilon="inf", **options).fit(engine).forest_
    expected = BY_NAME[name](epsilon="inf", **options).fit(open_table(table, domain)).forest_
    assert forest.trees == expected.trees
    assert np.array_equal(forest.values, expected.values)
    assert forest.guarantee.assumptions[0] == engine.assumptions[0]


def test_a_number_is_predicted_as_in_memory(spark, monkeypatch):
    monkeypatch.setattr("frith.growing.residual_boosting.LIMIT_STEPS", 2)
    table = small_table(120).assign(weight=lambda t: t["size"] + (t["color"] == "red"))
    table.loc[::7, "weight"], table.loc[::9, "weight"] = np.nan, 1e9
    domain = replace(small_domain(records=120), label=Numeric("weight", 0, 12))
    engine = open_table(spark.createDataFrame(table).repartition(2), domain)
    forest = ForestRegressor(epsilon="inf").fit(engine).forest_
    expected = ForestRegressor(epsilon="inf").fit(open_table(table, domain)).forest_
    assert forest.trees == expected.trees
    assert np.array_equal(forest.values, expected.values)


def test_a_level_of_c45_is_one_job_and_its_noise_is_drawn_once_centrally(spark, monkeypatch):
    """The paper's reducers each add noise; here the curator does, to the whole sum."""
    table, domain = small_table(200), small_domain()
    engine = Watched(spark.createDataFrame(table).repartition(4), domain)
    drawn = []
    source = type(Curator(engine, Budget.of(1))._source)
    perturb = source.perturb

    def counted(self, exact, noise, threads):
        drawn.append(exact.copy())
        return perturb(self, exact, noise, threads)

    monkeypatch.setattr(source, "perturb", counted)
    C45Classifier(epsilon=1, max_depth=2, min_support=-1_000).fit(engine)
    assert len(drawn) == len(engine.came_back) == 2
    first = drawn[0].sum(axis=(0, 2))
    assert (
        first[:3].tolist()
        == pd.Categorical(table["color"], domain.attributes[0].values).value_counts().tolist()
    )


# -- Spark Connect ---------------------------------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="pip install pyspark[connect]")
def test_it_works_over_spark_connect(tmp_path):
    """In a process of its own: Spark has one kind of session at a time."""
    script = """
        from pyspark.sql import SparkSession
        from frith import open_table
        from frith.engines import MemoryEngine
        from frith.errors import SourceError
        from tests.engines.test_spark import kernels, np
        from tests.tables import person_domain, small_domain, small_table

        spark = SparkSession.builder.remote("local[2]").getOrCreate()
        small_table(100).to_parquet("table.parquet")
        for domain in (small_domain(), person_domain()):
            engine = open_table(spark.read.parquet("table.parquet"), domain)
            kernel = kernels(domain)[1]
            memory = MemoryEngine(small_table(100), domain)
            assert np.array_equal(engine.aggregate(kernel), memory.aggregate(kernel))
        small_table(50).to_parquet("table.parquet")
        try:
            engine.aggregate(kernel)
        except SourceError as error:
            print(error)
    """
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "a file behind the Spark table changed" in done.stdout
