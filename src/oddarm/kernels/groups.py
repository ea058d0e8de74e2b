"""A set of arms known by intervals: is it an outlier group, is it not, and what would tell.

docs/adaptive.md has the mathematics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oddarm.kernels.blocks import (
    BEGIN,
    BOLD,
    certify,
    cheapest_filler,
    copy,
    planned_pulls,
    resort,
    shrink,
)
from oddarm.kernels.compiling import kernel

__all__ = ["judge_group", "plan_group"]

SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)
"""Shares of the margin that a plan may spend on the gaps of the group; the rest goes inside."""


@kernel
def _inside(low: Any, high: Any, by_low: Any, member: Any) -> tuple[float, int, float, float]:
    """Return the largest gap that may be inside a segment, with its place and ends."""
    n = len(low)
    best, place, start, stop = 0.0, -1, 0.0, 0.0
    k = n - 1
    while k >= 0:
        if member[by_low[k]]:
            k -= 1
            continue
        # The segment by_low[first : k+1], from its last arm down.
        last = k
        furthest = -np.inf  # the greatest upper end but that of the arm that begins last
        first = last
        while first > 0 and not member[by_low[first - 1]]:
            first -= 1
        for j in range(first, last):
            furthest = max(furthest, high[by_low[j]])
        if first < last and low[by_low[last - 1]] == low[by_low[last]]:  # another begins there
            furthest = max(furthest, high[by_low[last]])
        end = furthest  # beyond the last beginning no arm is certain to follow
        least = np.inf
        for j in range(last, first - 1, -1):
            x = low[by_low[j]]
            if j < last and low[by_low[j + 1]] > x:
                end = least
            if (j == last or low[by_low[j + 1]] > x) and end - x > best:
                best, place, start, stop = end - x, j, x, end
            least = min(least, high[by_low[j]])
        k = first - 1
    return best, place, start, stop


@kernel
def judge_group(
    low: Any,
    high: Any,
    order: Any,
    member: Any,
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
    n = len(low)
    most = np.inf
    low_in, low_out = -np.inf, -np.inf
    reach = -np.inf  # of the present segment
    size = 0
    short = False
    for k in range(n):
        arm = order[k]
        if member[arm]:
            most = min(most, high[arm] - low_out)
            low_in = max(low_in, low[arm])
            short |= 0 < size < side
            size, reach = 0, -np.inf
        else:
            most = min(most, high[arm] - low_in)
            if size > 0:
                certain = max(certain, low[arm] - reach)
            low_out = max(low_out, low[arm])
            reach = max(reach, high[arm])
            size += 1
    short |= 0 < size < side
    possible = _inside(low, high, order, member)[0]
    if apart <= 0.0:  # who lies between whom is not certain
        return 0, 0.0, np.inf, 0.0, possible
    if short or most <= (1.0 + epsilon) * certain:
        return -1, apart, most, certain, possible
    if apart > (1.0 + epsilon) * possible:
        return 1, apart, most, certain, possible
    return 0, apart, most, certain, possible


@kernel
def _confirm(
    low: Any,
    high: Any,
    means: Any,
    counts: Any,
    order: Any,
    by_mean: Any,
    member: Any,
    shifts: Any,
    gap: float,
    window: float,
    pairs: Any,
    factors: Any,
    budget: float,
) -> float:
    """Plan until the group has gaps of `gap` and no gap above `window` may be inside."""
    n = len(low)
    for arm in range(n):
        factors[arm] = 1.0
    for k in range(1, n):
        if member[by_mean[k]] != member[by_mean[k - 1]]:
            certify(low, high, means, counts, by_mean, BEGIN, k, k, n, gap, pairs, factors)
    cost = planned_pulls(counts, factors)
    now_low, now_high, wanted = np.empty(n), np.empty(n), np.empty(n)
    keys = np.empty(n)
    order = order.copy()
    for _ in range(40 * n):
        if not cost < budget:
            return np.inf
        shrink(low, high, means, factors, now_low, now_high)
        for arm in range(n):
            keys[arm] = now_low[arm] + shifts[arm]
        resort(order, keys)
        length, place, x, end = _inside(now_low, now_high, order, member)
        if length <= window:
            return cost
        # An arm fills the gap, or one that bounds it draws nearer to its estimate.
        best = cheapest_filler(low, high, means, counts, member, factors, x, window, wanted)
        chosen = -1
        for arm in range(n):
            if (arm == order[place] and means[arm] > x) or (
                now_high[arm] == end and not member[arm] and means[arm] < end
            ):
                extra = counts[arm] * (BOLD - 1.0) * factors[arm]
                if extra < best:
                    best, chosen = extra, arm
        if chosen >= 0:
            copy(wanted, factors)
            wanted[chosen] = BOLD * factors[chosen]
        cost += best
        copy(factors, wanted)
    return np.inf


@kernel
def _refute(
    low: Any,
    high: Any,
    means: Any,
    counts: Any,
    by_mean: Any,
    member: Any,
    place: int,
    inside: float,
    apart: float,
    pairs: Any,
    factors: Any,
) -> float:
    """Plan until a gap of `inside` is certain at `place` and the group is within `apart`."""
    n = len(low)
    for arm in range(n):
        factors[arm] = 1.0
    certify(low, high, means, counts, by_mean, BEGIN, place, place, n, inside, pairs, factors)
    best, chosen, split = np.inf, -1, 0.5
    for k in range(1, n):
        one, two = by_mean[k - 1], by_mean[k]
        if member[one] == member[two]:
            continue
        room = apart - (means[two] - means[one])
        if room <= 0.0:
            continue
        down, up = means[one] - low[one], high[two] - means[two]
        for j in range(1, 10):
            share = j / 10
            want_one = max(factors[one], (down / (share * room)) ** 2)
            want_two = max(factors[two], (up / ((1.0 - share) * room)) ** 2)
            extra = counts[one] * (want_one - factors[one]) + counts[two] * (
                want_two - factors[two]
            )
            if extra < best:
                best, chosen, split = extra, k, share
    if chosen < 0:
        return np.inf
    one, two = by_mean[chosen - 1], by_mean[chosen]
    room = apart - (means[two] - means[one])
    factors[one] = max(factors[one], ((means[one] - low[one]) / (split * room)) ** 2)
    factors[two] = max(factors[two], ((high[two] - means[two]) / ((1.0 - split) * room)) ** 2)
    return planned_pulls(counts, factors)


@kernel
def plan_group(
    low: Any,
    high: Any,
    means: Any,
    counts: Any,
    order: Any,
    by_mean: Any,
    member: Any,
    shifts: Any,
    epsilon: float,
    pairs: Any,
    factors: Any,
) -> float:
    """Plan the pulls that would tell whether the members are an outlier group.

    `order` sorts the arms by their lower ends plus `shifts`, which keep apart what lies on
    different sides of the group's borders; see `blocks.certify` for `pairs`.

    Returns:
        How many more pulls that takes if every estimate is right; infinite if it cannot be told.
    """
    n = len(low)
    apart, inside, place = np.inf, 0.0, BEGIN
    for k in range(1, n):
        gap = means[by_mean[k]] - means[by_mean[k - 1]]
        if member[by_mean[k]] != member[by_mean[k - 1]]:
            apart = min(apart, gap)
        elif not member[by_mean[k]] and gap > inside:
            inside, place = gap, k
    trial = np.empty(n)
    for arm in range(n):
        factors[arm] = 1.0
    best = np.inf
    margin = apart - (1.0 + epsilon) * inside
    for share in SHARES:
        if margin > 0.0:
            gap = apart - share * margin
            cost = _confirm(
                low,
                high,
                means,
                counts,
                order,
                by_mean,
                member,
                shifts,
                gap,
                gap / (1.0 + epsilon),
                pairs,
                trial,
                best,
            )
        elif margin < 0.0:
            gap = inside + share * margin / (1.0 + epsilon)
            cost = _refute(
                low,
                high,
                means,
                counts,
                by_mean,
                member,
                place,
                gap,
                (1.0 + epsilon) * gap,
                pairs,
                trial,
            )
        else:
            cost = np.inf
        if cost < best:
            best = cost
            copy(factors, trial)
    return best
