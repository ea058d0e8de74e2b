"""The absolute rule: who is at least `min_gap` away from everyone else.

What is certain is a function of intervals and of the evidence of pairs; what to pull is a plan that
makes it certain. docs/adaptive.md, "The absolute rule", has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from oddarm._typing import Flags, Floats, Wholes
from oddarm.definitions.interval_gaps import largest_possible_gap
from oddarm.kernels.blocks import Arms, Rules, find_gaps, find_rival
from oddarm.kernels.pieces import PASSES, Told, nobody_else_apart, plan_bulk
from oddarm.kernels.plans import Target, plan_target
from oddarm.strategies.adaptive.certify import estimated_gaps, sharpen
from oddarm.strategies.adaptive.constants import (
    FINEST_HUB,
    HUB_STEPS,
    HUBS_BY_ARMS,
    LEAST_HUBS,
    MOST_HUBS,
    MOST_LINES,
)
from oddarm.strategies.adaptive.plan import RoundPlan
from oddarm.strategies.base import Verdict

NO_GAP = 1e200
PLANNED_AT_ONCE = 2**15
"""So many numbers are in one array of a plan at most, or one for each arm."""
__all__ = ["Answer", "any_piece", "apart_at", "certain_answer", "plan_answer"]


@dataclass(frozen=True)
class Answer:
    """What is certain by the absolute rule.

    Attributes:
        verdict: "confirmed", "none" or "scattered"; "running" if that is open.
        members: Which arms are certain to be apart, less the slack.
        apart: The least that their distance to the others can be; infinite if there are none.
        linked: The most that a gap inside the pieces of the others can be, as far as it matters.
    """

    verdict: Verdict
    members: Flags
    apart: float
    linked: float


def certain_answer(arms: Arms, rules: Rules) -> Answer:
    """Return the answer that holds for all means within the intervals.

    Arms in small pieces between gaps that are certain to exceed (1 - slack)·min_gap are outliers.
    No other arm can be in a small piece between gaps above min_gap: no such piece is possible at
    all; or each of them is linked, in a set of more arms than may be outliers, inside of which no
    gap above min_gap is possible.
    """
    n = len(arms.low)
    estimated, certain = estimated_gaps(arms.means, arms.by_mean), find_gaps(arms)
    places = np.flatnonzero(estimated[1:n] > rules.sure_gap) + 1
    places = places[np.argsort(-estimated[places], kind="stable")]
    sharpen(arms, rules, estimated, certain, places[certain[places] <= rules.sure_gap])
    cuts = np.flatnonzero(certain > rules.sure_gap)  # the ends are infinite
    members, borders = _small_pieces(cuts, arms.by_mean, rules.max_members)
    apart = float(certain[borders].min(initial=np.inf))
    if members.sum() > rules.max_members:
        return Answer("scattered", members, apart, np.inf)
    if nobody_else(arms, rules, members):
        return Answer("confirmed" if members.any() else "none", members, apart, rules.floor)
    linked = 0.0
    for first, last in pairwise(cuts.tolist()):
        if last - first > rules.max_members:
            linked = max(linked, _linked(arms, rules, estimated, first, last))
    if linked > rules.floor:
        return Answer("running", members, apart, linked)
    return Answer("confirmed" if members.any() else "none", members, apart, linked)


def nobody_else(arms: Arms, rules: Rules, members: Flags) -> bool:
    """Whether no small piece can have an arm that is not a member: by intervals, or jointly."""
    if find_rival(_without(arms, members), any_piece(rules, members), rules.floor) is None:
        return True
    if not rules.joint_delta:
        return False
    assert arms.totals is not None
    assert arms.counts is not None
    counts = arms.counts.astype(np.float64)
    told, limits = Told(arms.totals, counts, arms.scatter), (rules.floor, rules.max_members)
    return nobody_else_apart(told, members, *limits, rules.joint_delta)


def _without(arms: Arms, members: Flags) -> Arms:
    """Return the arms with the members declared, so that a piece must have another arm."""
    return replace(arms, declared=members)


def any_piece(rules: Rules, members: Flags, floor: float | None = None) -> Rules:
    """Return rules by which a rival is any piece that may be small, whatever is beside it."""
    return Rules(
        floor=rules.floor if floor is None else floor,
        sure_gap=rules.sure_gap,
        max_members=rules.max_members + int(members.sum()),
        min_segment=1,
        pair_delta=rules.pair_delta,
        joint_delta=rules.joint_delta,
        caution=rules.caution,
        many_arms=rules.many_arms,
    )


def _small_pieces(cuts: Wholes, by_mean: Wholes, most: int) -> tuple[Flags, list[int]]:
    """Return which arms are in pieces of at most `most` arms, and the cuts beside these."""
    members = np.zeros(len(by_mean), dtype=np.bool_)
    borders: set[int] = set()
    for first, last in pairwise(cuts.tolist()):
        if last - first <= most:
            members[by_mean[first:last]] = True
            borders |= {first, last}
    return members, sorted(borders - {0, len(by_mean)})


def _linked(arms: Arms, rules: Rules, estimated: Floats, first: int, last: int) -> float:
    """Return the most that a gap can be inside by_mean[first:last], or inside each of two parts.

    A part must have more arms than may be outliers. A block is divided only where the estimates say
    that a cut may be.
    """
    block = arms.by_mean[first:last]
    widest = largest_possible_gap(arms.low[block], arms.high[block])
    if widest <= rules.floor:
        return widest
    least = rules.max_members + 1
    places = np.arange(first + least, last - least + 1)
    if not len(places):
        return widest
    at = int(places[np.argmax(estimated[places])])
    if estimated[at] <= rules.sure_gap:
        return widest
    return max(
        _linked(arms, rules, estimated, first, at), _linked(arms, rules, estimated, at, last)
    )


def apart_at(means: Floats, by_mean: Wholes, line: float, most: int) -> tuple[Flags, Wholes]:
    """Return which arms are apart if the means are known and gaps above `line` are cut.

    Returns:
        The arms in pieces of at most `most`, and where the cuts are in by_mean, ends included.
    """
    cuts = np.flatnonzero(estimated_gaps(means, by_mean) > line)
    return _small_pieces(cuts, by_mean, most)[0], cuts


def plan_answer(arms: Arms, rules: Rules, counts: Floats, passes: int = PASSES) -> RoundPlan:
    """Plan the pulls that make an answer certain, at the least cost of the answers tried.

    The answers tried are those of lines between (1 - slack)·min_gap and min_gap: each of them is
    right if the estimates are.

    Args:
        arms: The arms, with the cost of the pulls from which to plan.
        rules: The rules of the problem.
        counts: How many pulls these are.
        passes: How often to go over a plan for the evidence of all arms together.
    """
    gaps = estimated_gaps(arms.means, arms.by_mean)[1:-1]
    between = np.unique(gaps[(gaps > rules.sure_gap) & (gaps <= rules.floor)])
    ends = np.concatenate(([rules.sure_gap], between, [rules.floor]))
    lines = (ends[1:] + ends[:-1]) / 2
    if len(lines) > MOST_LINES:
        lines = lines[np.linspace(0, len(lines) - 1, MOST_LINES).astype(int)]
    best = RoundPlan(np.ones(len(arms.means)), np.inf)
    tried = set()
    for line in lines.tolist():
        members, cuts = apart_at(arms.means, arms.by_mean, line, rules.max_members)
        if members.tobytes() not in tried:
            tried.add(members.tobytes())
            plan = _plan_for(arms, rules, members, cuts, (counts, passes))
            best = plan if plan.cost < best.cost else best
    return best


def _plan_for(
    arms: Arms, rules: Rules, members: Flags, cuts: Wholes, jointly: tuple[Floats, int]
) -> RoundPlan:
    """Plan to make certain that these arms, and no others, are apart."""
    wanted = _some_pieces(arms, rules, cuts) if members.sum() > rules.max_members else members
    sides = wanted[arms.by_mean]
    places = np.flatnonzero(sides[1:] != sides[:-1]) + 1
    inner = cuts[1:-1]  # between two of the wanted pieces
    places = np.union1d(places, inner[sides[inner - 1] & sides[inner]])
    target = Target(places).asking(rules.sure_gap)
    ones = np.ones(len(arms.means))
    # No gap is that wide, so no rival is to be ruled out.
    only_gaps = any_piece(rules, wanted, NO_GAP)
    factors, cost = plan_target(arms, only_gaps, target, ones, np.inf)
    if wanted is not members or cost == np.inf:
        return RoundPlan(factors, cost)
    assert arms.pulls is not None
    if rules.joint_delta:
        rule = rules.floor, rules.max_members, rules.joint_delta
        counts, passes = jointly
        prices, caution = arms.pulls / counts, rules.caution
        told = Told(arms.means * counts, counts, arms.scatter)
        foreseen = plan_bulk(told, members, rule, prices, factors, caution, passes)
    else:
        foreseen = True
        for first, last in pairwise(cuts.tolist()):
            if last - first > rules.max_members:
                plan_links(arms, arms.by_mean[first:last], factors, rules.floor)
    cost = float(arms.pulls @ (factors - 1.0)) if foreseen else np.inf
    other, less = plan_target(
        _without(arms, members), any_piece(rules, members), target, ones, cost
    )
    return RoundPlan(other, less) if less < cost else RoundPlan(factors, cost)


def _some_pieces(arms: Arms, rules: Rules, cuts: Wholes) -> Flags:
    """Return arms in small pieces, the furthest apart first, just more than may be outliers."""
    gaps = estimated_gaps(arms.means, arms.by_mean)
    pieces = [pair for pair in pairwise(cuts.tolist()) if pair[1] - pair[0] <= rules.max_members]
    pieces.sort(key=lambda pair: -min(gaps[pair[0]], gaps[pair[1]]))
    chosen = np.zeros(len(arms.means), dtype=np.bool_)
    for first, last in pieces:
        if chosen.sum() <= rules.max_members:
            chosen[arms.by_mean[first:last]] = True
    return chosen


def plan_links(arms: Arms, block: Wholes, factors: Floats, scale: float) -> None:
    """Raise the factors of a block, sorted by mean, until no gap above `scale` can be inside it.

    A chain of hubs, each certain to be within `scale` of the next, spans the block; every other arm
    is certain to be within `scale` of a place between the ends of the chain. The cheapest chain is
    found by dynamic programming over hubs and by how much their pulls grow.
    """
    assert arms.pulls is not None
    means, price, start = arms.means[block], arms.pulls[block], factors[block]
    down, up = means - arms.low[block], arms.high[block] - means
    scale *= 1 - 1e-9
    if largest_possible_gap(means - down / np.sqrt(start), means + up / np.sqrt(start)) <= scale:
        return

    def needed(reach: Floats, room: Floats) -> Floats:
        """To what factors pulls must grow so that intervals reach no further than the room."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(room > 0, np.maximum((reach / room) ** 2, start), np.inf)

    def extra(reach: Floats, edges: Floats, side: int, hub: int) -> Floats:
        """What it costs that no arm but a hub reaches beyond an edge, for each of some edges."""
        nearest = np.delete(side * means, hub).min()
        cost = np.full(len(edges), np.inf)
        possible = np.flatnonzero(nearest - side * edges > 0)  # few of them, if the block is wide
        rows = max(PLANNED_AT_ONCE // len(means), 1)
        for part in (possible[k : k + rows] for k in range(0, len(possible), rows)):
            rooms = side * (means - edges[part, None])
            each = price * (needed(reach, rooms) - start)
            each[:, hub] = 0.0
            cost[part] = each.sum(axis=-1)
        return cost

    hubs = _hubs(means, price * (down + up) ** 2 / start)
    reach = np.maximum(np.maximum(down, up) / (FINEST_HUB * scale), np.sqrt(start) * 1.01)
    steps = np.linspace(0.0, 1.0, HUB_STEPS)
    grown = start[hubs, None] * (reach[hubs] ** 2 / start[hubs])[:, None] ** steps
    low = means[hubs, None] - down[hubs, None] / np.sqrt(grown)
    high = means[hubs, None] + up[hubs, None] / np.sqrt(grown)
    own = price[hubs, None] * (grown - start[hubs, None])
    final = np.array([extra(up, low[k] + scale, -1, hub) for k, hub in enumerate(hubs.tolist())])
    if not np.isfinite(final).any():
        factors[block] = np.inf
        return
    first = np.array([extra(down, high[k] - scale, 1, hub) for k, hub in enumerate(hubs.tolist())])
    best = own + first
    before = np.full(own.shape, -1)
    for k in range(1, len(hubs)):
        close = (high[k][:, None] - low[:k].ravel() <= scale) & (
            high[:k].ravel() - low[k][:, None] <= scale
        )
        costs = np.where(close, best[:k].ravel(), np.inf)
        link = costs.argmin(axis=1)
        cost = own[k] + costs[np.arange(HUB_STEPS), link]
        better = cost < best[k]
        best[k][better], before[k][better] = cost[better], link[better]
    at = int(np.argmin(best + final))
    if not np.isfinite((best + final).flat[at]):
        factors[block] = np.inf
        return
    wanted = needed(up, low.flat[at] + scale - means)
    chain = {}
    while at >= 0:
        chain[int(hubs[at // HUB_STEPS])] = grown.flat[at]
        lowest, at = at, int(before.flat[at])
    wanted = np.maximum(wanted, needed(down, means - (high.flat[lowest] - scale)))
    for hub, growth in chain.items():
        wanted[hub] = growth
    factors[block] = wanted


def _hubs(means: Floats, dear: Floats) -> Wholes:
    """Return which arms may be hubs: all, or the cheapest of equally many arms each."""
    n = len(means)
    most = min(max(HUBS_BY_ARMS // n, LEAST_HUBS), MOST_HUBS)
    if n <= most:
        return np.arange(n)
    parts = np.array_split(np.arange(n), most)
    return np.array([part[np.argmin(dear[part])] for part in parts])
