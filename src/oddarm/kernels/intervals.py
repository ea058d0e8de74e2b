"""The ends of intervals, compiled; `oddarm.bounds` says what each interval is."""

from __future__ import annotations

from ctypes import c_double

import numpy as np

from oddarm._typing import Floats, Wholes
from oddarm.kernels.native import function

__all__ = [
    "centred_interval",
    "centred_intervals",
    "erfcinv",
    "jeffreys_narrow",
    "jeffreys_path",
    "pool_interval",
    "pool_intervals",
]

_jeffreys_narrow = function("jeffreys_narrow", "floats wholes wholes whole real floats floats")
_jeffreys_path = function("jeffreys_path", "floats wholes whole real floats floats")
_centred_ends = function("centred_ends", "real real real results")
_centred_intervals = function("centred_intervals", "floats wholes whole real floats floats")
_pool_ends = function("pool_ends", "real real real real real results")
_pool_intervals = function("pool_intervals", "floats wholes wholes whole real real floats floats")
_Ends = c_double * 2  # made once, since intervals are asked for after each reward

erfcinv = function("erfcinv", "real", "real")
"""Return z with erfc(z) = x, for 0 < x ≤ 1, to about 1 part in 10^15."""


def jeffreys_narrow(
    totals: Floats, counts: Wholes, arms: Wholes, level: float, low: Floats, high: Floats
) -> None:
    """Intersect the intervals of some arms so far, in `low` and `high`, with those of now."""
    _jeffreys_narrow(totals, counts, arms, len(arms), level, low, high)


def jeffreys_path(
    totals: Floats, counts: Wholes, level: float, low: float, high: float
) -> tuple[Floats, Floats]:
    """Return the ends of one arm after each of its next pulls, beginning with those of now."""
    lows, highs = np.full(len(counts), low), np.full(len(counts), high)
    _jeffreys_path(totals, counts, len(counts), level, lows, highs)
    return lows, highs


def centred_interval(s: float, m: float, level: float) -> tuple[float, float]:
    """Return the ends for s successes in m ≥ 1 pulls, at log(1/α) = level."""
    ends = _Ends()
    _centred_ends(s, m, level, ends)
    return ends[0], ends[1]


def centred_intervals(
    totals: Floats, counts: Wholes, level: float, low: Floats, high: Floats
) -> None:
    """Write the ends of every arm; all of [0, 1] for an arm without pulls."""
    _centred_intervals(totals, counts, len(counts), level, low, high)


def pool_interval(
    s: float, m: float, size: float, level: float, prior: float
) -> tuple[float, float]:
    """Return the ends for s ones in m draws of a pool, at log(1/α) = level."""
    ends = _Ends()
    _pool_ends(s, m, size, level, prior, ends)
    return ends[0], ends[1]


def pool_intervals(
    totals: Floats,
    counts: Wholes,
    pools: Wholes,
    level: float,
    prior: float,
    low: Floats,
    high: Floats,
) -> None:
    """Write the ends of every arm."""
    _pool_intervals(totals, counts, pools, len(counts), level, prior, low, high)
