"""Flaws that published systems have, each beside a sound twin: the ladder must tell them apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frith.audit import flawed_curators as curators
from frith.audit import flawed_learners as flawed
from frith.audit.frozen import OpenCurator
from frith.audit.subjects import Subject, open_in_memory
from frith.audit.target_flaws import ExactScale, UnclippedMeans, UntoldTilt, open_with_own_bounds
from frith.audit.twins import (
    Labels,
    Leaves,
    Quantiles,
    Residuals,
    RootSizes,
    RootTables,
    TiltedResiduals,
)
from frith.learners import C45Classifier, GiniForestClassifier
from frith.learners.published.curator import PublishedCurator


@dataclass(frozen=True)
class Flaw:
    """A flaw, where it was seen, its sound twin, and the rungs that must flag it.

    `pair` names the neighbors that show it soonest, with `fits` fits of each.
    """

    name: str
    seen_in: str
    bad: Subject
    sound: Subject
    rungs: tuple[str, ...]
    pair: str = "lone"
    fits: int = 400


def _flaw(
    name: str,
    seen_in: str,
    bad: Any,
    sound: Any,
    rungs: tuple[str, ...],
    open_curator: OpenCurator = curators.UnsoundCurator,
    open: Any = open_in_memory,
    pair: str = "lone",
    fits: int = 400,
    target: bool = False,
) -> Flaw:
    bad_, twin = (
        Subject(f"{name} (flawed)", bad, open_curator, open, target),
        Subject(f"{name} (sound twin)", sound, target=target),
    )
    return Flaw(name, seen_in, bad_, twin, rungs, pair, fits)


N, R, E, S, B, C = "samplers", "replay", "edges", "small world", "black box", "canaries"

FLAWS: tuple[Flaw, ...] = (
    _flaw(
        "local sensitivity at a noisy size", "DPDF as published; PrivaTree",
        lambda: GiniForestClassifier(as_published=True, max_depth=1, min_support=100),
        lambda: GiniForestClassifier(max_depth=1, min_support=100), (R, S), PublishedCurator,
    ),
    _flaw(
        "noise at half scale", "a slip in a sampler", lambda: Leaves(max_depth=1),
        lambda: Leaves(max_depth=1), (N, B, C), curators.HalfScaleCurator,
        pair="single", fits=1_200,
    ),
    _flaw(
        "several trees charged as one", "a slip in a sensitivity", lambda: flawed.OneTreeLeaves(3),
        lambda: Leaves(3), (R, S, C), pair="single"),
    _flaw(
        "per-attribute tables charged once", "C4.5 as published; PrivaTree before December 2023",
        flawed.TablesChargedOnce, RootTables, (R, S), pair="single"),
    _flaw(
        "C4.5 as published", "Shang, Zhao, Shu and Liu 2019",
        lambda: C45Classifier(as_published=True, max_depth=2), lambda: C45Classifier(max_depth=2),
        (R, S, B), PublishedCurator,
    ),
    _flaw("cumulated cuts charged once", "a histogram of counts up to each cut", flawed.CumulatedCuts,
          RootTables, (R, S), pair="single"),
    _flaw("rows dealt to trees by position", "diffprivlib 0.6.6", lambda: flawed.RowsByPosition(4, 1),
          lambda: Leaves(4, 1), (R, S), pair="first"),
    _flaw("exact number of records in the model", "DP-EBM; random forests of 2012 and 2015",
          flawed.ExactSize, Leaves, (R, S, B)),
    _flaw("noise seeds kept in the model", "diffprivlib 0.6.6", flawed.SeedsKept, Leaves, (R, S, B),
          curators.SeededCurator),
    _flaw("only occupied leaves noised", "DP-EBM's categories; histograms by GROUP BY", Leaves,
          Leaves, (R, S, B, C), curators.OccupiedCurator, pair="single"),
    _flaw("domain from the data", "most packages, some with a warning", Leaves, Leaves, (R, S, B),
          open=flawed.open_with_own_domain),
    _flaw("stopping on exact purity", "C4.5 as published; PrivaTree before December 2023",
          flawed.ExactPurity, Leaves, (R, S, B)),
    _flaw("uncharged scores", "searches by exact scores; servers that return them", flawed.UnchargedScores,
          lambda: Leaves(max_depth=1), (R, S, B), pair="tied"),
    _flaw("smooth sensitivity misused", "Fletcher and Islam 2017", flawed.SmoothLabels, Labels, (R, S),
          pair="leading"),
    _flaw("a leaf with children", "frith before its strict reader", flawed.LeavesWithChildren, RootSizes,
          (R, S), pair="single"),
    _flaw("a list with its own range", "frith before its questions were data",
          flawed.LabelsOfOwnRange, Labels, (R, S), pair="leading"),
    _flaw("an overflowing prior", "frith at an epsilon under 1e-14", flawed.LabelsWithPrior, Labels,
          (R, E, S), pair="leading"),
    _flaw("a unit not bound", "secure sums of frith before rounds bound it", lambda: Leaves(3),
          lambda: Leaves(3), (R, E), curators.OtherUnitCurator, pair="single"),
    _flaw("a question priced at nothing", "a level without open nodes", flawed.FreeLeaves, Leaves, (R, S),
          curators.FreeCurator, pair="single"),
    _flaw("target bounds from the data", "diffprivlib's regression without bounds", Residuals, Residuals,
          (R, S, B), open=open_with_own_bounds, target=True),
    _flaw("an exact scale of residuals", "clipping at a quantile of the data", ExactScale, Residuals,
          (R, S), target=True),
    _flaw("leaf means that are not clipped", "a mean with the noise of a count", UnclippedMeans,
          Residuals, (R, E, S, B, C), target=True),
    _flaw("a tilt that is not paid for", "quantile loss with the noise of squared loss", UntoldTilt,
          TiltedResiduals, (R, S), target=True),
    _flaw("a quantile charged by its sensitivity", "scores that do not all move the same way",
          flawed.OneSidedQuantiles, Quantiles, (R, S), pair="single"),
    _flaw("persons bounded by row order", "a LIMIT for each person", Leaves, Leaves, (R, S, B),
          open=flawed.open_by_row_order, pair="persons"),
)  # fmt: skip
"""Every flaw with the rungs that must see it; the tests check that they do."""
