"""Odd: the one arm that is unlike all others, which are equal (Prabhu and others, 2022).

G. R. Prabhu, S. Bhashyam, A. Gopalan and R. Sundaresan, "Sequential multi-hypothesis testing in
multi-armed bandit problems: an approach for asymptotic optimality", IEEE Transactions on
Information Theory 68, 2022; after N. K. Vaidhiyan and R. Sundaresan, "Learning to detect an oddball
target", 2018. We had their abstracts and the modified likelihood ratio that they describe. The
priors, and that pulls follow the best shares without chance, are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats, Indices
from oddarm.bounds import Bound
from oddarm.errors import ParameterError
from oddarm.rewards import SubGaussian
from oddarm.strategies.base import Run, RunContext, Strategy
from oddarm.strategies.rounds import RoundRun

__all__ = ["Odd"]

SHARES = np.linspace(0.02, 0.98, 97)
"""The shares of the odd arm among all pulls that are compared."""


class OddRun(RoundRun):
    """Pulls in the best shares for the arm that is odd by the rewards so far."""

    reason: ClassVar[str] = (
        "Ville's inequality for the pooled likelihood ratio, if one arm is odd and all others equal"
    )
    proved: ClassVar[bool] = True

    def printed(self) -> Bound:
        """Return the proved intervals, which are shown only: the likelihood ratio decides."""
        return self.proved_bound()

    def _sums(self) -> tuple[Floats, Floats]:
        """Return the sum of the rewards of each arm, from 0 to 1 if they have a range, and pulls.

        The sums of others may have a few digits less than a range of its own would need.
        """
        rewards, counts = self.context.rewards, self.tally.counts.astype(np.float64)
        if isinstance(rewards, SubGaussian):
            return self.tally.totals / rewards.sigma, counts
        span = rewards.high - rewards.low
        return np.clip((self.tally.totals - rewards.low * counts) / span, 0.0, counts), counts

    def _likelihoods(self) -> tuple[Floats, Floats]:
        """Return, for each arm as the odd one, log likelihoods: averaged, and at their largest.

        The average is over means: of the odd arm and of all others together.
        """
        sums, counts = self._sums()
        rest, others = sums.sum() - sums, counts.sum() - counts
        if isinstance(self.context.rewards, SubGaussian):
            # Normal densities without their common factor, σ = 1; the prior of a mean is as wide
            # as a hundred deviations, around 0.
            width = 100.0**2
            averaged = _normal_average(sums, counts, width) + _normal_average(rest, others, width)
            return averaged, (sums**2 / counts + rest**2 / others) / 2
        averaged = _beta_average(sums, counts) + _beta_average(rest, others)
        return averaged, _largest(sums, counts) + _largest(rest, others)

    def scores(self) -> Floats:
        """Return by how much the log likelihood of each arm as the odd one exceeds all others."""
        if not self.ready:
            return np.full(self.context.n, np.nan)
        averaged, largest = self._likelihoods()
        top = int(np.argmax(largest))
        rival = np.full(len(largest), largest[top])
        rival[top] = np.delete(largest, top).max()
        return np.asarray(averaged - rival)

    def decide(self, arm: int) -> None:
        """Stop when one arm is more likely the odd one than any other, by (n-1)/δ to 1."""
        del arm
        scores = self.scores()
        leader = int(np.argmax(scores))
        if scores[leader] >= math.log((self.context.n - 1) / self.context.problem.delta):
            self.finish([leader])

    def estimate(self) -> list[int]:
        """Return the arm that is most likely the odd one."""
        return [int(np.argmax(self._likelihoods()[1]))]

    def guess(self, order: Indices) -> list[int]:
        """Return the arm that is most likely the odd one, as long as there is no answer."""
        return [int(order[0])] if self.ready else []

    def evidence(self) -> float | None:
        """Return the odds for the leading arm: an e-value, since n-1 others might be odd."""
        if not self.ready:
            return 1.0
        log_odds = float(np.max(self.scores())) - math.log(self.context.n - 1)
        return math.exp(min(max(log_odds, 0.0), 690.0))

    def next_round(self) -> list[int]:
        """The arm that is most behind its share; now and then the one with the fewest pulls."""
        n, asked = self.context.n, self.asked.astype(np.float64)
        total = float(asked.sum())
        if asked.min() < math.sqrt(total / n) - n / 2:  # so that no arm stays unknown
            return [int(np.argmin(asked))]
        odd = self.estimate()[0]
        share = self._share(odd)
        shares = np.full(n, (1 - share) / (n - 1))
        shares[odd] = share
        return [int(np.argmax(shares * (total + 1) - asked))]

    def _share(self, odd: int) -> float:
        """Return the share of pulls of the odd arm that tells it soonest from any other.

        If another arm were the odd one, this one and the n-2 left would have a mean in common.
        """
        sums, counts = self._sums()
        n = self.context.n
        pooled = (sums.sum() - sums[odd]) / (counts.sum() - counts[odd])
        rest = (1 - SHARES) * (n - 2) / (n - 1)
        common = (SHARES * sums[odd] / counts[odd] + rest * pooled) / (SHARES + rest)
        information = SHARES * self._divergence(sums[odd] / counts[odd], common)
        information += rest * self._divergence(pooled, common)
        return float(SHARES[np.argmax(information)])

    def _divergence(self, mean: float, other: Floats) -> Floats:
        """Return the information of one pull against another mean."""
        if isinstance(self.context.rewards, SubGaussian):
            return np.asarray((mean - other) ** 2 / 2)
        from scipy.special import xlogy

        entropy = xlogy(mean, mean) + xlogy(1 - mean, 1 - mean)
        return np.asarray(entropy - xlogy(mean, other) - xlogy(1 - mean, 1 - other))


def _beta_average(sums: Floats, counts: Floats) -> Floats:
    """Return the log of the mean of p^s (1-p)^(m-s) over p from 0 to 1."""
    from scipy.special import betaln

    return np.asarray(betaln(sums + 1, counts - sums + 1))


def _largest(sums: Floats, counts: Floats) -> Floats:
    """Return the log of the largest p^s (1-p)^(m-s)."""
    from scipy.special import xlogy

    p = sums / counts
    return np.asarray(xlogy(sums, p) + xlogy(counts - sums, 1 - p))


def _normal_average(sums: Floats, counts: Floats, width: float) -> Floats:
    """Return the log of the mean of exp(μs - mμ²/2) over μ normal with this variance."""
    spread = 1 + counts * width
    return np.asarray(sums**2 * width / (2 * spread) - np.log(spread) / 2)


@dataclass(frozen=True)
class Odd(Strategy):
    """Find the one arm that is unlike the others, which are all equal.

    All arms but one are pooled. An arm is called odd once the likelihood that it is, averaged over
    the two means, is (n-1)/δ times the largest likelihood that another one is. Pulls follow the
    shares that tell the leading arm soonest from the others: few or many of the odd one, and the
    others equally often.

    Promises: if exactly one arm has another mean than all others, which have one in common, then
    that arm is declared, with probability at least 1-δ. Under the truth "j is odd", the averaged
    likelihood for another arm over the likelihood of the truth is a martingale with mean 1 (a
    supermartingale for bounded and sub-Gaussian rewards); by Ville's inequality it ever exceeds
    (n-1)/δ with probability at most δ/(n-1), and there are n-1 others. The averages are over all
    means from 0 to 1, or normal around 0. **Nothing is promised if the others differ**: then the
    arm is declared that alone explains most of the differences. It always finds one.

    Finds: one arm, above or below the others. ε and `max_outliers` play no part.

    Cost: O(n) per pull. On equal others it needs far fewer pulls than any rule about gaps, because
    it knows that they are equal.

    Examples:
        >>> import oddarm
        >>> equal = [0.3, 0.3, 0.3, 0.3, 0.7, 0.3, 0.3, 0.3]
        >>> odd = oddarm.simulate(equal, "odd", max_outliers=1)
        >>> adaptive = oddarm.simulate(equal, "adaptive", min_gap=0.3, max_outliers=1)
        >>> odd.outliers == adaptive.outliers == [4], odd.pulls < adaptive.pulls / 3
        (True, True)
    """

    name: ClassVar[str] = "odd"
    finite: ClassVar[bool] = False
    promise: ClassVar[str] = "it is the one that differs, if all others are equal"

    def start(self, context: RunContext) -> Run:
        """Return a new run."""
        self.check(context)
        if context.rewards.pools is not None:
            raise ParameterError(
                "finite pools with strategy 'odd', whose proof is for independent rewards: pass "
                "rows='sample', or strategy='adaptive'."
            )
        return OddRun(context)

    def predicate(self, found: int, side: str) -> str:
        """Say that the arm is the odd one."""
        del found, side
        return "is unlike the others"
