"""Claims that arms are a group, and truths in which they are not, for `verification.soundness`."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tests.reference import joint

from oddarm._typing import Flags, Floats, Wholes
from oddarm.kernels.blocks import Arms, Rules
from oddarm.kernels.intervals import centred_intervals
from oddarm.kernels.joint import is_group, weakest_truths
from oddarm.kernels.pieces import Told

FACTOR = 2.0
"""1 + ε."""


def rewards_between(rng: np.random.Generator, mean: float, some: int) -> Floats:
    """Return rewards in [0, 1] with this mean: nearly alike, spread out, or 0, 1 and one value."""
    kind = rng.random()
    if kind < 0.7:
        k = float(rng.choice([0.3, 2.0, 20.0]))
        return rng.beta(k * mean, k * (1 - mean), some)
    value = float(rng.uniform(mean, 1.0))
    chosen = rng.random(some) < mean / value
    return np.where(chosen, value, 0.0) if kind < 0.85 else np.full(some, mean)


def sums_of(data: Sequence[Floats]) -> Told:
    """Return the sums of the rewards of each arm."""
    return Told(
        np.array([rewards.sum() for rewards in data]),
        np.array([float(len(rewards)) for rewards in data]),
        np.array([((rewards - rewards.mean()) ** 2).sum() for rewards in data]),
    )


def _made_arms(rng: random.Random, n: int, zero_one: bool) -> tuple[Arms, Wholes, list[Any]]:
    """Return arms with a group by the estimates, its members, and the rewards."""
    size = rng.choice([1, 1, 2]) if n > 4 else 1
    inner = rng.choice([0.02, 0.04])
    y, means = rng.uniform(0.05, 0.2), []
    outliers = rng.choice([(n - size, n), (0, size), (2, 2 + size)])
    for place in range(n):
        border = place in outliers and place > 0
        y += rng.uniform(0.25, 0.3) if border else rng.uniform(0.0, inner)
        means.append(y)
    rates = np.array(means) / max(1.05, y + 0.05)
    counts = np.array([int(10 ** rng.uniform(2.3, 3.8)) for _ in range(n)])
    level, scatter = rng.choice([20.0, 80.0, 300.0]), None
    if zero_one:
        totals = np.round(rates * counts)
        data: list[Any] = [(s, m - s) for s, m in zip(totals, counts, strict=True)]
    else:
        stream = np.random.default_rng(rng.randrange(10**9))
        counts = np.minimum(counts, 1500)
        data = [rewards_between(stream, y, int(m)) for y, m in zip(rates, counts, strict=True)]
        told = sums_of(data)
        totals, scatter = told.totals, told.scatter
    low, high = np.empty(n), np.empty(n)
    centred_intervals(totals, counts, level, low, high)
    means = totals / counts
    orders = [np.argsort(x, kind="stable") for x in (low, high, means)]
    nobody = np.zeros(n, dtype=np.bool_)
    arms = Arms(low, high, means, *orders, nobody, totals, counts, scatter)
    return arms, orders[2][outliers[0] : outliers[1]], data


def _false_truth(rng: random.Random, arms: Arms, members: set[int], apart: float) -> Floats | None:
    """Return means within the intervals, with the order certain, in which there is no group.

    An empty stretch is made inside a segment, and a border is brought near; None if they do not
    come out like that.
    """
    n, order = len(arms.means), arms.by_mean
    share = rng.choice([0.0, 0.0, 0.2])
    truth = arms.means + share * (rng.random() - 0.5) * (arms.high - arms.low)
    segment = [a for a in order if a not in members]
    middle = truth[rng.choice(segment)] + 0.02 * (rng.random() - 0.5)
    sides = [a in members for a in order]
    borders = [k for k in range(1, n) if sides[k] != sides[k - 1]]
    at = rng.choice(borders)
    gap = max(rng.uniform(0.3, 1.05) * (truth[order[at]] - truth[order[at - 1]]), apart)
    t = gap / FACTOR * rng.choice([1.0, 1.0, 1.1])
    x = middle - t * rng.random()
    for arm in segment:
        if x < truth[arm] < x + t:
            truth[arm] = x if truth[arm] - x < rng.uniform(0.3, 0.7) * t else x + t
    low, high = truth[order[:at]].max(), truth[order[at:]].min()
    lack, split = (high - low) - gap, rng.random()
    if lack > 0:
        a, b = max(order[:at], key=lambda k: truth[k]), min(order[at:], key=lambda k: truth[k])
        truth[a] += split * lack
        truth[b] = truth[a] + gap
    return truth if _is_false(truth, arms, members, apart) else None


def _is_false(truth: Floats, arms: Arms, members: set[int], apart: float) -> bool:
    """Whether there is no group by means that intervals and certain gaps allow."""
    order = arms.by_mean
    sides = [a in members for a in order]
    borders = [k for k in range(1, len(order)) if sides[k] != sides[k - 1]]
    return (
        bool(((truth >= arms.low) & (truth <= arms.high)).all())
        and not joint.is_group(truth, members, FACTOR)
        and all(truth[order[:k]].max() + apart <= truth[order[k:]].min() for k in borders)
    )


def _weak_truths(
    rng: random.Random, arms: Arms, rules: Rules, member: Flags, apart: float
) -> Iterator[Floats]:
    """Yield means like the truths that the kernel finds weakest, a little off."""
    for row in weakest_truths(arms, rules, member, 1.0, apart / FACTOR):
        _, x, t, low, z, high, y = row[:7]
        t *= rng.choice([1.0, 1.001, 1.03])
        x += 0.01 * t * (rng.random() - 0.5)
        truth = arms.means.copy()
        truth[int(low)] = max(z, truth[int(low)])
        truth[int(high)] = min(truth[int(high)], truth[int(low)] + FACTOR * t, y)
        within = (truth > x) & (truth < x + t)
        nearer = truth - x < t / 2
        truth[within & nearer] = x
        truth[within & ~nearer] = x + t
        yield np.clip(truth, arms.low, arms.high)


def _most_odds(arms: Arms, rules: Rules, member: Flags, apart: float) -> float | None:
    """Return the largest log odds at which the kernel is certain."""
    low, high = 0.0, 400.0
    if not is_group(arms, rules, member, low, apart):
        return None
    for _ in range(12):
        middle = (low + high) / 2
        if is_group(arms, rules, member, middle, apart):
            low = middle
        else:
            high = middle
    return low


def compared_with_bets(seed: int, truths: int, zero_one: bool = True) -> tuple[int, float]:
    """Compare the kernel with the bets themselves; return how often, and the least excess."""
    rng, compared, least = random.Random(seed), 0, math.inf
    n = rng.choice([4, 5, 6])
    arms, members, data = _made_arms(rng, n, zero_one)
    member = np.zeros(n, dtype=np.bool_)
    member[members] = True
    sides = member[arms.by_mean]
    gaps = np.diff(arms.means[arms.by_mean])[sides[1:] != sides[:-1]]
    apart = rng.uniform(0.4, 0.8) * gaps.min()
    rules = Rules(
        gap_factor=FACTOR,
        floor=0.0,
        sure_factor=FACTOR,
        sure_gap=0.0,
        max_members=2,
        min_segment=2,
        pair_delta=0.01,
        caution=1.0,
    )
    odds = _most_odds(arms, rules, member, apart)
    if odds is None:
        return 0, least
    named = set(members.tolist())
    found = [_false_truth(rng, arms, named, apart) for _ in range(truths)]
    for _ in range(1 + truths // 20):
        weak = _weak_truths(rng, arms, rules, member, apart)
        found += [truth for truth in weak if _is_false(truth, arms, named, apart)]
    for truth in found:
        if truth is not None:
            compared += 1
            least = min(least, math.log(joint.evidence(data, truth)) - odds)
    return compared, least
