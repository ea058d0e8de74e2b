"""MaxGapUCB: find the largest gap (Katariya, Tripathy and Nowak, NeurIPS 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oddarm.strategies.base import RunContext, Strategy
from oddarm.strategies.maxgap.rule import MaxGapRun

__all__ = ["MaxGap"]


@dataclass(frozen=True)
class MaxGap(Strategy):
    """MaxGapUCB: pull the arms whose gap may be the largest.

    In each round the arms with the largest upper bound on the gap to a neighbour are pulled. So the
    two arms beside the largest gap get most of the pulls, and the others too few for a certificate.
    The run ends by counts, as that of the authors: when these two have at least five times the
    pulls of all the rest. It also ends when one gap is certain to be at least as large as any
    other can be, which is seldom sooner. The arms on the smaller side of the gap are declared, if
    they are no more than the capacity allows.

    Promises: nothing if it ended by counts, and the result says so. If it ended by certainty, the
    split is at the largest gap, with probability at least 1-δ (proved for `bound="anytime"`). ε
    plays no part: there is a largest gap even where none is remarkable.

    Finds: high or low outliers, if the largest gap is theirs. An outlier in between makes two gaps
    and is lost to one of the sides:

    >>> import oddarm
    >>> between = [0.02, 0.03, 0.04, 0.60, 0.96, 0.97, 0.98]
    >>> oddarm.simulate(between, "maxgap", max_outliers=1).outliers
    []

    It does not end if several arms beside the gap are tied, as none of them gets most of the pulls.

    Cost: O(n log n) per round of a few pulls.

    Examples:
        >>> high = [0.10, 0.12, 0.14, 0.50, 0.52, 0.93]
        >>> normal = oddarm.rewards.SubGaussian(scale=0.1)
        >>> result = oddarm.simulate(high, "maxgap", max_outliers=1, rewards=normal)
        >>> result.outliers, result.provenance["delta_proved"]
        ([5], False)
    """

    name: ClassVar[str] = "maxgap"
    promise: ClassVar[str] = "no other gap between neighbours is larger"

    def predicate(self, found: int, side: str) -> str:
        """Say that arms lie beyond the largest gap."""
        del side
        return f"{'lies' if found == 1 else 'lie'} beyond the largest gap"

    def start(self, context: RunContext) -> MaxGapRun:
        """Return a new run."""
        self.check(context)
        return MaxGapRun(context, values=1, by_counts=True)
