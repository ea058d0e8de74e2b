"""Blocks of arms known only by intervals: which may be outlier groups, and what rules them out.

docs/adaptive.md has the mathematics. A *block* is a run of arms in the order of their means; a
*rival* of a block is one that may be a piece of a group which does not contain it. Arrays are per
arm; `by_low`, `by_high` and `by_mean` are permutations that sort them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oddarm.kernels.compiling import kernel
from oddarm.kernels.pairs import level_of_gap, level_of_order

__all__ = [
    "BEGIN",
    "BOLD",
    "beside",
    "best_block",
    "best_windows",
    "certify",
    "cheapest_filler",
    "copy",
    "extra_pulls",
    "find_cuts",
    "find_piece",
    "find_rival",
    "find_windows",
    "plan_cuts",
    "planned_pulls",
    "resort",
    "shrink",
]

BOLD = 1.25
"""The least factor by which a plan raises an arm's pulls: timid steps make endless plans."""
SPLITS = 12
"""Into how many parts the room beside a gap is divided to find the cheapest split."""
BEGIN: Any = np.int64(0)
"""The first place: for a plain 0 a kernel that is given other places too is compiled again."""
INSET = 0.01
"""How far inside a gap, in parts of its length, an arm must lie to fill it."""


@kernel
def copy(target: Any, values: Any) -> None:
    """Copy an array; a loop compiles in a tenth of the time of a slice."""
    for k in range(len(values)):
        target[k] = values[k]


@kernel
def resort(order: Any, keys: Any) -> None:
    """Sort a permutation by keys, ties by arm, in place; quick when it is nearly sorted."""
    for k in range(1, len(order)):
        arm = order[k]
        key = keys[arm]
        at = k
        while at > 0 and (
            keys[order[at - 1]] > key or (keys[order[at - 1]] == key and order[at - 1] > arm)
        ):
            order[at] = order[at - 1]
            at -= 1
        order[at] = arm


@kernel
def find_piece(
    low: Any,
    high: Any,
    by_low: Any,
    by_high: Any,
    declared: Any,
    tau: float,
    room: int,
    side: int,
    start: float,
    stop: float,
    reach: float,
) -> tuple[bool, float, float]:
    """Look for a block that may be a piece of a group whose gaps exceed `tau`.

    Its lower gap begins at a lower end x from `start` to `stop`, and its upper gap ends at `reach`
    or beyond; at least `side` arms can lie below it, at most `room` undeclared arms must lie
    inside, and one can.

    Returns:
        Whether there is one; x; and the upper end e at which its upper gap ends, infinite if
        nothing need lie above it.
    """
    n = len(low)
    # ends[k]: the least upper end of by_low[k:], so e(x) for those that begin beyond x.
    ends = np.empty(n + 1)
    ends[n] = np.inf
    for k in range(n - 1, -1, -1):
        ends[k] = min(ends[k + 1], high[by_low[k]])
    # valid[k]: the first place from k on in by_high with a possible gap above tau just below it.
    valid = np.empty(n + 1, np.int64)
    valid[n] = n
    latest = -np.inf
    first = 0
    for k in range(n):
        e = high[by_high[k]]
        if k > 0 and e > high[by_high[k - 1]]:
            for j in range(first, k):
                latest = max(latest, low[by_high[j]])
            first = k
        valid[k] = k if (first == k and n - k >= side and latest < e - tau) else -1
    for k in range(n - 1, -1, -1):
        if valid[k] < 0:
            valid[k] = valid[k + 1]
    # begins[k]: the least lower end of those of by_high[k:] that are not declared.
    begins = np.empty(n + 1)
    begins[n] = np.inf
    for k in range(n - 1, -1, -1):
        arm = by_high[k]
        begins[k] = begins[k + 1] if declared[arm] else min(begins[k + 1], low[arm])
    inside = np.zeros(n, np.bool_)
    forced = 0
    entered = 0  # by_high[:entered] end below e
    member = 0  # by_high[member:] end beyond x + tau
    upper = 0
    for k in range(n):
        arm = by_low[k]
        x = low[arm]
        if inside[arm]:
            inside[arm] = False
            forced -= 1
        if k + 1 < n and low[by_low[k + 1]] == x:
            continue
        if x > stop:
            break
        if x < start or k + 1 < side or ends[k + 1] <= x + tau:
            continue
        while member < n and high[by_high[member]] <= x + tau:
            member += 1
        if begins[member] == np.inf:
            continue
        least = max(x + 2 * tau, begins[member] + tau)
        while upper < n and (high[by_high[upper]] <= least or high[by_high[upper]] < reach):
            upper += 1
        place = valid[upper]
        while entered < place:
            other = by_high[entered]
            if low[other] > x and not declared[other]:
                inside[other] = True
                forced += 1
            entered += 1
        if forced <= room:
            return True, x, (np.inf if place == n else high[by_high[place]])
    return False, 0.0, 0.0


