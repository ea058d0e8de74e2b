"""Intervals of all arms, kept up to date as rewards come in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oddarm._typing import Floats, Indices
from oddarm.bounds.base import Bound, RadiusBound
from oddarm.rewards import Rewards
from oddarm.state import Kind, Reals
from oddarm.tally import Tally

__all__ = ["RunningIntervals"]


class RunningIntervals:
    """The interval of each arm: over all times so far if it is proved, else the present one.

    A proved interval holds at all times at once, so the running intersection holds too, and only
    that of the pulled arm changes. The paper's radii grow with the pulls of other arms; they are
    computed anew for all arms.

    Attributes:
        low: Lower ends.
        high: Upper ends.
    """

    def __init__(self, bound: Bound | RadiusBound, tally: Tally) -> None:
        self.bound = bound
        self.tally = tally
        self.low, self.high = bound.interval(tally)

    def update(self, arm: int) -> None:
        """Take note that the tally of `arm` has grown."""
        self.update_many(np.array([arm]))

    def update_many(self, arms: Indices) -> None:
        """Take note that the tallies of `arms` have grown."""
        if self.bound.proved:
            self.bound.narrow_many(self.tally, arms, self.low, self.high)
        else:
            self.low, self.high = self.bound.interval(self.tally)

    @property
    def widths(self) -> Floats:
        """High minus low."""
        return np.asarray(self.high - self.low)

    def fields(self, rewards: Rewards) -> dict[str, Kind]:
        """Return the saved attributes and their kinds; ends as printed may leave the range."""
        proved = self.bound.proved
        low, high = (rewards.low, rewards.high) if proved else (-np.inf, np.inf)
        n = len(self.low)
        return {"low": Reals(n, low, high), "high": Reals(n, low, high)}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield (self.low <= self.high).all(), "no interval has its ends crossed"
        pulled = self.tally.counts > 0
        widths = self.high[pulled] - self.low[pulled]
        yield np.isfinite(widths).all(), "the interval of every arm that was pulled is finite"
