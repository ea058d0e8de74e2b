"""Communities of intervals: arms that are joined by a chain of overlaps.

Finding them takes a sort. Seeing that none has split takes only a look at a few arms that overlap
one after the other, and at whether every other arm touches one of them: a `Cover`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cover", "cover_of", "interval_communities"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Cover:
    """Chains of arms, one for each community, by ascending values.

    Attributes:
        arms: The arms of all chains, one chain after the other.
        first: Where in `arms` each chain begins.
    """

    arms: Indices
    first: Indices

    def ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return where the union of each chain begins and ends; crossed if a chain is broken."""
        lows, highs = low[self.arms], high[self.arms]
        begin = np.minimum.reduceat(lows, self.first)
        end = np.maximum.reduceat(highs, self.first)
        broken = (lows[1:] > highs[:-1]) | (lows[:-1] > highs[1:])
        broken[self.first[1:] - 1] = False  # from one chain to the next
        chains = np.searchsorted(self.first, np.flatnonzero(broken), side="right") - 1
        begin[chains], end[chains] = np.inf, -np.inf
        return begin, end

    def holds(self, low: Floats, high: Floats) -> bool:
        """Return whether every chain overlaps and every arm touches one: no community has split.

        Intervals may only have shrunk since the cover was made. Arms that do not count have all
        numbers as their interval.
        """
        if low.max() <= high.min():  # all have a point in common
            return True
        begin, end = self.ends(low, high)
        if not (begin <= end).all():
            return False
        if len(begin) == 1:
            return bool(low.max() <= end[0] and high.min() >= begin[0])
        place = np.minimum(np.searchsorted(end, low), len(end) - 1)  # the first that ends beyond
        return bool(((low <= end[place]) & (high >= begin[place])).all())


def interval_communities(low: Floats, high: Floats) -> list[Indices]:
    """Return the communities of intervals, each by ascending lower ends.

    Example:
        >>> import numpy as np
        >>> low, high = np.array([5.0, 0.0, 1.0]), np.array([6.0, 1.5, 4.0])
        >>> [community.tolist() for community in interval_communities(low, high)]
        [[1, 2], [0]]
    """
    order = np.argsort(low, kind="stable")
    reach = np.maximum.accumulate(high[order])
    return np.split(order, np.flatnonzero(low[order][1:] > reach[:-1]) + 1)


def cover_of(communities: list[Indices], low: Floats, high: Floats) -> Cover:
    """Return a cover whose arms overlap by about half, so that it holds for long."""
    chains = [_chain(members, low, high) for members in communities]
    first = np.cumsum([0, *(len(chain) for chain in chains[:-1])])
    return Cover(np.array([arm for chain in chains for arm in chain], dtype=np.intp), first)


def _chain(members: Indices, low: Floats, high: Floats) -> list[int]:
    """Return arms of a community that overlap one after the other and touch all others."""
    lows = low[members]
    chain = [int(members[0])]
    while high[chain[-1]] < lows[-1]:
        last = chain[-1]
        # The last to begin before the middle; where arms are sparse, the one that reaches furthest.
        at = int(np.searchsorted(lows, (low[last] + high[last]) / 2, side="right")) - 1
        if high[members[at]] <= high[last]:
            beside = members[: np.searchsorted(lows, high[last], side="right")]
            at = int(np.argmax(high[beside]))
        chain.append(int(members[at]))
    return chain
