"""The audit ladder over every learner and every known flaw, for docs/audit.md.

    python benchmarks/audit.py [--full] [--only TEXT] [--jobs J] [--report]

Each audit's result is kept in docs/results/audit.json as it ends, so a run resumes where it
stopped. An audit without a rung or a form that there is now is run again; until then its row stays,
and says which rung was not run. The tables between the marks of docs/audit.md are written from the results.
Ends with exit code 1 if an audit is missing or old, a learner fails, a flaw is missed, or a sound
twin is flagged.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from common import RESULTS, markdown_table, write_between

from frith import Budget
from frith.audit.known_bad import FLAWS
from frith.audit.ladder import RUNGS, audit_flaw, audit_learner, audit_noise, forms_on_rungs
from frith.audit.sizes import FULL, QUICK, Size
from frith.audit.subjects import SOUND

PAGE = Path(__file__).resolve().parents[1] / "docs" / "audit.md"
BUDGETS = {"pure": Budget.of(1), "zCDP": Budget.of(1, "1e-5")}
NOT_RUN = "not run"
SHOWN = {"passed": "passed", "failed": "FAILED", NOT_RUN: NOT_RUN}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--full", action="store_true", help="the size of the proof run")
    arguments.add_argument("--only", default="", help="only audits whose name begins like this")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    arguments.add_argument("--report", action="store_true", help="only write the page again")
    arguments.add_argument("--fresh", action="store_true", help="forget earlier results")
    options = arguments.parse_args()
    size, path = FULL if options.full else QUICK, RESULTS / "audit.json"
    known = {} if options.fresh or not path.is_file() else json.loads(path.read_text())
    names = _names()
    found = {name: known[name] for name in names if name in known}
    old = [n for n in names if n not in found or not _is_current(n, found[n], size)]
    todo = [n for n in old if n.startswith(options.only) and not options.report]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context) as pool:
        running = {pool.submit(_audit, n, size): n for n in todo}
        for future in as_completed(running):
            found[running[future]] = future.result()
            print(running[future], flush=True)
            path.write_text(json.dumps({n: found[n] for n in names if n in found}, indent=1) + "\n")
    _write_page({n: found[n] for n in names if n in found})
    is_whole = set(old) <= set(todo)
    return 0 if is_whole and all(entry["ok"] for entry in found.values()) else 1


FLAW = "flaw: "


def _names() -> list[str]:
    """Every audit: the noise, each learner under each kind of budget, each flaw."""
    learners = [f"{name}, {kind}" for name in SOUND for kind in BUDGETS]
    return ["noise", *learners, *(FLAW + flaw.name for flaw in FLAWS)]


def _is_current(name: str, entry: dict[str, Any], size: Size) -> bool:
    """Whether an audit was of this size and looked at all that it would look at now."""
    if name == "noise":
        return entry["size"] == size.name
    if name.startswith(FLAW):
        return entry["size"] == size.name and entry["rungs"] == list(RUNGS)
    looked = {(o["rung"], o["subject"]) for o in entry["report"]["outcomes"]}
    wanted = {(rung, subject.name) for subject, rung in forms_on_rungs(name.rsplit(", ", 1)[0])}
    return entry["size"] == size.name and wanted <= looked


def _audit(name: str, size: Size) -> dict[str, Any]:
    if name == "noise":
        return _of_report(audit_noise(size), size)
    if name.startswith(FLAW):
        return _of_flaw(next(f for f in FLAWS if FLAW + f.name == name), size)
    learner, kind = name.rsplit(", ", 1)
    return _of_report(audit_learner(learner, BUDGETS[kind], size), size)


def _of_report(report: Any, size: Size) -> dict[str, Any]:
    return {
        "kind": "learner", "size": size.name, "ok": report.passed,
        "rungs": {rung: report.status_of(rung) for rung in RUNGS}, "report": report.to_json(),
    }  # fmt: skip


def _of_flaw(flaw: Any, size: Size) -> dict[str, Any]:
    verdict = audit_flaw(flaw, BUDGETS["pure"], size)
    return {
        "kind": "flaw", "size": size.name, "seen_in": flaw.seen_in,
        "rungs": list(RUNGS), "ok": bool(verdict.flagged_on) and verdict.sound.passed,
        "flagged_on": list(verdict.flagged_on), "twin": verdict.sound.passed,
        "found": {o.rung: o.found for o in verdict.bad.outcomes if o.failed},
    }  # fmt: skip


def _write_page(found: dict[str, Any]) -> None:
    write_between(PAGE, "learners", _learners_table(found))
    write_between(PAGE, "flaws", _flaws_table(found))
    print(f"wrote {PAGE.name}")


def _learners_table(found: dict[str, Any]) -> str:
    rows = []
    for name, entry in found.items():
        if entry["kind"] != "learner":
            continue
        report = entry["report"]
        measured, computed = (report[k] and report[k]["loss"] for k in ("measured", "computed"))
        rows.append([
            name, *(_shown(entry["rungs"].get(rung, NOT_RUN)) for rung in RUNGS),
            "-" if computed is None else f"{float(computed):.3f}",
            "-" if measured is None else f"{measured:.2f}", f"{report['seconds']:.0f}", entry["size"],
        ])  # fmt: skip
    head = ("learner", *RUNGS, "computed loss", "measured epsilon", "seconds", "size")
    return markdown_table(head, rows)


def _shown(status: str) -> str:
    """A dash where a rung found nothing to check, or no flaw."""
    return SHOWN.get(status, "-")


def _flaws_table(found: dict[str, Any]) -> str:
    rows = [
        [
            name.removeprefix(FLAW), entry["seen_in"],
            *(
                "flagged" if rung in entry["flagged_on"] else _shown(
                    "" if rung in entry["rungs"] else NOT_RUN
                ) for rung in RUNGS
            ),
            "passed" if entry["twin"] else "FLAGGED",
        ]
        for name, entry in found.items() if entry["kind"] == "flaw"
    ]  # fmt: skip
    return markdown_table(("flaw", "seen in", *RUNGS, "sound twin"), rows)


if __name__ == "__main__":
    sys.exit(main())
