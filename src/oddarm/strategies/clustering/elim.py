"""BOC-Elim: K clusters by elimination (Chandran, Reddy and Bhashyam, 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm.definitions.interval_gaps import possible_gaps
from oddarm.strategies.clustering.rule import ClusterRun, ClusterStrategy

__all__ = ["BOCElim"]


class BOCElimRun(ClusterRun):
    """Rounds of all arms beside which one of the K-1 largest gaps may lie."""

    def next_round(self) -> list[int]:
        """Every arm whose gap to a neighbour may exceed the least of the K-1 certain ones."""
        low, high = self.intervals.low, self.intervals.high
        most = np.maximum(possible_gaps(low, high), possible_gaps(-high, -low))
        cuts = self.certain_cuts()
        least = cuts[-1][0] if len(cuts) == self.clusters - 1 else 0.0
        return np.flatnonzero(most > least).tolist()


@dataclass(frozen=True)
class BOCElim(ClusterStrategy):
    """Pull in each round every arm beside which one of the K-1 largest gaps may lie.

    An arm drops out once no gap beside it can be as large as the least of the K-1 largest gaps that
    are certain. The arms of the smaller clusters are declared, as many as the capacity allows.

    Promises: the clusters are those of single linkage, with probability at least 1-δ (proved for
    `bound="anytime"`, and for Hoeffding's radius, which is `bound="paper"` here: the radius of the
    publication was not at hand).

    Finds: high, low and intermediate outliers, if they make up small clusters and K is right. With
    another K it finds other clusters: there always are K.

    Cost: O(n log n) per pull.

    Args:
        clusters: K, how many clusters there are.

    Examples:
        >>> import oddarm
        >>> between = [0.02, 0.04, 0.06, 0.50, 0.94, 0.96, 0.98]
        >>> three = oddarm.strategies.BOCElim(clusters=3)
        >>> oddarm.simulate(between, three, max_outliers=1).outliers
        [3]
    """

    name: ClassVar[str] = "boc-elim"
    run: ClassVar = BOCElimRun
