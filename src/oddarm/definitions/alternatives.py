"""Means under which an answer would be wrong: where a search for the nearest ones looks.

`limit.least_pulls` needs, for given shares of pulls, truths that are hard to tell from the true
means and under which the answer would be wrong. There are three kinds, one class each:

- `IsolatedSets`: another set of few arms lies apart ("a group that is not inside N̂", "there is an
  outlier after all").
- `WideStretches`: an empty stretch opens among the normal arms, and an outlier comes as near as it
  must, so that the group is a group no longer.
- `LongChains`: an outlier is linked to so many others that it is normal.

Each proposes orders of the arms with limits on their gaps, as `gap_programs` solves them, in two
ways: everywhere (`propose`), by placing a window or a stretch and letting every arm go to the
cheapest place that is left, so that an arm with little weight moves past any number of others; and
beside what was found (`vary`), by sending single arms elsewhere. Nothing here must be complete: an
alternative that is missed makes the bound smaller, and each that is found is checked exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Floats
from oddarm.definitions.gap_programs import GapPrograms, bernoulli_kl

__all__ = ["Family", "IsolatedSets", "LongChains", "WideStretches"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

PLACES = 22
"""Windows and stretches begin and end at so many places."""
WIDTHS = 10
"""The distances of a group that are tried, where the rule does not give one."""
COPIES = 20
"""So many times as many windows and stretches are looked at as are wanted: many are alike."""
STONES = 3
"""An arm may become a stepping stone in so many of the dearest links."""
WORTH = 1.5
"""An arm is moved if that alone costs at most so many times the whole alternative at hand."""
EDGE = 1e-6


class Family(Protocol):
    """One kind of alternative."""

    def propose(self, weights: Floats, limit: int) -> GapPrograms:
        """Return programs from a wide search, those that seem cheapest first, at most `limit`."""

    def vary(self, weights: Floats, order: Ints, means: Floats) -> GapPrograms:
        """Return programs near one that was solved: the order of its arms, and their new means."""


def _places(mu: Floats) -> Floats:
    """Return places over the whole range, denser where the means are."""
    points = np.unique(np.round(mu, 9))
    if len(points) > PLACES:
        points = np.quantile(points, np.linspace(0, 1, PLACES))
    between = (points[1:] + points[:-1]) / 2
    wide = np.linspace(0.02, 0.98, PLACES)
    return np.unique(np.clip(np.concatenate([points, between, wide]), EDGE, 1 - EDGE))


def _distinct(rows: Ints) -> Ints:
    """Return the first place of each row that is not a copy of an earlier one."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return np.sort(first)


