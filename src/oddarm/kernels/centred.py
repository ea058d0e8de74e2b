"""The centred Beta mixture, compiled; `oddarm.bounds.centred_beta` says what it is."""

from __future__ import annotations

from ctypes import c_double

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats
from oddarm.kernels.native import function

__all__ = ["centred_interval", "centred_intervals", "log_capital"]


RHO = 4.0
"""Weight of the centred prior; larger is tighter for arms with many pulls, looser for few."""
JEFFREYS = 0.1
"""Share of the stake on the Beta(½, ½) prior."""

_capital_of_both = function("log_capital", "real real real", "real")
_capital_of_centred = function("centred_capital", "real real real", "real")
_ends = function("centred_ends", "real real real results")
_intervals = function("centred_intervals", "floats wholes whole real floats floats")
_Ends = c_double * 2  # found once, since intervals are asked for after each reward


def _centred(s: float, m: float, p: float) -> float:
    """Return log M(p) of the centred prior."""
    return float(_capital_of_centred(s, m, p))


def log_capital(s: float, m: float, p: float) -> float:
    """Return the log of the whole capital against 0 < p < 1 after s successes in m ≥ 1 pulls."""
    return float(_capital_of_both(s, m, p))


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
