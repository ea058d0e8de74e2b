"""MaxGap: find the largest gap between neighbours (Katariya, Tripathy and Nowak, NeurIPS 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats, Indices
from oddarm.definitions.interval_gaps import certified_cuts, largest_possible_gap, possible_gaps
from oddarm.state import Kind, OrNone, Real
from oddarm.strategies.base import RunContext, Strategy
from oddarm.strategies.rounds import RoundRun

__all__ = ["MaxGap", "MaxGapTop2"]


@dataclass(frozen=True)
class MaxGap(Strategy):
    """MaxGapUCB: pull the arms whose gap may be the largest.

    In each round the arms with the largest upper bound on the gap to a neighbour are pulled. The
    run ends when one gap is certain to be at least as large as any other can be. The arms on its
    smaller side are declared, if they are no more than the capacity allows.

    Promises: the split is at the largest gap, with probability at least 1-δ (proved for
    `bound="anytime"`). ε plays no part: there is a largest gap even where none is remarkable.

    Finds: high or low outliers, if the largest gap is theirs. An outlier in between makes two gaps
    and is lost to one of the sides:

    >>> import oddarm
    >>> between = [0.02, 0.03, 0.04, 0.60, 0.96, 0.97, 0.98]
    >>> oddarm.simulate(between, "maxgap", max_outliers=1).outliers
    []

    Cost: O(n log n) per round of a few pulls.

    Examples:
        >>> high = [0.10, 0.20, 0.30, 0.40, 0.95]
        >>> oddarm.simulate(high, "maxgap", max_outliers=1).outliers
        [4]
    """

    name: ClassVar[str] = "maxgap"
    promise: ClassVar[str] = "no other gap between neighbours is larger"
    values: ClassVar[int] = 1

    def predicate(self, found: int, side: str) -> str:
        """Say that arms lie beyond the largest gap."""
        del side
        return f"{'lies' if found == 1 else 'lie'} beyond the largest gap"

    def start(self, context: RunContext) -> MaxGapRun:
        """Return a new run."""
        self.check(context)
        return MaxGapRun(context, self.values)


@dataclass(frozen=True)
class MaxGapTop2(MaxGap):
    """MaxGapTop2UCB: as MaxGap, with the arms of the two largest upper bounds in each round.

    Looking at the runner-up as well makes for fewer rounds.

    Examples:
        >>> import oddarm
        >>> oddarm.simulate([0.10, 0.20, 0.30, 0.40, 0.95], "maxgap-top2", max_outliers=1).outliers
        [4]
    """

    name: ClassVar[str] = "maxgap-top2"
    values: ClassVar[int] = 2


class MaxGapRun(RoundRun):
    """Rounds of the arms with the largest possible gaps.

    Attributes:
        split: The middle of the largest gap, once it is known.
    """

    def __init__(self, context: RunContext, values: int) -> None:
        super().__init__(context)
        self.values = values
        self.split: float | None = None

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        return {**super().fields(), "split": OrNone(Real())}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield from super().rules()
        over = self.verdict != "running"
        yield over or self.split is None, "a run that goes on has not found the split"

    def next_round(self) -> list[int]:
        """The arms that attain the largest values of the most that a gap beside them can be."""
        low, high = self.intervals.low, self.intervals.high
        bounds = np.maximum(possible_gaps(low, high), possible_gaps(-high, -low))
        least = np.unique(bounds)[-self.values :][0]
        return np.flatnonzero(bounds >= least).tolist()

    def decide(self, arm: int) -> None:
        """Stop when a certain gap is at least as large as all others can be."""
        del arm
        low, high = self.intervals.low, self.intervals.high
        cuts = certified_cuts(low, high)
        if not cuts:
            return
        leader = max(cuts, key=lambda cut: cut.gap)
        order = np.argsort(low, kind="stable")
        below, above = order[: leader.below], order[leader.below :]
        rest = max(
            largest_possible_gap(low[below], high[below]),
            largest_possible_gap(low[above], high[above]),
        )
        if leader.gap < rest:
            return
        self.split = float(high[below].max() + low[above].min()) / 2
        self.finish(self._beyond(self.split, below, above))

    def _beyond(self, split: float, below: Indices, above: Indices) -> list[int]:
        """Return the smaller side, the furthest from the split first, if it is small enough."""
        side = below if len(below) <= len(above) else above
        if len(side) > self.context.problem.max_members(self.context.n):
            return []
        distance = np.abs(self.tally.means[side] - split)
        return [int(i) for i in side[np.argsort(-distance, kind="stable")]]

    def estimate(self) -> list[int]:
        """Return the smaller side of the largest gap between sample means; none if all are tied."""
        means = self.tally.means
        order = np.argsort(means, kind="stable")
        gaps = np.diff(means[order])
        if not gaps.any():
            return []
        cut = int(np.argmax(gaps)) + 1
        self.split = float(means[order[cut - 1]] + means[order[cut]]) / 2
        return self._beyond(self.split, order[:cut], order[cut:])

    def scores(self) -> Floats:
        """Return how far each sample mean lies beyond the split, on the smaller side."""
        means = self.tally.means
        if self.split is None:
            return np.abs(means - np.median(means)) if self.ready else np.full(len(means), np.nan)
        above = means > self.split
        sign = 1.0 if above.sum() <= len(means) / 2 else -1.0
        return np.asarray(sign * (means - self.split))
