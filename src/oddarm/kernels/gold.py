"""GOLD on simulated 0/1 rewards, compiled.

Arms are pulled in turn, so the rewards of the next sweeps are known before any edge is looked at.
The kernel draws a block of sweeps, keeps how each arm's mean moves, and looks at a pair only if
the extremes of the two arms within the block could part it; only such pairs are followed pull by
pull. The decisions are those of looking at every edge after every pull.

Works on the very arrays of a `GoldRun` and its tally, so that a run may be advanced here, then by
ask and tell, then here again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from oddarm.bounds import NormalMixture, PaperBounded, numerics
from oddarm.kernels.compiling import OPTIONS, kernel
from oddarm.kernels.streams import draw
from oddarm.kernels.sweeps import finish_sweep

if TYPE_CHECKING:
    from oddarm.sources import SimulatedArms
    from oddarm.strategies.gold import GoldRun

__all__ = ["advance", "fits"]

_erfcinv = kernel(numerics.erfcinv)

PER_PULL, AGRESTI, HOEFFDING = 0, 1, 2

BLOCK = 128
"""Sweeps drawn at once."""
CHUNK = 64
"""Edges of a row that are looked at together."""
NEVER = 2**62
"""A time that does not come."""
SAFE = 1.0 - 1e-12
"""What the radii are multiplied with where they only tell which pairs to follow."""


def fits(run: GoldRun, arms: SimulatedArms) -> bool:
    """Return whether the compiled loop can go on from here: arms pulled in turn."""
    run.unsettle()
    counts = run.tally.counts
    if not arms.zero_one or not run.in_turn or (arms.drawn != counts).any():
        return False
    if run.graph is None:
        return True
    judged = run.radius.grows or bool(((run.judged == counts) | run.terminal).all())
    return not run.fresh and judged


def advance(run: GoldRun, arms: SimulatedArms, stop_at: int) -> None:
    """Pull until the run is over or `stop_at` pulls have been made in all."""
    tally = run.tally
    while run.graph is None and tally.pulls < stop_at:
        finish_sweep(run, arms, stop_at)
        run.update(run.setting.n - 1)
    if run.graph is None or run.fresh or run.verdict != "running":
        return
    run.unsettle()
    kind, r, level = AGRESTI, 0.0, 0.0
    if isinstance(run.radius, NormalMixture):
        kind, r, level = PER_PULL, run.radius.r, -2.0 * math.log(run.radius.alpha)
    elif isinstance(run.radius, PaperBounded):
        kind = HOEFFDING
    spent = 6 * run.setting.problem.delta, math.pi**2 * run.setting.n
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
        (kind, run.setting.rewards.sigma, r, level, *spent),
    )
    run.position = int(position)
    tally.pulls = int(pulls)
    arms.drawn[:] = tally.counts
    if kind == PER_PULL:
        run.judged[:] = tally.counts
    if over:
        run.verdict = "ranked"


@kernel
def _unit(pulls: int, rule: Any) -> float:
    """Return what the radii of all arms have in common after so many pulls in all."""
    kind, _, _, _, share, parts = rule
    if kind == PER_PULL:
        return 0.0
    spent = share / (parts * float(pulls) * float(pulls))
    return -math.log(spent) if kind == HOEFFDING else float(_erfcinv(spent))


@njit(**OPTIONS, inline="always")
def _radius(count: Any, total: Any, unit: Any, rule: Any) -> Any:
    """Return the radius of an arm, bit for bit that of `NormalMixture` or as printed."""
    kind, sigma, r, level, _, _ = rule
    if kind == PER_PULL:
        return sigma * math.sqrt((count + r) * (math.log((count + r) / r) + level)) / count
    if kind == HOEFFDING:
        return 2.0 * sigma * math.sqrt(unit / (2.0 * count))
    square = unit * unit
    p = (total + square / 2.0) / (count + square)
    return unit * math.sqrt(p * (1.0 - p) / count)


@kernel
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
    rule: Any,
) -> Any:
    n = len(means)
    path = np.empty((n, BLOCK + 1))  # the mean of each arm before and after each pull of the block
    table = np.empty(BLOCK + 2)  # radii by pulls, the Bernoulli radius at p = ½, where it is widest
    share = np.ones(n)  # of that radius that an arm has at the least
    least = np.empty(n, np.float32)  # at most the lowest that ŷ + bβ comes to within the block
    most = np.empty(n, np.float32)  # at least the highest that ŷ - bβ comes to
    apart = np.empty(BLOCK, np.bool_)
    turn = np.empty(n, np.int64)
    hub = np.zeros(n, np.int64)  # a neighbour that an arm had in common with one that it lost
    pairs = n * (n - 1) // 2
    times = np.empty(pairs, np.int64)  # when arms are parted, and which: the pages of memory that
    ones = np.empty(pairs, np.int32)  # nothing is written to are never taken up
    others = np.empty(pairs, np.int32)
    terminals = _terminals(stage)
    while terminals < enough and pulls < stop_at:
        k = n - terminals
        order = np.empty(k, np.int64)
        place = 0
        for x in range(n):
            i = position + x if position + x < n else position + x - n
            least[i], most[i] = np.inf, -np.inf
            if not stage[i]:
                order[place] = i
                turn[i] = place
                place += 1
        sweeps = min(BLOCK, (stop_at - pulls + k - 1) // k)
        end = min(stop_at, pulls + sweeps * k)
        lowest, highest = _draw_block(
            order, sweeps, counts, totals, means, starts, increments, path, table, share, least,
            most, b, _unit(pulls + 1, rule), rule,
        )  # fmt: skip
        parted = 0
        for i in range(n):
            if least[i] >= highest and lowest >= most[i]:
                continue
            for begin in range(i + 1, n, CHUNK):
                stop = min(begin + CHUNK, n)
                if not _near(
                    edges[i, begin:stop], least[begin:stop], most[begin:stop], least[i], most[i]
                ):
                    continue
                for j in range(begin, stop):
                    if not edges[i, j] or (least[i] >= most[j] and least[j] >= most[i]):
                        continue
                    first = i if turn[i] < turn[j] else j
                    time = _parting(
                        first, i + j - first, turn, pulls, k, sweeps, counts, path,
                        counts[order[0]], table, share, apart, b, rule,
                    )  # fmt: skip
                    if time <= end:
                        times[parted], ones[parted], others[parted] = time, i, j
                        parted += 1
        if parted and not _joined(edges, ones[:parted], others[:parted], hub):
            end = _replay(
                edges, times[:parted], ones, others, pulls, end, stage, score, largest_group
            )
            terminals = _terminals(stage)
        for x in range(k):
            i = order[x]
            made = (end - pulls - x + k - 1) // k
            counts[i] += made
            totals[i] = float(round(path[i, made] * counts[i]))
        position = order[(end - pulls - 1) % k] + 1
        position = position if position < n else 0
        pulls = end
        if rule[0] == PER_PULL:
            for x in range(k):
                i = order[x]
                if x and counts[i] == counts[order[x - 1]]:
                    beta[i] = beta[order[x - 1]]
                else:
                    beta[i] = _radius(counts[i], totals[i], 0.0, rule)
    return position, pulls, terminals >= enough


@njit(**OPTIONS, fastmath={"nnan", "nsz"})
def _draw_block(
    order: Any,
    sweeps: int,
    counts: Any,
    totals: Any,
    means: Any,
    starts: Any,
    increments: Any,
    path: Any,
    table: Any,
    share: Any,
    least: Any,
    most: Any,
    b: float,
    unit: float,
    rule: Any,
) -> Any:
    """Draw the next rewards of every arm in play, and fill in what is known of the block.

    Returns:
        The lowest of `least` and the highest of `most`.
    """
    lowest, highest = np.float32(np.inf), np.float32(-np.inf)
    ones = np.empty(sweeps + 1, np.int32)  # of the rewards up to each pull; small, to be quick
    steps = np.empty(sweeps + 1)
    begin = counts[order[0]]  # in turn, so that no arm has had less
    for s in range(sweeps + 1):
        steps[s] = s
    for s in range(sweeps + 2):
        table[s] = _radius(begin + s, (begin + s) / 2, unit, rule)
    for i in order:
        start, increment, mean, count = starts[i], increments[i], means[i], counts[i]
        for s in range(sweeps):
            ones[s + 1] = draw(start, increment, count + s + 1, mean)
        ones[0] = 0
        for s in range(sweeps):
            ones[s + 1] += ones[s]
        y, total, pulled = path[i], totals[i], float(count)
        for s in range(sweeps + 1):
            y[s] = (total + ones[s]) / (pulled + steps[s])
        if rule[0] == AGRESTI:
            off = 0.0  # the most that ŷ is off ½, hence p̃ less; it is drawn to ½ by z²/(m + z²)
            for s in range(sweeps + 1):
                off = max(off, abs(y[s] - 0.5))
            off *= (count + sweeps) / (count + sweeps + unit * unit)
            share[i] = math.sqrt(max(1.0 - 4.0 * off * off, 0.0))
        wide = b * SAFE * share[i]
        radii = table[count - begin :]
        low, high = np.inf, -np.inf
        for s in range(sweeps + 1):
            low = min(low, y[s] + wide * radii[s])
            high = max(high, y[s] - wide * radii[s])
        least[i] = low - 1e-5
        most[i] = high + 1e-5
        lowest = min(lowest, least[i])
        highest = max(highest, most[i])
    return lowest, highest


@kernel
def _near(row: Any, least: Any, most: Any, low: float, high: float) -> bool:
    """Return whether one of the edges could break within the block."""
    found = np.int32(0)
    for x in range(len(row)):
        apart = np.int32(low < most[x]) | np.int32(least[x] < high)
        found += np.int32(row[x]) & apart
    return bool(found > 0)


@kernel
def _parting(
    first: int,
    second: int,
    turn: Any,
    pulls: int,
    k: int,
    sweeps: int,
    counts: Any,
    path: Any,
    least: int,
    table: Any,
    share: Any,
    apart: Any,
    b: float,
    rule: Any,
) -> int:
    """Return after which pull, of all, the distance of two arms outgrows their radii.

    `first` is pulled before `second`, and `apart` is room for the work. NEVER if that does not
    happen in the block.
    """
    y, z = path[first], path[second]
    beta, gamma = table[counts[first] - least :], table[counts[second] - least :]
    wide, large = b * SAFE * share[first], b * SAFE * share[second]
    found = np.int32(0)
    for s in range(sweeps):
        after_first = abs(y[s + 1] - z[s]) > wide * beta[s + 1] + large * gamma[s]
        after_second = abs(y[s + 1] - z[s + 1]) > wide * beta[s + 1] + large * gamma[s + 1]
        apart[s] = after_first | after_second
        found += np.int32(apart[s])
    if found == 0:
        return NEVER
    for s in range(sweeps):
        if not apart[s]:
            continue
        u = s + 1
        for w in range(s, s + 2):  # after the pull of the first, then of the second
            time = pulls + s * k + (turn[first] if w == s else turn[second]) + 1
            reach = beta[u] + gamma[w]
            if rule[0] != PER_PULL:
                unit = _unit(time, rule)
                mine, others = counts[first] + u, counts[second] + w
                reach = _radius(mine, round(y[u] * mine), unit, rule)
                reach += _radius(others, round(z[w] * others), unit, rule)
            if abs(y[u] - z[w]) > b * reach:
                return int(time)
    return NEVER


@kernel
def _flip(edges: Any, ones: Any, others: Any) -> None:
    """Delete edges that are there, restore those that are not."""
    for e in range(len(ones)):
        edges[ones[e], others[e]] = not edges[ones[e], others[e]]
        edges[others[e], ones[e]] = not edges[others[e], ones[e]]


@kernel
def _joined(edges: Any, ones: Any, others: Any, hub: Any) -> bool:
    """Delete edges; if each pair has a neighbour in common no community splits, else undo."""
    _flip(edges, ones, others)
    for e in range(len(ones)):
        i, j = ones[e], others[e]
        if not (edges[i, hub[i]] and edges[j, hub[i]]):
            x = _common(edges, i, j)
            if x < 0:
                _flip(edges, ones, others)
                return False
            hub[i] = x
    return True


@kernel
def _common(edges: Any, i: int, j: int) -> int:
    """Return a common neighbour of two arms that are none, -1 if they have none."""
    for x in range(len(edges)):
        if edges[i, x] and edges[j, x]:
            return x
    return -1


@kernel
def _replay(
    edges: Any,
    times: Any,
    ones: Any,
    others: Any,
    pulls: int,
    end: int,
    stage: Any,
    score: Any,
    largest_group: int,
) -> int:
    """Delete edges in the order of time, up to the pull that makes arms terminal.

    Returns:
        The number of that pull; `end` if there is none.
    """
    latest = np.empty(end - pulls + 1, np.int64)  # of the events at a pull; `before` has the rest
    before = np.empty(len(times), np.int64)
    for at in range(len(latest)):
        latest[at] = -1
    for e in range(len(times)):
        before[e] = latest[times[e] - pulls]
        latest[times[e] - pulls] = e
    for at in range(1, len(latest)):
        e = latest[at]
        while e >= 0:
            edges[ones[e], others[e]] = False
            edges[others[e], ones[e]] = False
            e = before[e]
        split = False
        e = latest[at]
        while e >= 0 and not split:
            split = _common(edges, ones[e], others[e]) < 0
            e = before[e]
        if split and _declare(edges, stage, score, largest_group, pulls + at):
            return pulls + at
    return end


@kernel
def _terminals(stage: Any) -> int:
    found = 0
    for i in range(len(stage)):
        found += stage[i] > 0
    return found


@kernel
def _declare(edges: Any, stage: Any, score: Any, largest_group: int, pulls: int) -> bool:
    """Make the members of every small community terminal; return whether any became so."""
    n = len(stage)
    latest = 1
    for i in range(n):
        latest = max(latest, stage[i] + 1)
    found = False
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
                    found = True
    return found