@kernel
def find_rival(
    low: Any,
    high: Any,
    by_low: Any,
    by_high: Any,
    declared: Any,
    tau: float,
    room: int,
    side: int,
    begin: float,
    end: float,
    top: float,
    bottom: float,
) -> tuple[bool, float, float]:
    """Look for a piece with gaps above `tau` that can leave out an arm of a block.

    The block's arms have lower ends from `begin` on and upper ends up to `end`. With -inf and inf
    for them any piece is a rival. A piece has from one to `room` members that are not declared.
    Only pieces whose lower gap begins at `top` or below and whose upper gap ends at `bottom` or
    above; any with inf and -inf.

    Returns:
        Whether there is one; where its lower gap begins and where its upper gap ends.
    """
    found, x, e = find_piece(
        low, high, by_low, by_high, declared, tau, room, side, begin, top, bottom
    )
    if found:
        return True, x, e
    n = len(low)
    mirror_low, mirror_high = np.empty(n), np.empty(n)
    mirror_by_low, mirror_by_high = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(n):
        mirror_low[k] = -high[k]
        mirror_high[k] = -low[k]
        mirror_by_low[k] = by_high[n - 1 - k]
        mirror_by_high[k] = by_low[n - 1 - k]
    found, x, e = find_piece(
        mirror_low,
        mirror_high,
        mirror_by_low,
        mirror_by_high,
        declared,
        tau,
        room,
        side,
        -end,
        -bottom,
        -top,
    )
    return found, -e, -x


@kernel
def find_cuts(low: Any, high: Any, order: Any, cuts: Any) -> None:
    """Write by how much order[:k] lie below the others, for every k; infinite at both ends.

    With estimates for both `low` and `high` these are the gaps that seem to be; with intervals
    those that are certain, where they are positive.
    """
    n = len(low)
    cuts[0], cuts[n] = np.inf, np.inf
    least = np.inf
    for k in range(n - 1, 0, -1):
        least = min(least, low[order[k]])
        cuts[k] = least
    reach = -np.inf
    for k in range(1, n):
        reach = max(reach, high[order[k - 1]])
        cuts[k] -= reach


@kernel
def best_block(
    cuts: Any, order: Any, declared: Any, most: int, enough: int
) -> tuple[float, int, int]:
    """Return the block with the widest gaps around it, and its range in `order`.

    Only blocks of at most `most` arms that are not declared wholly and with the declared ones make
    at least `enough`. The gap, the lesser of the two, is 0 if there is none.
    """
    n = len(order)
    count = 0
    for arm in range(n):
        count += declared[arm]
    best, first, last = 0.0, 0, 0
    for i in range(n):
        if cuts[i] <= best:
            continue
        new = 0
        for j in range(i + 1, min(i + most, n) + 1):
            new += not declared[order[j - 1]]
            gap = min(cuts[i], cuts[j])
            if gap > best and new > 0 and count + new >= enough:
                best, first, last = gap, i, j
    return best, first, last


@kernel
def find_windows(
    low: Any,
    high: Any,
    order: Any,
    declared: Any,
    cuts: Any,
    level: float,
    spare: float,
    windows: Any,
) -> bool:
    """Look for windows that no two share an arm: stretches that are long for the arms in them.

    Between order[first] and those before it and order[last] and those after it is a distance of
    at least `level` for each of the last - first gaps that there can be, and `spare` beyond that;
    or it is a single gap, of which `cuts` says so. No window has a declared arm, and those must be
    certain to lie where `order` has them.

    Writes first and last of each, as many as `windows` has rows; returns whether there are.
    """
    n = len(order)
    found = 0
    start = 0
    while start < n and found < len(windows):
        if declared[order[start]]:
            start += 1
            continue
        stop = start
        while stop < n and not declared[order[stop]]:
            stop += 1
        begins = np.empty(stop - start + 1)  # the least lower end from a place on
        begins[stop - start] = np.inf
        for k in range(stop - 1, start - 1, -1):
            begins[k - start] = min(begins[k - start + 1], low[order[k]])
        reach = -np.inf
        best, first = np.inf, -1
        for k in range(start, stop):
            if first >= 0 and cuts[k] >= level + spare:
                best, first = -np.inf, k - 1
            if first >= 0 and begins[k - start] - level * k >= best + spare:
                windows[found, 0], windows[found, 1] = first, k
                found += 1
                best, first = np.inf, -1
                reach = max(reach, high[order[k]])
                if found == len(windows):
                    return True
                continue
            reach = max(reach, high[order[k]])
            if reach - level * k < best:
                best, first = reach - level * k, k
        start = stop
    return False


