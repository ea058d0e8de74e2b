"""The Beta mixture for Bernoulli rewards.

For s successes and f failures, B(s+a, f+a) / B(a, a) / (p^s (1-p)^f) is a martingale under p with
mean 1, so by Ville's inequality the set of p at which it stays below 1/α covers the true p at all
times at once with probability at least 1-α. Writing p̂ = s/m, that set is

    m·KL(p̂, p) < log(1/α) - e(s, f),   e = log B(s+a, f+a) - log B(a, a) - s log p̂ - f log(1-p̂),

and e is about -½ log m: the large terms cancel on paper (Stirling), so nothing is lost to rounding
at 10^12 pulls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from oddarm._checks import real_number
from oddarm._typing import Floats, Indices
from oddarm.bounds.base import Bound, check_parameters
from oddarm.bounds.numerics import HALF_LOG_2PI, stirling_remainder, stirling_remainder_half
from oddarm.errors import ParameterError
from oddarm.kernels.intervals import jeffreys_narrow
from oddarm.tally import Tally

__all__ = ["BetaMixture", "kl_deviation"]


@dataclass(frozen=True)
class BetaMixture(Bound):
    """The interval for an arm with 0/1 rewards.

    Args:
        alpha: Error probability of one arm, over all times.
        prior: ½ (Jeffreys) or 1 (uniform). ½ is at most 4 % wider near p = ½ and much tighter for
            rare events, where sampling is most expensive.

    Examples:
        >>> bound = BetaMixture(alpha=0.05)
        >>> low, high = bound.bounds_for(successes=[0, 30, 100], pulls=[100, 100, 100])
        >>> low.round(3), high.round(3)
        (array([0.   , 0.166, 0.943]), array([0.057, 0.463, 1.   ]))
    """

    alpha: float
    prior: float = 0.5
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = "Ville's inequality for the Beta mixture, at delta/n for each arm"

    def __post_init__(self) -> None:
        check_parameters(self)
        prior = real_number("prior", self.prior, "0.5 or 1", lambda x: x in (0.5, 1.0))
        object.__setattr__(self, "prior", prior)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        return self.bounds_for(tally.totals, tally.counts)

    def interval_of(self, tally: Tally, arm: int) -> tuple[float, float]:
        """Return the interval of one arm."""
        if self.prior != 0.5:
            return super().interval_of(tally, arm)
        low, high = np.zeros(1), np.ones(1)
        self.narrow_many(tally.at(arm), np.zeros(1, dtype=np.intp), low, high)
        return float(low[0]), float(high[0])

    def narrow_many(self, tally: Tally, arms: Indices, low: Floats, high: Floats) -> None:
        """Narrow the intervals of some arms, in compiled code."""
        if self.prior != 0.5:
            super().narrow_many(tally, arms, low, high)
            return
        jeffreys_narrow(tally.totals, tally.counts, arms, -math.log(self.alpha), low, high)

    def bounds_for(self, successes: ArrayLike, pulls: ArrayLike) -> tuple[Floats, Floats]:
        """Return the intervals for arrays of successes and pulls."""
        s, m = _counted(successes, pulls)
        seen = m > 0
        m = np.where(seen, m, 1.0)
        s = np.where(seen, s, 0.0)
        f = m - s
        level = (-math.log(self.alpha) - self._evidence(s, f, m)) / m
        p, q = s / m, f / m
        high = p + kl_deviation(p, q, level)
        low = p - kl_deviation(q, p, level)
        return np.where(seen, low, 0.0), np.where(seen, np.minimum(high, 1.0), 1.0)

    def _evidence(self, s: Floats, f: Floats, m: Floats) -> Floats:
        if self.prior == 0.5:
            return np.asarray(
                stirling_remainder_half(s)
                + stirling_remainder_half(f)
                - stirling_remainder(m)
                - 0.5 * np.log(m)
                + HALF_LOG_2PI
                - math.log(math.pi)
            )
        return np.asarray(
            _log_factorial_part(s) + _log_factorial_part(f) - _log_factorial_part(m) - np.log1p(m)
        )


def _counted(successes: Any, pulls: Any) -> tuple[Floats, Floats]:
    """Return both as arrays, or raise ParameterError unless 0 ≤ successes ≤ pulls."""
    try:
        if np.iscomplexobj(successes) or np.iscomplexobj(pulls):
            raise TypeError
        s, m = np.asarray(successes, dtype=np.float64), np.asarray(pulls, dtype=np.float64)
        if ((s >= 0) & (s <= m) & (m <= 2**53)).all():
            return s, m
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterError(
        f"successes == {successes!r} and pulls == {pulls!r}, must be equally many numbers, "
        "with 0 <= successes <= pulls <= 2**53."
    )


def _log_factorial_part(z: Floats) -> Floats:
    """Return log z! - (z log z - z), which is 0 at z = 0."""
    safe = np.maximum(z, 1.0)
    return np.where(z > 0, 0.5 * np.log(safe) + HALF_LOG_2PI + stirling_remainder(safe), 0.0)


def kl_deviation(a: Floats, b: Floats, level: Floats) -> Floats:
    """Return d in [0, b] with KL(a, a + d) = level, for fractions a and b = 1 - a.

    a and b are given apart so that both ends keep their digits when one is tiny. Newton's method
    from the right on a convex function: every iterate is at or beyond the root, so the interval
    is never too narrow.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Three starting points with KL ≥ level: Pinsker's, Bernstein's, and one near d = b.
        start = np.minimum(np.sqrt(level / 2), level + np.sqrt(level * (level + 2 * a)))
        entropy = np.where(a > 0, -a * np.log(a), 0.0)
        near_end = np.where(b > 0, -b * np.expm1(-(level + entropy) / b), 0.0)
        d = np.minimum(np.minimum(start, near_end), b)
        for _ in range(40):
            left = np.where(a > 0, -a * np.log1p(d / a), 0.0)
            value = left - b * np.log1p(-d / b) - level
            step = value * (a + d) * (b - d) / d
            step = np.where((d >= b) | ~np.isfinite(step) | (step < 0), 0.0, step)
            d = d - step
            if np.all(step <= 1e-14 * d):
                break
    return np.asarray(np.where(b > 0, d, 0.0))
