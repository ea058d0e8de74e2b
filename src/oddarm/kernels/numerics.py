"""Special functions that kernels and interpreted code must compute alike, to the last bit."""

from __future__ import annotations

from oddarm.kernels.native import function

__all__ = ["erfcinv"]

erfcinv = function("erfcinv", "real", "real")
"""Return z with erfc(z) = x, for 0 < x ≤ 1, to about 1 part in 10^15."""
