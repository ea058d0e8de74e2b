"""ROAI-LUCB: robust outlier arms by confidence bounds (Zhu, Katariya and Nowak, ICML 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Flags, Floats
from oddarm.strategies.robust.rule import RobustRun, RobustStrategy

__all__ = ["ROAILUCB"]


class ROAILUCBRun(RobustRun):
    """Rounds of one or two arms."""

    def next_round(self) -> list[int]:
        """The arms on whose intervals the answer depends."""
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


def _first_largest(values: Floats, among: Flags) -> int | None:
    """Return the first arm with the largest value among some, if there are any."""
    if not among.any():
        return None
    return int(np.argmax(np.where(among, values, -np.inf)))


@dataclass(frozen=True)
class ROAILUCB(RobustStrategy):
    """Pull in each round the few arms that matter most.

    They are: of the arms estimated above the threshold the one with the least lower end, and of
    those below the one with the largest upper end, each if a pull narrows its interval by more than
    it would narrow the threshold's; else the widest interval of those that may be the median, and
    the widest of those whose distance from it may be the MAD.

    Promises: as ROAI-Elim, whatever is pulled, for the stopping rule is the same. The choice of
    the arms for median and MAD is ours; the publication leaves it open.

    Finds: high outliers only:

    >>> import oddarm
    >>> between = [0.02, 0.03, 0.04, 0.50, 0.96, 0.97, 0.98]
    >>> oddarm.simulate(between, "roai-lucb", max_outliers=1).outliers
    []

    Cost: O(n) per round of one or two pulls; fewer pulls than ROAI-Elim.

    Examples:
        >>> high = [0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.98]
        >>> oddarm.simulate(high, oddarm.strategies.ROAILUCB(k=2), max_outliers=1).outliers
        [6]
    """

    name: ClassVar[str] = "roai-lucb"
    run: ClassVar = ROAILUCBRun
