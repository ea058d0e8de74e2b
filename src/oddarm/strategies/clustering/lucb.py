"""LUCB-BOC: K clusters by confidence bounds (Chandran, Reddy and Bhashyam, 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from oddarm.strategies.clustering.rule import ClusterRun, ClusterStrategy

__all__ = ["LUCBBOC"]


class LUCBBOCRun(ClusterRun):
    """Rounds of one arm beside the weakest cut, and one beside its strongest rival."""

    def next_round(self) -> list[int]:
        """Of the two gaps on which the clusters of the sample means depend, the arm known less.

        They are the gap between clusters with the least lower bound, and the gap between neighbours
        within a cluster with the largest upper bound.
        """
        low, high = self.intervals.low, self.intervals.high
        pieces = [piece.tolist() for piece in self.estimated_clusters()]
        cuts = [(one[-1], two[0]) for one, two in pairwise(pieces)]
        inner = [pair for piece in pieces for pair in pairwise(piece)]
        weakest = min(cuts, key=lambda pair: low[pair[1]] - high[pair[0]])
        rival = max(inner, key=lambda pair: high[pair[1]] - low[pair[0]])
        widths = self.intervals.widths
        return sorted({max(pair, key=widths.__getitem__) for pair in (weakest, rival)})


@dataclass(frozen=True)
class LUCBBOC(ClusterStrategy):
    """Pull in each round the arms on which the clusters of the sample means depend most.

    Two gaps matter most: the one between clusters with the least lower bound, and the one within
    clusters with the largest upper bound. Beside each, the arm with the wider interval is pulled.

    Promises: as BOCElim, whatever is pulled, for the stopping rule is the same.

    Finds: as BOCElim:

    >>> import oddarm
    >>> between = [0.02, 0.04, 0.06, 0.50, 0.94, 0.96, 0.98]
    >>> oddarm.simulate(between, oddarm.strategies.LUCBBOC(clusters=3), max_outliers=1).outliers
    [3]

    Cost: O(n log n) per round of one or two pulls. Fewer pulls than BOCElim on some
    instances, more where many gaps within clusters must be excluded.

    Args:
        clusters: K, how many clusters there are.

    Examples:
        >>> high = [0.10, 0.20, 0.30, 0.40, 0.95]
        >>> oddarm.simulate(high, "lucb-boc", max_outliers=1).outliers
        [4]
    """

    name: ClassVar[str] = "lucb-boc"
    run: ClassVar = LUCBBOCRun
