"""Gaps between arms that are known only by intervals: certified ones and possible ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddarm._typing import Floats, Indices

__all__ = ["Cut", "certified_cuts", "largest_possible_gap", "possible_gaps"]


@dataclass(frozen=True)
class Cut:
    """A place where all intervals of some arms lie below those of the others.

    Attributes:
        below: How many arms lie below, in the order of lower ends.
        gap: The distance between the two sides that is certain.
    """

    below: int
    gap: float


def certified_cuts(low: Floats, high: Floats) -> list[Cut]:
    """Return the cuts between sides whose intervals do not touch, by ascending position."""
    order = np.argsort(low, kind="stable")
    reach = np.maximum.accumulate(high[order])
    gaps = low[order][1:] - reach[:-1]
    return [Cut(int(k) + 1, float(gaps[k])) for k in np.flatnonzero(gaps > 0)]


def possible_gaps(low: Floats, high: Floats) -> Floats:
    """Return, for each arm, the most that its gap to the next arm above can be.

    The arm may be anywhere in its interval. At x, the gap above it is free of other arms at most
    up to the least upper end of those whose lower end is above x; if there are none, up to the
    largest upper end of any other arm. It is enough to try lower ends for x.
    O(n log n).
    """
    n = len(low)
    order = np.argsort(low, kind="stable")
    starts = low[order]
    least_end = np.append(np.minimum.accumulate(high[order][::-1])[::-1], np.inf)
    after = np.searchsorted(starts, starts, side="right")  # first arm that starts beyond x
    free = least_end[after] - starts
    own = np.searchsorted(starts, low, side="left")
    last = np.searchsorted(starts, high, side="right") - 1
    # No arm is certain to lie beyond the last start; this is the furthest that another can be:
    top = int(np.argmax(high))
    others = np.full(n, high[top])
    others[top] = np.delete(high, top).max() if n > 1 else -np.inf
    final = np.where(last >= 0, others - starts[np.maximum(last, 0)], 0.0)
    beyond = after[np.maximum(last, 0)] >= n
    inner = np.where(np.isfinite(free), free, -np.inf)
    found = _range_max(inner, own, last)
    return np.maximum(np.where(beyond, np.maximum(found, final), found), 0.0)


def largest_possible_gap(low: Floats, high: Floats) -> float:
    """Return the most that any gap between neighbours can be; 0 for one arm or none."""
    return float(possible_gaps(low, high).max()) if len(low) > 1 else 0.0


def _range_max(values: Floats, first: Indices, last: Indices) -> Floats:
    """Return the maximum of values[first..last] for many ranges, by a sparse table."""
    table = [values]
    width = 1
    while 2 * width <= len(values):
        previous = table[-1]
        table.append(np.maximum(previous[:-width], previous[width:]))
        width *= 2
    length = np.maximum(last - first + 1, 1)
    level = np.frexp(length)[1] - 1
    result = np.full(len(first), -np.inf)
    for k, row in enumerate(table):
        ranges = level == k
        if ranges.any():
            result[ranges] = np.maximum(row[first[ranges]], row[last[ranges] - (1 << k) + 1])
    return result
