"""GOLD for many arms: intervals in place of edges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm.bounds import NormalMixture
from oddarm.cover import Cover, cover_of, interval_communities
from oddarm.errors import ParameterError
from oddarm.state import Kind, Reals, Whole
from oddarm.strategies.base import Floats, Setting
from oddarm.strategies.sweeps import SweepRun

__all__ = ["GoldIntervalRun"]

_Q = math.exp(1 / 16)


class GoldIntervalRun(SweepRun):
    """Algorithm 1 on the running intersections of the intervals ŷ ± bβ.

    Arms are neighbours while their intersections overlap. All arms in play are judged together,
    by the radius of as many pulls as the slowest has; if that grows by more than a round at once,
    the radius shrinks by a factor e^(1/16) at most from one look to the next. docs/guarantees.md
    proves the promise.

    Attributes:
        level: How many pulls every arm in play has been judged by.
        reach: The radius of so many pulls; infinite before the first look.
        low: Lower ends of the intersections; minus infinity for a terminal arm.
        high: Upper ends.
    """

    kernel: ClassVar[str | None] = "gold_intervals"

    def __init__(self, setting: Setting) -> None:
        if setting.bound != "anytime":
            raise ParameterError(
                f"bound == {setting.bound!r} with the interval form of GOLD, whose radius must "
                "depend on an arm's pulls alone: pass bound='anytime' or form='edges'."
            )
        super().__init__(setting)
        self.radius: NormalMixture
        self.level = 0
        self.reach = math.inf
        self.low: Floats = np.full(setting.n, -np.inf)
        self.high: Floats = np.full(setting.n, np.inf)
        self.cover: Cover | None = None
        self._take_stock()

    def update(self, arm: int) -> None:
        """Note that an arm has had its pull of the round; judge all arms after the last one."""
        if self._waiting[arm] and self.tally.counts[arm] >= self._goal:
            self._waiting[arm] = 0
            self._behind -= 1
            if not self._behind:
                self._judge()

    def update_many(self, arms: NDArray[np.intp]) -> None:
        """The same for many arms at once."""
        del arms
        self._take_stock()
        if not self._behind:
            self._judge()

    def adopt(self) -> None:
        """Judge by the rewards that all arms have."""
        self.update_many(np.arange(self.setting.n))

    def _take_stock(self) -> None:
        """See which arms in play have not had their pull of the round."""
        self._goal = max(self.level + 1, self.radius.warmup)
        waiting = (self.tally.counts < self._goal) & (self.stage == 0)
        self._waiting = bytearray(waiting.tobytes())
        self._behind = int(np.count_nonzero(waiting))

    def _judge(self) -> None:
        """Shrink all intervals to the radius of as many pulls as every arm in play has."""
        if self.verdict != "running":
            return
        counts, totals = self.tally.counts, self.tally.totals
        level = int(counts[self._in_play()].min())
        reach, target = self.reach, self.radius.radius(level)
        while self.verdict == "running":
            in_play = self._in_play()
            means = totals[in_play] / counts[in_play]
            if reach == math.inf:  # all arms are neighbours at first
                reach = max(float(np.ptp(means)) / (2 * self.b), target)
            reach = max(reach / _Q, target)
            self._shrink(in_play, means, self.b * reach)
            if self.cover is None or not self.cover.holds(self.low, self.high):
                self.split()
            if reach == target:
                break
        self.judged(level)

    def _in_play(self) -> slice | NDArray[np.intp]:
        return np.flatnonzero(self.stage == 0) if self.stage.any() else slice(None)

    def judged(self, level: int) -> None:
        """Take note that every arm in play has been judged by so many pulls."""
        self.level = level
        self.reach = self.radius.radius(level)
        self._take_stock()

    def _shrink(self, in_play: slice | NDArray[np.intp], means: Floats, reach: float) -> None:
        """Intersect the intervals of arms in play with ŷ ± reach; they never become empty."""
        low, high = self.low[in_play], self.high[in_play]
        below, above = means - reach, means + reach  # the only arrays that are made
        np.minimum(np.maximum(below, low, out=below), high, out=below)
        np.maximum(np.minimum(above, high, out=above), below, out=above)
        self.low[in_play], self.high[in_play] = below, above

    def split(self) -> None:
        """Find the communities anew and make the members of small ones terminal."""
        in_play = np.flatnonzero(self.stage == 0)
        found = interval_communities(self.low[in_play], self.high[in_play])
        communities = [in_play[members] for members in found]
        small = [members for members in communities if len(members) <= self.largest_group]
        if small:
            gone = np.concatenate(small)
            self.declare(gone)
            self.low[gone], self.high[gone] = -np.inf, np.inf
        large = [members for members in communities if len(members) > self.largest_group]
        self.cover = cover_of(large, self.low, self.high) if large else None

    def fields(self) -> dict[str, Kind]:
        """Return what is saved, and what each may be."""
        ends = Reals(self.setting.n, -math.inf, math.inf)
        return {**super().fields(), "level": Whole(), "low": ends, "high": ends}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield what must hold between them."""
        yield from super().rules()
        yield (self.low <= self.high).all(), "no interval has its ends crossed"
        fewest = self.tally.counts[self.stage == 0].min(initial=self.tally.pulls)
        yield self.level <= fewest, "every arm in play has the pulls that it was judged by"

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned."""
        super().restore(values)
        self.cover = None
        if self.level:
            self.reach = self.radius.radius(self.level)
        self._take_stock()
