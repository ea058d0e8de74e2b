"""The Beta(½, ½) mixture, compiled; `oddarm.bounds.beta_mixture` says what it is."""

from __future__ import annotations

from typing import Any

from oddarm.bounds import beta_mixture
from oddarm.kernels.compiling import kernel

__all__ = ["jeffreys_interval", "jeffreys_intervals"]

jeffreys_interval = kernel(beta_mixture.jeffreys_interval)


@kernel
def jeffreys_intervals(
    totals: Any, counts: Any, arms: Any, level: float, low: Any, high: Any
) -> None:
    """Write the ends of some arms in the order given; all of [0, 1] for one without pulls."""
    for k in range(len(arms)):
        arm = arms[k]
        low[k], high[k] = 0.0, 1.0
        if counts[arm] > 0:
            low[k], high[k] = jeffreys_interval(totals[arm], float(counts[arm]), level)
