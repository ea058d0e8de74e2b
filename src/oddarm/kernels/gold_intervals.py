"""The interval form of GOLD on simulated 0/1 rewards, compiled.

Whole sweeps are pulled here while the cover holds; where it does not, the run itself finds the
communities anew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from oddarm.kernels.compiling import OPTIONS, kernel
from oddarm.kernels.streams import draw
from oddarm.kernels.sweeps import finish_sweep

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.gold_intervals import GoldIntervalRun

__all__ = ["advance", "fits"]


def fits(run: GoldIntervalRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: arms pulled in turn."""
    return arms.zero_one and run.in_turn and bool((arms.drawn == run.tally.counts).all())


def advance(run: GoldIntervalRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    tally = run.tally
    while run.verdict == "running" and tally.pulls < stop_at:
        rest = run.rest_of_sweep()
        in_play = run.setting.n - int(np.count_nonzero(run.stage))
        rounds = (stop_at - tally.pulls) // in_play
        if run.cover is None or not rounds or len(rest) < in_play:
            finish_sweep(run, arms, stop_at)
            run.update_many(rest)
            continue
        made, holds = _sweep(
            rest,
            tally.counts,
            tally.totals,
            arms.means,
            arms.starts,
            arms.increments,
            run.low,
            run.high,
            run.cover.arms,
            run.cover.first,
            rounds,
            run.b,
            run.setting.rewards.sigma,
            run.radius.r,
            -2.0 * math.log(run.radius.alpha),
        )
        tally.pulls += made * in_play
        run.position = (int(rest[-1]) + 1) % run.setting.n
        run.judged(int(tally.counts[rest[0]]))
        if not holds:
            run.split()
    arms.drawn[:] = tally.counts


@njit(**OPTIONS, fastmath={"nnan", "nsz"})
def _sweep(
    arms: Any,
    counts: Any,
    totals: Any,
    means: Any,
    starts: Any,
    increments: Any,
    low: Any,
    high: Any,
    chain: Any,
    first: Any,
    rounds: int,
    b: float,
    sigma: float,
    r: float,
    level: float,
) -> Any:
    """Pull arms in turn and shrink their intervals until the cover fails; return the sweeps."""
    begin, end = np.empty(len(first)), np.empty(len(first))
    m = counts[arms[0]]
    made = 0
    holds = True
    while made < rounds and holds:
        made += 1
        m += 1
        reach = b * (sigma * math.sqrt((m + r) * (math.log((m + r) / r) + level)) / m)
        top, bottom = -np.inf, np.inf
        for i in arms:
            totals[i] += draw(starts[i], increments[i], m, means[i])
            y = totals[i] / m
            below = min(max(low[i], y - reach), high[i])
            above = max(min(high[i], y + reach), below)
            low[i] = below
            high[i] = above
            top = max(top, below)
            bottom = min(bottom, above)
        holds = _ends(chain, first, low, high, begin, end)
        if holds and (top > end[0] or bottom < begin[0]):
            holds = len(first) > 1 and _touched(arms, low, high, begin, end)
    for i in arms:
        counts[i] = m
    return made, holds


@kernel
def _ends(chain: Any, first: Any, low: Any, high: Any, begin: Any, end: Any) -> bool:
    """Fill in where each chain begins and ends; return whether all its arms overlap."""
    part = -1
    for x in range(len(chain)):
        i = chain[x]
        if part + 1 < len(first) and first[part + 1] == x:
            part += 1
            begin[part], end[part] = low[i], high[i]
            continue
        j = chain[x - 1]
        if low[i] > high[j] or low[j] > high[i]:
            return False
        begin[part] = min(begin[part], low[i])
        end[part] = max(end[part], high[i])
    return True


@kernel
def _touched(arms: Any, low: Any, high: Any, begin: Any, end: Any) -> bool:
    """Return whether every arm overlaps a chain."""
    for i in arms:
        left, right = 0, len(end) - 1
        while left < right:  # the first chain that ends beyond the lower end of i
            middle = (left + right) // 2
            if end[middle] < low[i]:
                left = middle + 1
            else:
                right = middle
        if low[i] > end[left] or high[i] < begin[left]:
            return False
    return True
