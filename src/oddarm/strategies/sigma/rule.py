"""The k-sigma rule that RR, WRR, NRR and IB share.

An outlier is an arm with a mean above θ = mean(y) + k·std(y). The rule cannot see outliers that are
low or in between, and one outlier far up raises the threshold for all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oddarm._checks import real_number
from oddarm._typing import Flags
from oddarm.bounds import RunningIntervals, interval_bound
from oddarm.bounds.sigma import SigmaBernoulli, SigmaBounded, SigmaProved, sigma_threshold
from oddarm.errors import ParameterError
from oddarm.rewards import LARGEST, Bernoulli, SubGaussian
from oddarm.strategies.threshold import ThresholdRun, ThresholdStrategy

__all__ = ["SigmaRun", "SigmaStrategy"]


@dataclass(frozen=True)
class SigmaStrategy(ThresholdStrategy):
    """Parameters of a strategy of the k-sigma rule.

    Args:
        k: How many standard deviations above the mean of all arms the threshold lies.
    """

    words: ClassVar[str] = "mean + {:g} deviations of all arms"

    def __post_init__(self) -> None:
        rule = f"a finite number >= 0, at most {LARGEST:g}"
        object.__setattr__(self, "k", real_number("k", self.k, rule, lambda k: 0 <= k <= LARGEST))


class SigmaRun(ThresholdRun):
    """A run that estimates the threshold and keeps intervals for the arms."""

    def make_intervals(self) -> RunningIntervals:
        """Return the k-sigma paper's intervals, or the tightest proved."""
        context, model = self.context, self.context.rewards
        delta, n = context.problem.delta, context.n
        self.rule: SigmaBernoulli | SigmaBounded | SigmaProved
        if context.bound == "anytime":
            self.rule = SigmaProved(self.k)
            return RunningIntervals(interval_bound(model, n, delta), self.tally)
        if isinstance(model, SubGaussian):
            raise ParameterError(
                "bound == 'paper' with sub-Gaussian rewards: the paper's radii are for Bernoulli "
                "and bounded rewards, pass bound='anytime'."
            )
        if isinstance(model, Bernoulli):
            self.rule = SigmaBernoulli(self.k, delta, n)
        else:
            self.rule = SigmaBounded(self.k, delta, n, model.low, model.high)
        return RunningIntervals(self.rule, self.tally)

    @property
    def threshold(self) -> float:
        """θ̂, from the sample means."""
        return sigma_threshold(self.tally.means, self.k)

    def next_round(self) -> list[int]:
        """Every arm once."""
        return list(range(self.context.n))

    def decide(self, arm: int) -> None:
        """Stop when no arm is active."""
        del arm
        if not self.active().any():
            self.finish(self.decided())

    def active(self) -> Flags:
        """Return which arms' intervals overlap that of the threshold."""
        theta, radius = self.threshold, self.threshold_radius()
        return self.overlapping(theta - radius, theta + radius)

    def decided(self) -> list[int]:
        """Return the arms above the threshold once none is active, the furthest first.

        The proved intervals decide where they are proved: a sample mean may lie outside the
        intersection of its intervals.
        """
        if not self.bound.proved:
            return self.estimate()
        return self.ranked(self.intervals.low > self.threshold + self.threshold_radius())

    def threshold_radius(self) -> float:
        """Return the radius of the threshold."""
        low, high = self.intervals.low, self.intervals.high
        return self.rule.threshold_radius(self.tally, self.tally.means, low, high)
