"""The certificates of the adaptive strategy, straight from their definitions: slow and plain.

Arms are known by intervals [low, high]. Use whole numbers for their ends, so that ties are exact.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np


def rivals(low, high, declared, tau, further, side, begin, end):
    """Return all (x, e) between which a piece may lie that can leave out an arm of a block.

    The piece's gaps are longer than `tau`. Below it, arms that begin at x or before; above it,
    arms that end at e or after; infinite ends if nothing lies there. Inside are from one to
    `further` arms that are not declared.
    """
    found = set()
    arms = range(len(low))
    for x in {-math.inf, *low}:
        for e in {math.inf, *high}:
            below = [i for i in arms if low[i] <= x]
            above = [i for i in arms if high[i] >= e]
            if (x > -math.inf and len(below) < side) or (e < math.inf and len(above) < side):
                continue
            # An arm that begins beyond x lies beyond the lower gap; one that ends before e lies
            # before the upper one.
            free_up = min((high[i] for i in arms if low[i] > x), default=math.inf) - x > tau
            free_down = e - max((low[i] for i in arms if high[i] < e), default=-math.inf) > tau
            if not ((x == -math.inf or free_up) and (e == math.inf or free_down)):
                continue
            if e - x <= 2 * tau:
                continue
            if sum(low[i] > x and high[i] < e and not declared[i] for i in arms) > further:
                continue
            if not any(high[i] > x + tau and low[i] < e - tau and not declared[i] for i in arms):
                continue
            leaves_out = (x > -math.inf and x >= begin) or (e < math.inf and e <= end)
            if leaves_out:
                found.add((x, e))
    return found


def certain_gap(low, high, block):
    """Return the least that the distance of a block to the others can be; 0 if it may overlap."""
    gap = math.inf
    for i in block:
        for j in range(len(low)):
            if j not in block:
                gap = min(gap, max(low[i] - high[j], low[j] - high[i]))
    return max(gap, 0)


def blocks(low, high, declared, most, enough):
    """Return every block that is certain, with its gap; a block has nobody else in between."""
    found = {}
    for size in range(1, most + 1):
        for block in combinations(range(len(low)), size):
            gap = certain_gap(low, high, block)
            first, last = min(low[i] for i in block), max(high[i] for i in block)
            between = any(
                first < low[j] and high[j] < last for j in range(len(low)) if j not in block
            )
            new = [i for i in block if not declared[i]]
            if gap > 0 and not between and new and sum(declared) + len(new) >= enough:
                found[frozenset(block)] = gap
    return found


def window_levels(low, high, order, declared, cuts):
    """Return every window (first, last) of places in an order, with its level: distance by gap.

    It ends where arms up to its first and from its last on lie, as far as no declared arm is
    between; a single gap is also as wide as `cuts` says.
    """
    found = {}
    n = len(order)
    for first in range(n):
        for last in range(first + 1, n):
            if any(declared[order[k]] for k in range(first, last + 1)):
                continue
            start, stop = first, last
            while start > 0 and not declared[order[start - 1]]:
                start -= 1
            while stop + 1 < n and not declared[order[stop + 1]]:
                stop += 1
            below = max(high[order[k]] for k in range(start, first + 1))
            above = min(low[order[k]] for k in range(last, stop + 1))
            level = (above - below) / (last - first)
            if last == first + 1:
                level = max(level, cuts[last])
            found[first, last] = level
    return found


def best_level(levels, count):
    """Return the best least level of so many windows that share no place; 0 if there are not."""
    for level in sorted({value for value in levels.values() if value > 0}, reverse=True):
        left, end = count, -1
        for (first, last), value in sorted(levels.items(), key=lambda item: item[0][1]):
            if value >= level and first > end:
                left, end = left - 1, last
        if left <= 0:
            return level
    return 0.0


def judge(low, high, member, epsilon, side, k=1):
    """Return the verdict on a set of arms and the bounds on its gap and on those of the rest.

    Those of the rest are the bounds on its longest span of k gaps in a row: at most k - 1 arms of a
    segment lie between some of the others and the rest of them.
    """
    n = len(low)
    inside = [i for i in range(n) if member[i]]
    apart = certain_gap(low, high, inside)
    if apart == 0:
        return 0, 0.0, math.inf, 0.0, None
    order = sorted(range(n), key=lambda i: low[i])
    runs = []
    for i in order:
        if runs and member[runs[-1][-1]] == member[i]:
            runs[-1].append(i)
        else:
            runs.append([i])
    most = min(
        min(high[i] for i in above) - max(low[i] for i in below) for below, above in pairwise(runs)
    )
    segments = [run for run in runs if not member[run[0]]]
    certain = possible = 0.0
    for segment in segments:
        for size in range(1, len(segment)):
            for some in combinations(segment, size):
                others = [i for i in segment if i not in some]
                for between in range(min(k, len(others))):
                    for rest in combinations(others, len(others) - between):
                        certain = max(
                            certain, min(low[i] for i in rest) - max(high[i] for i in some)
                        )
                        possible = max(
                            possible, min(high[i] for i in rest) - max(low[i] for i in some)
                        )
    if any(len(s) < side for s in segments) or most <= (1 + epsilon) * certain:
        verdict = -1
    else:
        verdict = int(apart > (1 + epsilon) * possible)
    return verdict, apart, most, certain, possible


def are_groups(configurations, member, epsilon, side, floor=0, k=1):
    """Return in which configurations of means (rows) the members are a general group of order k.

    Its distance must also exceed `floor`.
    """
    order = np.argsort(configurations, axis=1, kind="stable")
    means = np.take_along_axis(configurations, order, axis=1)
    inside = np.asarray(member)[order]
    gaps = np.diff(means, axis=1)
    changes = inside[:, 1:] != inside[:, :-1]
    apart = np.where(changes, gaps, math.inf).min(axis=1)
    widest, before = np.zeros(len(means)), np.cumsum(inside, axis=1)
    for count in range(1, min(k, means.shape[1] - 1) + 1):
        within = ~inside[:, :-count] & (before[:, count:] == before[:, :-count])
        spans = means[:, count:] - means[:, :-count]
        widest = np.maximum(widest, np.where(within, spans, 0).max(axis=1))
    long_enough = np.ones(len(means), dtype=bool)
    size = np.zeros(len(means), dtype=int)
    for k in range(means.shape[1] + 1):
        ends = inside[:, k] if k < means.shape[1] else np.ones(len(means), dtype=bool)
        long_enough &= ~(ends & (size > 0) & (size < side))
        size = np.where(ends, 0, size + 1)
    return long_enough & (apart > np.maximum((1 + epsilon) * widest, floor))


def subsets(n, most):
    """Return every set of 1 to `most` of n arms as a row of booleans."""
    rows = []
    for size in range(1, most + 1):
        for some in combinations(range(n), size):
            row = np.zeros(n, dtype=bool)
            row[list(some)] = True
            rows.append(row)
    return np.array(rows)


def sampled_means(low, high, rng, count):
    """Return configurations of means within the intervals, many of them with wide gaps.

    A quarter at random, a quarter at ends of intervals; the others have every arm drawn to the
    nearest, or to any, of a few random places, which leaves gaps between those.
    """
    n = len(low)
    quarter = count // 4
    within = rng.integers(low, high, (quarter, n), endpoint=True)
    ends = np.where(rng.random((quarter, n)) < 0.5, low, high)
    drawn = []
    for nearest in (True, False):
        places = np.sort(rng.integers(low.min(), high.max(), (quarter, 4), endpoint=True), axis=1)
        places[: quarter // 2, 0] = places[: quarter // 2, 1]
        if nearest:
            middle = rng.integers(low, high, (quarter, n), endpoint=True)
            which = np.abs(middle[:, :, None] - places[:, None, :]).argmin(axis=2)
        else:
            which = rng.integers(4, size=(quarter, n))
        drawn.append(np.clip(np.take_along_axis(places, which, axis=1), low, high))
    return np.concatenate([within, ends, *drawn])
