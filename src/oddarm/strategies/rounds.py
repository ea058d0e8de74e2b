"""What strategies share that pull in rounds and keep an interval for each arm."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm.bounds import Bound, RunningIntervals, interval_bound, radius_bound
from oddarm.strategies.base import Floats, Run, Setting

__all__ = ["RoundRun", "setting_bound"]


def setting_bound(setting: Setting) -> Bound:
    """Return the intervals of a setting: as printed in the GOLD paper, or the tightest proved."""
    if setting.bound == "paper":
        return radius_bound(setting.rewards, setting.n, setting.problem.delta, "paper")
    return interval_bound(setting.rewards, setting.n, setting.problem.delta)


class RoundRun(Run):
    """Pull every arm once, then round after round what `next_round` says, until `decide` stops.

    An arm whose finite pool is exhausted is known exactly and not asked for again.

    Attributes:
        queue: What is left to be asked of the current round.
        started: How many arms of the first round have been asked for.
        answer: The arms declared, in order.
    """

    state: ClassVar[tuple[str, ...]] = ("queue", "started", "answer")

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.queue: list[int] = []
        self.started = 0
        self.answer: list[int] = []
        self.intervals = self.make_intervals()

    def make_intervals(self) -> RunningIntervals:
        """Return the intervals to keep."""
        return RunningIntervals(setting_bound(self.setting), self.tally)

    @abstractmethod
    def next_round(self) -> list[int]:
        """Return the arms to pull in the next round, in order."""

    @abstractmethod
    def decide(self, arm: int) -> None:
        """Stop if the answer is known, after a pull of `arm`; every arm has been pulled."""

    @property
    def bound(self) -> Bound:
        """The intervals that decide."""
        return self.intervals.bound

    def ask(self, limit: int | None) -> Sequence[int]:
        """Go on with the round, and with the next ones if `limit` wants more."""
        arms: list[int] = []
        while self.verdict == "running" and (limit is None or len(arms) < limit):
            if not self.queue:
                if arms and limit is None:
                    break
                self._refill()
                if not self.queue:
                    break
            wanted = len(self.queue) if limit is None else limit - len(arms)
            arms += self.queue[:wanted]
            del self.queue[:wanted]
        return arms

    def _refill(self) -> None:
        n = self.setting.n
        if self.started < n:
            self.queue, self.started = list(range(self.started, n)), n
        elif self.ready:
            self.queue = [i for i in self.next_round() if not self._exhausted(i)]
        if (
            not self.queue and self.ready
        ):  # nothing undecided has rewards left, or all are waited for
            self.queue = [i for i in range(n) if not self._exhausted(i)]
        elif not self.queue:  # a first reward is still on its way
            self.queue = np.flatnonzero(self.tally.counts == 0).tolist()

    def _exhausted(self, arm: int) -> bool:
        pools = self.tally.pools
        return pools is not None and bool(self.tally.counts[arm] >= pools[arm])

    def update(self, arm: int) -> None:
        """Update the interval of `arm` and decide."""
        self.intervals.update(arm)
        if self.verdict == "running" and self.ready:
            self.decide(arm)

    def declared(self) -> list[int]:
        """Return the arms declared, in order; empty until the run is over."""
        return list(self.answer)

    def finish(self, answer: Sequence[int]) -> None:
        """End the run with these arms declared."""
        self.answer = [int(i) for i in answer]
        self.verdict = "ranked" if self.answer else "none"
        self.queue = []

    def by_score(self) -> NDArray[np.intp]:
        """Return all arms by descending score, never pulled ones last, ties as given."""
        scores = self.scores()
        return np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")

    def order(self) -> NDArray[np.intp]:
        """Declared arms first, then the rest by score."""
        order = self.by_score()
        if not self.answer:
            return order
        rest = order[~np.isin(order, self.answer)]
        return np.concatenate([np.array(self.answer, dtype=np.intp), rest])

    @abstractmethod
    def scores(self) -> Floats:
        """Return how far each arm lies beyond the rule's threshold."""

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run as JSON values."""
        return {**super().to_dict(), "intervals": self.intervals.to_dict()}

    def restore(self, values: dict[str, Any]) -> None:
        """Take over the state that `to_dict` returned."""
        super().restore(values)
        self.intervals.restore(values["intervals"])
