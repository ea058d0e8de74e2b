"""The robust rule that ROAI-Elim and ROAI-LUCB share (Zhu, Katariya and Nowak, ICML 2020).

An outlier is an arm with a mean above θ = median(y) + k·1.4826·MAD(y), with MAD the median absolute
deviation from the median. Half of the arms may be anywhere without moving θ beyond the rest.

A median is monotone in each of its arguments, so intervals of the arms give an interval of θ
without spending further probability: the median lies between the medians of the lower and of the
upper ends, each |yᵢ - median| between what the two intervals allow, and their median likewise.

In the first edition `bound="paper"` was the radius of the GOLD paper, and ROAI-LUCB chose its arms
in another way; searches that began with it go on with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._checks import real_number
from oddarm._typing import Flags, Floats
from oddarm.bounds import Bound, HoeffdingUnion
from oddarm.rewards import LARGEST
from oddarm.strategies.base import RunContext
from oddarm.strategies.threshold import ThresholdRun, ThresholdStrategy

__all__ = ["NORMAL", "RobustRun", "RobustStrategy", "robust_threshold"]

NORMAL = 1.4826
"""MAD times this estimates the standard deviation of a normal distribution."""


def robust_threshold(means: Floats, k: float) -> float:
    """Return median + k·1.4826·MAD of the means."""
    centre = float(np.median(means))
    return centre + k * NORMAL * float(np.median(np.abs(means - centre)))


@dataclass(frozen=True)
class RobustStrategy(ThresholdStrategy):
    """Parameters of a strategy of the robust rule.

    Args:
        k: How many robust deviations above the median the threshold lies.
    """

    words: ClassVar[str] = "median + {:g} robust deviations"

    def __post_init__(self) -> None:
        rule = f"a finite number > 0, at most {LARGEST:g}"
        object.__setattr__(self, "k", real_number("k", self.k, rule, lambda k: 0 < k <= LARGEST))


@dataclass(frozen=True)
class _Ends:
    """Intervals of the median, of each arm's distance from it, of the MAD and of θ.

    `closest` is `near` without the knowledge that a distance is at least 0: the more an arm may lie
    on either side of the median, the less it is.
    """

    median: tuple[float, float]
    closest: Floats
    near: Floats
    far: Floats
    mad: tuple[float, float]
    theta: tuple[float, float]


class RobustRun(ThresholdRun):
    """A run that knows which arms matter for the median, for the MAD and for the answer."""

    newest: ClassVar[int] = 2
    compiled: ClassVar[str | None] = "oddarm.strategies.robust.compiled"

    def printed(self) -> Bound:
        """Return the intervals of the publication."""
        if self.edition == 1:
            return super().printed()
        context = self.context
        rewards, delta = context.rewards, context.problem.delta
        return HoeffdingUnion(delta, context.n, rewards.sigma, rewards.low, rewards.high)

    @property
    def threshold(self) -> float:
        """The threshold of the sample means."""
        return robust_threshold(self.tally.means, self.k)

    def __init__(self, context: RunContext, k: float) -> None:
        super().__init__(context, k)
        self._latest: tuple[int, _Ends] | None = None  # what was decided by, and after how many

    def ends(self) -> _Ends:
        """Return what the arms' intervals say of the threshold; as in the last decision if it can.

        A decision follows every reward, and pulls that compiled code makes are counted.
        """
        if self._latest is None or self._latest[0] != self.tally.pulls:
            self._latest = self.tally.pulls, self._find_ends()
        return self._latest[1]

    def _find_ends(self) -> _Ends:
        """Return what the arms' intervals say of the threshold now."""
        low, high = self.intervals.low, self.intervals.high
        median = float(np.median(low)), float(np.median(high))
        closest = np.maximum(low - median[1], median[0] - high)
        near = np.maximum(closest, 0.0)
        far = np.maximum(high - median[0], median[1] - low)
        mad = float(np.median(near)), float(np.median(far))
        scale = self.k * NORMAL
        theta = median[0] + scale * mad[0], median[1] + scale * mad[1]
        return _Ends(median, closest, near, far, mad, theta)

    def overlap_mad(self, ends: _Ends) -> Flags:
        """Return which arms' distance from the median may be the MAD."""
        return np.asarray((ends.near <= ends.mad[1]) & (ends.far >= ends.mad[0]))

    def decide(self, arm: int) -> None:
        """Stop when no arm may lie on either side of the threshold."""
        del arm
        ends = self._find_ends()
        self._latest = self.tally.pulls, ends
        if not self.overlapping(*ends.theta).any():
            self.finish(self.ranked(self.intervals.low > ends.theta[1]))
