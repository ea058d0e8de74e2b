"""The k-sigma rule that RR, WRR, NRR and IB share.

An outlier is an arm with a mean above θ = mean(y) + k·std(y). The rule cannot see outliers that are
low or in between, and one outlier far up raises the threshold for all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddarm._checks import real_number
from oddarm._typing import Flags, Floats, Indices
from oddarm.bounds import RunningIntervals, interval_bound
from oddarm.bounds.sigma import SigmaBernoulli, SigmaBounded, SigmaProved, sigma_threshold
from oddarm.errors import ParameterError
from oddarm.rewards import LARGEST, Bernoulli, SubGaussian
from oddarm.strategies.base import RunContext, Strategy
from oddarm.strategies.rounds import RoundRun

__all__ = ["SigmaRun", "SigmaStrategy"]


@dataclass(frozen=True)
class SigmaStrategy(Strategy):
    """Parameters of a strategy of the k-sigma rule.

    Args:
        k: How many standard deviations above the mean of all arms the threshold lies.
    """

    k: float = 2.0

    def __post_init__(self) -> None:
        rule = f"a finite number >= 0, at most {LARGEST:g}"
        object.__setattr__(self, "k", real_number("k", self.k, rule, lambda k: 0 <= k <= LARGEST))

    def predicate(self, found: int, side: str) -> str:
        """Say that arms lie above the threshold."""
        del side
        lie = "lies" if found == 1 else "lie"
        return f"{lie} above mean + {self.k:g} deviations of all arms"

    @property
    def promise(self) -> str:
        """The set is the promise."""
        return "no other arm does"


class SigmaRun(RoundRun):
    """A run that estimates the threshold and keeps intervals for the arms."""

    def __init__(self, context: RunContext, k: float) -> None:
        self.k = k
        super().__init__(context)

    def make_intervals(self) -> RunningIntervals:
        """Return the k-sigma paper's intervals, or the tightest proved."""
        context, model = self.context, self.context.rewards
        delta, n = context.problem.delta, context.n
        self.rule: SigmaBernoulli | SigmaBounded | SigmaProved
        if context.bound == "anytime":
            self.rule = SigmaProved(self.k, interval_bound(model, n, delta))
        elif isinstance(model, SubGaussian):
            raise ParameterError(
                "bound == 'paper' with sub-Gaussian rewards: the paper's radii are for Bernoulli "
                "and bounded rewards, pass bound='anytime'."
            )
        elif isinstance(model, Bernoulli):
            self.rule = SigmaBernoulli(self.k, delta, n)
        else:
            self.rule = SigmaBounded(self.k, delta, n, model.low, model.high)
        return RunningIntervals(self.rule, self.tally)

    @property
    def means(self) -> Floats:
        """Sample means; every arm has been pulled."""
        return np.asarray(self.tally.totals / self.tally.counts)

    @property
    def threshold(self) -> float:
        """θ̂, from the sample means."""
        return sigma_threshold(self.means, self.k)

    def active(self) -> Flags:
        """Return which arms' intervals overlap that of the threshold."""
        low, high, means = self.intervals.low, self.intervals.high, self.means
        radius = self.rule.threshold_radius(self.tally, means, low, high)
        theta = sigma_threshold(means, self.k)
        return np.asarray((low <= theta + radius) & (high >= theta - radius))

    def above(self) -> Indices:
        """Return the arms with a sample mean above θ̂, the furthest first."""
        means, theta = self.means, self.threshold
        order = np.argsort(-means, kind="stable")
        return order[means[order] > theta]

    def decided(self) -> list[int]:
        """Return the arms above the threshold once none is active, the furthest first.

        The proved intervals decide where they are proved: a sample mean may lie outside the
        intersection of its intervals.
        """
        if not self.rule.proved:
            return self.estimate()
        low, high, means = self.intervals.low, self.intervals.high, self.means
        radius = self.rule.threshold_radius(self.tally, means, low, high)
        least = sigma_threshold(means, self.k) + radius
        order = np.argsort(-means, kind="stable")
        return [int(i) for i in order if low[i] > least]

    def estimate(self) -> list[int]:
        """Return the arms with a sample mean above θ̂, the furthest first."""
        return [int(i) for i in self.above()]

    def scores(self) -> Floats:
        """Return how far each sample mean lies above θ̂."""
        if not self.ready:
            return np.full(self.context.n, np.nan)
        return np.asarray(self.means - self.threshold)
