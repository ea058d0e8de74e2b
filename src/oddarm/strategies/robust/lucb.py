"""ROAI-LUCB: robust outlier arms by confidence bounds (Zhu, Katariya and Nowak, ICML 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from oddarm._streams import streams, uniforms
from oddarm._typing import Flags, Floats
from oddarm.strategies.robust.rule import RobustRun, RobustStrategy

__all__ = ["ROAILUCB"]

CHOICE = 1
"""What sets the stream of the choices apart from those of simulated rewards."""


class ROAILUCBRun(RobustRun):
    """One arm at a time, or in the first edition one or two."""

    def next_round(self) -> list[int]:
        """One of the arms that are named, by the number of pulls asked for so far."""
        if self.edition == 1:
            return self._first_edition()
        named = self._named()
        share = float(uniforms(*self.stream, int(self.asked.sum()), 1)[0])
        return [named[int(share * len(named))]]

    @cached_property
    def stream(self) -> tuple[np.uint64, np.uint64]:
        """The random numbers that choose among the arms that are named."""
        starts, increments = streams((self.context.seed, CHOICE), 1)
        return starts[0], increments[0]

    def _named(self) -> list[int]:
        """Return the arms beside five borders that matter, some more than once; all if none does.

        The borders are the threshold, and those before and behind the middle of the sample means
        and of the distances from the median. Beside each are the arm below it with the largest
        upper end and the arm above it with the least lower end.
        """
        ends = self.ends()
        low, high, means = self.intervals.low, self.intervals.high, self.tally.means
        at_threshold, at_median = self.overlapping(*ends.theta), self.overlapping(*ends.median)
        at_mad = self.overlap_mad(ends)
        named = _pair(means < sum(ends.theta) / 2, low, high, at_threshold)
        for below in _halves(means):
            named += _pair(below, low, high, at_median)
        for below in _halves((ends.closest + ends.far) / 2):
            named += _pair(below, ends.closest, ends.far, at_mad)
        return named or np.flatnonzero(at_threshold | at_median | at_mad).tolist()

    def _first_edition(self) -> list[int]:
        """The arms on whose intervals the answer depends, in searches that began long ago."""
        ends = self.ends()
        counts = self.tally.counts
        low, high, widths = self.intervals.low, self.intervals.high, self.intervals.widths
        undecided = self.overlapping(*ends.theta)
        above = self.tally.means > self.threshold
        median, mad = self.overlapping(*ends.median), self.overlap_mad(ends)
        # A pull narrows an interval by about width/(2m); the threshold's depends on many arms.
        # With an even number of arms, the median may lie between two that are known exactly.
        gain = (ends.theta[1] - ends.theta[0]) / max(counts[median | mad].sum(), 1)
        critical = [
            _first_largest(-low, undecided & above),
            _first_largest(high, undecided & ~above),
        ]
        chosen = {i for i in critical if i is not None and widths[i] / counts[i] >= gain}
        if not chosen:
            widest = [_first_largest(widths, median), _first_largest(widths, mad)]
            chosen = {i for i in widest if i is not None}
        return sorted(chosen)


def _halves(values: Floats) -> list[Flags]:
    """Return which arms come before the one or two in the middle, and which not behind them."""
    n = len(values)
    places = np.empty(n, dtype=np.intp)
    places[np.argsort(values, kind="stable")] = np.arange(n)
    return [places < (n - 1) // 2, places < n // 2 + 1]


def _pair(below: Flags, low: Floats, high: Floats, matter: Flags) -> list[int]:
    """Return the arms beside a border that matter."""
    pair = _first_largest(high, below), _first_largest(-low, ~below)
    return [i for i in pair if i is not None and matter[i]]


def _first_largest(values: Floats, among: Flags) -> int | None:
    """Return the first arm with the largest value among some, if there are any."""
    if not among.any():
        return None
    return int(np.argmax(np.where(among, values, -np.inf)))


@dataclass(frozen=True)
class ROAILUCB(RobustStrategy):
    """Pull an arm beside one of the borders on which the answer depends, at random.

    There are five borders: the threshold, and those before and behind the middle of the sample
    means and of the distances from the median. Beside each lie two arms: of those below it the one
    with the largest upper end, of those above it the one with the least lower end. Of the up to ten
    that still matter for the threshold, the median or the MAD, one is pulled, the more likely the
    more often it is named. The authors choose among all ten in the same way; that arms are left out
    which no longer matter is ours, and saves pulls.

    Promises: as ROAI-Elim, whatever is pulled, for the stopping rule is the same. The choice
    depends on the seed and on the number of pulls alone, so a run can be repeated.

    Finds: high outliers only:

    >>> import oddarm
    >>> between = [0.02, 0.03, 0.04, 0.50, 0.96, 0.97, 0.98]
    >>> oddarm.simulate(between, "roai-lucb", max_outliers=1).outliers
    []

    Cost: O(n log n) per pull; fewer pulls than ROAI-Elim.

    Examples:
        >>> high = [0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.98]
        >>> oddarm.simulate(high, oddarm.strategies.ROAILUCB(k=2), max_outliers=1).outliers
        [6]
    """

    name: ClassVar[str] = "roai-lucb"
    run: ClassVar = ROAILUCBRun
