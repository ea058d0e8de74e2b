"""Gaps made certain by the evidence of two neighbours at once, for endless 0/1 rewards.

docs/adaptive.md has the statement and its proof. In short: whatever the true means are, bet that
each two neighbours among them are further apart than they are, with a stake as large as their gap;
all gaps together are at most 1. A pair of values at which the capital exceeds 1/δ is rejected.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oddarm.kernels.compiling import kernel

__all__ = ["certain_gap", "level_of_gap", "level_of_order"]

BY_WIDTH = 0.5
"""Share of the stake that is spread over the gaps by their widths."""
EVENLY = 0.2
"""Share that is spread evenly over the gaps; these two are for bets on the scale of the gap."""
ANY_SCALE = 0.15
"""Share that is spread evenly for bets on all scales; as much again, that the order is wrong."""
RATIOS = (0.1, 0.19, 0.36, 0.68, 1.3, 2.5, 4.8, 9.0)
"""How far off a bet takes a mean to be, in parts of the gap's width (of the cell that it is in)."""
STAKES = (0.05, 0.1, 0.15, 0.17, 0.17, 0.15, 0.12, 0.09)
"""What is staked on each."""
OCTAVES = 10
"""How many octaves of bets there are where no width gives the scale."""
FINE = 5
"""Into how many parts an octave of widths is divided."""
HALVINGS = 3
"""How often the last part is halved."""
DEPTH = 9
"""How often a stretch is halved before it counts as not rejected."""


@kernel
def level_of_order(n: int, delta: float) -> float:
    """Return the log capital at which bets on all scales reject a pair of neighbours."""
    return math.log((n - 1) / (ANY_SCALE * delta))


@kernel
def level_of_gap(gap: float, n: int, delta: float) -> float:
    """Return the log capital at which bets on its own scale reject a gap of at least this width."""
    return -math.log(delta * (BY_WIDTH * gap + EVENLY / (n - 1)))


@kernel
def _weakest(
    arms: tuple[Any, Any, Any, Any],
    some: Any,
    start: float,
    stop: float,
    value: float,
    way: float,
    steps: Any,
    stakes: Any,
) -> float:
    """Return the least log capital against a mean, of those arms that can be in [start, stop].

    Args:
        arms: Totals, counts, lower and upper ends.
        some: The arms to look at.
        start: Where the stretch begins.
        stop: Where it ends.
        value: The mean that is bet against.
        way: -1 to bet that the true one is below it, 1 that it is above.
        steps: How far off each bet takes it to be.
        stakes: What is staked on each.
    """
    totals, counts, low, high = arms
    value = min(max(value, 1e-12), 1.0 - 1e-12)
    up, down = np.empty(len(steps)), np.empty(len(steps))
    for k in range(len(steps)):
        if way < 0.0:
            other = max(value - steps[k], value / 16.0)
        else:
            other = 1.0 - max(1.0 - value - steps[k], (1.0 - value) / 16.0)
        up[k] = math.log(other / value)
        down[k] = math.log((1.0 - other) / (1.0 - value))
    least = np.inf
    for arm in some:
        if high[arm] < start or low[arm] > stop:
            continue
        successes = totals[arm]
        failures = counts[arm] - successes
        most, total = -np.inf, 0.0
        for k in range(len(steps)):
            log = successes * up[k] + failures * down[k]
            if log > most:
                total = total * math.exp(most - log) + stakes[k]
                most = log
            else:
                total += stakes[k] * math.exp(log - most)
        least = min(least, most + math.log(total))
    return least


