"""Intervals for one look at a number of rewards that was fixed before the first one came.

They are narrower than those that hold at all times at once, and valid only if nobody looks twice or
lets the rewards say how many there are. Each end is wrong with probability at most α/2.

*0/1 rewards.* Clopper and Pearson (1934): the binomial tail itself; the hypergeometric tail for a
finite pool.

*Bounded rewards.* In [0, 1] with mean y, E exp(λx) ≤ 1 - y + y·exp(λ), so by Markov's inequality
at the best λ, P(ŷ ≥ t) ≤ exp(-m·kl(t, y)) (Hoeffding 1963, Theorem 1): never wider than Hoeffding's
interval. It does not know the variance. The betting mixture of `bounds.bernstein` does: it has mean
1 under the true mean, so by Markov's inequality it reaches 4/α with probability at most α/4. Its λ
are mixed for a variance of a sixteenth of the squared range, which depends on m alone. Each of the
two has half of α, so both hold at once and the narrower end may be chosen afterwards. Up to 10,000
rewards that is narrower than the empirical Bernstein interval of Maurer and Pontil (2009), which
needs 2·log(3/α)/m at least.

*Sub-Gaussian rewards.* Markov's inequality for exp(λ Σ(x-y)) at the best λ.

*Bounded finite pools.* Serfling (1974), and what is left of the pool between all-low and all-high.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats, Wholes
from oddarm.bounds.base import Bound, check_parameters
from oddarm.bounds.bernstein import BEST_AT, log_wealth, mixing_precision
from oddarm.bounds.beta_mixture import kl_deviation
from oddarm.bounds.numerics import bisect
from oddarm.tally import Tally

__all__ = [
    "BoundedSample",
    "ClopperPearson",
    "PoolClopperPearson",
    "PoolSerfling",
    "SubGaussianSample",
]

TYPICAL_VARIANCE = 1 / 16
"""The variance, in units of the squared range, at which the betting mixture is tightest."""


@dataclass(frozen=True)
class ClopperPearson(Bound):
    """The interval for an arm with 0/1 rewards, for one look at a fixed number of them.

    Args:
        alpha: Error probability of one arm, at one look.

    Examples:
        >>> low, high = ClopperPearson(0.05).bounds_for(np.array([0.0, 30.0]), np.array([100, 100]))
        >>> low.round(4), high.round(4)
        (array([0.    , 0.2124]), array([0.0362, 0.3998]))
    """

    alpha: float
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = "the binomial tail (Clopper and Pearson), one look, at delta/n per arm"

    def __post_init__(self) -> None:
        check_parameters(self)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        return self.bounds_for(tally.totals, tally.counts)

    def bounds_for(self, successes: Floats, pulls: Floats | Wholes) -> tuple[Floats, Floats]:
        """Return the intervals for arrays of successes and pulls."""
        low = _least_rate(successes, pulls - successes, self.alpha / 2)
        return low, 1 - _least_rate(pulls - successes, successes, self.alpha / 2)


def _least_rate(s: Floats, f: Floats, tail: float) -> Floats:
    """Return the rate at which s or more successes of s + f have this probability; 0 if s is 0."""
    from scipy.special import betaincinv

    return np.where(s > 0, betaincinv(np.maximum(s, 1), f + 1, tail), 0.0)


@dataclass(frozen=True)
class PoolClopperPearson(Bound):
    """The interval for the share of ones in a finite pool, for one look at a fixed part of it.

    A pool that was drawn completely is known exactly.

    Args:
        alpha: Error probability of one arm, at one look.
    """

    alpha: float
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = "the hypergeometric tail, one look, at delta/n per arm"

    def __post_init__(self) -> None:
        check_parameters(self)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        assert tally.pools is not None
        size, m = tally.pools, tally.counts
        s = tally.totals.astype(np.int64)
        least = _least_ones(s, m, size, self.alpha / 2)
        most = size - _least_ones(m - s, m, size, self.alpha / 2)
        return least / size, most / size


def _least_ones(s: Wholes, m: Wholes, size: Wholes, tail: float) -> Wholes:
    """Return the fewest ones of pools with which s or more of m draws have more probability."""
    from scipy.stats import hypergeom

    fewest, most = s.copy(), size - (m - s)  # at the most, s or more are certain
    while (fewest < most).any():
        middle = (fewest + most) // 2
        likely = hypergeom.sf(s - 1, size, middle, m) > tail
        most = np.where(likely, middle, most)
        fewest = np.where(likely, fewest, np.minimum(middle + 1, most))
    return np.asarray(most)


@dataclass(frozen=True)
class BoundedSample(Bound):
    """The interval for rewards in [low, high], for one look at a fixed number of them.

    Args:
        alpha: Error probability of one arm, at one look.
        low: Least reward.
        high: Greatest reward.
    """

    alpha: float
    low: float = 0.0
    high: float = 1.0
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = (
        "Hoeffding's inequality in terms of kl and a betting mixture, half of delta/n for each, "
        "one look"
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        assert tally.scatter is not None
        assert tally.beyond is not None
        span = self.high - self.low
        seen = tally.counts > 0
        m = np.where(seen, tally.counts, 1).astype(np.float64)
        share = np.clip(tally.beyond / (m * span), 0.0, 1.0)
        scatter = tally.scatter / span**2
        down, up = self._distance(m, share, scatter), self._distance(m, 1 - share, scatter)
        mean = self.low + share * span
        low = np.where(seen, np.maximum(mean - down * span, self.low), self.low)
        high = np.where(seen, np.minimum(mean + up * span, self.high), self.high)
        return low, high

    def _distance(self, m: Floats, share: Floats, scatter: Floats) -> Floats:
        """Return how far the mean may lie towards 0 from `share`, the sample mean in [0, 1]."""
        limit = math.log(4 / self.alpha)
        rho = mixing_precision(self.alpha / 2, np.maximum(m * TYPICAL_VARIANCE, BEST_AT))

        def rejected(d: Floats) -> Floats:
            unit = np.maximum(share - d, 0.5)
            s, v = m * d / unit, (scatter + m * d * d) / unit**2
            return np.asarray(log_wealth(s, v, rho) >= limit)

        betting = bisect(rejected, np.zeros_like(m), np.ones_like(m))
        return np.minimum(betting, kl_deviation(1 - share, share, limit / m))


@dataclass(frozen=True)
class SubGaussianSample(Bound):
    """The interval for sub-Gaussian rewards, for one look at a fixed number of them.

    Args:
        alpha: Error probability of one arm, at one look.
        sigma: Sub-Gaussian scale of a reward.
    """

    alpha: float
    sigma: float
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = "the sub-Gaussian tail, one look, at delta/n per arm"

    def __post_init__(self) -> None:
        check_parameters(self)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        with np.errstate(divide="ignore"):
            radius = self.sigma * np.sqrt(2 * math.log(2 / self.alpha) / tally.counts)
        means = np.where(tally.counts > 0, tally.means, 0.0)
        return means - radius, means + radius


@dataclass(frozen=True)
class PoolSerfling(Bound):
    """The interval for finite pools of rewards in [low, high], for one look at a fixed part.

    A pool that was drawn completely is known exactly.

    Args:
        alpha: Error probability of one arm, at one look.
        low: Least reward.
        high: Greatest reward.
    """

    alpha: float
    low: float = 0.0
    high: float = 1.0
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = (
        "Serfling's inequality without replacement, one look, at delta/n per arm"
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        assert tally.pools is not None
        seen, size = tally.counts > 0, tally.pools
        m = np.where(seen, tally.counts, 1)
        level = (1 - (m - 1) / size) * math.log(2 / self.alpha) / (2 * m)
        radius = np.where(seen, (self.high - self.low) * np.sqrt(level), np.inf)
        left, mean = size - tally.counts, tally.totals / m
        low = np.maximum(mean - radius, (tally.totals + left * self.low) / size)
        high = np.minimum(mean + radius, (tally.totals + left * self.high) / size)
        return low, high
