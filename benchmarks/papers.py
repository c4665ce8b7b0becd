"""What four papers report, measured again: our sound learners, and their own forms, side by side.

dp_rf        Fletcher and Islam 2015: a forest tuned by signal-to-noise ratios, against Private-RDT
dp_rf_parts  the same: which part makes the distance to Private-RDT
dpdf         Fletcher and Islam 2015: Gini forests, against DiffPID3 and an exact random forest
c45          Shang, Zhao, Shu and Liu 2019, Table 2: arithmetic against geometric budgets, on car
id3          Jagannathan, Pillaipakkamnatt and Wright 2012, Table 1: ID3 from noisy counts
rdt          the same, figures 1 to 3: Private-RDT beside private ID3 at ten epsilons
rdt_shapes   the same, section 6.1: how many random trees, and how high
info_gain    US 10,726,153: one tree against several
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import common
import papers_c45
import papers_dp_rf
import papers_dp_rf_parts
import papers_dpdf
import papers_id3
import papers_info_gain
import papers_rdt
import papers_rdt_shapes
from papers_common import Claim, Experiment, Scores

PAPERS = {
    "dp_rf": papers_dp_rf,
    "dp_rf_parts": papers_dp_rf_parts,
    "dpdf": papers_dpdf,
    "c45": papers_c45,
    "id3": papers_id3,
    "rdt": papers_rdt,
    "rdt_shapes": papers_rdt_shapes,
    "info_gain": papers_info_gain,
}

VERDICTS = {True: "holds", False: "fails", None: "cannot be told"}

HEAD = """# What four papers report, measured again

Sound is this package's form, which keeps its guarantee; as published is the paper's own, which does
not. Accuracies are in percent, means ± standard errors over repeats of stratified, shuffled 10-fold
cross-validation, the same folds for all learners; noise is fresh in every fit and has no seed, so
another run differs a little. One cell beats another when its mean is higher; a difference is clear
when it is over two standard errors of the paired differences. A claim holds, fails, or cannot be
told. The papers' plots are not in this table, only what their text and tables say; every row of every
paper is in [the sources](../sources/index.md).

Made by `python benchmarks/papers.py`; every repeat is in `papers_*.csv`.
"""


def main() -> None:
    only = {"choices": PAPERS, "help": "one paper; others are reported as they are"}
    options = common.parse_options(
        "What four papers report, measured again.", common.FRESH | {"--only": only}
    )
    for name, paper in PAPERS.items():
        if options.only in (None, name):
            jobs = paper.EXPERIMENT.jobs(options.quick)
            path = csv_of(name, options.out)
            common.run_jobs(jobs, paper.EXPERIMENT.score, path, not options.fresh)
    claims, sections = [], []
    for name, paper in PAPERS.items():
        scores = Scores.read(csv_of(name, options.out))
        if scores is None or not paper.EXPERIMENT.complete(scores):
            print(f"{name} is not measured yet, and left out of the report")
            continue
        found = paper.report(scores)
        claims += found.claims
        sections.append(found.words(f"papers_{name}.png", repeats_of(paper.EXPERIMENT, scores)))
        common.save(found.figure, options.out / f"papers_{name}.png")
    path = options.out / "papers.md"
    path.write_text("\n".join([HEAD, claims_table(claims), *sections]), encoding="utf-8")
    print(f"wrote {path}")


def csv_of(paper: str, folder: Path) -> Path:
    return folder / f"papers_{paper}.csv"


def claims_table(claims: Sequence[Claim]) -> str:
    def answer(found: tuple[bool | None, str] | None) -> list[str]:
        return ["", ""] if found is None else [VERDICTS[found[0]], found[1]]

    head = ("claim", "the paper", "sound", "measured", "as published", "measured")
    rows = [[c.text, c.paper, *answer(c.sound), *answer(c.published)] for c in claims]
    return common.markdown_table(head, rows)


def repeats_of(experiment: Experiment, scores: Scores) -> str:
    """How often each set was gone through, and which sets were not there."""
    counts = scores.wide.count(axis=1).groupby(level="set", sort=False).agg(["min", "max"])
    told = [f"{n} {a}" if a == b else f"{n} {a} to {b}" for n, a, b in counts.itertuples()]
    missing = [n for n in experiment.repeats if n not in scores.values("set")]
    absent = f" Not measured: {', '.join(missing)}." if missing else ""
    return f"Repeats: {', '.join(told)}.{absent}\n"


if __name__ == "__main__":
    main()
