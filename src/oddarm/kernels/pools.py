"""The beta-binomial interval of finite pools, compiled; see `oddarm.bounds.pool_beta`."""

from __future__ import annotations

from ctypes import c_double
from typing import Any

from oddarm.kernels.native import function

__all__ = ["pool_interval", "pool_intervals"]

_ends = function("pool_ends", "real real real real real results")
_intervals = function("pool_intervals", "floats wholes wholes whole real real floats floats")
_Ends = c_double * 2  # made once, since intervals are asked for after each reward


def pool_interval(
    s: float, m: float, size: float, level: float, prior: float
) -> tuple[float, float]:
    """Return the ends for s ones in m draws of a pool, at log(1/α) = level."""
    ends = _Ends()
    _ends(s, m, size, level, prior, ends)
    return ends[0], ends[1]


def pool_intervals(
    totals: Any, counts: Any, pools: Any, level: float, prior: float, low: Any, high: Any
) -> None:
    """Write the ends of every arm."""
    _intervals(totals, counts, pools, len(counts), level, prior, low, high)
