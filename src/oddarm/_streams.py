"""Random numbers that are indexed, not streamed: number k of a stream depends on seed and k alone.

Each stream is SplitMix64 with an increment of its own; the kernels draw the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats

__all__ = ["Words", "streams", "uniforms"]

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(z: Words) -> Words:
    """Return SplitMix64's finaliser (Stafford's variant 13) of each word."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def streams(seed: int | Sequence[int], n: int) -> tuple[Words, Words]:
    """Return the start and the odd increment of each of n streams; those of a seed differ."""
    first, second = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    with np.errstate(over="ignore"):
        steps = np.arange(1, n + 1, dtype=np.uint64) * _GOLDEN
        return _mix(first + steps), _mix(second + steps) | np.uint64(1)


def uniforms(start: np.uint64, increment: np.uint64, first: int, count: int) -> Floats:
    """Return numbers `first`, `first` + 1, … of a stream, uniform on [0, 1)."""
    with np.errstate(over="ignore"):
        index = np.arange(first + 1, first + count + 1, dtype=np.uint64)
        words = _mix(start + index * increment)
    return np.asarray((words >> np.uint64(11)) * 2.0**-53)
