"""The centred Beta mixture for Bernoulli rewards.

To test whether an arm's rate is p, bet against p with a Beta prior *centred at p*: for s successes
and f failures,

    M(p) = B(s + a, f + b) / B(a, b) / (p^s (1-p)^f),   a = κp, b = κ(1-p), κ = ρ / (4p(1-p)),

is a martingale under p with mean 1, whatever prior is chosen for that p. By Ville's inequality the
set of p with M(p) < 1/α covers the true rate at all times at once with probability at least 1-α.
A prior that is centred where it is tested wastes nothing on rates far away, so the interval is
tighter than that of one prior for all p (`bounds.beta_mixture`) once an arm has about a hundred
pulls. κ makes the prior as wide as that many rewards leave the rate, rare rates included.

With N = s + f + κ and p̃ = (s + a)/N, Stirling's formula turns log M into terms that do not cancel:

    log M(p) = N·KL(p̃, p) - ½ log(p̃(1-p̃)/(p(1-p))) - ½ log(N/κ)
               + r(s+a) + r(f+b) - r(N) - r(a) - r(b) + r(κ),

where r(z) = log Γ(z) - (z-½) log z + z - ½ log 2π is what the formula leaves out.

A tenth of the stake goes to the Beta(½, ½) prior, which rejects p near 0 after a first success and
is tighter for the first few dozen pulls; a mean of martingales is one. The capital has one valley
in p, near s/m, so the set is an interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._checks import real_number, whole_number
from oddarm._typing import Floats
from oddarm.bounds.base import Bound, check_parameters
from oddarm.kernels.intervals import centred_interval, centred_intervals
from oddarm.tally import Tally

__all__ = ["CentredBeta"]


@dataclass(frozen=True)
class CentredBeta(Bound):
    """The interval for an arm with 0/1 rewards, tightest from about a hundred pulls on.

    Args:
        alpha: Error probability of one arm, over all times.

    Examples:
        >>> bound = CentredBeta(alpha=0.005)
        >>> [round(end, 4) for end in bound.bounds_for(300, 1000)]
        [0.2439, 0.3604]
    """

    alpha: float
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = "Ville's inequality for the centred Beta mixture, at delta/n per arm"

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def level(self) -> float:
        """log(1/α): the log capital at which a rate is rejected."""
        return -math.log(self.alpha)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        low, high = np.empty(len(tally.counts)), np.empty(len(tally.counts))
        centred_intervals(tally.totals, tally.counts, self.level, low, high)
        return low, high

    def bounds_for(self, successes: float, pulls: int) -> tuple[float, float]:
        """Return the interval for so many successes in so many pulls."""
        m = whole_number("pulls", pulls, 0, 2**53)
        rule = "a number from 0 to the pulls"
        s = real_number("successes", successes, rule, lambda x: 0 <= x <= m)
        return centred_interval(s, float(m), self.level) if m else (0.0, 1.0)
