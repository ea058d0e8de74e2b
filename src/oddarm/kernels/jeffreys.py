"""The Beta(½, ½) mixture, compiled; `oddarm.bounds.beta_mixture` says what it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddarm.kernels.native import function

__all__ = ["jeffreys_intervals"]

_intervals = function("jeffreys_intervals", "floats wholes wholes whole real floats floats")


def jeffreys_intervals(
    totals: Any, counts: Any, arms: Any, level: float, low: Any, high: Any
) -> None:
    """Write the ends of some arms in the order given; all of [0, 1] for one without pulls."""
    _intervals(
        totals,
        counts,
        np.require(arms, np.int64, ("C", "W")),
        len(arms),
        level,
        low,
        high,
    )
