"""Gaps made certain by the evidence of two neighbours at once, for rewards in [0, 1].

docs/adaptive.md has the statement and its proof; pairs.c does the work, and says how in short.
"""

from __future__ import annotations

from oddarm.kernels.blocks import Arms
from oddarm.kernels.native import function

__all__ = ["certain_gap"]

_certain_gap = function("certain_gap", "record whole real real", "real")


def certain_gap(arms: Arms, at: int, estimate: float, pair_delta: float) -> float:
    """Return by how much by_mean[:at] are certain to lie below the other arms; 0 if they are not.

    Args:
        arms: The arms, with their totals and counts.
        at: How many of them are to lie below.
        estimate: How wide the gap seems to be; no wider one is looked for.
        pair_delta: Error probability of the evidence of pairs, over all pairs and times.
    """
    gap: float = _certain_gap(arms.having("totals", "counts"), at, estimate, pair_delta)
    return gap
