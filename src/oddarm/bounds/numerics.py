"""Special functions that scipy lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats

__all__ = ["HALF_LOG_2PI", "bisect", "stirling_remainder", "stirling_remainder_half"]

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def stirling_remainder(z: Floats) -> Floats:
    """Return log Γ(z) - [(z-½) log z - z + ½ log 2π] for z > 0, without cancellation at large z."""
    from scipy.special import gammaln

    z = np.asarray(z, dtype=np.float64)
    small = np.minimum(z, 16.0)
    large = np.maximum(z, 16.0)
    direct = gammaln(small) - ((small - 0.5) * np.log(small) - small + HALF_LOG_2PI)
    inverse = 1 / large
    square = inverse * inverse
    series = inverse * (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    )
    return np.where(z < 16.0, direct, series)


def stirling_remainder_half(z: Floats) -> Floats:
    """Return log Γ(z+½) - [z log z - z + ½ log 2π] for z ≥ 0, with 0 log 0 = 0."""
    from scipy.special import gammaln, xlogy

    z = np.asarray(z, dtype=np.float64)
    small = np.minimum(z, 16.0)
    large = np.maximum(z, 16.0)
    direct = gammaln(small + 0.5) - (xlogy(small, small) - small + HALF_LOG_2PI)
    inverse = 1 / large
    square = inverse * inverse
    series = inverse * (
        -1 / 24
        + square
        * (7 / 2880 - square * (31 / 40320 - square * (127 / 215040 - square * 511 / 608256)))
    )
    return np.where(z < 16.0, direct, series)


def bisect(
    reached: Callable[[Floats], NDArray[Any]], inside: Floats, outside: Floats, steps: int = 54
) -> Floats:
    """Return, elementwise, the outer end of a bracket around where `reached` turns true.

    `reached(inside)` is false and `reached(outside)` is true or beyond the range; the result errs
    on the side of `outside`, so an interval found this way is never too narrow.
    """
    for _ in range(steps):
        middle = 0.5 * (inside + outside)
        beyond = reached(middle)
        outside = np.where(beyond, middle, outside)
        inside = np.where(beyond, inside, middle)
    return outside
