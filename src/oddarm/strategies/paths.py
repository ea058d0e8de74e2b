"""What the next pulls of each simulated arm will show, worked out ahead for compiled choices.

The k-th reward of a simulated arm depends on k alone, so its sample mean and its interval after
each of its next pulls do not depend on what is pulled in between. They are made here for many pulls
at a time, by the tally's and the bound's own arithmetic. What is left to compiled code is the
choice of arms, whatever the rewards and the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from oddarm._typing import Floats
from oddarm.bounds import BetaMixture, Bound, HoeffdingUnion, IteratedLog, NormalMixture
from oddarm.kernels.intervals import jeffreys_path
from oddarm.kernels.native import Record, fields, layout
from oddarm.tally import Tally

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.rounds import RoundRun

__all__ = ["Paths", "advance", "fits"]

LEAST, MOST = 32, 1024
"""How many pulls of an arm are worked out at once: as many as it has had, within these limits."""
BY_ARM = BetaMixture | HoeffdingUnion | IteratedLog | NormalMixture
"""Bounds that depend on the pulls and the sum of an arm alone."""
ENOUGH, OVER = -1, -2
"""What compiled rounds return if no arm lacks a path; as in oddarm.h."""


class Paths(Record):
    """What the next pulls show, and the round that is being pulled; as `struct paths` of oddarm.h.

    `ahead_totals`, `ahead_low` and `ahead_high` have a row for each arm: after one more pull, after
    two more, …; `made` says how long it is, `taken` how many of its pulls have been made.
    """

    kinds: ClassVar = layout("""
        whole n width pulls stop_at
        wholes counts
        floats totals low high
        wholes taken made
        floats ahead_totals ahead_low ahead_high
        wholes queue
        whole size next
    """)
    _fields_: ClassVar = fields(kinds)


def fits(run: RoundRun, arms: SimulatedArms) -> bool:
    """Return whether compiled rounds can go on from here: every arm pulled, no pull in flight."""
    tally = run.tally
    known = isinstance(run.bound, BY_ARM) and tally.plain
    if not known or not run.ready or run.edition != run.newest:
        return False
    waiting = (arms.drawn != tally.counts) | (run.asked != tally.counts)
    return len(run.queue) <= run.context.n and not waiting.any()


def advance(
    run: RoundRun, arms: SimulatedArms, stop_at: int, rounds: Callable[[Paths], int]
) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all.

    Args:
        run: The run, which `fits`.
        arms: Where its rewards come from.
        stop_at: The most pulls in all.
        rounds: Pulls in compiled code along the paths. It returns the arm whose path is used up, or
            ENOUGH at `stop_at`, or OVER when the run can decide.
    """
    n, tally, intervals = run.context.n, run.tally, run.intervals
    totals, low, high = (np.zeros((n, MOST)) for _ in range(3))
    taken, made = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    queue = np.zeros(n + 10, dtype=np.int64)  # ROAI-LUCB names up to ten arms, some twice
    queue[: len(run.queue)] = run.queue
    paths = Paths(
        n=n,
        width=MOST,
        pulls=tally.pulls,
        stop_at=stop_at,
        counts=tally.counts,
        totals=tally.totals,
        low=intervals.low,
        high=intervals.high,
        taken=taken,
        made=made,
        ahead_totals=totals,
        ahead_low=low,
        ahead_high=high,
        queue=queue,
        size=len(run.queue),
    )
    while run.verdict == "running" and paths.pulls < stop_at:
        found = rounds(paths)
        if found >= 0:
            size = min(max(int(tally.counts[found]), LEAST), MOST)
            ahead = _ahead(run, arms, found, size)
            for rows, path in zip((totals, low, high), ahead, strict=True):
                rows[found, :size] = path
            taken[found], made[found] = 0, size
            continue
        tally.pulls = paths.pulls
        run.asked[:] = tally.counts
        arms.drawn[:] = tally.counts
        run.queue = queue[paths.next : paths.size].tolist()
        if found == OVER:
            run.decide(int(queue[paths.next - 1]))


def _ahead(
    run: RoundRun, arms: SimulatedArms, arm: int, size: int
) -> tuple[Floats, Floats, Floats]:
    """Return the sums and the ends of the interval of an arm after each of its next pulls."""
    tally, bound = run.tally, run.bound
    before = int(tally.counts[arm])
    arms.seek(arm, before)
    rewards = arms.draw(arm, size)
    ahead = Tally(size, tally.rewards)
    ahead.counts = np.arange(before + 1, before + size + 1, dtype=np.int64)
    ahead.totals = np.cumsum(np.append(tally.totals[arm], rewards))[1:]
    low, high = float(run.intervals.low[arm]), float(run.intervals.high[arm])
    return ahead.totals, *_ends(bound, ahead, low, high)


def _ends(bound: Bound, ahead: Tally, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the ends after each pull; proved ones are intersected with all before them."""
    if isinstance(bound, BetaMixture) and bound.prior == 0.5:
        return jeffreys_path(ahead.totals, ahead.counts, -math.log(bound.alpha), low, high)
    now = bound.interval(ahead)
    if not bound.proved:
        return now
    lows = np.maximum.accumulate(np.append(low, now[0]))[1:]
    highs = np.minimum.accumulate(np.append(high, now[1]))[1:]
    if (lows <= highs).all():
        return lows, highs
    for k in range(len(lows)):  # an interval has failed: from then on the latest is kept alone
        low, high = max(now[0][k], low), min(now[1][k], high)
        if low > high:
            low, high = now[0][k], now[1][k]
        lows[k], highs[k] = low, high
    return lows, highs
