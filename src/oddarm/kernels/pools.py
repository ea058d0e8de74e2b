"""The beta-binomial interval of finite pools, compiled; see `oddarm.bounds.pool_beta`."""

from __future__ import annotations

import math
from typing import Any

from oddarm.kernels.compiling import kernel

__all__ = ["pool_interval", "pool_intervals"]


@kernel
def _last_kept(
    size: float, s: float, f: float, limit: float, inside: float, outside: float
) -> float:
    """Return the last number of ones that is kept between `inside` (kept) and `outside` (not)."""
    while abs(outside - inside) > 1.0:
        k = math.trunc((inside + outside) / 2)
        ratio = math.lgamma(k - s + 1.0) - math.lgamma(k + 1.0)
        ratio += math.lgamma(size - k - f + 1.0) - math.lgamma(size - k + 1.0)
        if ratio < limit:
            inside = k
        else:
            outside = k
    return inside


@kernel
def pool_interval(
    s: float, m: float, size: float, level: float, prior: float
) -> tuple[float, float]:
    """Return the ends for s ones in m draws of a pool, at log(1/α) = level."""
    f = m - s
    limit = level + 2.0 * math.lgamma(prior) - math.lgamma(2.0 * prior)
    limit += math.lgamma(m + 2.0 * prior) - math.lgamma(s + prior) - math.lgamma(f + prior)
    limit += math.lgamma(size - m + 1.0) - math.lgamma(size + 1.0)
    fewest, most = s, size - f
    likeliest = min(max(math.floor((size + 1.0) * s / max(m, 1.0)), fewest), most)
    low = _last_kept(size, s, f, limit, likeliest, fewest - 1.0)
    high = _last_kept(size, s, f, limit, likeliest, most + 1.0)
    return low / size, high / size


@kernel
def pool_intervals(
    totals: Any, counts: Any, pools: Any, level: float, prior: float, low: Any, high: Any
) -> None:
    """Write the ends of every arm."""
    for arm in range(len(counts)):
        low[arm], high[arm] = pool_interval(
            totals[arm], float(counts[arm]), float(pools[arm]), level, prior
        )