@dataclass(frozen=True)
class IsolatedSets:
    """Truths with a set of few arms that lies apart from the others.

    Attributes:
        mu: The means.
        largest: The most arms of the set.
        side: The fewest other arms on a side, unless there are none; 1 for the absolute rule.
        ratio: 1 + ε: the distance is at least so many times any gap among the others on a side;
            None for the absolute rule.
        floor: The distance is at least this.
        inside: The set has an arm that is not one of these.
        around: The set lacks one of these, if there are any.
    """

    mu: Floats
    largest: int
    side: int
    ratio: float | None
    floor: float
    inside: Collection[int] = ()
    around: Collection[int] = ()
    outside: Ints = field(init=False)

    def __post_init__(self) -> None:
        every = np.arange(len(self.mu))
        object.__setattr__(self, "outside", np.setdiff1d(every, np.array([*self.inside], np.intp)))

    def propose(self, weights: Floats, limit: int) -> GapPrograms:
        """Return programs for windows at many places, and for the blocks in the order of μ."""
        places = _places(self.mu)
        if self.ratio is None:
            widths = np.array([self.floor])
        else:
            widths = np.geomspace(max(self.floor, 0.01), 0.9, WIDTHS)
        low, high, width = (
            part.ravel() for part in np.meshgrid(places, places, widths, indexing="ij")
        )
        fits = (low <= high) & (low - width > -0.5) & (high + width < 1.5)
        windows = np.stack([low[fits], high[fits], width[fits]], axis=1)
        order, member, cost = self._assign(weights, windows)
        best = np.argsort(cost, kind="stable")[: COPIES * limit]
        best = best[np.isfinite(cost[best])]
        best = best[_distinct(np.concatenate([order[best], member[best]], axis=1))]
        best = best[np.argsort(cost[best], kind="stable")][:limit]
        chosen = [(order[best], member[best])]
        # The cheapest windows once more, with each arm in turn in the set.
        tops = windows[np.argsort(cost, kind="stable")[:3]]
        forced = np.repeat(self.outside, len(tops))
        again = self._assign(weights, np.tile(tops, (len(self.outside), 1)), forced=forced)
        keep = np.argsort(again[2], kind="stable")[:limit]
        chosen.append((again[0][keep], again[1][keep]))
        blocks = self._blocks(limit)
        chosen.append((np.tile(np.argsort(self.mu, kind="stable"), (len(blocks), 1)), blocks))
        return self._programs(*(np.concatenate(parts) for parts in zip(*chosen, strict=True)))

    def vary(self, weights: Floats, order: Ints, means: Floats) -> GapPrograms:
        """Return programs with one arm more or less in the set, and with stepping stones."""
        gaps = np.diff(means)
        member = self._members_of(order, means)
        within = means[member]
        borders = gaps[member[1:] != member[:-1]]
        window = np.array([within.min(), within.max(), borders.min()])
        total = WORTH * (weights[order] * bernoulli_kl(self.mu[order], means)).sum()
        near = [window * [1, 1, factor] for factor in (1.0, 0.8, 1.25)]
        same = self._assign(weights, np.array(near))
        joining = weights * bernoulli_kl(self.mu, np.clip(self.mu, window[0], window[1]))
        forced, barred = np.flatnonzero(joining < total), order[member]
        more = self._assign(weights, np.tile(window, (len(forced), 1)), forced=forced)
        less = self._assign(weights, np.tile(window, (len(barred), 1)), barred=barred)
        found = [(part[0], part[1]) for part in (same, more, less)]
        if self.ratio is not None:
            found += list(self._stones(weights, order, means, member))
        orders, members = (np.concatenate(parts) for parts in zip(*found, strict=True))
        first = _distinct(np.concatenate([orders, members], axis=1))
        return self._programs(orders[first], members[first])

    def _members_of(self, order: Ints, means: Floats) -> Bools:
        """Return by position which arms are the set.

        Gaps are cut from the widest on. The set is the arms of small pieces, as soon as they are
        few enough and one of them may not be missing from an alternative (`inside`).
        """
        gaps = np.diff(means)
        best = np.zeros(len(means), dtype=bool)
        for width in np.sort(gaps)[::-1]:
            if width < self.floor - 1e-12:
                break
            cuts = np.flatnonzero(gaps >= width) + 1
            sizes = np.diff(np.concatenate([[0], cuts, [len(means)]]))
            member = np.repeat(sizes <= self.largest, sizes)
            if not 1 <= member.sum() <= self.largest:
                continue
            if not np.isin(order[member], [*self.inside]).all():
                return np.asarray(member)
            best = member
        if not best.any():
            best[np.argmax(np.isin(order, self.outside))] = True
        return best

    def _stones(
        self, weights: Floats, order: Ints, means: Floats, member: Bools
    ) -> Iterator[tuple[Ints, Bools]]:
        """Yield orders in which an arm moves into one of the links that cost most."""
        moved = weights[order] * bernoulli_kl(self.mu[order], means)
        links = np.flatnonzero(~member[1:] & ~member[:-1])
        gaps = np.diff(means)[links]
        links = links[gaps > 0.9 * gaps.max(initial=0.0)]
        dear = links[np.argsort(-(moved[links] + moved[links + 1]), kind="stable")][:STONES]
        for link in dear.tolist():
            middle = (means[link] + means[link + 1]) / 2
            worth = weights[order] * bernoulli_kl(self.mu[order], middle) < WORTH * moved.sum()
            worth &= ~member
            worth[link : link + 2] = False
            stones = np.flatnonzero(worth).tolist()
            if not stones:
                continue
            orders, members = [], []
            for p in stones:
                at = link if p < link else link + 1
                orders.append(np.insert(np.delete(order, p), at, order[p]))
                members.append(np.insert(np.delete(member, p), at, False))
            yield np.array(orders), np.array(members)

    def _blocks(self, limit: int) -> Bools:
        """Return blocks of the true order that may be the set, one row each, evenly thinned."""
        n = len(self.mu)
        order = np.argsort(self.mu, kind="stable").tolist()
        inside, around = {*self.inside}, {*self.around}
        blocks = [
            (start, start + size)
            for size in range(1, self.largest + 1)
            for start in range(n - size + 1)
            if not any(0 < count < self.side for count in (start, n - start - size))
        ]
        step = max(len(blocks) // limit, 1)
        rows = []
        for start, stop in blocks[::step]:
            arms = {*order[start:stop]}
            if not (arms <= inside or (around and arms >= around)):
                position = np.arange(n)
                rows.append((start <= position) & (position < stop))
        return np.array(rows, dtype=bool).reshape(-1, n)

    def _assign(
        self,
        weights: Floats,
        windows: Floats,
        forced: Ints | None = None,
        barred: Ints | None = None,
    ) -> tuple[Ints, Bools, Floats]:
        """Let each arm go to its cheapest place about each window.

        Args:
            weights: Of the arms.
            windows: Rows (low, high, width): the set lies in [low, high], the others at least
                `width` away.
            forced: For each window, an arm that must be in the set.
            barred: For each window, an arm that must not.

        Returns:
            The order of the arms, which positions are the set's, and a guess of the cost.
        """
        mu, n = self.mu, len(self.mu)
        low, high, width = windows[:, :1], windows[:, 1:2], windows[:, 2:]
        rows = np.arange(len(windows))

        def cost_at(place: Floats) -> Floats:
            cost: Floats = weights * bernoulli_kl(mu, np.clip(place, EDGE, 1 - EDGE))
            return np.where((place < 0) | (place > 1), 1e3, cost)

        below, above = np.minimum(mu, low - width), np.maximum(mu, high + width)
        down, up, within = cost_at(below), cost_at(above), cost_at(np.clip(mu, low, high))
        saved = within - np.minimum(down, up)  # by staying out
        if forced is not None:
            saved[rows, forced] = -np.inf
        if barred is not None:
            saved[rows, barred] = np.inf
        chosen = self.outside[np.argmin(saved[:, self.outside], axis=1)]
        saved[rows, chosen] = -np.inf
        if self.around:
            lacks = np.array([*self.around], dtype=np.intp)
            saved[rows, lacks[np.argmax(saved[:, lacks], axis=1)]] = np.inf
        rank = np.argsort(np.argsort(saved, axis=1, kind="stable"), axis=1, kind="stable")
        member = (saved < 0) & (rank < self.largest)
        over = (up < down) & ~member
        if self.side > 1:
            count_up, count_down = over.sum(axis=1), (~over & ~member).sum(axis=1)
            few_up = ((count_up > 0) & (count_up < self.side))[:, None]
            few_down = ((count_down > 0) & (count_down < self.side))[:, None]
            over = np.where(few_up, False, np.where(few_down, ~member, over))
        cost = np.where(member, within, np.where(over, up, down)).sum(axis=1)
        zone = np.where(member, 1, np.where(over, 2, 0))
        order = np.lexsort((np.broadcast_to(mu, zone.shape), zone), axis=1)
        placed = np.where(member, np.clip(mu, low, high), np.where(over, above, below))
        at = np.take_along_axis(placed, order, axis=1)
        kind = np.take_along_axis(zone, order, axis=1)
        if self.ratio is not None:  # links that must become shorter
            spread = (mu * (1 - mu) + 1e-4) / weights
            spread = np.take_along_axis(np.broadcast_to(spread, zone.shape), order, axis=1)
            excess = np.maximum(np.diff(at, axis=1) - width / self.ratio, 0.0)
            joint = 2 * (spread[:, 1:] + spread[:, :-1])
            link = (kind[:, 1:] == kind[:, :-1]) & (kind[:, 1:] != 1)
            cost = cost + (np.where(link, excess, 0.0) ** 2 / joint).sum(axis=1)
        counts = np.stack([(zone == side).sum(axis=1) for side in (0, 2)])
        bad = ((counts > 0) & (counts < self.side)).any(axis=0) | ~member.any(axis=1)
        bad |= member.sum(axis=1) >= n
        return order, kind == 1, np.where(bad, np.inf, cost)

    def _programs(self, order: Ints, member: Bools) -> GapPrograms:
        programs = GapPrograms.free(order)
        border = member[:, 1:] != member[:, :-1]
        programs.least[border] = self.floor
        if self.ratio is not None:
            programs.least_times[border] = self.ratio
            inner = ~member[:, 1:] & ~member[:, :-1]
            programs.most[inner] = 0.0
            programs.most_times[inner] = 1.0
        return programs


@dataclass(frozen=True)
class WideStretches:
    """Truths under which a group is not a group: a stretch of a segment is too wide for it.

    Attributes:
        mu: The means.
        members: The group.
        ratio: 1 + ε: its distance is at most so many times the empty stretch.
    """

    mu: Floats
    members: Ints
    ratio: float

    def propose(self, weights: Floats, limit: int) -> GapPrograms:
        """Return programs for stretches at many places, each with the pairs that seem cheapest."""
        places = _places(self.mu)
        low, high = (part.ravel() for part in np.meshgrid(places, places, indexing="ij"))
        stretches = np.stack([low, high], axis=1)[low < high]
        costs, over = self._stretch_costs(weights, stretches)
        pairs, pair_costs = self._pairs(weights, stretches[:, 1] - stretches[:, 0])
        total = costs[:, None] + pair_costs
        flat = np.argsort(total, axis=None, kind="stable")[: COPIES * limit]
        rows, which = np.unravel_index(flat, total.shape)
        first = _distinct(np.concatenate([over[rows], pairs[rows, which]], axis=1))
        rows, which = rows[first], which[first]
        return self._build(weights, stretches[rows], pairs[rows, which], None, limit)

    def vary(self, weights: Floats, order: Ints, means: Floats) -> GapPrograms:
        """Return programs with single arms beyond the stretch, or with another pair."""
        normal = ~np.isin(order, self.members)
        gaps = np.diff(means)
        inner = np.where(normal[1:] & normal[:-1], gaps, -1.0)
        at = int(np.argmax(inner))
        stretch = means[at : at + 2]
        border = np.where(normal[1:] != normal[:-1], gaps, np.inf)
        near = int(np.argmin(border))
        pair = order[near : near + 2] if not normal[near] else order[near : near + 2][::-1]
        total = WORTH * (weights[order] * bernoulli_kl(self.mu[order], means)).sum()
        beyond = np.where(self.mu <= stretch.mean(), stretch[1], stretch[0])
        worth = np.flatnonzero(weights * bernoulli_kl(self.mu, beyond) < total)
        flips = np.concatenate([[-1], worth])
        pairs, _ = self._pairs(weights, np.array([stretch[1] - stretch[0]]))
        others = pairs[0]
        stretches = np.tile(stretch, (len(flips) + len(others), 1))
        chosen = np.concatenate([np.tile(pair, (len(flips), 1)), others])
        flipped = np.concatenate([flips, np.full(len(others), -1)])
        return self._build(weights, stretches, chosen, flipped, 4 * len(stretches))

    def _stretch_costs(self, weights: Floats, stretches: Floats) -> tuple[Floats, Bools]:
        """Return what it costs to empty each stretch, and which arms then lie above it.

        Next to the stretch on either side there is an arm that is not of the group.
        """
        low, high = stretches[:, :1], stretches[:, 1:]
        down = weights * bernoulli_kl(self.mu, np.minimum(self.mu, low))
        up = weights * bernoulli_kl(self.mu, np.maximum(self.mu, high))
        over = up < down
        member = np.isin(np.arange(len(self.mu)), self.members)
        rows = np.arange(len(stretches))
        for side, sign in ((True, 1.0), (False, -1.0)):
            here = over if side else ~over
            nearest = np.where(here, sign * self.mu, np.inf)
            lacks = np.where(member, np.inf, nearest).min(axis=1) >= nearest.min(axis=1)
            lacks &= np.where(member, nearest, np.inf).min(axis=1) <= nearest.min(axis=1)
            lacks |= ~(here & ~member).any(axis=1)
            dearer = (up - down if side else down - up) + np.where(member | here, np.inf, 0.0)
            arm = np.argmin(dearer, axis=1)
            lacks &= np.isfinite(dearer[rows, arm])
            over[rows[lacks], arm[lacks]] = side
        return np.where(over, up, down).sum(axis=1), over

    def _pairs(self, weights: Floats, widths: Floats) -> tuple[Ints, Floats]:
        """Return for each width some pairs (member, other) that come near cheaply, with a guess."""
        others = np.setdiff1d(np.arange(len(self.mu)), self.members)
        spread = (self.mu * (1 - self.mu) + 1e-4) / weights
        apart = np.abs(self.mu[self.members][:, None] - self.mu[others])
        joint = 2 * (spread[self.members][:, None] + spread[others])
        excess = np.maximum(apart - self.ratio * widths[:, None, None], 0.0)
        costs = (excess**2 / joint).reshape(len(widths), -1)
        some = np.argsort(costs, axis=1, kind="stable")[:, :6]
        first, second = np.unravel_index(some, apart.shape)
        pairs = np.stack([self.members[first], others[second]], axis=2)
        return pairs, np.take_along_axis(costs, some, axis=1)

    def _build(
        self, weights: Floats, stretches: Floats, pairs: Ints, flips: Ints | None, limit: int
    ) -> GapPrograms:
        """Return programs for stretches with a pair each, without copies."""
        _, over = self._stretch_costs(weights, stretches)
        if flips is not None:
            some = np.flatnonzero(flips >= 0)
            over[some, flips[some]] ^= True
        seen: dict[tuple[bytes, int, int], tuple[Ints, int, int]] = {}
        for above, (member, other) in zip(over, pairs.tolist(), strict=True):
            for mover, stays in ((other, member), (member, other)):
                made = self._order(above, mover, stays)
                if made is not None:
                    seen.setdefault((made[0].tobytes(), made[1], made[2]), made)
            if len(seen) >= limit:
                break
        n = len(self.mu)
        programs = GapPrograms.free(np.array([m[0] for m in seen.values()]).reshape(-1, n))
        for row, (_, stretch, near) in enumerate(seen.values()):
            programs.least_times[row, stretch] = 1.0
            programs.most[row, near] = 0.0
            programs.most_times[row, near] = self.ratio
        return programs

    def _order(self, above: Bools, mover: int, stays: int) -> tuple[Ints, int, int] | None:
        """Return an order with a pair side by side, the gap of the stretch, and that of the pair.

        None if a member of the group lies beside the stretch.
        """
        order = np.lexsort((self.mu, above))
        above = above.copy()
        place = {arm: p for p, arm in enumerate(order.tolist())}
        if abs(place[mover] - place[stays]) != 1:
            above[mover] = above[stays]
            from_below = place[mover] < place[stays]
            rest = order[order != mover]
            at = int(np.flatnonzero(rest == stays)[0])
            order = np.insert(rest, at if from_below else at + 1, mover)
        sides = above[order]
        cut = int(np.count_nonzero(~sides)) - 1
        if not 0 <= cut < len(order) - 1 or sides[: cut + 1].any():
            return None
        if np.isin(order[cut : cut + 2], self.members).any():
            return None
        positions = np.flatnonzero((order == mover) | (order == stays))
        return order, cut, int(positions[0])


@dataclass(frozen=True)
class LongChains:
    """Truths in which an arm is linked to others: sets of so many arms with short gaps.

    Attributes:
        mu: The means.
        size: How many arms are linked.
        reach: The longest gap of a link.
        ends: At least one of these arms is linked.
        others: At least one of these is linked too, if there are any.
    """

    mu: Floats
    size: int
    reach: float
    ends: Ints
    others: Ints | None = None

    def propose(self, weights: Floats, limit: int) -> GapPrograms:
        """Return programs for the sets that come together most cheaply at many places."""
        del limit  # they are few
        n = len(self.mu)
        order = np.argsort(self.mu, kind="stable")
        sets = [order[start : start + self.size] for start in range(n - self.size + 1)]
        for radius in (0.5 * self.reach, self.reach, 0.5 * self.reach * (self.size - 1)):
            places = _places(self.mu)[:, None]
            place = np.clip(self.mu, places - radius, places + radius)
            costs = weights * bernoulli_kl(self.mu, np.clip(place, EDGE, 1 - EDGE))
            costs = costs + 1e-9 * np.abs(self.mu - places)
            for row in costs:
                cheap = np.argsort(row, kind="stable")
                end = self.ends[np.argmin(row[self.ends])]
                sets.append(self._with(cheap, [end]))
        if self.others is not None or self.size <= 2:
            for end in self.ends.tolist():
                others = self.others if self.others is not None else np.arange(n)
                sets += [self._with(np.arange(n), [end, arm]) for arm in others if arm != end]
        return self._programs(sets)

    def vary(self, weights: Floats, order: Ints, means: Floats) -> GapPrograms:
        """Return programs with one arm exchanged, or two neighbours in the other order."""
        del weights, means
        others = np.setdiff1d(np.arange(len(self.mu)), order)
        rows = [order]
        for position in range(self.size):
            swapped = np.tile(order, (len(others), 1))
            swapped[:, position] = others
            rows += list(swapped)
            if position:
                turned = order.copy()
                turned[position - 1 : position + 1] = order[position - 1 : position + 1][::-1]
                rows.append(turned)
        return self._programs(rows, ordered=True)

    def _with(self, cheap: Ints, needed: list[int]) -> Ints:
        rest = [arm for arm in cheap.tolist() if arm not in needed]
        return np.array(needed + rest[: self.size - len(needed)])

    def _programs(self, sets: list[Ints], ordered: bool = False) -> GapPrograms:
        rows = np.array(sets, dtype=np.intp).reshape(-1, self.size)
        if not ordered:
            rows = np.take_along_axis(
                rows, np.argsort(self.mu[rows], axis=1, kind="stable"), axis=1
            )
        fits = np.isin(rows, self.ends).any(axis=1)
        if self.others is not None:
            fits &= np.isin(rows, self.others).any(axis=1)
        rows = rows[fits]
        if len(rows):
            rows = rows[_distinct(rows)]
        programs = GapPrograms.free(rows)
        programs.most[:] = self.reach
        return programs
