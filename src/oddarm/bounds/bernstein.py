"""A variance-adaptive interval for bounded rewards, from the count, mean and scatter alone.

For rewards in [0, 1] with mean y and λ in [0, 1), Π(1 + λ(x-y)) is a martingale; by Fan, Grama and
Liu (2015) it is at least exp(λS - ψ(λ)V) with S = Σ(x-y), V = Σ(x-y)² and ψ(λ) = -log(1-λ) - λ.
Mixing λ with the gamma-exponential mixture of Howard et al. (2021, Proposition 9) has a closed
form, and the mean y is rejected once that reaches 2/α (the 2 is for the mirror image). At y = ŷ-d,
S = m·d and V = scatter + m·d². Since x - y ≥ -y, both may be measured in units of max(y, ½) instead
of 1, which makes the interval tighter. The product falls as y grows whatever λ is, so a rejected
mean rejects all means beyond it, and any crossing is a valid end of the interval.

No order of the rewards enters: told in batches, late or shuffled, they give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, overload

import numpy as np

from oddarm._typing import Floats
from oddarm.bounds.base import Bound, check_parameters
from oddarm.bounds.numerics import HALF_LOG_2PI, bisect, stirling_remainder
from oddarm.tally import Tally

__all__ = ["Bernstein", "first_rejected", "log_wealth", "log_wealth_of_one", "mixing_precision"]

BEST_AT = 50.0
"""The sum of squared deviations, in units of the squared range, at which it is tightest."""


@dataclass(frozen=True)
class Bernstein(Bound):
    """The interval for rewards in [low, high].

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
    reason: ClassVar[str] = "Ville's inequality for a betting mixture, at delta/n for each arm"

    def __post_init__(self) -> None:
        check_parameters(self)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the interval of each arm."""
        assert tally.scatter is not None
        span = self.high - self.low
        seen = tally.counts > 0
        m = np.where(seen, tally.counts, 1).astype(np.float64)
        scatter = tally.scatter / span**2
        rho = mixing_precision(self.tuned_for or self.alpha)
        limit = math.log(2 / self.alpha)

        mean = np.where(seen, tally.totals / m, self.low)

        def distance(share: Floats) -> Floats:
            """How far the mean may lie towards 0 from `share`, the sample mean as if in [0, 1]."""

            def rejected(d: Floats) -> Floats:
                unit = np.maximum(share - d, 0.5)
                s, v = m * d / unit, (scatter + m * d * d) / unit**2
                return np.asarray(log_wealth(s, v, rho) >= limit)

            return bisect(rejected, np.zeros_like(m), np.ones_like(m)) * span

        down = distance((mean - self.low) / span)
        up = distance((self.high - mean) / span)
        low = np.where(seen, np.maximum(mean - down, self.low), self.low)
        high = np.where(seen, np.minimum(mean + up, self.high), self.high)
        return low, high

    def interval_of(self, tally: Tally, arm: int) -> tuple[float, float]:
        """Return the interval of one arm, by a quicker search for its ends."""
        assert tally.scatter is not None
        m = int(tally.counts[arm])
        if not m:
            return self.low, self.high
        span = self.high - self.low
        mean, scatter = float(tally.totals[arm]) / m, float(tally.scatter[arm]) / span**2
        rho, limit = mixing_precision(self.tuned_for or self.alpha), math.log(2 / self.alpha)
        down = _distance(m, scatter, (mean - self.low) / span, rho, limit) * span
        up = _distance(m, scatter, (self.high - mean) / span, rho, limit) * span
        return max(mean - down, self.low), min(mean + up, self.high)


def _distance(m: int, scatter: float, share: float, rho: float, limit: float) -> float:
    """Return how far the mean may lie towards 0 from `share`; never less than the exact root."""

    def excess(d: float) -> float:
        unit = max(share - d, 0.5)
        v = (scatter + m * d * d) / (unit * unit)
        return log_wealth_of_one(m * d / unit, v, rho) - limit

    return first_rejected(excess, math.sqrt(2 * scatter * limit) / m + 2 * limit / m)


def first_rejected(excess: Callable[[float], float], guess: float) -> float:
    """Return where in [0, 1] `excess` turns positive, at or just beyond the root; 1 if nowhere."""
    inside, outside = 0.0, 1.0
    low, high = excess(0.0), excess(1.0)
    if high < 0:
        return 1.0
    moved = 0  # which end moved last
    for _ in range(60):
        if not inside < guess < outside:
            guess = (inside + outside) / 2
        value = excess(guess)
        # Illinois' trick: an end that stays for a second time is weighted less, so that it moves
        if value >= 0:
            outside, high = guess, value
            low = low / 2 if moved == 1 else low
            moved = 1
        else:
            inside, low = guess, value
            high = high / 2 if moved == -1 else high
            moved = -1
        if outside - inside <= 1e-9 * outside:
            break
        guess = outside - high * (outside - inside) / (high - low)
    return outside


def log_wealth_of_one(s: float, v: float, rho: float) -> float:
    """Return `log_wealth` of one arm, in plain arithmetic."""
    from scipy.special import gammainc

    a = v + rho
    value = _constant(rho) + (s - a * math.log1p(s / a)) - 0.5 * math.log(a) + HALF_LOG_2PI
    return value + _stirling(a) + math.log(gammainc(a, a + s))


def _stirling(z: float) -> float:
    if z < 16.0:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + HALF_LOG_2PI)
    inverse = 1 / z
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))


@cache
def _constant(rho: float) -> float:
    """Return the part of the log wealth that depends on ρ alone."""
    from scipy.special import gammainc

    return rho * math.log(rho) - rho - math.lgamma(rho) - math.log(float(gammainc(rho, rho)))


def _constants(rho: Floats) -> Floats:
    """Return the same for many ρ of any size, by Stirling's formula."""
    from scipy.special import gammainc

    inside = np.log(gammainc(rho, rho))
    return np.asarray(0.5 * np.log(rho) - HALF_LOG_2PI - stirling_remainder(rho) - inside)


@overload
def mixing_precision(alpha: float) -> float: ...
@overload
def mixing_precision(alpha: float, best_at: Floats) -> Floats: ...
def mixing_precision(alpha: float, best_at: Any = BEST_AT) -> Any:
    """Return the ρ of the mixture that makes the interval tightest at V = `best_at`."""
    level = 2 * math.log(2 / alpha)
    return best_at / (level + math.log1p(level))


def log_wealth(s: Floats, v: Floats, rho: float | Floats) -> Floats:
    """Return the log of the gamma-exponential mixture at S = s ≥ 0 and V = v (scale 1).

    Howard et al. (2021), Proposition 9, with log Γ expanded by Stirling so that terms of the size
    of v cancel exactly.
    """
    from scipy.special import gammainc

    a = v + rho
    constant = _constant(rho) if isinstance(rho, float) else _constants(rho)
    with np.errstate(divide="ignore"):
        return np.asarray(
            constant
            + (s - a * np.log1p(s / a))
            - 0.5 * np.log(a)
            + HALF_LOG_2PI
            + stirling_remainder(a)
            + np.log(gammainc(a, a + s))
        )