@kernel
def best_windows(
    low: Any, high: Any, order: Any, declared: Any, cuts: Any, level: float, windows: Any
) -> float:
    """Return the largest `spare` with which there are windows, and write these.

    If `level` is 0, return the largest level at which there are windows at all. Not positive if
    there are none.
    """
    least, most = np.inf, -np.inf
    for arm in order:
        least, most = min(least, low[arm]), max(most, high[arm])
    under, over = 0.0, most - least
    for _ in range(30):
        if over - under <= 1e-3 * over:
            break
        middle = (under + over) / 2
        if level > 0.0:
            found = find_windows(low, high, order, declared, cuts, level, middle, windows)
        else:
            found = find_windows(low, high, order, declared, cuts, middle, 0.0, windows)
        if found:
            under = middle
        else:
            over = middle
    if under > 0.0:
        if level > 0.0:
            find_windows(low, high, order, declared, cuts, level, under, windows)
        else:
            find_windows(low, high, order, declared, cuts, under, 0.0, windows)
    return under


@kernel
def factor_to_fit(
    factor: float, mean: float, down: float, up: float, low: float, high: float
) -> float:
    """Return to what factor an arm's pulls must grow for its interval to fit into [low, high].

    Args:
        factor: To what factor they are planned to grow already.
        mean: Its estimate.
        down: How far its interval reaches below that now.
        up: How far above.
        low: Where it is to end below.
        high: Where it is to end above.
    """
    if mean <= low or mean >= high:
        return np.inf
    wanted = BOLD * factor
    if down > mean - low:
        wanted = max(wanted, (down / (mean - low)) ** 2)
    if up > high - mean:
        wanted = max(wanted, (up / (high - mean)) ** 2)
    return wanted


@kernel
def shrink(low: Any, high: Any, means: Any, factors: Any, now_low: Any, now_high: Any) -> None:
    """Compute the intervals as they will be if pulls grow by `factors`."""
    for arm in range(len(low)):
        scale = factors[arm] ** -0.5 if factors[arm] > 1.0 else 1.0
        now_low[arm] = means[arm] - (means[arm] - low[arm]) * scale
        now_high[arm] = means[arm] + (high[arm] - means[arm]) * scale


@kernel
def extra_pulls(counts: Any, factors: Any, wanted: Any) -> float:
    """Return what it costs to raise the factors to those wanted."""
    total = 0.0
    for arm in range(len(counts)):
        total += counts[arm] * (wanted[arm] - factors[arm])
    return total


@kernel
def planned_pulls(counts: Any, factors: Any) -> float:
    """Return what it costs to multiply the pulls by the factors."""
    total = 0.0
    for arm in range(len(counts)):
        total += counts[arm] * (factors[arm] - 1.0)
    return total


@kernel
def certify(
    low: Any,
    high: Any,
    means: Any,
    counts: Any,
    by_mean: Any,
    begin: int,
    at: int,
    to: int,
    end: int,
    gap: float,
    pairs: Any,
    factors: Any,
) -> None:
    """Raise factors until by_mean[begin:at] end below by_mean[to:end] by `gap`, at the least cost.

    By the intervals of single arms if there are arms in between or `pairs` is empty; else by
    the evidence of pairs, with pairs[arm] the evidence at which its own interval ends, then the
    error probability of pairs, and by what factor to raise the evidence that they seem to need.
    """
    n = len(low)
    below, above = means[by_mean[at - 1]], means[by_mean[to]]
    room = above - below - gap
    alone = to > at or len(pairs) == 0
    order, level = 0.0, 0.0
    if not alone:
        order = pairs[n + 1] * level_of_order(n, pairs[n])
        level = pairs[n + 1] * level_of_gap(gap, n, pairs[n])
    best, chosen = np.inf, 0.5
    for k in range(1, SPLITS + 1):
        split = k / SPLITS if k < SPLITS else chosen
        cost = 0.0
        for place in range(begin, end):
            arm = by_mean[place]
            if at <= place < to:
                continue
            if place < at:
                have, far, part = high[arm] - means[arm], below - means[arm], split
            else:
                have, far, part = means[arm] - low[arm], means[arm] - above, 1.0 - split
            if alone:
                wanted = (have / (far + part * room)) ** 2
            else:
                wide = room + gap
                wanted = (have * have / pairs[arm]) * max(
                    level / (far * (far + 2.0 * room) + part * room * room),
                    min(
                        pairs[arm] / (far + part * wide) ** 2,
                        order / (far * (far + 2.0 * wide) + part * wide * wide),
                    ),
                )
            if wanted > factors[arm]:
                cost += counts[arm] * (wanted - factors[arm])
                if k == SPLITS:
                    factors[arm] = wanted
        if cost < best:
            best, chosen = cost, split


