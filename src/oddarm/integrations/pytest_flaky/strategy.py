"""The strategy of the plugin: which arms have a mean well above 0, each judged by itself.

The bulk of a test suite never fails: its mean is known to be 0 or near it. So nothing has to be
learned of the other arms to judge one of them, which is what makes the general rules dear here.
docs/howto/flaky-tests.md has the statement and the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import binom

from oddarm._typing import Flags, Floats, Indices
from oddarm.bounds import Bound, interval_bound
from oddarm.errors import ParameterError
from oddarm.problem import Problem
from oddarm.rewards import Bernoulli
from oddarm.strategies import Run, RunContext, Strategy

__all__ = ["FailureRates", "FailureRatesRun", "Levels", "fixed_runs"]

SHARE_OF_MISSES = 0.8
"""This share of δ is for arms above the upper line that are missed; the rest is for false alarms.
Most arms must be shown to be below the upper line, so that is where pulls are spent."""
BELOW = (0.0, 0.1, 0.3, 0.6)
"""Bets that an arm is below the upper line: on means that are these shares of it."""
BELOW_WEIGHTS = (0.7, 0.1, 0.1, 0.1)
"""How much is bet on each. With 0.4 on a mean of 0, suites without failures took a tenth more."""
ABOVE = (0.5, 1.0, 2.0, 4.0, 16.0)
"""Bets that an arm is above the lower line: on odds that are so many times those of the upper."""
EAGER_PULLS = 5
"""An arm that has failed and is not decided is pulled so often in a round: the answer about it is
what the user waits for. How often it is pulled in all hardly depends on it."""


@dataclass(frozen=True)
class Levels:
    """How much evidence decides, for `n` arms at δ.

    Attributes:
        lower: An arm with at most this mean is not an outlier.
        upper: An arm with at least this mean is an outlier.
        miss: The error probability of "this arm is below the upper line", of the first such arm.
        alarm: The error probability of "this arm is above the lower line", of each arm.
    """

    lower: float
    upper: float
    miss: float
    alarm: float

    @classmethod
    def of(cls, problem: Problem, n: int) -> Levels:
        """Return the levels of a problem with n arms."""
        assert problem.min_gap is not None
        misses = SHARE_OF_MISSES * problem.delta
        return cls(
            lower=(1 - problem.slack) * problem.min_gap,
            upper=problem.min_gap,
            miss=misses / (1 + misses),
            alarm=(1 - SHARE_OF_MISSES) * problem.delta / n,
        )


def fixed_runs(levels: Levels, outliers: int) -> int:
    """Return how often every arm must be pulled for one look to decide at the same levels.

    The look counts failures: an arm with at least so many is an outlier.

    Args:
        levels: The lines and error probabilities.
        outliers: How many arms are outliers; the fixed design is told, the search is not.
    """
    miss = levels.miss / (outliers + 1)

    def enough(runs: int) -> bool:
        count = int(binom.isf(levels.alarm, runs, levels.lower)) + 1
        return bool(binom.cdf(count - 1, runs, levels.upper) <= miss)

    most = 1
    while not enough(most):
        most *= 2
    # Whether a number is enough goes up and down by single failures: take the first one.
    return next(runs for runs in range(max(most // 2, 1), most + 1) if enough(runs))


def log_evidence(
    failures: Floats, runs: Floats, line: float, means: Floats, weights: Floats
) -> Floats:
    """Return the log of a mixture of likelihood ratios: of `means`, against a mean at the line."""
    means = means[:, None]
    with np.errstate(divide="ignore"):
        failed = np.where(failures > 0, failures * np.maximum(np.log(means / line), -1e6), 0.0)
    passed = (runs - failures) * (np.log1p(-means) - math.log1p(-line))
    return np.asarray(np.logaddexp.reduce(np.log(weights)[:, None] + failed + passed, axis=0))


class FailureRatesRun(Run):
    """A run that pulls every arm that is not decided, round after round."""

    def __init__(self, context: RunContext, shared_by: int) -> None:
        super().__init__(context)
        self.shared_by = shared_by
        self.levels = Levels.of(context.problem, shared_by)
        upper = self.levels.upper
        odds = np.array(ABOVE) * upper / (1 - upper)
        above = odds / (1 + odds)
        self._above = above[above > self.levels.lower]
        self._below = np.array(BELOW) * upper
        self.for_above: Floats = np.zeros(context.n)
        self.for_below: Floats = np.zeros(context.n)
        self.queue: list[int] = []
        self._bound = interval_bound(context.rewards, shared_by, context.problem.delta)

    @property
    def bound(self) -> Bound:
        """The intervals that are shown."""
        return self._bound

    @property
    def above(self) -> Flags:
        """Which arms are certain to be above the lower line."""
        return np.asarray(self.for_above >= -math.log(self.levels.alarm))

    @property
    def below(self) -> Flags:
        """Which arms are certain to be below the upper line, given how many are above."""
        above = self.above
        enough = math.log((int(above.sum()) + 1) / self.levels.miss)
        return np.asarray(~above & (self.for_below >= enough))

    def ask(self, limit: int | None) -> Sequence[int]:
        """Go on with the round."""
        if self.verdict != "running":
            return []
        if not self.queue:
            open_arms = np.flatnonzero(~(self.above | self.below))
            failed = self.tally.totals[open_arms] > 0
            self.queue = np.repeat(open_arms, np.where(failed, EAGER_PULLS, 1)).tolist()
        asked = self.queue[:limit]
        self.queue = self.queue[len(asked) :]
        return asked

    def update(self, arm: int) -> None:
        """Weigh the evidence of an arm anew, and stop if every arm is decided."""
        self.update_many(np.array([arm], dtype=np.intp))

    def update_many(self, arms: Indices) -> None:
        """Weigh the evidence of arms anew: it is a function of the tally."""
        failures, runs = self.tally.totals[arms], self.tally.counts[arms].astype(np.float64)
        equal = np.full(len(self._above), 1 / len(self._above))
        lower, upper = self.levels.lower, self.levels.upper
        weights = np.array(BELOW_WEIGHTS)
        self.for_above[arms] = log_evidence(failures, runs, lower, self._above, equal)
        self.for_below[arms] = log_evidence(failures, runs, upper, self._below, weights)
        if self.verdict == "running" and (self.above | self.below).all():
            self.verdict = "confirmed" if self.above.any() else "none"

    def interval_ends(self) -> tuple[Floats, Floats]:
        """Return the intervals, cut where an arm is decided."""
        low, high = self._bound.interval(self.tally)
        low = np.where(self.above, np.maximum(low, self.levels.lower), low)
        high = np.where(self.below, np.minimum(high, self.levels.upper), high)
        return low, np.maximum(low, high)

    def odds(self) -> Floats:
        """Return the odds of what is decided or guessed of each arm, at least 1.

        At odds of 1/δ all arms are decided at δ.
        """
        above = self._guessed()
        count = int(above.sum()) + 1
        share = 1 - SHARE_OF_MISSES
        with np.errstate(over="ignore"):
            odds = np.where(
                above,
                np.exp(np.minimum(self.for_above, 700)) * share / self.shared_by,
                (np.exp(np.minimum(self.for_below, 700)) / count - 1) * SHARE_OF_MISSES,
            )
        return np.maximum(odds, 1.0)

    def _guessed(self) -> Flags:
        """Return which arms are above, or look more like it."""
        means = np.nan_to_num(self.tally.means)
        middle = math.sqrt(self.levels.lower * self.levels.upper)
        return np.asarray(self.above | (~self.below & (means > middle)))

    def order(self) -> Indices:
        """Return the arms that are above first, each by its mean."""
        means = np.nan_to_num(self.tally.means)
        return np.lexsort((np.arange(self.context.n), -means, ~self._guessed()))

    def declared(self, order: Indices) -> list[int]:
        """Return the arms that are certain to be above the lower line."""
        above = self.above
        return [i for i in order.tolist() if above[i]]

    def guess(self, order: Indices) -> list[int]:
        """Return the arms that are above, or look like it."""
        guessed = self._guessed()
        return [i for i in order.tolist() if guessed[i]]

    def scores(self) -> Floats:
        """Return the share of failures."""
        return self.tally.means

    def evidence(self) -> float:
        """Return the odds for the whole answer: those of its weakest part."""
        return float(self.odds().min())

    def forecast(self) -> int:
        """Return how many further pulls decide, if the shares of failures stay as they are."""
        above, decided = self._guessed(), self.above | self.below
        mean = np.clip(np.nan_to_num(self.tally.means), 1e-9, 1 - 1e-9)
        line = np.where(above, self.levels.lower, self.levels.upper)
        gain = mean * np.log(mean / line) + (1 - mean) * np.log((1 - mean) / (1 - line))
        wanted = np.where(
            above, -math.log(self.levels.alarm), math.log((above.sum() + 1) / self.levels.miss)
        )
        missing = np.maximum(wanted - np.where(above, self.for_above, self.for_below), 0.0)
        return math.ceil(float(np.where(decided, 0.0, missing / np.maximum(gain, 1e-4)).sum()))


@dataclass(frozen=True)
class FailureRates(Strategy):
    """Find the arms with a mean of at least `min_gap`, where a sound arm has a mean near 0.

    Promises: with probability at least 1-δ every arm with a mean of at least `min_gap` is found,
    and no arm with a mean of at most (1 - slack)·`min_gap` is called an outlier. It supposes that
    the rewards of different arms do not depend on each other. It needs no `max_outliers`.

    Args:
        shared_by: Among how many arms the probability of a false alarm is shared, if some were left
            out after rewards of theirs were seen; default the arms of the search.

    Examples:
        >>> import oddarm
        >>> rates = [0.0] * 30 + [0.12, 0.2]
        >>> result = oddarm.simulate(rates, FailureRates(), min_gap=0.05, slack=0.8)
        >>> result.verdict, sorted(result.outliers), result.pulls < 3_500
        ('confirmed', [30, 31], True)
    """

    name: ClassVar[str] = "failure-rates"
    confirms: ClassVar[bool] = True
    finite: ClassVar[bool] = False
    shared_by: int | None = None

    def start(self, context: RunContext) -> FailureRatesRun:
        """Return a new run."""
        self.check(context)
        if not isinstance(context.rewards, Bernoulli) or context.rewards.pools is not None:
            raise ParameterError(
                f"rewards with strategy {self.name!r} must be 0 or 1: pass rewards='bernoulli'."
            )
        return FailureRatesRun(context, self.shared_by or context.n)

    def check_rule(self, problem: Problem) -> None:
        """Refuse anything but `min_gap` alone, with a slack."""
        if not problem.absolute or problem.slack < 0.5:
            raise ParameterError(
                f"strategy {self.name!r} needs min_gap alone and a slack of at least 0.5."
            )
