"""GOLD for many arms: intervals in place of edges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats
from oddarm.bounds import NormalMixture
from oddarm.errors import ParameterError
from oddarm.state import Kind, Reals, Whole
from oddarm.strategies.base import RunContext
from oddarm.strategies.gold.sweep import SweepRun

if TYPE_CHECKING:
    from oddarm.strategies.gold.compiled_intervals import Chains

__all__ = ["GoldIntervalRun", "interval_communities"]

_Q = math.exp(1 / 16)


class GoldIntervalRun(SweepRun):
    """Algorithm 1 on the running intersections of the intervals ŷ ± bβ.

    Two arms are neighbours while their intersections overlap. All arms in play are judged together
    when each has been pulled again, by the radius of as many pulls as the slowest has. If that is
    several pulls more than before, the radius shrinks in steps, each by a factor e^(1/16) at most.
    docs/guarantees.md proves the promise.

    Attributes:
        level: How many pulls every arm in play has been judged by; 0 if none yet.
        low: Lower ends of the intersections; those of a terminal arm no longer matter.
        high: Upper ends.
        chains: What the compiled loop needs to see that no community has split; None if not made.
    """

    compiled: ClassVar[str | None] = "oddarm.strategies.gold.compiled_intervals"

    def __init__(self, context: RunContext) -> None:
        if context.bound != "anytime":
            raise ParameterError(
                f"bound == {context.bound!r} with the interval form of GOLD, whose radius must "
                "depend on an arm's pulls alone: pass bound='anytime' or form='edges'."
            )
        super().__init__(context)
        self.radius: NormalMixture
        self.level = 0
        self.low: Floats = np.full(context.n, -np.inf)
        self.high: Floats = np.full(context.n, np.inf)
        self.chains: Chains | None = None
        self._last = context.n - 1  # while this arm is in play and waits, so does the sweep

    def update(self, arm: int) -> None:
        """Lines 15 to 19, if the pull of `arm` was the last of the sweep."""
        del arm
        if self.stage[self._last] or self.tally.counts[self._last] > self.level:
            self._judge()

    def update_many(self, arms: NDArray[np.intp]) -> None:
        """Do the same for many arms at once."""
        del arms
        self._judge()

    def adopt(self) -> None:
        """Judge by the rewards that all arms have."""
        self._judge()

    def _judge(self) -> None:
        """Lines 16 to 19, with the radius of as many pulls as every arm in play has."""
        if self.verdict != "running":
            return
        in_play = self.in_play
        counts = self.tally.counts[in_play]
        level = int(counts.min())
        if level < max(self.level + 1, self.radius.warmup):
            self._last = int(in_play[np.flatnonzero(counts == level)[-1]])
            return
        target = self.radius.radius(level)
        if self.level:
            beta = self.radius.radius(self.level)
        else:  # so large that all arms are neighbours
            beta = max(float(np.ptp(self.tally.means)) / (2 * self.b), target)
        while self.level < level and self.verdict == "running":
            beta = max(beta / _Q, target)
            self._shrink(self.b * beta)
            if self.low.max() > self.high.min():  # else all have a point in common
                self.split()
            if beta == target:
                self.level = level

    def _shrink(self, reach: float) -> None:
        """Intersect all intervals with ŷ ± reach; they never become empty."""
        means, low, high = self.tally.means, self.low, self.high
        np.minimum(np.maximum(low, means - reach, out=low), high, out=low)
        np.maximum(np.minimum(high, means + reach, out=high), low, out=high)

    def split(self) -> list[NDArray[np.intp]]:
        """Lines 18 and 19: find the communities, and make the members of small ones terminal.

        Returns:
            The communities that the arms in play were in, each by ascending lower ends.
        """
        in_play = self.in_play
        parts = interval_communities(self.low[in_play], self.high[in_play])
        communities = [in_play[members] for members in parts]
        self.update_terminal(communities)
        return communities

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        ends = Reals(self.context.n, -math.inf, math.inf)
        return {**super().fields(), "level": Whole(), "low": ends, "high": ends}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield from super().rules()
        yield (self.low <= self.high).all(), "no interval has its ends crossed"
        fewest = self.tally.counts[self.stage == 0].min(initial=self.tally.pulls)
        yield self.level <= fewest, "every arm in play has the pulls that it was judged by"


def interval_communities(low: Floats, high: Floats) -> list[NDArray[np.intp]]:
    """Return the communities of intervals, each by ascending lower ends.

    Two intervals are in one community if a chain of overlapping intervals joins them.

    Examples:
        >>> import numpy as np
        >>> low, high = np.array([5.0, 0.0, 1.0]), np.array([6.0, 1.5, 4.0])
        >>> [community.tolist() for community in interval_communities(low, high)]
        [[1, 2], [0]]
    """
    order = np.argsort(low, kind="stable")
    reach = np.maximum.accumulate(high[order])
    return np.split(order, np.flatnonzero(low[order][1:] > reach[:-1]) + 1)
