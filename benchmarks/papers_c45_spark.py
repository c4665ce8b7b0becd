"""Shang, Zhao, Shu and Liu 2019, Table 2, as the map-reduce job that the paper describes: on Spark.

    python benchmarks/papers_c45_spark.py [--quick] [--out FOLDER]

The table car lies in a Spark session in several partitions; every level of a tree is one job. The same
fits are made in memory, and without noise the two trees must be the same, else the script ends with
exit code 1. Writes docs/results/papers_c45_spark.md. Needs Java.
"""

from __future__ import annotations

import sys
import warnings
from statistics import mean, stdev
from typing import Any

import common
from papers_c45 import EXPERIMENT, PAPER
from pyspark.sql import SparkSession

from frith import C45Classifier, open_table

ALLOCATIONS = ("arithmetic", "geometric")
PARTITIONS, DEPTH, REPEATS = 2, 6, 5

HEAD = f"""# C4.5 as a map-reduce job

By `benchmarks/papers_c45_spark.py`: Shang, Zhao, Shu and Liu 2019, Table 2, on Spark, car in {PARTITIONS}
partitions, a tree of depth {DEPTH}, sound form. Accuracy in percent on the training set, as in the paper,
means ± standard errors. The same in memory is in [papers](papers.md#c45-with-arithmetic-budgets);
without noise both engines gave the same trees.
"""


def main() -> int:
    options = common.parse_options("C4.5 on Spark, as its paper runs it.", {})
    repeats = 2 if options.quick else REPEATS
    X, y, domain = common.load("car")
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = session.config("spark.ui.showConsoleProgress", "false")
    session = session.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.createDataFrame(X.assign(**{domain.label.name: y.to_numpy()}))
    frame = frame.repartition(PARTITIONS).cache()

    def fit(table: Any, epsilon: str, allocation: str) -> C45Classifier:
        model = C45Classifier(
            domain, epsilon=float(epsilon), max_depth=DEPTH, allocation=allocation
        )
        return model.fit(table)

    rows = []
    for allocation in ALLOCATIONS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that an exact tree has no guarantee
            there = fit(open_table(frame, domain), "inf", allocation).forest_
            here = fit(
                open_table(X.assign(**{domain.label.name: y.to_numpy()}), domain), "inf", allocation
            ).forest_
        if there.to_json()["trees"] != here.to_json()["trees"]:
            print(f"{allocation}: Spark's tree is not that of memory")
            return 1
        cells = []
        for epsilon in EXPERIMENT.epsilons:
            scores = []
            for _ in range(repeats):
                model = fit(open_table(frame, domain), epsilon, allocation)
                scores.append(100 * float((model.predict(X) == y.to_numpy()).mean()))
            cells.append(f"{mean(scores):.1f} ± {stdev(scores) / repeats**0.5:.1f}")
            print(allocation, epsilon, cells[-1], flush=True)
        rows += [[allocation, *cells], [f"the paper, {allocation}", *PAPER[allocation]]]
    table = common.markdown_table(("epsilon", *EXPERIMENT.epsilons), rows)
    text = f"{HEAD}\n{table}\nFits a cell: {repeats}.\n"
    (options.out / "papers_c45_spark.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
