"""The Beta(½, ½) mixture, compiled; `oddarm.bounds.beta_mixture` says what it is."""

from __future__ import annotations

from oddarm._typing import Floats, Wholes
from oddarm.kernels.native import function

__all__ = ["jeffreys_narrow"]


_narrow = function("jeffreys_narrow", "floats wholes wholes whole real floats floats")


def jeffreys_narrow(
    totals: Floats, counts: Wholes, arms: Wholes, level: float, low: Floats, high: Floats
) -> None:
    """Intersect the intervals of some arms so far, in `low` and `high`, with those of now."""
    _narrow(totals, counts, arms, len(arms), level, low, high)
