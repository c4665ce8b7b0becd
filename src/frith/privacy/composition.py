"""From (epsilon, delta) to the rho of zero-concentrated differential privacy, and back."""

from __future__ import annotations

import functools
import math
from decimal import ROUND_DOWN, Context
from fractions import Fraction

import numpy as np

from frith.privacy.window import check_rho

# Every order gives a valid bound, so a denser grid can only make the conversion tighter.
_ORDERS = 1 + np.geomspace(1e-3, 1e6, 4_000)


def epsilon_of(rho: float, delta: float) -> float:
    """The epsilon at `delta` of a rho-zCDP mechanism, by dp-accounting's Renyi conversion."""
    import dp_accounting
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant(orders=_ORDERS)
    return float(accountant.compose(dp_accounting.ZCDpEvent(rho)).get_epsilon(delta))


@functools.lru_cache(maxsize=1024)
def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho, nearly the largest, for which rho-zCDP implies (epsilon, delta)-DP.

    Bisection from below: what is returned was itself converted and found to be at most epsilon,
    less one part in 10^9 for the conversion's own rounding, and then cut to twelve digits. Raises
    `OutsideWindow` where that leaves 0, or less than any question may spend.
    """
    limit = float(epsilon) * (1 - 1e-9)
    low, high = 0.0, float(epsilon) + 2 * math.log(1 / float(delta))
    while epsilon_of(high, float(delta)) <= limit:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        if epsilon_of(middle, float(delta)) <= limit:
            low = middle
        else:
            high = middle
    rho = Fraction(Context(prec=12, rounding=ROUND_DOWN).create_decimal_from_float(low))
    check_rho(rho, epsilon, delta)
    return rho
