"""ROAI-Elim: robust outlier arms by elimination (Zhu, Katariya and Nowak, ICML 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm.strategies.robust.rule import RobustRun, RobustStrategy

__all__ = ["ROAIElim"]


class ROAIElimRun(RobustRun):
    """Rounds of all arms that matter."""

    def next_round(self) -> list[int]:
        """Every arm that overlaps the threshold, the median or the MAD."""
        ends = self.ends()
        matter = (
            self.overlapping(*ends.theta) | self.overlapping(*ends.median) | self.overlap_mad(ends)
        )
        return np.flatnonzero(matter).tolist()


@dataclass(frozen=True)
class ROAIElim(RobustStrategy):
    """Pull in each round every arm that still matters.

    An arm matters while it may be on either side of the threshold, or be the median, or have the
    median distance from it.

    Promises: the declared arms are those above median + k·1.4826·MAD, with probability at least
    1-δ (proved for both bounds: the radius of the publication is Hoeffding's, summed).

    Finds: high outliers only:

    >>> import oddarm
    >>> low = [0.30, 0.40, 0.45, 0.50, 0.55, 0.60, 0.02]
    >>> oddarm.simulate(low, "roai-elim", max_outliers=1).outliers
    []

    Cost: O(n log n) per pull.

    Examples:
        >>> high = [0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.98]
        >>> oddarm.simulate(high, oddarm.strategies.ROAIElim(k=2), max_outliers=1).outliers
        [6]
    """

    name: ClassVar[str] = "roai-elim"
    run: ClassVar = ROAIElimRun
