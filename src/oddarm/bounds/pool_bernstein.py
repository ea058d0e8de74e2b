"""A variance-adaptive interval for finite pools of bounded rewards, drawn without replacement.

Before draw t of a pool of N rewards with mean y, those left have the mean
y_t = (N y - sum so far) / (N-t+1), so Π(1 + λ(x_t - y_t)) is a martingale (Waudby-Smith and Ramdas
2020). With w_t = N/(N-t+1) and z_t = x_t + (sum so far)/(N-t+1), x_t - y_t = z_t - w_t·y: the sums
S(y) and V(y) of `bounds.bernstein` are polynomials in y whose five coefficients the tally keeps,
with rewards and means counted from the least possible reward. What is left of the pool can only be
between all-low and all-high, which cuts the interval to a point when the pool is exhausted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats
from oddarm.bounds.base import Bound, check_parameters
from oddarm.bounds.bernstein import (
    first_rejected,
    log_wealth,
    log_wealth_of_one,
    mixing_precision,
)
from oddarm.bounds.numerics import bisect
from oddarm.tally import Tally

__all__ = ["PoolBernstein"]


@dataclass(frozen=True)
class PoolBernstein(Bound):
    """The interval for the mean of each arm's pool of rewards in [low, high].

    Args:
        alpha: Error probability of one arm, over all times.
        low: Least reward.
        high: Greatest reward.
        tuned_for: The error probability for which the interval is tightest; `alpha` by default.
    """

    alpha: float
    low: float = 0.0
    high: float = 1.0
    tuned_for: float | None = None
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = (
        "Ville's inequality for a betting mixture without replacement, at delta/n per arm"
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        assert tally.pools is not None
        assert tally.drawn is not None
        size = tally.pools.astype(np.float64)
        m = tally.counts.astype(np.float64)
        seen = m > 0
        span = self.high - self.low
        w, ww, z, zz, wz = tally.drawn
        w, ww = np.where(seen, w, 1.0), np.where(seen, ww, 1.0)
        centre = z / w
        rounding = 1e-12 * (zz + ww * centre * centre) / span**2
        rho = mixing_precision(self.tuned_for or self.alpha)
        limit = math.log(2 / self.alpha)

        def rejected(d: Floats) -> Floats:
            y = centre + d
            v = (zz - 2 * y * wz + y * y * ww) / span**2
            s = np.abs(d) * w / span
            return np.asarray(log_wealth(s, np.maximum(v, 0.0) + rounding, rho) >= limit)

        reach = np.full_like(m, span)
        low = self.low + (centre + bisect(rejected, np.zeros_like(m), -reach))
        high = self.low + (centre + bisect(rejected, np.zeros_like(m), reach))
        least = (tally.totals + (size - m) * self.low) / size
        greatest = (tally.totals + (size - m) * self.high) / size
        low = np.clip(np.where(seen, low, self.low), least, greatest)
        high = np.clip(np.where(seen, high, self.high), least, greatest)
        return low, high

    def interval_of(self, tally: Tally, arm: int) -> tuple[float, float]:
        """Return the interval of one arm, by a quicker search for its ends."""
        assert tally.pools is not None
        assert tally.drawn is not None
        m, size = tally.counts.item(arm), tally.pools.item(arm)
        if not m:
            return self.low, self.high
        total, span = tally.totals.item(arm), self.high - self.low
        w, ww, z, zz, wz = tally.drawn[:, arm].tolist()
        centre = z / w
        rounding = 1e-12 * (zz + ww * centre * centre) / span**2
        rho, limit = mixing_precision(self.tuned_for or self.alpha), math.log(2 / self.alpha)

        def distance(side: float) -> float:
            """How far the mean may lie from the centre, downwards (-1) or upwards (1)."""

            def excess(d: float) -> float:
                y = centre + side * d * span
                v = (zz - 2 * y * wz + y * y * ww) / span**2
                return log_wealth_of_one(d * w, max(v, 0.0) + rounding, rho) - limit

            return first_rejected(excess, guess) * span

        scatter = max(zz - 2 * centre * wz + centre * centre * ww, 0.0) / span**2
        guess = math.sqrt(2 * scatter * limit) / w + 2 * limit / w
        least = (total + (size - m) * self.low) / size
        greatest = (total + (size - m) * self.high) / size
        low = self.low + (centre - distance(-1.0))
        high = self.low + (centre + distance(1.0))
        return min(max(low, least), greatest), min(max(high, least), greatest)
