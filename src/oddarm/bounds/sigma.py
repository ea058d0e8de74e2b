"""Radii of the k-sigma rule (Zhuang, Wang and Wang, NIPS 2017): of each arm and of the threshold.

The threshold is θ = mean(y) + k·std(y) over the arms' means (population deviation). As printed,
δ' = 6δ/(π²(n+1)T²) is spent on each of n arms and the threshold in round T. What is proved are
the time-uniform intervals of the arms, each at δ/n; if they hold, |θ̂-θ| ≤ mean(r) + k·rms(r)
with r the larger half of each interval, since the mean moves by at most the mean of the errors and
the deviation by at most their root mean square. No further probability is spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats
from oddarm.bounds.base import Bound, check_parameters
from oddarm.kernels.intervals import erfcinv
from oddarm.tally import Tally

__all__ = ["SigmaBernoulli", "SigmaBounded", "SigmaProved", "l_of_k", "sigma_threshold"]


def sigma_threshold(means: Floats, k: float) -> float:
    """Return mean + k·std of the means."""
    return float(means.mean() + k * means.std())


def l_of_k(k: float, n: int, delta: float) -> float:
    """Return l(k), by which the threshold's variance exceeds that of an arm.

    Examples:
        >>> round(l_of_k(2, 20, 0.1), 2), round(l_of_k(2.5, 50, 0.1), 2)
        (6.68, 9.49)
    """
    root = (1 + k * math.sqrt(n - 1)) / math.sqrt(n)
    root += k / math.sqrt(2 * math.log(math.pi**2 * n**3 / (6 * delta)))
    return root**2


def _spent(delta: float, n: int, pulls: int) -> float:
    return 6 * delta / (math.pi**2 * (n + 1) * float(pulls) * float(pulls))


@dataclass(frozen=True)
class SigmaBounded(Bound):
    """Hoeffding radii as printed; the threshold's from the harmonic mean of the pulls."""

    k: float
    delta: float
    n: int
    low: float
    high: float
    proved: ClassVar[bool] = False
    reason: ClassVar[str] = "the k-sigma paper's radii lack the factor 2 of a two-sided event"

    def __post_init__(self) -> None:
        check_parameters(self)

    def _unit(self, pulls: int) -> float:
        level = -math.log(_spent(self.delta, self.n, pulls))
        return (self.high - self.low) * math.sqrt(level / 2)

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return ŷ ± β; the whole range for an arm that was never pulled."""
        radius = self._unit(max(tally.pulls, 1)) / np.sqrt(np.maximum(tally.counts, 1))
        return _around(tally, radius, self.low, self.high)

    def threshold_radius(self, tally: Tally, means: Floats, low: Floats, high: Floats) -> float:  # noqa: ARG002
        """Return β of the threshold: sqrt(l(k)/h) in place of 1/√m."""
        inverse = float((1.0 / tally.counts).mean())  # 1/h
        scale = math.sqrt(l_of_k(self.k, self.n, self.delta) * inverse)
        return self._unit(tally.pulls) * scale


@dataclass(frozen=True)
class SigmaBernoulli(Bound):
    """Agresti-Coull radii as printed; the threshold's by the delta method."""

    k: float
    delta: float
    n: int
    proved: ClassVar[bool] = False
    reason: ClassVar[str] = "the k-sigma paper's Bernoulli radii are approximations"

    def __post_init__(self) -> None:
        check_parameters(self)

    def _radii(self, tally: Tally) -> tuple[Floats, Floats]:
        z = erfcinv(_spent(self.delta, self.n, max(tally.pulls, 1)) / 2)
        counts = np.maximum(tally.counts, 1)
        p = (tally.totals + z * z / 2) / (counts + z * z)
        return p, np.asarray(z * np.sqrt(p * (1 - p) / counts))

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return ŷ ± β; [0, 1] for an arm that was never pulled."""
        return _around(tally, self._radii(tally)[1], 0.0, 1.0)

    def threshold_radius(self, tally: Tally, means: Floats, low: Floats, high: Floats) -> float:  # noqa: ARG002
        """Return β of the threshold."""
        p, radius = self._radii(tally)
        spread = float(p.std())
        slope = np.ones_like(p) if spread == 0 else self.k * (p - p.mean()) / spread + 1
        return float(np.sqrt(((slope * radius) ** 2).sum()) / self.n)


@dataclass(frozen=True)
class SigmaProved:
    """What follows for the threshold from time-uniform intervals of the arms."""

    k: float

    def threshold_radius(self, tally: Tally, means: Floats, low: Floats, high: Floats) -> float:  # noqa: ARG002
        """Return mean(r) + k·rms(r)."""
        r = np.maximum(np.maximum(high - means, means - low), 0.0)
        return float(r.mean() + self.k * math.sqrt((r * r).mean()))


def _around(tally: Tally, radius: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    seen = tally.counts > 0
    means = tally.totals / np.maximum(tally.counts, 1)
    return np.where(seen, means - radius, low), np.where(seen, means + radius, high)