@kernel
def cheapest_filler(
    low: Any,
    high: Any,
    means: Any,
    counts: Any,
    barred: Any,
    factors: Any,
    start: float,
    length: float,
    wanted: Any,
) -> float:
    """Plan for one arm to lie within the gap that begins at `start`; return the cost."""
    inset = INSET * length
    best, chosen, factor = np.inf, -1, 1.0
    for arm in range(len(low)):
        mean = means[arm]
        if barred[arm] or not start + 2 * inset < mean < start + length - 2 * inset:
            continue
        want = factor_to_fit(
            factors[arm],
            mean,
            mean - low[arm],
            high[arm] - mean,
            start + inset,
            start + length - inset,
        )
        extra = counts[arm] * (want - factors[arm])
        if extra < best:
            best, chosen, factor = extra, arm, want
    copy(wanted, factors)
    if chosen >= 0:
        wanted[chosen] = factor
    return best


@kernel
def _nth_least(values: Any, rank: int) -> float:
    """Return a number that at least `rank` of the values, and hardly more, do not exceed."""
    low, high, count = 0.0, 0.0, 0
    for value in values:
        if value < np.inf:
            high = max(high, value)
            count += 1
    if count < rank:
        return np.inf
    for _ in range(50):
        middle = (low + high) / 2
        count = 0
        for value in values:
            count += value <= middle
        if count >= rank:
            high = middle
            if count == rank:
                break
        else:
            low = middle
    return high


@kernel
def _rule_out(
    low: Any,
    high: Any,
    means: Any,
    counts: Any,
    now_low: Any,
    now_high: Any,
    declared: Any,
    member: Any,
    members: bool,
    x: float,
    e: float,
    tau: float,
    room: int,
    factors: Any,
    wanted: Any,
) -> float:
    """Plan the cheapest way to rule out the rival between x and e; return its cost."""
    n = len(low)
    inset = INSET * tau
    nobody = np.zeros(n, np.bool_)
    trial = np.empty(n)
    # An arm fills its lower gap, or its upper one.
    best = cheapest_filler(low, high, means, counts, nobody, factors, x, tau, wanted)
    cost = cheapest_filler(low, high, means, counts, nobody, factors, e - tau, tau, trial)
    if cost < best:
        best = cost
        copy(wanted, trial)
    # No arm can be inside: each that can is kept below or above.
    copy(trial, factors)
    for arm in range(n):
        if declared[arm] or now_high[arm] <= x + tau or now_low[arm] >= e - tau:
            continue
        mean = means[arm]
        below = factor_to_fit(factors[arm], mean, 0.0, high[arm] - mean, -np.inf, x + tau - inset)
        above = factor_to_fit(factors[arm], mean, mean - low[arm], 0.0, e - tau + inset, np.inf)
        trial[arm] = min(below, above)
    cost = extra_pulls(counts, factors, trial)
    if cost < best:
        best = cost
        copy(wanted, trial)
    # The whole block is inside, or more new arms than a group may have.
    fits = np.empty(n)
    costs = np.empty(n)
    missing = room + 1
    for arm in range(n):
        mean = means[arm]
        if now_low[arm] > x and now_high[arm] < e:
            fits[arm] = factors[arm]
            costs[arm] = np.inf
            missing -= not declared[arm]
        else:
            fits[arm] = factor_to_fit(
                factors[arm], mean, mean - low[arm], high[arm] - mean, x + inset, e - inset
            )
            costs[arm] = np.inf if declared[arm] else counts[arm] * (fits[arm] - factors[arm])
    for arm in range(n):
        trial[arm] = fits[arm] if member[arm] else factors[arm]
    cost = extra_pulls(counts, factors, trial) if members else np.inf
    if cost < best:
        best = cost
        copy(wanted, trial)
    limit = _nth_least(costs, missing)
    if limit < np.inf:
        copy(trial, factors)
        for arm in range(n):
            if costs[arm] <= limit and missing > 0:
                trial[arm] = fits[arm]
                missing -= 1
        cost = extra_pulls(counts, factors, trial)
        if cost < best:
            best = cost
            copy(wanted, trial)
    return best


