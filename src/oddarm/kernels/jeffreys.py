"""The Beta(½, ½) mixture, compiled; `oddarm.bounds.beta_mixture` says what it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oddarm.kernels.native import function

__all__ = ["jeffreys_intervals"]

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

_intervals = function("jeffreys_intervals", "floats wholes wholes whole real floats floats")


def jeffreys_intervals(
    totals: Floats, counts: Wholes, arms: Wholes, level: float, low: Floats, high: Floats
) -> None:
    """Write the ends of some arms in the order given; all of [0, 1] for one without pulls."""
    _intervals(totals, counts, arms, len(arms), level, low, high)
