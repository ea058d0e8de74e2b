"""RR and WRR on simulated 0/1 rewards, compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from oddarm.bounds import BetaMixture, numerics
from oddarm.bounds.beta_mixture import jeffreys_interval
from oddarm.bounds.sigma import SigmaBernoulli, SigmaBounded, SigmaProved, l_of_k
from oddarm.kernels.streams import draw
from oddarm.strategies.wrr import WRRRun

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.sigma import SigmaRun

__all__ = ["advance", "fits"]

_erfcinv = njit(cache=True)(numerics.erfcinv)
_interval = njit(cache=True)(jeffreys_interval)

HOEFFDING, AGRESTI, PROVED = 0, 1, 2


def fits(run: SigmaRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: at the end of a visit or a sweep."""
    rule = run.rule
    known = isinstance(rule, SigmaBounded | SigmaBernoulli) or (
        isinstance(rule, SigmaProved) and isinstance(rule.arms, BetaMixture)
    )
    counts = run.tally.counts
    waiting = isinstance(run, WRRRun) and not bool((run.asked == counts).all())
    return known and not waiting and not run.queue and bool((arms.drawn == counts).all())


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
    arms.drawn[:] = tally.counts
    if kind != PROVED:
        run.intervals.low, run.intervals.high = rule.interval(tally)
    if visits:
        visits.position = int(position)
        visits.asked[:] = tally.counts
    elif not over:
        run.queue = list(range(int(position) + 1, n))
    if over:
        run.finish(run.above().tolist())


@njit(cache=True)
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
    radius = np.empty(n)
    over = False
    while not over and pulls < stop_at:
        i = position
        if not (weighted and i >= 0 and overlap[i] and counts[i] < quota[i]):
            position = i + 1 if i + 1 < n else 0
            i = position
            if weighted:
                quota[i] += weight
        if draw(starts[i], increments[i], counts[i] + 1, means[i]):
            totals[i] += 1.0
        counts[i] += 1
        pulls += 1
        y[i] = totals[i] / counts[i]
        centre = 0.0
        for j in range(n):
            centre += y[j]
        centre /= n
        spread = 0.0
        for j in range(n):
            spread += (y[j] - centre) ** 2
        theta = centre + k * math.sqrt(spread / n)
        spent = 6 * delta / (math.pi**2 * (n + 1) * float(pulls) * float(pulls))
        if kind == HOEFFDING:
            unit = span * math.sqrt(-math.log(spent) / 2)
            inverse = 0.0
            for j in range(n):
                inverse += 1.0 / counts[j]
                radius[j] = unit / math.sqrt(counts[j])
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
            new_low, new_high = _interval(totals[i], float(counts[i]), level)
            new_low, new_high = max(new_low, low[i]), min(new_high, high[i])
            if new_low <= new_high:
                low[i] = new_low
                high[i] = new_high
            first = 0.0
            second = 0.0
            for j in range(n):
                r = max(high[j] - y[j], y[j] - low[j], 0.0)
                first += r
                second += r * r
            width = first / n + k * math.sqrt(second / n)
        over = True
        for j in range(n):
            below = low[j] if kind == PROVED else y[j] - radius[j]
            above = high[j] if kind == PROVED else y[j] + radius[j]
            overlap[j] = below <= theta + width and above >= theta - width
            if overlap[j]:
                over = False
    return position, pulls, over
