"""The base of strategies that pull in rounds and keep an interval for each arm."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats, Indices
from oddarm.bounds import Bound, RunningIntervals, interval_bound, radius_bound
from oddarm.state import MOST, Arms, Kind, Part, Whole, Wholes, Word, mapping
from oddarm.strategies.base import Run, RunContext

__all__ = ["RoundRun"]


class RoundRun(Run):
    """Pull every arm once, then round after round what `next_round` says, until `decide` stops.

    An arm that has no rewards left is not asked for again. When all finite pools are exhausted, the
    rule is applied to the exact means.

    Attributes:
        queue: What is left to be asked of the current round.
        started: How many arms of the first round have been asked for.
        asked: How often each arm has been asked for, pulls in flight included.
        answer: The arms declared, in order.
        edition: Which edition of the algorithm the run follows: the one that it began with.
    """

    own_rule: ClassVar[bool] = True
    newest: ClassVar[int] = 1
    """The edition that new runs follow. A state that names none began with the first."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self.edition = self.newest
        self.queue: list[int] = []
        self.started = 0
        self.answer: list[int] = []
        self.asked: NDArray[np.int64] = np.zeros(context.n, dtype=np.int64)
        self.intervals = self.make_intervals()

    def make_intervals(self) -> RunningIntervals:
        """Return the intervals to keep: those of the publication, or the tightest proved."""
        paper = self.context.bound == "paper"
        return RunningIntervals(self.printed() if paper else self.proved_bound(), self.tally)

    def printed(self) -> Bound:
        """Return the intervals of the publication; those of the GOLD paper if it has none."""
        context = self.context
        return radius_bound(context.rewards, context.n, context.problem.delta, "paper")

    def proved_bound(self) -> Bound:
        """Return the tightest proved intervals."""
        context = self.context
        return interval_bound(context.rewards, context.n, context.problem.delta)

    @abstractmethod
    def next_round(self) -> list[int]:
        """Return the arms to pull in the next round, in order."""

    @abstractmethod
    def decide(self, arm: int) -> None:
        """Stop if the answer is known, after a pull of `arm`; every arm has been pulled."""

    @abstractmethod
    def estimate(self) -> list[int]:
        """Return the arms that the rule declares if the sample means are the means, in order."""

    @property
    def bound(self) -> Bound:
        """The intervals that decide."""
        return self.intervals.bound

    def interval_ends(self) -> tuple[Floats, Floats]:
        """Return the ends of the intervals that decide, of all arms."""
        return self.intervals.low.copy(), self.intervals.high.copy()

    def ask(self, limit: int | None) -> Sequence[int]:
        """Go on with the round, and with the next ones if `limit` wants more."""
        arms: list[int] = []
        while self.verdict == "running" and (limit is None or len(arms) < limit):
            if not self.queue:
                if arms and limit is None:
                    break
                self._refill(again=not arms)
                if not self.queue:
                    break
            taken = self.queue if limit is None else self.queue[: limit - len(arms)]
            self.queue = self.queue[len(taken) :]
            arms += taken
            np.add.at(self.asked, taken, 1)
        return arms

    def _refill(self, again: bool) -> None:
        """Fill the queue; repeat pulls that were asked for and not told only if `again`."""
        n = self.context.n
        if self.started < n:
            self.queue, self.started = list(range(self.started, n)), n
            return
        np.maximum(self.asked, self.tally.counts, out=self.asked)  # rewards told after a budget
        if self.ready:
            self.queue = [i for i in self.next_round() if not self.exhausted(i)]
            if not self.queue:  # the arms of the round have no rewards left
                self.queue = [i for i in range(n) if not self.exhausted(i)]
        if not self.queue and again:  # all pulls are in flight, or were lost
            left = self.tally.counts == 0
            if self.tally.limits is not None:
                left |= self.tally.counts < self.tally.limits
            self.queue = np.flatnonzero(left).tolist()
            if not self.queue:
                self._finish_if_exhausted()

    def _finish_if_exhausted(self) -> None:
        """Apply the rule to the exact means if every reward of every pool is told."""
        if self.tally.exhausted:
            self.finish(self.estimate())

    def exhausted(self, arm: int) -> bool:
        """Whether an arm has no reward left that was not asked for."""
        limits = self.tally.limits
        return limits is not None and bool(self.asked[arm] >= limits[arm])

    def update(self, arm: int) -> None:
        """Update the interval of `arm` and decide."""
        self.intervals.update(arm)
        self.asked[arm] = max(int(self.asked[arm]), int(self.tally.counts[arm]))
        self._decide(arm)

    def update_many(self, arms: Indices) -> None:
        """Update the intervals of many arms, then decide once."""
        pulled = np.flatnonzero(np.bincount(arms))
        self.intervals.update_many(pulled)
        np.maximum(self.asked, self.tally.counts, out=self.asked)
        self._decide(int(pulled[-1]))

    def _decide(self, arm: int) -> None:
        if self.verdict != "running" or not self.ready:
            return
        self.decide(arm)
        if self.verdict == "running":
            self._finish_if_exhausted()

    def adopt(self) -> None:
        """Ask once for the arms without a reward, then go on in rounds."""
        self.started = self.context.n
        self.queue = np.flatnonzero(self.tally.counts == 0).tolist()
        super().adopt()

    def declared(self, order: NDArray[np.intp]) -> list[int]:
        """Return the arms declared, in order; empty until the run is over."""
        del order
        return list(self.answer)

    def finish(self, answer: Sequence[int]) -> None:
        """End the run with these arms declared."""
        self.answer = [int(i) for i in answer]
        self.verdict = "ranked" if self.answer else "none"
        self.queue = []

    def order(self) -> Indices:
        """Declared arms first, then the rest by score, never pulled ones last, ties as given."""
        scores = self.scores()
        order = np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")
        rest = order[~np.isin(order, self.answer)]
        return np.concatenate([np.array(self.answer, dtype=np.intp), rest])

    def replaces(self, before: Run) -> None:
        """Start over on the rewards told so far, by the edition of the run before."""
        self._follow(before.edition if isinstance(before, RoundRun) else self.newest)
        super().replaces(before)

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned, and go on by the edition that it names."""
        begun = mapping(values, "run").get("edition", 1)
        self._follow(Whole(1, self.newest).decode(begun, "run.edition"))
        super().restore(values)

    def _follow(self, edition: int) -> None:
        """Follow an edition of the algorithm, from the rewards told so far."""
        if edition != self.edition:
            self.edition = edition
            self.intervals = self.make_intervals()

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        n = self.context.n
        named = {"edition": Whole(1, self.newest)} if self.edition > 1 else {}
        return {
            **named,
            "verdict": Word("running", "ranked", "none"),
            "queue": Arms(n, distinct=False),
            "started": Whole(0, n),
            "asked": Wholes(n, 0, MOST),
            "answer": Arms(n),
            "intervals": Part(self.intervals, self.intervals.fields(self.context.rewards)),
        }

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield self.verdict == "running" or self.ready, "a run that is over has pulled every arm"
        expected = ("ranked",) if self.answer else ("running", "none")
        yield self.verdict in expected, "arms are declared if the verdict is 'ranked'"
        yield from self.intervals.rules()
