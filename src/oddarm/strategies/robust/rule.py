"""The robust rule that ROAI-Elim and ROAI-LUCB share (Zhu, Katariya and Nowak, ICML 2020).

An outlier is an arm with a mean above θ = median(y) + k·1.4826·MAD(y), with MAD the median absolute
deviation from the median. Half of the arms may be anywhere without moving θ beyond the rest.

A median is monotone in each of its arguments, so intervals of the arms give an interval of θ
without spending further probability: the median lies between the medians of the lower and of the
upper ends, each |yᵢ - median| between what the two intervals allow, and their median likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddarm._checks import real_number
from oddarm._typing import Flags, Floats
from oddarm.rewards import LARGEST
from oddarm.strategies.base import RunContext, Strategy
from oddarm.strategies.rounds import RoundRun

__all__ = ["NORMAL", "RobustRun", "RobustStrategy", "robust_threshold"]

NORMAL = 1.4826
"""MAD times this estimates the standard deviation of a normal distribution."""


def robust_threshold(means: Floats, k: float) -> float:
    """Return median + k·1.4826·MAD of the means."""
    centre = _median(means)
    return centre + k * NORMAL * _median(np.abs(means - centre))


def _median(values: Floats) -> float:
    """Return the median of a few numbers, quicker than numpy's."""
    ordered = np.sort(values)
    n = len(ordered)
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2)


@dataclass(frozen=True)
class RobustStrategy(Strategy):
    """Parameters of a strategy of the robust rule.

    Args:
        k: How many robust deviations above the median the threshold lies.
    """

    k: float = 2.0

    def __post_init__(self) -> None:
        rule = f"a finite number > 0, at most {LARGEST:g}"
        object.__setattr__(self, "k", real_number("k", self.k, rule, lambda k: 0 < k <= LARGEST))

    def predicate(self, found: int, side: str) -> str:
        """Say that arms lie above the threshold."""
        del side
        return f"{'lies' if found == 1 else 'lie'} above median + {self.k:g} robust deviations"

    @property
    def promise(self) -> str:
        """The set is the promise."""
        return "no other arm does"


@dataclass(frozen=True)
class _Ends:
    """Intervals of the median, of each arm's distance from it, of the MAD and of θ."""

    median: tuple[float, float]
    near: Floats
    far: Floats
    mad: tuple[float, float]
    theta: tuple[float, float]


class RobustRun(RoundRun):
    """A run that knows which arms matter for the median, for the MAD and for the answer."""

    def __init__(self, context: RunContext, k: float) -> None:
        self.k = k
        super().__init__(context)

    def ends(self) -> _Ends:
        """Return what the arms' intervals say of the threshold."""
        low, high = self.intervals.low, self.intervals.high
        median = _median(low), _median(high)
        near = np.maximum(np.maximum(low - median[1], median[0] - high), 0.0)
        far = np.maximum(high - median[0], median[1] - low)
        mad = _median(near), _median(far)
        scale = self.k * NORMAL
        return _Ends(
            median, near, far, mad, (median[0] + scale * mad[0], median[1] + scale * mad[1])
        )

    def overlap_threshold(self, ends: _Ends) -> Flags:
        """Return which arms may lie on either side of the threshold."""
        low, high = self.intervals.low, self.intervals.high
        return np.asarray((low <= ends.theta[1]) & (high >= ends.theta[0]))

    def overlap_median(self, ends: _Ends) -> Flags:
        """Return which arms may be the median."""
        low, high = self.intervals.low, self.intervals.high
        return np.asarray((low <= ends.median[1]) & (high >= ends.median[0]))

    def overlap_mad(self, ends: _Ends) -> Flags:
        """Return which arms' distance from the median may be the MAD."""
        return np.asarray((ends.near <= ends.mad[1]) & (ends.far >= ends.mad[0]))

    def decide(self, arm: int) -> None:
        """Stop when no arm may lie on either side of the threshold."""
        del arm
        ends = self.ends()
        if not self.overlap_threshold(ends).any():
            above = np.flatnonzero(self.intervals.low > ends.theta[1])
            means = self.tally.means[above]
            self.finish(above[np.argsort(-means, kind="stable")].tolist())

    def estimate(self) -> list[int]:
        """Return the arms with a sample mean above the estimated threshold, the furthest first."""
        means = self.tally.means
        order = np.argsort(-means, kind="stable")
        return [int(i) for i in order if means[i] > robust_threshold(means, self.k)]

    def scores(self) -> Floats:
        """Return how far each sample mean lies above the estimated threshold."""
        if not self.ready:
            return np.full(self.context.n, np.nan)
        means = self.tally.means
        return np.asarray(means - robust_threshold(means, self.k))
