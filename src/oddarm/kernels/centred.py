"""The centred Beta mixture, compiled; `oddarm.bounds.centred_beta` says what it is."""

from __future__ import annotations

import math
from typing import Any

from oddarm.kernels.compiling import kernel

__all__ = ["centred_interval", "centred_intervals", "log_capital"]

RHO = 4.0
"""Weight of the centred prior; larger is tighter for arms with many pulls, looser for few."""
JEFFREYS = 0.1
"""Share of the stake on the Beta(½, ½) prior."""
_LOG_CENTRED, _LOG_JEFFREYS = math.log1p(-JEFFREYS), math.log(JEFFREYS)
_LOG_PI = math.log(math.pi)


@kernel
def _remainder(z: float) -> float:
    """Return r(z) for z > 0."""
    total = 0.0
    while z < 8.0:
        total += (z + 0.5) * math.log1p(1.0 / z) - 1.0
        z += 1.0
    inverse = 1.0 / z
    square = inverse * inverse
    return total + inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))


@kernel
def _centred(s: float, m: float, p: float) -> float:
    """Return log M(p) of the centred prior."""
    q = 1.0 - p
    kappa = RHO / (4.0 * p * q)
    a, b = kappa * p, kappa * q
    up, down, all_ = s + a, m - s + b, m + kappa
    # relative excess of p̃ over p and of 1-p̃ over 1-p
    over = math.log1p((s - m * p) / (all_ * p))
    under = math.log1p((m * p - s) / (all_ * q))
    value = up * over + down * under - 0.5 * (over + under + math.log1p(m / kappa))
    value += _remainder(up) + _remainder(down) - _remainder(all_)
    return value - _remainder(a) - _remainder(b) + _remainder(kappa)


@kernel
def _jeffreys(s: float, m: float) -> float:
    """Return log M(p) of the Beta(½, ½) prior, less m·KL(s/m, p)."""
    total = -_LOG_PI - 0.5 * math.log(m) - _remainder(m) + 0.5 * math.log(2.0 * math.pi)
    for z in (s, m - s):
        half = z + 0.5
        total += z * math.log1p(0.5 / z) - 0.5 if z > 0.0 else -0.5
        total += _remainder(half)
    return total


@kernel
def log_capital(s: float, m: float, p: float) -> float:
    """Return the log of the whole capital against 0 < p < 1 after s successes in m ≥ 1 pulls."""
    return _log_capital(s, m, p, _jeffreys(s, m))


@kernel
def _log_capital(s: float, m: float, p: float, base: float) -> float:
    divergence = 0.0
    if s > 0.0:
        divergence += s * math.log(s / (m * p))
    if s < m:
        divergence += (m - s) * math.log((m - s) / (m * (1.0 - p)))
    one = _LOG_CENTRED + _centred(s, m, p)
    two = _LOG_JEFFREYS + divergence + base
    most = max(one, two)
    return most + math.log1p(math.exp(min(one, two) - most))


@kernel
def centred_interval(s: float, m: float, level: float) -> tuple[float, float]:
    """Return the ends for s successes in m ≥ 1 pulls, at log(1/α) = level."""
    centre = min(max(s / m, 1e-12), 1.0 - 1e-12)
    base = _jeffreys(s, m)
    ends = (0.0, 1.0)
    for side in range(2):
        if (side == 0 and s <= 0.0) or (side == 1 and s >= m):
            continue
        inside, outside = centre, (1e-15 if side == 0 else 1.0 - 1e-15)
        low, high = -level, math.inf
        # a guess from the normal approximation, then regula falsi (Illinois)
        spread = math.sqrt((centre * (1.0 - centre) + level / m) / m)
        reach = math.sqrt(2.0 * level + math.log1p(m)) * spread
        guess = centre - reach if side == 0 else centre + reach
        for _ in range(100):
            if not min(inside, outside) < guess < max(inside, outside):
                guess = (inside + outside) / 2
            value = _log_capital(s, m, guess, base) - level
            if value >= 0.0:
                outside, high = guess, value
                low *= 0.5
            else:
                inside, low = guess, value
                high *= 0.5
            if abs(outside - inside) <= 1e-9 * min(outside, 1.0 - outside) or value == 0.0:
                break
            if high == math.inf:
                guess = guess + 1.5 * (guess - centre)
            else:
                guess = outside - high * (outside - inside) / (high - low)
        if high == math.inf:  # no rate that can be told from 0 or 1 is rejected
            continue
        ends = (outside, ends[1]) if side == 0 else (ends[0], outside)
    return ends


@kernel
def centred_intervals(totals: Any, counts: Any, level: float, low: Any, high: Any) -> None:
    """Write the ends of every arm; all of [0, 1] for an arm without pulls."""
    for arm in range(len(counts)):
        low[arm], high[arm] = 0.0, 1.0
        if counts[arm] > 0:
            low[arm], high[arm] = centred_interval(totals[arm], float(counts[arm]), level)
