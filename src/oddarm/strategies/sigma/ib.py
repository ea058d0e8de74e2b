"""IB: iterative best-arm identification, a baseline of Zhuang, Wang and Wang (NIPS 2017)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Flags, Floats
from oddarm.state import Arms, Kind
from oddarm.strategies.base import RunContext
from oddarm.strategies.sigma.rule import SigmaRun, SigmaStrategy

__all__ = ["IB"]


class IBRun(SigmaRun):
    """CLUCB on the arms that are left.

    Attributes:
        taken: The best arms found so far, in order; those above the threshold are declared.
    """

    proved: ClassVar[bool] = False
    reason: ClassVar[str] = "the threshold that ends the search is estimated from the data at hand"

    def __init__(self, context: RunContext, k: float) -> None:
        super().__init__(context, k)
        self.taken: list[int] = []

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        return {**super().fields(), "taken": Arms(self.context.n)}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield from super().rules()
        if self.verdict == "running":
            yield len(self.taken) < self.context.n, "a run that goes on has an arm left"
        else:
            yield self.answer == self.taken, "the arms declared are those taken away"

    def next_round(self) -> list[int]:
        """Of the best arm and its strongest rival, the one with the wider interval."""
        best, rival = self._contest()
        _, _, width = self._ends()
        return [best if width[best] >= width[rival] else rival]

    def decide(self, arm: int) -> None:
        """Take the best arm away once it is clear; stop when it is not above the threshold."""
        del arm
        while True:
            best, rival = self._contest()
            low, high, _ = self._ends()
            if best != rival and low[best] < high[rival]:
                return
            if self.tally.means[best] <= self.threshold:
                break
            self.taken.append(best)
            if len(self.taken) == self.context.n:
                break
        self.finish(self.taken)

    def _contest(self) -> tuple[int, int]:
        """Return the best arm left and its rival, which is itself if it is alone."""
        _, high, _ = self._ends()
        left = np.ones(self.context.n, dtype=bool)
        left[self.taken] = False
        best = _largest(self.tally.means, left)
        left[best] = False
        rival = _largest(high, left) if left.any() else best
        return best, rival

    def _ends(self) -> tuple[Floats, Floats, Floats]:
        """Return lower ends, upper ends and widths."""
        context = self.context
        if context.bound == "anytime":
            return self.intervals.low, self.intervals.high, self.intervals.widths
        t = float(self.tally.pulls)
        level = 2 * math.log(4 * context.n * t**3 / context.problem.delta)
        span = context.rewards.high - context.rewards.low
        radius = span * np.sqrt(level / self.tally.counts)
        return self.tally.means - radius, self.tally.means + radius, 2 * radius


def _largest(values: Floats, among: Flags) -> int:
    """Return the first arm with the largest value among some."""
    return int(np.argmax(np.where(among, values, -np.inf)))


@dataclass(frozen=True)
class IB(SigmaStrategy):
    """Find the best arm of those left, take it away, and go on while it is above the threshold.

    The best arm is found by CLUCB (Chen, Lin, King, Lyu and Chen, NIPS 2014): of the arm with the
    best sample mean and the one among the rest with the largest upper end, the one with the wider
    interval is pulled, until the best one's lower end is above the rest's upper ends.

    Promises: nothing. Each best arm is right with probability 1-δ, but the threshold that ends the
    search is a mere estimate.

    Finds: high outliers only, under the k-sigma rule.

    Cost: O(n) per pull; many pulls where the best two are close.

    Examples:
        >>> import oddarm
        >>> high = [0.10, 0.15, 0.20, 0.25, 0.30, 0.70, 0.95]
        >>> oddarm.simulate(high, oddarm.strategies.IB(k=1), max_outliers=2).outliers
        [6, 5]
    """

    name: ClassVar[str] = "ib"
    run: ClassVar = IBRun
    promise: ClassVar[str] = "each was the best of those left; the threshold is an estimate"