@kernel
def beside(low: Any, high: Any, order: Any, at: int, gap: float) -> tuple[float, float]:
    """Return up to where order[:at] can reach, and from where on the others can begin.

    The gap between them is certain to be at least `gap`.
    """
    top, latest = -np.inf, -np.inf
    for k in range(at):
        top, latest = max(top, high[order[k]]), max(latest, low[order[k]])
    bottom, soonest = np.inf, np.inf
    for k in range(at, len(order)):
        bottom, soonest = min(bottom, low[order[k]]), min(soonest, high[order[k]])
    return min(top, soonest - gap), max(bottom, latest + gap)


@kernel
def plan_cuts(
    low: Any,
    high: Any,
    means: Any,
    counts: Any,
    by_low: Any,
    by_high: Any,
    by_mean: Any,
    declared: Any,
    cuts: Any,
    first: int,
    last: int,
    gap: float,
    windows: Any,
    level: float,
    epsilon: float,
    room: int,
    side: int,
    pairs: Any,
    factors: Any,
    budget: float,
) -> float:
    """Plan the pulls that make gaps certain and rule out the rivals of by_mean[first:last].

    Raises `factors`, from those that are planned already. If every estimate is right and an arm's
    interval shrinks with the root of its pulls, then after multiplying the pulls of each arm by
    its factor there is a certain gap of at
    least `gap` at each of the places `cuts` in by_mean, and no piece with gaps above (1+ε) times
    that is left which can leave out an arm of the block; none at all if the block is empty. And
    the `windows` are certain to have gaps of `level`, and no piece beside the first of the cuts,
    if any, is left with gaps above (1+ε) times that.

    Returns:
        How many more pulls than now that takes; infinite if more than `budget`, or it cannot be.
    """
    n = len(low)
    for at in cuts:
        certify(low, high, means, counts, by_mean, BEGIN, at, at, n, gap, pairs, factors)
    for k in range(len(windows)):
        if not planned_pulls(counts, factors) < budget:
            return np.inf
        begin, end = windows[k, 0], windows[k, 1]
        start, stop = begin, end
        while start > 0 and not declared[by_mean[start - 1]]:
            start -= 1
        while stop < n and not declared[by_mean[stop]]:
            stop += 1
        wide = level * (end - begin)
        ends = (start, begin + 1, end, stop)
        certify(low, high, means, counts, by_mean, *ends, wide, pairs, factors)
    member = np.zeros(n, np.bool_)
    for k in range(first, last):
        member[by_mean[k]] = True
    cost = planned_pulls(counts, factors)
    now_low, now_high, wanted = np.empty(n), np.empty(n), np.empty(n)
    order_low, order_high = by_low.copy(), by_high.copy()
    for _ in range(40 * n):
        if not cost < budget:
            return np.inf
        shrink(low, high, means, factors, now_low, now_high)
        resort(order_low, now_low)
        resort(order_high, now_high)
        begin, end = np.inf, -np.inf
        for k in range(first, last):
            begin = min(begin, now_low[by_mean[k]])
            end = max(end, now_high[by_mean[k]])
        if first == last:
            begin, end = -np.inf, np.inf
        tau = (1.0 + epsilon) * gap
        arms = (now_low, now_high, order_low, order_high, declared)
        found, x, e = find_rival(*arms, tau, room, side, begin, end, np.inf, -np.inf)
        if not found and len(windows) > 0 and len(cuts) > 0:
            tau = (1.0 + epsilon) * level
            top, bottom = beside(now_low, now_high, by_mean, cuts[0], gap)
            found, x, e = find_rival(*arms, tau, room, side, begin, end, top, bottom)
        if not found:
            return cost
        cost += _rule_out(
            low,
            high,
            means,
            counts,
            now_low,
            now_high,
            declared,
            member,
            first < last,
            x,
            e,
            tau,
            room,
            factors,
            wanted,
        )
        copy(factors, wanted)
    return np.inf
