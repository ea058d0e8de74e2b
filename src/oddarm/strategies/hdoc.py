"""Threshold: the arms above a known number, by HDoC (Kano and others, Machine Learning 2019).

H. Kano, J. Honda, K. Sakamaki, K. Matsuura, A. Nakamura and M. Sugiyama, "Good arm identification
via bandit feedback", Machine Learning 108, 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._checks import real_number
from oddarm._typing import Floats
from oddarm.bounds import Bound, HoeffdingUnion
from oddarm.errors import ParameterError
from oddarm.rewards import LARGEST
from oddarm.strategies.base import Run, RunContext, Strategy
from oddarm.strategies.threshold import ThresholdRun

__all__ = ["Threshold"]


class HDoCRun(ThresholdRun):
    """Of the arms that are not decided, the one that may be best is pulled."""

    def __init__(self, context: RunContext, level: float) -> None:
        super().__init__(context, k=0.0)
        self.level = level

    @property
    def threshold(self) -> float:
        """The number that was given."""
        return self.level

    def printed(self) -> Bound:
        """Return the intervals of the publication, at sqrt(log(4nm²/δ) / (2m)) for [0, 1]."""
        context = self.context
        rewards, delta = context.rewards, context.problem.delta
        ends = rewards.sigma, rewards.low, rewards.high
        return HoeffdingUnion(delta, context.n, *ends, factor=4.0)

    def next_round(self) -> list[int]:
        """The arm with the largest ŷ + 2σ sqrt(log(t) / (2m)) of those that are not decided."""
        asked = np.maximum(self.asked, 1)
        reach = 2 * self.context.rewards.sigma * np.sqrt(math.log(asked.sum()) / (2 * asked))
        open_ = self.overlapping(self.level, self.level)
        limits = self.tally.limits
        if limits is not None:
            open_ &= self.asked < limits
        if not open_.any():  # a pull in flight may decide
            return []
        return [int(np.argmax(np.where(open_, self.tally.means + reach, -np.inf)))]

    def decide(self, arm: int) -> None:
        """Stop when every arm is certain to be above or below."""
        del arm
        if not self.overlapping(self.level, self.level).any():
            self.finish(self.ranked(self.intervals.low > self.level))

    def scores(self) -> Floats:
        """Return how far each sample mean lies above the threshold."""
        return np.asarray(self.tally.means - self.level)


@dataclass(frozen=True)
class Threshold(Strategy):
    """Find the arms with a mean above a number that you know.

    That is another question than who is odd: it needs no comparison, and is cheap where the number
    is known and no arm lies close to it. HDoC pulls, of the arms that are not decided, the one with
    the largest upper index, so good arms are found first; an arm is decided once its interval lies
    above or below the threshold.

    Promises: the declared arms are those above the threshold, with probability at least 1-δ. It is
    proved for both bounds: that of the publication is Hoeffding's, summed over all pulls.

    Finds: the arms above, be they few or many; ε and `max_outliers` play no part.

    Cost: O(n) per pull.

    Args:
        level: The threshold, in units of reward. Default: the middle of the range of rewards.

    Examples:
        >>> import oddarm
        >>> rates = [0.05, 0.40, 0.10, 0.80, 0.08]
        >>> oddarm.simulate(rates, oddarm.strategies.Threshold(level=0.2), max_outliers=1).outliers
        [3, 1]
    """

    name: ClassVar[str] = "threshold"
    promise: ClassVar[str] = "no other arm does"
    level: float | None = None

    def __post_init__(self) -> None:
        if self.level is not None:
            rule = f"a number from {-LARGEST:g} to {LARGEST:g}"
            level = real_number("level", self.level, rule, lambda x: abs(x) <= LARGEST)
            object.__setattr__(self, "level", level)

    def start(self, context: RunContext) -> Run:
        """Return a new run."""
        self.check(context)
        low, high = context.rewards.low, context.rewards.high
        level = (low + high) / 2 if self.level is None else self.level
        if math.isnan(level):
            raise ParameterError(
                "strategy 'threshold' without a level for rewards without a range: pass "
                "strategies.Threshold(level=…)."
            )
        if not low < level < high:
            raise ParameterError(
                f"level == {level!r}, must be above {low:g} and below {high:g}, the ends of the "
                "range of rewards."
            )
        return HDoCRun(context, level)

    def predicate(self, found: int, side: str) -> str:
        """Say that arms lie above the threshold."""
        del side
        number = "the middle of the range" if self.level is None else f"{self.level:g}"
        return f"{'lies' if found == 1 else 'lie'} above {number}"
