"""RR and WRR on simulated 0/1 rewards, compiled.

A pull costs O(1) with Hoeffding's radii and with the proved intervals, where only the pulled arm's
changes, and O(n) with the Bernoulli radii as printed, which all change with T.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from oddarm.bounds import BetaMixture, numerics
from oddarm.bounds.sigma import SigmaBernoulli, SigmaBounded, SigmaProved, l_of_k
from oddarm.kernels.compiling import OPTIONS, kernel
from oddarm.kernels.jeffreys import jeffreys_interval
from oddarm.kernels.streams import draw
from oddarm.strategies.wrr import WRRRun

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.sigma import SigmaRun

__all__ = ["advance", "fits"]

_erfcinv = kernel(numerics.erfcinv)

HOEFFDING, AGRESTI, PROVED = 0, 1, 2


def fits(run: SigmaRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: at the end of a visit or a sweep."""
    rule = run.rule
    known = isinstance(rule, SigmaBounded | SigmaBernoulli) or (
        isinstance(rule, SigmaProved) and isinstance(rule.arms, BetaMixture)
    )
    counts = run.tally.counts
    waiting = bool((run.asked != counts).any())
    return (
        known and run.ready and not waiting and not run.queue and bool((arms.drawn == counts).all())
    )


def advance(run: SigmaRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    tally, rule, delta = run.tally, run.rule, run.setting.problem.delta
    n = run.setting.n
    kind, level, span = PROVED, 0.0, 1.0
    if isinstance(rule, SigmaBounded):
        kind, span = HOEFFDING, rule.high - rule.low
    elif isinstance(rule, SigmaBernoulli):
        kind = AGRESTI
    elif isinstance(rule.arms, BetaMixture):
        level = -math.log(rule.arms.alpha)
    weighted = isinstance(run, WRRRun)
    visits = run if isinstance(run, WRRRun) else None
    quota = visits.quota if visits else np.zeros(0)
    overlap = visits.overlap if visits else np.ones(n, dtype=np.bool_)
    position, pulls, over = _advance(
        kind,
        weighted,
        tally.counts,
        tally.totals,
        run.intervals.low,
        run.intervals.high,
        overlap,
        quota,
        arms.means,
        arms.starts,
        arms.increments,
        visits.position if visits else n - 1,
        tally.pulls,
        stop_at,
        run.k,
        delta,
        span,
        math.sqrt(l_of_k(run.k, n, delta)),
        level,
        visits.weight if visits else 0.0,
    )
    tally.pulls = int(pulls)
    run.asked[:] = tally.counts
    arms.drawn[:] = tally.counts
    if kind != PROVED:
        run.intervals.low, run.intervals.high = rule.interval(tally)
    if visits:
        visits.position = int(position)
    elif not over:
        run.queue = list(range(int(position) + 1, n))
    if over:
        run.finish(run.decided())


@kernel
def _advance(
    kind: int,
    weighted: bool,
    counts: Any,
    totals: Any,
    low: Any,
    high: Any,
    overlap: Any,
    quota: Any,
    means: Any,
    starts: Any,
    increments: Any,
    position: int,
    pulls: int,
    stop_at: int,
    k: float,
    delta: float,
    span: float,
    root: float,
    level: float,
    weight: float,
) -> Any:
    n = len(means)
    y = totals / counts
    p = np.empty(n)
    radius = np.zeros(n)
    over = False
    witness = 0  # an arm that was active at the last look: while it is, the run is not over
    first = 0.0  # running sums over arms: of y, y², 1/m, and of r and r² of the proved intervals
    second = 0.0
    inverse = 0.0
    near = 0.0
    far = 0.0
    fresh = 0  # pulls until the running sums are added up anew, so that rounding cannot pile up
    while not over and pulls < stop_at:
        i = position
        if not (weighted and i >= 0 and overlap[i] and counts[i] < quota[i]):
            position = i + 1 if i + 1 < n else 0
            i = position
            if weighted:
                quota[i] += weight
        before = y[i]
        if draw(starts[i], increments[i], counts[i] + 1, means[i]):
            totals[i] += 1.0
        counts[i] += 1
        pulls += 1
        y[i] = totals[i] / counts[i]
        first += y[i] - before
        second += y[i] * y[i] - before * before
        inverse += 1.0 / counts[i] - 1.0 / (counts[i] - 1)
        if kind == PROVED:
            new_low, new_high = jeffreys_interval(totals[i], float(counts[i]), level)
            both_low, both_high = max(new_low, low[i]), min(new_high, high[i])
            crossed = both_low > both_high
            low[i] = new_low if crossed else both_low
            high[i] = new_high if crossed else both_high
            before = radius[i]
            radius[i] = max(high[i] - y[i], y[i] - low[i], 0.0)
            near += radius[i] - before
            far += radius[i] * radius[i] - before * before
        if fresh == 0:
            fresh = 1000
            first = 0.0
            second = 0.0
            inverse = 0.0
            near = 0.0
            far = 0.0
            for j in range(n):
                first += y[j]
                second += y[j] * y[j]
                inverse += 1.0 / counts[j]
                if kind == PROVED:
                    radius[j] = max(high[j] - y[j], y[j] - low[j], 0.0)
                    near += radius[j]
                    far += radius[j] * radius[j]
        fresh -= 1
        centre = first / n
        theta = centre + k * math.sqrt(max(second / n - centre * centre, 0.0))
        spent = 6 * delta / (math.pi**2 * (n + 1) * float(pulls) * float(pulls))
        unit = 0.0
        if kind == HOEFFDING:
            unit = span * math.sqrt(-math.log(spent) / 2)
            width = unit * root * math.sqrt(inverse / n)
        elif kind == AGRESTI:
            z = _erfcinv(spent / 2)
            square = z * z
            centre = 0.0
            for j in range(n):
                p[j] = (totals[j] + square / 2) / (counts[j] + square)
                radius[j] = z * math.sqrt(p[j] * (1 - p[j]) / counts[j])
                centre += p[j]
            centre /= n
            spread = 0.0
            for j in range(n):
                spread += (p[j] - centre) ** 2
            spread = math.sqrt(spread / n)
            total = 0.0
            for j in range(n):
                slope = 1.0 if spread == 0 else k * (p[j] - centre) / spread + 1
                total += (slope * radius[j]) ** 2
            width = math.sqrt(total) / n
        else:
            width = near / n + k * math.sqrt(max(far / n, 0.0))
        # Only the visited arm and the witness are looked at, and all when the witness falls.
        over = True
        for look in range(n + 2):
            j = i if look == 0 else witness if look == 1 else look - 2
            reach = _reach(kind, unit, counts[j], radius[j])
            overlap[j] = _meet(kind, y[j], reach, low[j], high[j], theta, width)
            if overlap[j]:
                over = False
                if look >= 1:
                    witness = j
                    break
    for j in range(n):  # what is left behind is the state of now, for all arms
        reach = _reach(kind, unit, counts[j], radius[j])
        overlap[j] = _meet(kind, y[j], reach, low[j], high[j], theta, width)
    return position, pulls, over


@njit(**OPTIONS, inline="always")
def _reach(kind: int, unit: float, count: int, radius: float) -> float:
    """Return the radius of an arm as printed."""
    return unit / math.sqrt(count) if kind == HOEFFDING else radius


@njit(**OPTIONS, inline="always")
def _meet(
    kind: int, y: float, reach: float, low: float, high: float, theta: float, width: float
) -> bool:
    """Return whether the interval of an arm meets that of the threshold."""
    below = low if kind == PROVED else y - reach
    above = high if kind == PROVED else y + reach
    return below <= theta + width and above >= theta - width
