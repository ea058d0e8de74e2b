"""What would decide a search of the adaptive strategy, and how many pulls that would take.

All of it supposes that every estimate is right and that an interval shrinks with the root of its
arm's pulls. docs/adaptive.md says which pulls decide what.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from oddarm.strategies.base import Floats

__all__ = ["Outlook", "places_around", "widest_gaps"]

SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Of the estimate of a gap, what share a plan may make certain."""
CUTS = 3
"""How many of the widest gaps are tried to show that no further group is possible."""
EASIER = 1.5
"""How much more of a single gap than of a window can be spared for as many pulls, by pairs."""

Mask = NDArray[np.bool_]
Target = tuple[NDArray[np.int64], int, int, float, NDArray[np.int64], float]
"""Places of gaps; a block; the width to be certain; windows; and their level."""


class Outlook:
    """The intervals of a round, from which to plan.

    Args:
        low: Lower ends.
        high: Upper ends.
        means: Estimates.
        counts: Pulls.
        by_mean: The arms in the order of their estimates.
        evidence: What `certify` in blocks.c wants to know of the evidence of pairs.
        epsilon: ε.
        most: The most members that a group may have.
        side: The fewest arms of a segment.
        shares: Which shares of a gap and of a window's level the last plan made certain.
    """

    def __init__(
        self,
        low: Floats,
        high: Floats,
        means: Floats,
        counts: Floats,
        by_mean: NDArray[np.intp],
        evidence: Floats,
        epsilon: float,
        most: int,
        side: int,
        shares: tuple[int, int],
    ) -> None:
        from oddarm.kernels.blocks import find_cuts

        by_low, by_high = np.argsort(low, kind="stable"), np.argsort(high, kind="stable")
        self.arms = low, high, means, counts, by_low, by_high, by_mean
        self.means, self.by_mean, self.evidence = means, by_mean, evidence
        self.epsilon, self.most, self.side = epsilon, most, side
        self.share, self.base = shares
        self.seem = np.empty(len(means) + 1)
        find_cuts(means, means, by_mean, self.seem)

    def cheapest(
        self, declared: Mask, to_the_end: bool, all_ways: bool
    ) -> tuple[Floats, float, bool]:
        """Plan to declare a block, or to show at once that no further group is possible.

        Args:
            declared: The arms that are declared.
            to_the_end: Whether the search goes on after the block has been declared.
            all_ways: Whether to look at more than the block that seems best.

        Returns:
            By what factor the pulls of each arm must grow, how many pulls that takes (infinite if
            nothing can be foreseen), and whether that is to show that no further group is possible.
        """
        from oddarm.kernels.blocks import best_block

        ones = np.ones(len(declared))
        part, cost, total = ones, np.inf, np.inf
        gap, first, last = best_block(self.seem, self.by_mean, declared, self.most, 0)
        if gap > 0:
            part, cost = self._climb(declared, self._block(first, last, gap), ones, np.inf)
            total = cost
            if cost < np.inf and not all_ways:
                return part, cost, False
            after = declared.copy()
            after[self.by_mean[first:last]] = True
            if to_the_end and after.sum() < self.most:
                total = self._end(after, part, np.inf)[1]
        whole, price = self._end(declared, ones, total)
        return (whole, price, True) if price < total else (part, cost, False)

    def _end(self, declared: Mask, start: Floats, budget: float) -> tuple[Floats, float]:
        """Plan to leave no further group, from planned factors on."""
        from oddarm.kernels.blocks import best_block, best_windows

        best, cost = start, budget
        gap, first, last = best_block(self.seem, self.by_mean, declared, self.most, self.most)
        if gap > 0:
            best, cost = self._climb(declared, self._block(first, last, gap), start, cost)
        windows = np.empty((self.most - int(declared.sum()) + 1, 2), dtype=np.int64)
        arms = self.means, self.means, self.by_mean, declared
        level = best_windows(*arms, self.seem, 0.0, windows)
        if level > 0:
            for cut in (0, *widest_gaps(self.seem, self.by_mean, declared, CUTS).tolist()):
                aim = partial(self._windows, declared, windows, level, cut)
                other, price = self._climb(declared, aim, start, cost)
                if price < cost:
                    best, cost = other, price
        return best, cost

    def _block(self, first: int, last: int, gap: float) -> Callable[[int, int], Target]:
        """Return how to declare by_mean[first:last]."""
        places = places_around(first, last, len(self.means))
        none = np.empty((0, 2), dtype=np.int64)
        return lambda share, _: (places, first, last, SHARES[share] * gap, none, 0.0)

    def _windows(
        self,
        declared: Mask,
        windows: NDArray[np.int64],
        level: float,
        cut: int,
        share: int,
        base: int,
    ) -> Target | None:
        """Return how to leave no further group by windows, and a wider gap at `cut` if not 0."""
        from oddarm.kernels.blocks import best_windows

        wanted = SHARES[base] * level
        gaps = wanted + (EASIER if len(self.evidence) else 1.0) * (self.seem - wanted)
        arms = self.means, self.means, self.by_mean, declared
        if best_windows(*arms, gaps, wanted, windows) <= 0:
            return None
        if not cut:
            return np.empty(0, dtype=np.int64), 0, 0, wanted, windows, wanted
        gap = max(SHARES[share] * self.seem[cut], wanted)
        return np.array([cut]), 0, 0, gap, windows, wanted

    def _climb(
        self,
        declared: Mask,
        aim: Callable[[int, int], Target | None],
        start: Floats,
        budget: float,
    ) -> tuple[Floats, float]:
        """Plan with various shares made certain, from the last best ones on; the cheapest wins.

        Returns:
            The factors and what they cost; `start` and `budget` if all plans cost more.
        """
        from oddarm.kernels.blocks import plan_cuts

        problem = self.epsilon, self.most - int(declared.sum()), self.side, self.evidence
        best, cost = start, budget

        def better(share: int, base: int) -> bool:
            nonlocal best, cost
            target = aim(share, base)
            if target is None:
                return False
            trial = start.copy()
            price = plan_cuts(*self.arms, declared, *target, *problem, trial, cost)
            if not price < cost:
                return False
            best, cost, self.share, self.base = trial, price, share, base
            return True

        def walk(by: int, windows: bool) -> bool:
            moved = False
            while True:
                share, base = self.share + by * (not windows), self.base + by * windows
                if min(share, base) < 0 or max(share, base) >= len(SHARES):
                    return moved
                if not better(share, base):
                    return moved
                moved = True

        target = aim(self.share, self.base)
        better(self.share, self.base)
        for windows in (False, True)[: 1 + (target is None or len(target[4]) > 0)]:
            if not walk(1, windows):
                walk(-1, windows)
        if cost == np.inf:
            for share in range(len(SHARES)):
                better(share, self.base)
        return best, cost


def places_around(first: int, last: int, n: int) -> NDArray[np.int64]:
    """Return where the gaps around a block are."""
    return np.array([at for at in (first, last) if 0 < at < n], dtype=np.int64)


def widest_gaps(
    seem: Floats, by_mean: NDArray[np.intp], declared: Mask, count: int
) -> NDArray[np.intp]:
    """Return where the widest gaps seem to be that are not beside declared arms."""
    free = ~declared[by_mean]
    places = np.flatnonzero(free[1:] & free[:-1]) + 1
    return places[np.argsort(-seem[places], kind="stable")[:count]]
