"""A Spark cluster of two workers on this machine: exact sums, what travels, and a lost executor.

    python benchmarks/spark_cluster.py [--records 20000000] [--out FOLDER]

Starts a standalone master and workers of one core each on the loopback interface, writes a Parquet
table of 10 categorical attributes of 5 values in 32 files, and trains a C4.5 tree and random
decision trees on it with one worker and with two. Then:

- every sum that the learners were given is compared with the file engine's;
- the event log is read for what every task sent, which is at most the sums asked for and a
  constant (`OVERHEAD`) for Spark's own account of the task, whatever the number of records;
- an executor is killed in the middle of a pass, with what its tasks had counted, and the sums are
  compared again.

Ends with exit code 1 when one of these does not hold. Times on one machine whose cores the workers
share with the driver and with everything else say little about a cluster.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from frith import C45Classifier, Categorical, Domain, RandomDecisionForestClassifier, open_table
from frith.engines.files import FileEngine
from frith.engines.spark import SparkEngine
from frith.kernels import RecordCount

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
FULL = 20_000_000
FILES, ATTRIBUTES, VALUES, DEPTH, TREES = 32, 10, 5, 4, 10
OVERHEAD = 16_384
"""Bytes a task may send beyond its sums: metrics, accumulators, row headers, Arrow's schema."""


# -- the table ---------------------------------------------------------------------------------


def make_domain(records: int) -> Domain:
    values = tuple(f"v{i}" for i in range(VALUES))
    attributes = [Categorical(f"a{i}", values) for i in range(ATTRIBUTES)]
    return Domain(attributes, Categorical("label", ("no", "yes")), records=records)


def write_table(folder: Path, records: int) -> None:
    for i in range(FILES):
        rng = np.random.default_rng(i)
        rows = records * (i + 1) // FILES - records * i // FILES
        codes = rng.integers(0, VALUES, (ATTRIBUTES, rows), dtype=np.int8)
        told = (codes[0] > 2) ^ (codes[1] > 1) | (codes[2] == 0)
        labels = np.where(rng.random(rows) < 0.1, ~told, told).astype(np.int8)
        texts = [pa.DictionaryArray.from_arrays(c, [f"v{v}" for v in range(VALUES)]) for c in codes]
        texts.append(pa.DictionaryArray.from_arrays(labels, ["no", "yes"]))
        names = [*(f"a{j}" for j in range(ATTRIBUTES)), "label"]
        table = pa.table([t.cast(pa.string()) for t in texts], names=names)
        pq.write_table(table, folder / f"part-{i:02}.parquet")


# -- the cluster -------------------------------------------------------------------------------


