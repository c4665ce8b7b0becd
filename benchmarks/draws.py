"""Our own draws of noise beside OpenDP's: chi-squared against the law, and draws a second of one thread.

    python benchmarks/draws.py

100 million draws of each law at each of five scales, and a million choices by each mechanism at each of
three, a few minutes; --quick draws a hundredth. Writes draws.md.
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
from common import parse_options
from scipy.stats import chi2

from frith.audit.samplers import p_value
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PrivateChoice
from frith.privacy.sources import BulkSource, Noise, OpenDPSource

SCALES = (0.75, 1.0, 3.7, 20.0, 1000.5)
BLOCK = 1_000_000
TIMED = 100_000
LEAST = 25  # draws expected in every bin
PAGE = """# Draws

{draws:,} draws of each law at each scale by `privacy/laplace_draws.py` and `privacy/gaussian_draws.py`,
beside the law by Pearson's chi-squared: p is the chance of a fit at least as poor. Speeds are of one
thread, interleaved, the median of three. Written by `benchmarks/draws.py`.

| law | scale | bins | chi-squared | p | draws a second | OpenDP's | ratio |
|---|---|---|---|---|---|---|---|
{rows}

{choices:,} choices of each mechanism by `privacy/choice_draws.py`, from 61 candidates whose scores lie
up to eight scales apart, beside the law by chi-squared, rare candidates together. Milliseconds are
those of one choice from {candidates:,} candidates, most of them far behind, interleaved, the median of
nine.

| mechanism | scale | p | one choice, ms | OpenDP's, ms | ratio |
|---|---|---|---|---|---|
{choice_rows}
"""
CHOICE_SCALES = (0.75, 3.7, 16384.1)
CANDIDATES = 10_000


def main() -> None:
    options = parse_options(__doc__.splitlines()[0], {})
    blocks = 1 if options.quick else 100
    noises: list[Noise] = [DiscreteLaplace(1 / Fraction(s), 1) for s in SCALES]
    noises += [DiscreteGaussian(1 / (2 * Fraction(s) ** 2), 1) for s in SCALES]
    print(f"{len(noises) * blocks} million draws, about {len(noises) * blocks // 60 + 1} minutes")
    rows = []
    for noise in noises:
        bins, statistic, p = fit(noise, blocks)
        own, opendp = speeds(noise)
        law = "discrete Laplace" if isinstance(noise, DiscreteLaplace) else "discrete Gaussian"
        rows.append(
            f"| {law} | {noise.scale:g} | {bins} | {statistic:.1f} | {p:.3f} "
            f"| {own:,.0f} | {opendp:,.0f} | {own / opendp:.0f} |"
        )
        print(rows[-1], flush=True)
        assert p > 1e-6, "the draws do not follow their law"
    page = options.out / "draws.md"
    choices = blocks * BLOCK // 100
    choice_rows = [
        choice_row(PrivateChoice(1 / Fraction(s), 1, exponential=e), choices)
        for e in (False, True)
        for s in CHOICE_SCALES
    ]
    text = PAGE.format(
        draws=blocks * BLOCK, rows="\n".join(rows), choices=choices, candidates=CANDIDATES,
        choice_rows="\n".join(choice_rows),
    )  # fmt: skip
    page.write_text(text, encoding="utf-8")
    print(page)


def fit(noise: Noise, blocks: int) -> tuple[int, float, float]:
    """Bins, chi-squared and its p for `blocks` million draws; tails are pooled."""
    reach = int(40 * noise.scale) + 60
    observed = np.zeros(2 * reach + 1)
    for _ in range(blocks):
        drawn = BulkSource().perturb(np.zeros(BLOCK, dtype=np.int64), noise, threads=2)
        observed += np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
    expected = np.exp(noise.log_law(np.arange(-reach, reach + 1))) * blocks * BLOCK
    middle = np.flatnonzero(expected >= LEAST)
    first, last = middle[0], middle[-1] + 1
    edges = [0, *range(first + 1, last)]
    o, e = np.add.reduceat(observed, edges), np.add.reduceat(expected, edges)
    statistic = float(((o - e) ** 2 / e).sum())
    return len(e), statistic, float(chi2.sf(statistic, len(e) - 1))


def choice_row(choice: PrivateChoice, choices: int) -> str:
    """How well choices fit their law, and what one takes."""
    scores = np.round(np.linspace(0, 8, 61) ** 2 / 8 * choice.scale).astype(np.int64).tolist()
    source, weights = BulkSource(), [0.0] * len(scores)
    drawn = [source.choose(scores, weights, choice) for _ in range(choices)]
    p = p_value(np.bincount(drawn, minlength=len(scores)), choice.law(scores))
    own, opendp = choice_times(choice)
    name = "exponential" if choice.exponential else "permute-and-flip"
    row = f"| {name} | {choice.scale:g} | {p:.3f} | {own:.2f} | {opendp:.2f} | {opendp / own:.0f} |"
    print(row, flush=True)
    assert p > 1e-6, "the choices do not follow their law"
    return row


def choice_times(choice: PrivateChoice) -> tuple[float, float]:
    """Milliseconds of one choice, ours and OpenDP's."""
    spread = np.random.default_rng(0).normal(size=CANDIDATES)
    scores, weights = (spread * 50 * choice.scale).astype(np.int64).tolist(), [0.0] * CANDIDATES
    seconds: dict[type, list[float]] = {BulkSource: [], OpenDPSource: []}
    for _ in range(10):
        for source, times in seconds.items():
            began = time.perf_counter()
            source().choose(scores, weights, choice)
            times.append(time.perf_counter() - began)
    own, opendp = (1000 * float(np.median(times[1:])) for times in seconds.values())
    return own, opendp


def speeds(noise: Noise) -> tuple[float, float]:
    """Draws a second, ours and OpenDP's."""
    zeros = np.zeros(TIMED, dtype=np.int64)
    seconds: dict[type, list[float]] = {BulkSource: [], OpenDPSource: []}
    for _ in range(3):
        for source, times in seconds.items():
            began = time.perf_counter()
            source().perturb(zeros, noise, threads=1)
            times.append(time.perf_counter() - began)
    own, opendp = (TIMED / float(np.median(times)) for times in seconds.values())
    return own, opendp


if __name__ == "__main__":
    main()
