"""The beta-binomial interval for finite pools of 0/1 rewards, drawn without replacement.

For a pool of N rewards with k ones, the prior-posterior ratio of a beta-binomial prior is a
martingale under the true k (Waudby-Smith and Ramdas 2020). After s ones and f zeros it is

    B(s+a, f+a) / B(a, a) · C(N, k) / C(N-m, k-s),

and k is kept while it is below 1/α. The ratio has one valley in k, so both ends are found by
bisection. At m = N one k is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._checks import real_number
from oddarm._typing import Floats
from oddarm.bounds.base import Bound, check_parameters
from oddarm.kernels.intervals import pool_interval, pool_intervals
from oddarm.tally import Tally

__all__ = ["PoolBeta"]


@dataclass(frozen=True)
class PoolBeta(Bound):
    """The interval for the share of ones in each arm's pool.

    Args:
        alpha: Error probability of one arm, over all times.
        prior: The parameter a of the beta-binomial prior.
    """

    alpha: float
    prior: float = 0.5
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = (
        "Ville's inequality for the beta-binomial prior-posterior ratio, at delta/n per arm"
    )

    def __post_init__(self) -> None:
        check_parameters(self)
        rule = "a number from 0.001 to 1000"
        prior = real_number("prior", self.prior, rule, lambda x: 1e-3 <= x <= 1e3)
        object.__setattr__(self, "prior", prior)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        assert tally.pools is not None
        low, high = np.empty(len(tally.counts)), np.empty(len(tally.counts))
        level = -math.log(self.alpha)
        pool_intervals(tally.totals, tally.counts, tally.pools, level, self.prior, low, high)
        return low, high

    def interval_of(self, tally: Tally, arm: int) -> tuple[float, float]:
        """Return the interval of one arm."""
        assert tally.pools is not None
        s, m, size = tally.totals.item(arm), tally.counts.item(arm), tally.pools.item(arm)
        return pool_interval(s, float(m), float(size), -math.log(self.alpha), self.prior)
