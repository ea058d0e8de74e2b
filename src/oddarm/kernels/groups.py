"""Whether a set of arms is an outlier group, by their intervals, and which pulls would tell.

docs/adaptive.md has the mathematics; groups.c does the work.
"""

from __future__ import annotations

from ctypes import byref, c_double

import numpy as np

from oddarm._typing import Flags, Floats, Wholes
from oddarm.kernels.blocks import Arms, Rules
from oddarm.kernels.native import function

__all__ = ["judge_group", "plan_group", "widest_possible"]

_judge_group = function("judge_group", "record record wholes flags real real results", "whole")
_widest_possible = function("widest_possible", "record wholes flags whole", "real")
_plan_group = function("plan_group", "record record wholes flags floats floats floats", "real")
_Four = c_double * 4
_LINKS = 11  # of an arm, in chains: one for each of WIDTHS in groups.c, and one more
_MOST_STRETCHES = 4096  # as in groups.c: with many arms, chains have one arm of each


def judge_group(
    arms: Arms, rules: Rules, order: Wholes, member: Flags, apart: float, certain: float
) -> tuple[int, float, float, float, float]:
    """Judge whether the members are an outlier group.

    Args:
        arms: The arms.
        rules: The rules of the problem.
        order: The arms by segment and piece, and within these by their lower ends.
        member: Which arms are members.
        apart: How far members and others are certain to be apart; not positive if the order of
            segments and pieces is not certain.
        certain: A gap that is certain inside a segment; the intervals may tell of a larger one.

    Returns:
        1 if they are for all means within the intervals, -1 if for none, 0 if that is open; the
        least and most that their distance to the others can be; and the least and most that the
        longest span of `rules.neighbours` gaps in a row inside the segments can be.
    """
    ends = _Four()
    verdict = _judge_group(arms.record, byref(rules), order, member, apart, certain, ends)
    return verdict, ends[0], ends[1], ends[2], ends[3]


def widest_possible(arms: Arms, order: Wholes, member: Flags, neighbours: int) -> float:
    """Return the most that a span of so many gaps inside a segment can be; `order` as above."""
    longest: float = _widest_possible(arms.record, order, member, neighbours)
    return longest


def plan_group(
    arms: Arms, rules: Rules, order: Wholes, member: Flags, shifts: Floats, chains: bool
) -> tuple[Floats, float]:
    """Plan the pulls that would tell whether the members are an outlier group.

    `order` sorts the arms by their lower ends plus `shifts`, which keep apart what lies on
    different sides of the group's borders. With `chains`, segments are also covered by the
    cheapest chains, by intervals alone, and the cheaper plan is returned. With many arms, they are
    always covered by chains.

    Returns:
        By what factor the pulls of each arm must grow, and how many more pulls that takes if every
        estimate is right; infinite if it cannot be told.
    """
    factors = np.empty(len(order))
    # Links of chains, and which of them are open.
    linked = min(len(order), _MOST_STRETCHES) if rules.many_arms else len(order)
    work = np.empty(_LINKS * 8 * linked) if chains or rules.many_arms else None
    cost = _plan_group(arms.having("pulls"), byref(rules), order, member, shifts, factors, work)
    return factors, cost
