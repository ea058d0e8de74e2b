"""The centred Beta mixture, compiled; `oddarm.bounds.centred_beta` says what it is."""

from __future__ import annotations

from ctypes import c_double

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats
from oddarm.kernels.native import function

__all__ = ["centred_interval", "centred_intervals"]

_ends = function("centred_ends", "real real real results")
_intervals = function("centred_intervals", "floats wholes whole real floats floats")
_Ends = c_double * 2  # made once, since intervals are asked for after each reward


def centred_interval(s: float, m: float, level: float) -> tuple[float, float]:
    """Return the ends for s successes in m ≥ 1 pulls, at log(1/α) = level."""
    ends = _Ends()
    _ends(s, m, level, ends)
    return ends[0], ends[1]


def centred_intervals(
    totals: Floats, counts: NDArray[np.int64], level: float, low: Floats, high: Floats
) -> None:
    """Write the ends of every arm; all of [0, 1] for an arm without pulls."""
    _intervals(totals, counts, len(counts), level, low, high)
