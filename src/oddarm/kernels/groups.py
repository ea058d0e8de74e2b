"""A set of arms known by intervals: is it an outlier group, is it not, and what would tell.

docs/adaptive.md has the mathematics; the work is done by groups.c.
"""

from __future__ import annotations

from ctypes import c_double

from oddarm.kernels.blocks import Arms, Floats, Mask, room_for
from oddarm.kernels.native import function

__all__ = ["judge_group", "plan_group"]

_judge_group = function(
    "judge_group", "floats floats wholes flags whole real whole real real results", "whole"
)
_plan_group = function(
    "plan_group",
    "floats floats floats floats wholes wholes flags floats whole real floats floats floats",
    "real",
)
_Four = c_double * 4


def judge_group(
    low: Floats,
    high: Floats,
    order: Arms,
    member: Mask,
    epsilon: float,
    side: int,
    apart: float,
    certain: float,
) -> tuple[int, float, float, float, float]:
    """Judge whether the members are an outlier group.

    Args:
        low: Lower ends.
        high: Upper ends.
        order: The arms by segment and piece, and within these by their lower ends.
        member: Which arms are members.
        epsilon: ε.
        side: The least number of arms in a segment.
        apart: How far members and others are certain to be apart; not positive if the order of
            segments and pieces is not certain.
        certain: A gap that is certain inside a segment; the intervals may tell of a larger one.

    Returns:
        1 if they are for all means within the intervals, -1 if for none, 0 if that is open; the
        least and most that their distance to the others can be; and the least and most that the
        largest gap inside the segments can be.
    """
    ends = _Four()
    verdict = _judge_group(
        low,
        high,
        order,
        member,
        len(low),
        epsilon,
        side,
        apart,
        certain,
        ends,
    )
    return verdict, ends[0], ends[1], ends[2], ends[3]


def plan_group(
    low: Floats,
    high: Floats,
    means: Floats,
    counts: Floats,
    order: Arms,
    by_mean: Arms,
    member: Mask,
    shifts: Floats,
    epsilon: float,
    pairs: Floats,
    factors: Floats,
) -> float:
    """Plan the pulls that would tell whether the members are an outlier group.

    `order` sorts the arms by their lower ends plus `shifts`, which keep apart what lies on
    different sides of the group's borders; see `certify` in blocks.c for `pairs`.

    Returns:
        How many more pulls that takes if every estimate is right; infinite if it cannot be told.
    """
    cost: float = _plan_group(
        low,
        high,
        means,
        counts,
        order,
        by_mean,
        member,
        shifts,
        len(low),
        epsilon,
        pairs if len(pairs) else None,
        factors,
        room_for(len(low)),
    )
    return cost