@kernel
def _rejected(
    arms: tuple[Any, Any, Any, Any],
    below: Any,
    above: Any,
    start: float,
    stop: float,
    narrow: float,
    wide: float,
    level: float,
    steps: Any,
    stakes: Any,
) -> bool:
    """Whether no arm of `below` at x and arm of `above` at y can be neighbours.

    For all x from `start` to `stop`, and y from x + `narrow` to x + `wide`. The capital against x
    grows with x, that against y falls with y, so the ends of a stretch bound what is within; a
    stretch that they do not decide is halved.
    """
    if not start <= stop:
        return True
    stack = np.empty((DEPTH + 2, 3))
    stack[0, 0], stack[0, 1], stack[0, 2] = start, stop, 0.0
    size = 1
    while size > 0:
        size -= 1
        a, b, depth = stack[size, 0], stack[size, 1], stack[size, 2]
        log = _weakest(arms, below, a, b, a, -1.0, steps, stakes)
        if log < np.inf:
            log += _weakest(arms, above, a + narrow, b + wide, b + wide, 1.0, steps, stakes)
        if log >= level:
            continue
        middle = (a + b) / 2
        log = _weakest(arms, below, middle, middle, middle, -1.0, steps, stakes)
        if log < np.inf:
            x, y = middle + narrow, middle + wide
            log += _weakest(arms, above, x, y, y, 1.0, steps, stakes)
        if log < level or depth >= DEPTH:
            return False
        stack[size, 0], stack[size, 1], stack[size, 2] = a, middle, depth + 1.0
        stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = middle, b, depth + 1.0
        size += 2
    return True


@kernel
def certain_gap(
    totals: Any,
    counts: Any,
    low: Any,
    high: Any,
    order: Any,
    at: int,
    estimate: float,
    delta: float,
) -> float:
    """Return by how much order[:at] are certain to lie below the other arms; 0 if they are not.

    Args:
        totals: Successes of each arm.
        counts: Pulls of each arm.
        low: Lower ends of intervals that hold as well.
        high: Upper ends.
        order: The arms.
        at: How many of them are to lie below.
        estimate: How wide the gap seems to be; no wider one is looked for.
        delta: Error probability of the evidence of pairs, over all pairs and times.
    """
    n = len(order)
    arms = (totals, counts, low, high)
    # Of all arms below, the highest is at `floor` or above, and at `top` or below.
    floor, top, ceiling, bottom = -np.inf, -np.inf, np.inf, np.inf
    for k in range(at):
        floor, top = max(floor, low[order[k]]), max(top, high[order[k]])
    for k in range(at, n):
        ceiling, bottom = min(ceiling, high[order[k]]), min(bottom, low[order[k]])
    below, above = np.empty(at, np.int64), np.empty(n - at, np.int64)
    lower, upper = 0, 0
    for k in range(at):
        if high[order[k]] >= min(floor, bottom):
            below[lower] = order[k]
            lower += 1
    for k in range(at, n):
        if low[order[k]] <= max(ceiling, top):
            above[upper] = order[k]
            upper += 1
    below, above = below[:lower], above[:upper]

    # No arm of one side is next to one of the other in the wrong order, nor at a small distance.
    steps, stakes = np.empty(OCTAVES), np.empty(OCTAVES)
    for k in range(OCTAVES):
        steps[k], stakes[k] = 0.5 ** (k + 1), 1.0 / OCTAVES
    level = level_of_order(n, delta)
    place = math.ceil(-FINE * math.log2(estimate / 16.0))
    gap: float = 2.0 ** (-place / FINE)
    if not _rejected(arms, below, above, bottom, top, 0.0, 0.0, level, steps, stakes):
        return 0.0
    stop = min(top, ceiling)
    if not _rejected(arms, below, above, floor, stop, 0.0, gap, level, steps, stakes):
        return 0.0

    # Nor at a larger one, as far as that goes: by parts of an octave, and by halves of the last.
    steps, stakes = np.empty(len(RATIOS)), np.empty(len(RATIOS))
    for k in range(len(STAKES)):
        stakes[k] = STAKES[k]
    halvings = 0
    wide = 2.0 ** (-(place - 1) / FINE)
    while gap < estimate and halvings <= HALVINGS:
        for k in range(len(RATIOS)):
            steps[k] = RATIOS[k] * 2.0 ** (-(place - 1) / FINE)
        level = level_of_gap(gap, n, delta)
        stop = min(top, ceiling - gap)
        if _rejected(arms, below, above, floor, stop, gap, wide, level, steps, stakes):
            gap = wide
            if halvings == 0:
                place -= 1
                wide = 2.0 ** (-(place - 1) / FINE)
            else:
                wide = gap + (2.0 ** (-(place - 1) / FINE) - gap) / 2
                halvings += 1
        else:
            wide = gap + (wide - gap) / 2
            halvings += 1
    return gap
