"""The rewards of simulated arms, compiled: as `oddarm.sources.simulated` draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oddarm.kernels.compiling import OPTIONS

__all__ = ["draw"]


@njit(**OPTIONS, inline="always")
def draw(start: Any, increment: Any, index: int, mean: float) -> bool:
    """Return whether reward number `index` (from 1) of a Bernoulli arm is 1."""
    word = start + np.uint64(index) * increment
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return bool((word >> np.uint64(11)) * 2.0**-53 < mean)
