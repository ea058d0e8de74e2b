"""Special functions that scipy lacks or that must run the same in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats

__all__ = ["bisect", "erfcinv", "stirling_remainder", "stirling_remainder_half"]


# Wichura's AS 241 (PPND16): numerators and denominators, highest power first.
_CENTRE_NUM = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
_CENTRE_DEN = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
_MIDDLE_NUM = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
_MIDDLE_DEN = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
_TAIL_NUM = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
_TAIL_DEN = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)


def erfcinv(x: float) -> float:
    """Return z with erfc(z) = x, for 0 < x ≤ 1, to about 1 part in 10^15.

    Only log and sqrt are called, so that compiled and interpreted code agree to the last bit.
    """
    tail = 0.5 * x  # erfc(z) = x  ⇔  Φ(-√2 z) = x/2
    centre = 0.5 - tail
    factor = 1.0
    if centre <= 0.425:
        r = 0.180625 - centre * centre
        top, bottom = _CENTRE_NUM, _CENTRE_DEN
        factor = centre
    else:
        r = math.sqrt(-math.log(tail))
        if r <= 5.0:
            r -= 1.6
            top, bottom = _MIDDLE_NUM, _MIDDLE_DEN
        else:
            r -= 5.0
            top, bottom = _TAIL_NUM, _TAIL_DEN
    numerator = 0.0
    denominator = 0.0
    for coefficient in top:
        numerator = numerator * r + coefficient
    for coefficient in bottom:
        denominator = denominator * r + coefficient
    return factor * numerator / denominator / math.sqrt(2.0)


_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def stirling_remainder(z: Floats) -> Floats:
    """Return log Γ(z) - [(z-½) log z - z + ½ log 2π] for z > 0, without cancellation at large z."""
    from scipy.special import gammaln

    z = np.asarray(z, dtype=np.float64)
    small = np.minimum(z, 16.0)
    large = np.maximum(z, 16.0)
    direct = gammaln(small) - ((small - 0.5) * np.log(small) - small + _LOG_SQRT_2PI)
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
    direct = gammaln(small + 0.5) - (xlogy(small, small) - small + _LOG_SQRT_2PI)
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
