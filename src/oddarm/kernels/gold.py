"""GOLD on simulated 0/1 rewards, compiled.

An arm's edges are looked at only when one of them could have broken: after each look, the kernel
computes for how many pulls none can, whatever the rewards are. The decisions are those of looking
at every pull.

Works on the very arrays of a `GoldRun` and its tally, so that a run may be advanced here, then by
ask and tell, then here again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from oddarm.bounds import NormalMixture, PaperBounded, numerics
from oddarm.kernels.streams import draw

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.gold import GoldRun

__all__ = ["advance", "fits"]

_erfcinv = njit(cache=True)(numerics.erfcinv)

PER_PULL, AGRESTI, HOEFFDING = 0, 1, 2


def fits(run: GoldRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: a graph, and arms pulled in turn."""
    counts = run.tally.counts
    return (
        arms.zero_one
        and run.graph is not None
        and not run.fresh
        and bool((arms.drawn == counts).all())
        and (run.radius.grows or bool(((run.judged == counts) | run.terminal).all()))
    )


def advance(run: GoldRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    assert run.graph is not None
    tally = run.tally
    kind, r, level = AGRESTI, 0.0, 0.0
    if isinstance(run.radius, NormalMixture):
        kind, r, level = PER_PULL, run.radius.r, -2.0 * math.log(run.radius.alpha)
    elif isinstance(run.radius, PaperBounded):
        kind = HOEFFDING
    position, pulls, over = _advance(
        run.graph.edges,
        run.stage,
        run.score,
        run.beta,
        tally.counts,
        tally.totals,
        arms.means,
        arms.starts,
        arms.increments,
        run.position,
        tally.pulls,
        stop_at,
        run.b,
        run.largest_group,
        run.enough,
        kind,
        run.setting.rewards.sigma,
        r,
        level,
        run.setting.problem.delta,
    )
    run.position = int(position)
    tally.pulls = int(pulls)
    arms.drawn[:] = tally.counts
    if kind == PER_PULL:
        run.judged[:] = tally.counts
    if over:
        run.verdict = "ranked"


@njit(cache=True, inline="always")
def _per_pull(m: float, sigma: float, r: float, level: float) -> float:
    """Return the radius of `NormalMixture` after m pulls."""
    return sigma * math.sqrt((m + r) * (math.log((m + r) / r) + level)) / m


@njit(cache=True)
def _advance(
    edges: Any,
    stage: Any,
    score: Any,
    beta: Any,
    counts: Any,
    totals: Any,
    means: Any,
    starts: Any,
    increments: Any,
    position: int,
    pulls: int,
    stop_at: int,
    b: float,
    largest_group: int,
    enough: int,
    kind: int,
    sigma: float,
    r: float,
    level: float,
    delta: float,
) -> Any:
    n = len(means)
    mean = totals / counts
    lost = np.empty(n, np.int64)
    terminals = np.count_nonzero(stage)
    latest_count = -1
    latest_radius = 0.0
    # An arm's edges need no look before it has `due` pulls: until then, however the rewards fall,
    # none of them can break. `stride` is how many pulls ahead that was last time.
    due = np.zeros(n, np.int64)
    stride = np.ones(n, np.int64)
    spread = np.empty(n)  # p(1-p) of each arm, for the Bernoulli radius
    while terminals < enough and pulls < stop_at:
        i = position
        position = position + 1 if position + 1 < n else 0
        if stage[i]:
            continue
        m = counts[i] + 1
        if draw(starts[i], increments[i], m, means[i]):
            totals[i] += 1.0
        counts[i] = m
        pulls += 1
        mean[i] = totals[i] / m
        if kind == PER_PULL:
            if m != latest_count:  # the same for every arm of a sweep
                latest_count = m
                latest_radius = _per_pull(m, sigma, r, level)
            beta[i] = latest_radius
        if m < due[i]:
            continue
        dropped = 0
        mine = mean[i]
        widest = 0.0  # the greatest distance of an edge that stays
        height = 0.0
        z = 0.0
        if kind == PER_PULL:
            for j in range(n):
                if edges[i, j]:
                    apart = abs(mine - mean[j])
                    if apart > b * (latest_radius + beta[j]):
                        lost[dropped] = j
                        dropped += 1
                    elif apart > widest:
                        widest = apart
        elif kind == HOEFFDING:
            height = -math.log(6 * delta / (math.pi**2 * n * float(pulls) * float(pulls)))
            own = 2.0 * sigma * math.sqrt(height / (2.0 * m))
            for j in range(n):
                if edges[i, j]:
                    apart = abs(mine - mean[j])
                    radius = 2.0 * sigma * math.sqrt(height / (2.0 * counts[j]))
                    if apart > b * (own + radius):
                        lost[dropped] = j
                        dropped += 1
                    elif apart > widest:
                        widest = apart
        else:
            z = _erfcinv(6 * delta / (math.pi**2 * n * float(pulls) * float(pulls)))
            square = z * z
            p = (totals[i] + square / 2.0) / (counts[i] + square)
            own = z * math.sqrt(p * (1.0 - p) / counts[i])
            for j in range(n):
                if edges[i, j]:
                    p = (totals[j] + square / 2.0) / (counts[j] + square)
                    spread[j] = p * (1.0 - p)
                    radius = z * math.sqrt(p * (1.0 - p) / counts[j])
                    if abs(mine - mean[j]) > b * (own + radius):
                        lost[dropped] = j
                        dropped += 1
        # How many pulls of every arm can pass before an edge of i could break?
        t = 2 * stride[i] if dropped == 0 else 0
        while t >= 1:
            # k further rewards move a mean by at most k/(m+k); others may be one pull ahead.
            moved = (2 * t + 1) / (m + t) * 2.0 * sigma + 1e-12
            safe = True
            if kind == PER_PULL:
                safe = widest + moved <= 2.0 * b * _per_pull(m + t + 1, sigma, r, level)
            elif kind == HOEFFDING:
                least = 2.0 * sigma * math.sqrt(height / (2.0 * (m + t + 1)))
                safe = widest + moved <= 2.0 * b * least
            else:
                change = (t + 1) / (m - 1 + z * z)
                own = z * math.sqrt(max(spread[i] - change, 0.0) / (m + t + 1))
                for j in range(n):
                    if edges[i, j]:
                        least = z * math.sqrt(max(spread[j] - change, 0.0) / (m + t + 1))
                        if abs(mine - mean[j]) + moved > b * (own + least):
                            safe = False
                            break
            if safe:
                break
            t //= 2
        stride[i] = max(t, 1)
        due[i] = m + t + 1
        if dropped == 0:
            continue
        split = False
        for k in range(dropped):
            j = lost[k]
            edges[i, j] = False
            edges[j, i] = False
        for k in range(dropped):
            common = False
            j = lost[k]
            for x in range(n):
                if edges[i, x] and edges[j, x]:
                    common = True
                    break
            if not common:
                split = True
                break
        if split:
            _declare(edges, stage, score, largest_group, pulls)
            terminals = np.count_nonzero(stage)
    return position, pulls, terminals >= enough


@njit(cache=True)
def _declare(edges: Any, stage: Any, score: Any, largest_group: int, pulls: int) -> None:
    """Make the members of every small community terminal."""
    n = len(stage)
    latest = stage.max() + 1
    seen = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int64)
    for first in range(n):
        if seen[first]:
            continue
        size = 1
        queue[0] = first
        seen[first] = True
        at = 0
        while at < size:
            i = queue[at]
            at += 1
            for j in range(n):
                if edges[i, j] and not seen[j]:
                    seen[j] = True
                    queue[size] = j
                    size += 1
        if size <= largest_group:
            for k in range(size):
                if not stage[queue[k]]:
                    stage[queue[k]] = latest
                    score[queue[k]] = pulls
