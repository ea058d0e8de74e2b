"""What MaxGapUCB and MaxGapTop2UCB share (Katariya, Tripathy and Nowak, NeurIPS 2019).

Both pull the arms whose gap to a neighbour may be the largest. The first edition of MaxGapUCB
stopped by the rule of MaxGapTop2UCB alone, and `bound="paper"` was the radius of the GOLD paper;
searches that began with it go on with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats, Indices
from oddarm.bounds import Bound, IteratedLog
from oddarm.definitions.interval_gaps import certified_cuts, largest_possible_gap, possible_gaps
from oddarm.state import Flag, Kind, OrNone, Real
from oddarm.strategies.base import RunContext
from oddarm.strategies.rounds import RoundRun

__all__ = ["DOMINANCE", "MaxGapRun"]

DOMINANCE = 5
"""How many times the pulls of all other arms the two most pulled must have: the authors' number."""


class MaxGapRun(RoundRun):
    """Rounds of the arms with the largest possible gaps.

    Args:
        context: What the run may know.
        values: How many of the largest upper bounds are looked at in a round.
        by_counts: Whether the run also stops when two arms have most of the pulls.
        border: Whether the two arms beside the gap must be certain, too.

    Attributes:
        split: The middle of the largest gap, once it is known.
        certain: Whether the intervals show the answer, once there is one.
    """

    newest: ClassVar[int] = 2
    compiled: ClassVar[str | None] = "oddarm.strategies.maxgap.compiled"

    def __init__(
        self, context: RunContext, values: int, *, by_counts: bool = False, border: bool = False
    ) -> None:
        super().__init__(context)
        self.values, self.border = values, border
        self.may_count = by_counts
        self.split: float | None = None
        self.certain = True

    @property
    def by_counts(self) -> bool:
        """Whether the run also stops when two arms have most of the pulls."""
        return self.may_count and self.edition > 1

    def printed(self) -> Bound:
        """Return the intervals of the publication."""
        if self.edition == 1:
            return super().printed()
        rewards, delta = self.context.rewards, self.context.problem.delta
        return IteratedLog(delta, rewards.sigma, rewards.low, rewards.high)

    @property
    def proved(self) -> bool:
        """Whether the stated δ is proved for this run's answer."""
        return self.certain and super().proved

    @property
    def reason(self) -> str:
        """Why δ is proved, or why not."""
        if self.certain:
            return super().reason
        return f"it stopped when two arms had {DOMINANCE} times the pulls of all the others"

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        own: dict[str, Kind] = {"split": OrNone(Real())}
        if self.by_counts:
            own["certain"] = Flag()
        return {**super().fields(), **own}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield from super().rules()
        over = self.verdict != "running"
        yield over or self.split is None, "a run that goes on has not found the split"
        yield over or self.certain, "a run that goes on has not stopped by counts"

    def next_round(self) -> list[int]:
        """The arms that attain the largest values of the most that a gap beside them can be."""
        bounds = self._most()
        least = np.unique(bounds)[-self.values :][0]
        return np.flatnonzero(bounds >= least).tolist()

    def _most(self) -> Floats:
        """Return the most that the gap beside each arm can be, above it or below it."""
        low, high = self.intervals.low, self.intervals.high
        return np.maximum(possible_gaps(low, high), possible_gaps(-high, -low))

    def decide(self, arm: int) -> None:
        """Stop when a certain gap is at least as large as all others can be, or by counts."""
        del arm
        low, high = self.intervals.low, self.intervals.high
        cuts = certified_cuts(low, high)
        if cuts:
            leader = max(cuts, key=lambda cut: cut.gap)
            order = np.argsort(low, kind="stable")
            below, above = order[: leader.below], order[leader.below :]
            if leader.gap >= self._rival(below, above):
                self.split = float(high[below].max() + low[above].min()) / 2
                self.finish(self._beyond(self.split, below, above))
                return
        if self.by_counts and self._dominated():
            self.certain = False
            self.finish(self.estimate())

    def _rival(self, below: Indices, above: Indices) -> float:
        """Return the most that a gap can be besides the one between two sides.

        With `border`, that of any arm but two. So those two are beside the largest gap, which is
        the certain one.
        """
        if self.border:
            return float(np.sort(self._most())[-3])
        low, high = self.intervals.low, self.intervals.high
        return max(largest_possible_gap(low[side], high[side]) for side in (below, above))

    def _dominated(self) -> bool:
        """Whether the two arms beside the largest gap of the sample means have most of the pulls.

        That they lie beside it is ours: pulls that were told and not asked for then do no harm.
        """
        counts, means = self.tally.counts, self.tally.means
        order = np.argsort(means, kind="stable")
        cut = int(np.argmax(np.diff(means[order])))
        both = int(counts[order[cut : cut + 2]].sum())
        return both >= DOMINANCE * (int(counts.sum()) - both)

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
