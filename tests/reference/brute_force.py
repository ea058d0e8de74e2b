"""Definitions 1 and 2, the absolute rule and right answers by enumeration, with rationals."""

from __future__ import annotations

from itertools import combinations


def widest_span(values, k):
    """Return the longest span of k gaps in a row, or of all gaps if there are fewer."""
    y = sorted(values)
    k = min(k, len(y) - 1)
    return max((y[i + k] - y[i] for i in range(len(y) - k)), default=0) if y else 0


def diamond(i, others, k):
    """Return ◊^k(i, others) by the letter: 0 on a side with fewer than k arms."""
    sides = sorted(x - i for x in others if x > i), sorted(i - x for x in others if x < i)
    return max(side[k - 1] if len(side) >= k else 0 for side in sides)


def groups(means, epsilon, largest, side, *, mixed, floor=0, k=1):
    """Return every outlier group that is further away than `floor`, as a frozenset of indices."""
    n = len(means)
    order = sorted(range(n), key=means.__getitem__)
    y = [means[i] for i in order]
    found = set()
    for size in range(1, largest + 1):
        blocks = combinations(range(n), size)
        if not mixed:
            blocks = (range(start, start + size) for start in range(n - size + 1))
        for block in blocks:
            members = set(block)
            segments = [[]]
            for i in range(n):
                if i in members:
                    segments.append([])
                else:
                    segments[-1].append(i)
            segments = [s for s in segments if s]
            if any(len(s) < side for s in segments):
                continue
            inner = max(widest_span([y[i] for i in s], k) for s in segments)
            gap = min(abs(y[i] - y[j]) for i in members for s in segments for j in s)
            if gap > (1 + epsilon) * inner and gap > floor:
                found.add(frozenset(order[i] for i in members))
    return found


def apart(means, min_gap, largest):
    """Return O(min_gap): the union of all sets of at most c arms that are further from the rest."""
    everyone = range(len(means))
    found = set()
    for size in range(1, largest + 1):
        for members in combinations(everyone, size):
            rest = set(everyone) - set(members)
            if all(abs(means[i] - means[j]) > min_gap for i in members for j in rest):
                found.update(members)
    return frozenset(found)


def relative_answer_is_right(verdict, declared, until, groups, groups_at_slack):
    """Return whether an answer by the relative rule keeps what it promises."""
    if verdict == "none":
        return len(groups) == 0
    if verdict == "scattered":
        return None  # this rule does not say it
    if declared not in groups_at_slack:
        return False
    return until == "found" or all(group <= declared for group in groups)


def absolute_answer_is_right(verdict, declared, apart, apart_at_slack, largest):
    """Return whether an answer by the absolute rule keeps what it promises."""
    if verdict == "none":
        return len(apart) == 0
    if verdict == "scattered":
        return len(apart_at_slack) > largest
    return 1 <= len(declared) <= largest and apart <= declared <= apart_at_slack


def arms(means, epsilon, largest, side, k=1):
    """Return every outlier arm of Definition 1, over all subsets of arms above and below."""
    n = len(means)
    normal = n - largest
    return {j for j in range(n) if _is_outlier(means, j, epsilon, normal, side, k)}


def _is_outlier(means, j, epsilon, normal, side, k):
    above = [i for i in range(len(means)) if means[i] > means[j]]
    below = [i for i in range(len(means)) if means[i] < means[j]]
    for upper in _subsets(above, side):
        for lower in _subsets(below, side):
            if len(upper) + len(lower) < normal:
                continue
            inner = max(widest_span([means[i] for i in some], k) for some in (upper, lower))
            nearest = min(abs(means[i] - means[j]) for i in (*upper, *lower))
            if nearest > (1 + epsilon) * inner:
                return True
    return False


def _subsets(members, side):
    yield ()
    for size in range(side, len(members) + 1):
        yield from combinations(members, size)
