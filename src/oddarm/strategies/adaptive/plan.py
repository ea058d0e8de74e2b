"""Which arms to pull for which certificate, and how many pulls that would take.

All of it supposes that every estimate is right and that an interval shrinks with the root of its
arm's pulls. docs/adaptive.md says which pulls decide what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from oddarm._typing import Flags, Floats, Wholes
from oddarm.kernels.blocks import Arms, Rules, best_block, best_windows
from oddarm.kernels.groups import plan_group
from oddarm.kernels.plans import Target, plan_target
from oddarm.strategies.adaptive.certify import (
    estimated_gaps,
    places_around,
    segments_of,
    widest_gaps,
)
from oddarm.strategies.adaptive.constants import PAIR_EASE, SHARES, WIDEST_GAPS

__all__ = ["RoundPlan", "RoundPlanner", "plan_judgement"]


class RoundPlan(NamedTuple):
    """What to pull.

    Attributes:
        factors: By what factor the pulls of each arm must grow.
        cost: How many pulls that takes; infinite if nothing can be foreseen.
        ending: Whether the plan is to show that no further group is possible.
    """

    factors: Floats
    cost: float
    ending: bool = False


def plan_judgement(arms: Arms, rules: Rules, member: Flags, chains: bool) -> RoundPlan:
    """Plan to judge whether the members are a group; segments may be covered by chains."""
    shifts = np.zeros(len(member))
    if rules.pair_delta:  # pairs can tell the order of arms whose intervals overlap
        shifts += 2.0 * segments_of(member, arms.by_mean)
    order = np.lexsort((np.arange(len(member)), arms.low + shifts))
    factors, cost = plan_group(arms, rules, order, member, shifts, chains)
    return RoundPlan(_growth(arms, factors), cost)


def _growth(arms: Arms, factors: Floats) -> Floats:
    """Return by what factors pulls must grow, given those of the squared precision in a pool."""
    if arms.left is None:
        return factors
    assert arms.pulls is not None
    return 1.0 + arms.left * (factors - 1.0) / (arms.left + arms.pulls * factors)


class RoundPlanner:
    """Plans a round: to declare a block, or to show that no further group is possible.

    Args:
        arms: The arms, with the pulls from which to plan.
        rules: The rules of the problem.
        shares: Which of SHARES, of a gap and of the level of windows, the last plan made certain.

    Attributes:
        share: The first of these, by this plan.
        base: The second.
    """

    def __init__(self, arms: Arms, rules: Rules, shares: tuple[int, int]) -> None:
        self.arms, self.rules = arms, rules
        self.share, self.base = shares
        self.gaps = estimated_gaps(arms.means, arms.by_mean)

    def plan(self, to_the_end: bool, all_ways: bool) -> RoundPlan:
        """Plan to declare a block, or to show at once that no further group is possible.

        Args:
            to_the_end: Whether the search goes on after the block has been declared.
            all_ways: Whether to look at more than the block that seems best.
        """
        ones = np.ones(len(self.gaps) - 1)
        part, total = RoundPlan(ones, np.inf), np.inf
        gap, first, last = best_block(self.arms, self.rules, self.gaps, 0)
        if gap > self.rules.sure_gap:
            part = self._climb(self.arms, self._block(first, last, gap), part, part)
            total = part.cost
            if total < np.inf and not all_ways and gap > self.rules.floor:
                return part
            after = self.arms.declared.copy()
            after[self.arms.by_mean[first:last]] = True
            if to_the_end and after.sum() < self.rules.max_members:
                then = replace(self.arms, declared=after)
                total = self._end(then, RoundPlan(part.factors, np.inf)).cost
        whole = self._end(self.arms, RoundPlan(ones, total))
        return whole._replace(ending=True) if whole.cost < total else part

    def _end(self, arms: Arms, start: RoundPlan) -> RoundPlan:
        """Plan to leave no further group, from planned factors on, for less than their cost."""
        best, max_members = start, self.rules.max_members
        if self.rules.floor:
            nothing = Target(np.empty(0, dtype=np.int64)).asking(0.0)  # no piece above the floor
            best = self._cheaper(arms, nothing, start, best)
        gap, first, last = best_block(arms, self.rules, self.gaps, max_members)
        if gap > 0:
            best = self._climb(arms, self._block(first, last, gap), start, best)
        windows = np.empty((max_members - int(arms.declared.sum()) + 1, 2), dtype=np.int64)
        exact = Arms.exactly(arms.means, arms.by_mean, arms.declared)
        level = best_windows(exact, self.gaps, 0.0, windows)
        if level > 0:
            cuts = widest_gaps(self.gaps, arms.by_mean, arms.declared, WIDEST_GAPS)
            for cut in (0, *cuts.tolist()):
                aim = self._windows(exact, windows, level, cut)
                best = self._climb(arms, aim, start, best)
        return best

    def _cheaper(self, arms: Arms, target: Target, start: RoundPlan, best: RoundPlan) -> RoundPlan:
        """Return the plan for a target, from planned factors on, if it is cheaper than the best."""
        factors, cost = plan_target(arms, self.rules, target, start.factors, best.cost)
        return RoundPlan(factors, cost) if cost < best.cost else best

    def _block(self, first: int, last: int, gap: float) -> Callable[[int, int], Target]:
        """Return how to declare by_mean[first:last]."""
        cuts = places_around(first, last, len(self.gaps) - 1)
        target = Target(cuts, first, last)
        return lambda share, _: target.asking(SHARES[share] * gap)

    def _windows(
        self, exact: Arms, windows: Wholes, level: float, cut: int
    ) -> Callable[[int, int], Target | None]:
        """Return how to leave no further group by windows, and a wider gap at `cut` if not 0."""
        cuts = np.array([cut] if cut else [], dtype=np.int64)
        target = Target(cuts, windows=windows)
        ease = 1.0 if self.arms.single_evidence is None else PAIR_EASE

        def aim(share: int, base: int) -> Target | None:
            wanted = SHARES[base] * level
            if best_windows(exact, wanted + ease * (self.gaps - wanted), wanted, windows) <= 0:
                return None
            gap = max(SHARES[share] * self.gaps[cut], wanted) if cut else wanted
            return target.asking(gap, wanted)

        return aim

    def _climb(
        self,
        arms: Arms,
        aim: Callable[[int, int], Target | None],
        start: RoundPlan,
        best: RoundPlan,
    ) -> RoundPlan:
        """Plan with various shares made certain, from the last best ones on; the cheapest wins.

        It walks along the share of a gap, then along that of windows if there are any: up as long
        as that is cheaper, or else down. When a walk ends, one more step along it is not cheaper.
        If no plan of a walk is possible, all shares of a gap are tried.

        Returns:
            The cheapest plan from the factors of `start` on; `best` if none costs less.
        """

        def better(share: int, base: int) -> bool:
            nonlocal best
            target = aim(share, base)
            if target is None:
                return False
            other = self._cheaper(arms, target, start, best)
            if other is best:
                return False
            best, self.share, self.base = other, share, base
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
        for windows in (False, True)[: 1 + (target is None or target.window_count > 0)]:
            if not walk(1, windows):
                walk(-1, windows)
        if best.cost == np.inf:
            for share in range(len(SHARES)):
                better(share, self.base)
        return best