class Cluster:
    """A master and workers of one core, on 127.0.0.1, ended by their own process numbers."""

    def __init__(self, folder: Path):
        import pyspark

        self.home = Path(pyspark.__file__).parent
        self.folder = folder
        self.port, self.web = free_port(), free_port()
        self.workers: list[subprocess.Popen] = []
        self.master = self._start(
            "master.Master", "--port", str(self.port), "--webui-port", str(self.web)
        )
        self._wait(0)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def add_worker(self) -> None:
        options = ["--cores", "1", "--memory", "2g", "--webui-port", "0"]
        work = ["--work-dir", str(self.folder / "work")]
        self.workers.append(self._start("worker.Worker", *options, *work, self.url))
        self._wait(len(self.workers))

    def executors(self) -> list[int]:
        """The processes that the workers started."""
        started = {w.pid for w in self.workers}
        return [pid for pid, parent in processes() if parent in started]

    def stop(self) -> None:
        for process in (*self.workers, self.master):
            process.terminate()
        for process in (*self.workers, self.master):
            process.wait(60)

    def _start(self, kind: str, *options: str) -> subprocess.Popen:
        command = [self.home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}"]
        env = os.environ | {"SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1"}
        log = (self.folder / "cluster.log").open("a")
        return subprocess.Popen(
            [*command, "--host", "127.0.0.1", *options], env=env, stdout=log, stderr=log
        )

    def _wait(self, workers: int) -> None:
        for _ in range(600):
            try:
                page = f"http://127.0.0.1:{self.web}/json/"
                with urllib.request.urlopen(page, timeout=5) as answer:
                    if json.load(answer)["aliveworkers"] == workers:
                        return
            except (OSError, ValueError):
                pass
            time.sleep(0.2)
        raise RuntimeError(f"the cluster did not start; see {self.folder / 'cluster.log'}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processes() -> list[tuple[int, int]]:
    """(process, parent) of everything that runs here."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        found.append((int(stat.parent.name), int(after_name[1])))
    return found


def open_session(cluster: Cluster) -> Any:
    from pyspark.sql import SparkSession

    logs = cluster.folder / "events"
    logs.mkdir(exist_ok=True)
    settings = {
        "spark.master": cluster.url,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.cores": "1",
        "spark.executor.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(cluster.folder),
        "spark.sql.files.openCostInBytes": "128m",  # one task a file
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    builder = SparkSession.builder.appName("frith")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


# -- runs --------------------------------------------------------------------------------------


class Recorded(SparkEngine):
    """Keeps every question and its sums, and tells Spark which pass a job belongs to."""

    def __init__(self, frame: Any, domain: Domain):
        super().__init__(frame, domain)
        self.passes: list[tuple[Any, np.ndarray]] = []

    def aggregate(self, kernel: Any) -> np.ndarray:
        self._session.sparkContext.setJobDescription(f"pass {len(self.passes)}")
        self.passes.append((kernel, super().aggregate(kernel)))
        return self.passes[-1][1]


def learners() -> dict[str, Any]:
    return {
        "C4.5": C45Classifier(epsilon=1, max_depth=DEPTH),
        "random decision trees": RandomDecisionForestClassifier(
            epsilon=1, n_trees=TREES, max_depth=DEPTH, random_state=0
        ),
    }


def train(cluster: Cluster, table: Path, domain: Domain) -> dict[str, Any]:
    """Fit every learner; what was asked, how long it took, and what travelled."""
    session = open_session(cluster)
    engine = Recorded(session.read.parquet(str(table)), domain)
    engine.aggregate(RecordCount())  # starts the Python workers
    seconds = {}
    for name, learner in learners().items():
        start = time.perf_counter()
        learner.fit(engine)
        seconds[name] = time.perf_counter() - start
    application = session.sparkContext.applicationId
    session.stop()
    return {
        "seconds": seconds,
        "passes": engine.passes,
        "sent": read_events(cluster.folder / "events" / application),
    }


def lose_an_executor(cluster: Cluster, table: Path, kernel: Any, domain: Domain) -> dict[str, Any]:
    """One pass, in the middle of which an executor is killed with what it had counted."""
    session = open_session(cluster)
    engine = Recorded(session.read.parquet(str(table)), domain)
    engine.aggregate(RecordCount())
    killed: list[int] = []
    tracker = session.sparkContext.statusTracker()

    def kill() -> None:
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            stages = [tracker.getStageInfo(i) for i in tracker.getActiveStageIds()]
            if any(s and s.numTasks == FILES and s.numCompletedTasks >= 4 for s in stages):
                victim = cluster.executors()[0]
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
                return
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    engine.aggregate(kernel)
    killer.join()
    application = session.sparkContext.applicationId
    session.stop()
    sent = read_events(cluster.folder / "events" / application)
    return {"killed": len(killed), "passes": engine.passes, "sent": sent}


def read_events(path: Path) -> dict[int, dict[str, Any]]:
    """Of every pass: the tasks by how they ended, and the most that one of them sent."""
    jobs: dict[int, int] = {}
    passes: dict[int, dict[str, Any]] = defaultdict(
        lambda: {"ends": Counter(), "result": 0, "shuffle": 0, "read": 0}
    )
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            text = event.get("Properties", {}).get("spark.job.description", "")
            for stage in event["Stage IDs"]:
                if text.startswith("pass "):
                    jobs[stage] = int(text.removeprefix("pass "))
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in jobs:
            seen = passes[jobs[event["Stage ID"]]]
            seen["ends"][event["Task End Reason"]["Reason"]] += 1
            metrics = event.get("Task Metrics")
            if metrics:
                shuffled = metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                seen["result"] = max(seen["result"], metrics["Result Size"])
                seen["shuffle"] = max(seen["shuffle"], shuffled)
                seen["read"] += metrics["Input Metrics"]["Records Read"]
    return passes


# -- checks and words --------------------------------------------------------------------------


def check(run: dict[str, Any], files: FileEngine) -> list[dict[str, Any]]:
    """A row for every pass: is it exact, and did no task send more than its sums?"""
    rows = []
    for i, (kernel, sums) in enumerate(run["passes"]):
        sent = run["sent"][i]
        size = 8 * int(np.prod(kernel.shape))
        rows.append(
            {
                "kernel": type(kernel).__name__,
                "sum_bytes": size,
                "most_result_bytes": sent["result"],
                "most_shuffle_bytes": sent["shuffle"],
                "records_read": sent["read"],
                "tasks": dict(sent["ends"]),
                "exact": bool(np.array_equal(sums, files.aggregate(kernel))),
                "within": max(sent["result"], sent["shuffle"]) <= size + OVERHEAD,
            }
        )
    return rows


def in_words(report: dict[str, Any]) -> str:
    lines = [
        "# Spark",
        "",
        f"{report['records']:,} records of {ATTRIBUTES} categorical attributes of {VALUES} values, "
        f"{FILES} Parquet files, a standalone cluster of workers with one core each on one machine "
        f"of {report['cores']} cores (load {report['load_before']:.1f} before, "
        f"{report['load_after']:.1f} after: beyond the cores, other work makes times doubtful). "
        f"Spark {report['spark']}. Written by `benchmarks/spark_cluster.py`.",
        "",
        "## What travels",
        "",
        f"The most that one task sent, in bytes, as Spark's event log has it: to the driver, and to "
        f"other tasks. Each is to be at most the sums asked for and {OVERHEAD:,} of Spark's own "
        "account of a task. Exact means equal to the file engine's sums in every cell.",
        "",
        "| workers | pass | sums | to the driver | to other tasks | records read | tasks | exact | within |",
        "|---|---|---:|---:|---:|---:|---|---|---|",
    ]
    for run in report["runs"]:
        for row in run["passes"]:
            tasks = ", ".join(f"{count} {how}" for how, count in sorted(row["tasks"].items()))
            numbers = [row[k] for k in ("sum_bytes", "most_result_bytes", "most_shuffle_bytes")]
            cells = [
                run["name"],
                row["kernel"],
                *(f"{n:,}" for n in (*numbers, row["records_read"])),
            ]
            yes = ["yes" if row[k] else "NO" for k in ("exact", "within")]
            lines.append("| " + " | ".join([*cells, tasks, *yes]) + " |")
    lines += [
        "",
        "## Time",
        "",
        "| learner | one worker | two workers | times as fast |",
        "|---|---:|---:|---:|",
    ]
    one, two = (run["seconds"] for run in report["runs"][:2])
    for name in one:
        lines.append(
            f"| {name} | {one[name]:.1f} s | {two[name]:.1f} s | {one[name] / two[name]:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--records", type=int, default=FULL)
    arguments.add_argument("--out", type=Path, help="folder for the results")
    options = arguments.parse_args()
    small = Path(tempfile.gettempdir()) / "frith-quick"  # never in place of a full run's
    out = options.out or (RESULTS if options.records >= FULL else small)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", message="PySpark does not yet", category=FutureWarning)
    import pyspark

    domain = make_domain(options.records)
    report: dict[str, Any] = {
        "records": options.records,
        "spark": pyspark.__version__,
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory(prefix="frith-spark-") as name:
        folder = Path(name)
        table = folder / "table"
        table.mkdir()
        write_table(table, options.records)
        files = open_table(table, domain)
        cluster = Cluster(folder)
        try:
            runs = {}
            cluster.add_worker()
            runs["one"] = train(cluster, table, domain)
            cluster.add_worker()
            runs["two"] = train(cluster, table, domain)
            kernel = runs["two"]["passes"][-1][0]
            runs["two, one killed"] = lose_an_executor(cluster, table, kernel, domain)
        finally:
            cluster.stop()
        report["load_after"] = os.getloadavg()[0]
        report["runs"] = [
            {"name": k, "seconds": run.get("seconds"), "killed": run.get("killed")}
            | {"passes": check(run, files)}
            for k, run in runs.items()
        ]
    print(in_words(report))
    out.mkdir(parents=True, exist_ok=True)
    (out / "spark.md").write_text(in_words(report))
    (out / "spark.json").write_text(json.dumps(report, indent=2) + "\n")
    print(f"wrote {out / 'spark.md'} and spark.json")
    rows = [row for run in report["runs"] for row in run["passes"]]
    killed = report["runs"][-1]["killed"] == 1
    return 0 if killed and all(row["exact"] and row["within"] for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
