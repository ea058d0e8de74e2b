"""Gaps made certain by the evidence of two neighbours at once, for endless 0/1 rewards.

docs/adaptive.md has the statement and its proof; the work is done by pairs.c, which says in short
how it goes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oddarm.kernels.native import function

__all__ = ["certain_gap"]

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

_certain_gap = function(
    "certain_gap", "floats wholes floats floats wholes whole whole real real floats", "real"
)


def certain_gap(
    totals: Floats,
    counts: Wholes,
    low: Floats,
    high: Floats,
    order: Wholes,
    at: int,
    estimate: float,
    delta: float,
) -> float:
    """Return by how much order[:at] are certain to lie below the other arms; 0 if they are not.

    Args:
        totals: Successes of each arm.
        counts: Pulls of each arm.
        low: Lower ends of intervals that hold as well.
        high: Upper ends.
        order: The arms.
        at: How many of them are to lie below.
        estimate: How wide the gap seems to be; no wider one is looked for.
        delta: Error probability of the evidence of pairs, over all pairs and times.
    """
    n = len(order)
    gap: float = _certain_gap(
        totals,
        counts,
        low,
        high,
        order,
        n,
        at,
        estimate,
        delta,
        np.empty(n),
    )
    return gap
