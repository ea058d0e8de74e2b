"""What is certain of the arms: arrays in, verdicts out.

All of it is a function of intervals, of the evidence of pairs, and of which arms are declared.
docs/adaptive.md has the proofs, under the names used here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from oddarm._typing import Flags, Floats, Indices, Wholes
from oddarm.definitions.groups import distances, groups_of
from oddarm.kernels.blocks import (
    Arms,
    Rules,
    beside,
    best_block,
    best_windows,
    find_gaps,
    find_rival,
)
from oddarm.kernels.groups import judge_group, widest_possible
from oddarm.kernels.pairs import certain_gap
from oddarm.problem import Problem, rounded_down, rounded_up
from oddarm.strategies.adaptive.constants import WIDEST_GAPS
from oddarm.strategies.base import Certificate, Until

__all__ = [
    "Judgement",
    "Stage",
    "advance",
    "declare",
    "estimated_gaps",
    "exact_neighbours",
    "exact_stages",
    "judge",
    "last_confirmed",
    "most_neighbours",
    "open_stage",
    "places_around",
    "segments_of",
    "sharpen",
    "widest_gaps",
]

Status = Literal["undecided", "confirmed", "refuted"]
STATUSES: tuple[Status, ...] = ("undecided", "confirmed", "refuted")
"""What a set of arms is: by the verdict of `judge_group`, 0, 1 or -1."""


@dataclass(frozen=True)
class Judgement:
    """Whether a set of arms is a group, and what is certain of it.

    Attributes:
        verdict: 1 if it is a group, -1 if it is not, 0 if that is open.
        bounds: The least and the most that its distance to the others can be, and the least and
            the most that the largest gap among those can be: at order k, the longest span of k
            gaps in a row.
    """

    verdict: int = 0
    bounds: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)


@dataclass
class Stage:
    """Arms declared together, and with those of the stages before a set that may be a group.

    Attributes:
        new: The arms declared at this stage.
        pulls: The pulls after which they were declared.
        members: Which arms were declared up to this stage.
        judgement: Whether those are a group; its bounds are final once the run is over.
    """

    new: Wholes
    pulls: int
    members: Flags
    judgement: Judgement = Judgement()

    @classmethod
    def after(cls, before: Sequence[Stage], new: Wholes, pulls: int, n: int) -> Stage:
        """Return a stage that follows others."""
        members = before[-1].members.copy() if before else np.zeros(n, dtype=np.bool_)
        members[new] = True
        return cls(new, pulls, members)

    def certificate(
        self,
        judgement: Judgement,
        max_neighbours: int,
        order: Indices,
        by_mean: Wholes,
        min_segment: int,
    ) -> Certificate:
        """Return what is certain, with the members in an order.

        The status is that of the stage: it is final. The bounds are those of `judgement`, which may
        be of now.
        """
        status = STATUSES[self.judgement.verdict]
        gap_at_least, gap_at_most, rest_at_least, rest_at_most = judgement.bounds
        sizes = np.bincount(segments_of(self.members, by_mean)[~self.members])
        return Certificate(
            members=tuple(order[self.members[order]].tolist()),
            status=status,
            gap_at_least=gap_at_least,
            gap_at_most=gap_at_most,
            rest_at_least=rest_at_least,
            rest_at_most=rest_at_most,
            large_segments=status != "refuted" or bool(sizes[sizes > 0].min() >= min_segment),
            max_neighbours=max_neighbours,
        )


def declare(arms: Arms, rules: Rules) -> tuple[Wholes, bool]:
    """Look for a block that every further group contains.

    Returns:
        The arms to declare, none if there are none; and whether no further group is possible then.
    """
    further = rules.max_members - int(arms.declared.sum())
    estimated, certain = estimated_gaps(arms.means, arms.by_mean), find_gaps(arms)
    for enough in (rules.max_members, 0):  # first those that would end the search
        gap, first, last = best_block(arms, rules, estimated, enough)
        if gap > 0 and not _has_rival(arms, rules, gap, first, last):
            places = places_around(first, last, len(arms.low))
            sharpen(arms, rules, estimated, certain, places)
        gap, first, last = best_block(arms, rules, certain, enough)
        if gap <= 0 or _has_rival(arms, rules, gap, first, last):
            continue
        block = arms.by_mean[first:last]
        new = block[~arms.declared[block]]
        # It completes the largest group, or is too large for any.
        return new if len(new) <= further else new[:0], len(new) >= further
    return arms.by_mean[:0], _no_further_group(arms, rules, estimated, certain)


def _no_further_group(arms: Arms, rules: Rules, estimated: Floats, certain: Floats) -> bool:
    """Whether no further group is possible, as its members would leave a window free.

    No piece has gaps above the floor; or no piece has gaps above (1+ε) times the level of the
    windows; or no piece beside a wider gap has such gaps, and no piece at all has gaps above (1+ε)
    times the wider gap.
    """
    if rules.floor and not _has_rival(arms, rules, 0.0):
        return True
    further = rules.max_members - int(arms.declared.sum())
    windows = np.empty((further + 1, 2), dtype=np.int64)
    places = widest_gaps(estimated, arms.by_mean, arms.declared, 2 * len(windows))
    if len(places) and _has_rival(arms, rules, estimated[places[0]]):
        return False
    sharpen(arms, rules, estimated, certain, places)
    level = best_windows(arms, certain, 0.0, windows)
    if _has_rival(arms, rules, level) and not any(
        certain[at] > level
        and not _has_rival(arms, rules, certain[at])
        and find_rival(
            arms, rules, rules.rival_gap(level), -np.inf, np.inf, *beside(arms, at, certain[at])
        )
        is None
        for at in places[:WIDEST_GAPS].tolist()
    ):
        return False
    # The declared arms must be certain to lie where the order has them.
    edges = _borders(arms.declared[arms.by_mean])
    sharpen(arms, rules, estimated, certain, edges)
    return bool((certain[edges] > 0).all())


def _has_rival(arms: Arms, rules: Rules, gap: float, first: int = 0, last: int = 0) -> bool:
    """Whether by_mean[first:last] has a rival if its gaps are so wide; if empty, any piece."""
    tau, block = rules.rival_gap(gap), arms.by_mean[first:last]
    if not len(block):
        return find_rival(arms, rules, tau) is not None
    begin, end = arms.low[block].min(), arms.high[block].max()
    return find_rival(arms, rules, tau, begin, end) is not None


def sharpen(arms: Arms, rules: Rules, estimated: Floats, certain: Floats, places: Wholes) -> None:
    """Raise what is certain of the gaps at some places by the evidence of pairs."""
    if not rules.pair_delta:
        return
    for at in places.tolist():
        if estimated[at] > max(certain[at], 0.0):
            gap = certain_gap(arms, at, estimated[at], rules.pair_delta)
            certain[at] = max(certain[at], gap)
            if gap == 0.0:
                return


def judge(arms: Arms, rules: Rules, member: Flags) -> Judgement:
    """Judge whether the members are a group."""
    estimated, certain = estimated_gaps(arms.means, arms.by_mean), find_gaps(arms)
    sides = member[arms.by_mean]
    edges = _borders(sides)
    inside = np.flatnonzero(~(sides[1:] | sides[:-1])) + 1
    widest = inside[[np.argmax(estimated[inside])]] if len(inside) else inside
    sharpen(arms, rules, estimated, certain, np.append(edges, widest))
    apart, rest = certain[edges].min(), certain[widest].max(initial=0.0)
    order = _by_segment(arms, member)
    verdict, *bounds = judge_group(arms, rules, order, member, apart, rest)
    return Judgement(verdict, tuple(bounds))


def most_neighbours(arms: Arms, rules: Rules, member: Flags, judgement: Judgement) -> int:
    """Return the largest order at which members that were judged are certain to be a group.

    They are less the slack, by the intervals, at that order and at every lower one; 0 if at none.
    """
    apart, order = judgement.bounds[0], _by_segment(arms, member)

    def is_open(neighbours: int) -> bool:
        span = widest_possible(arms, order, member, neighbours)
        return not apart > max(rules.sure_factor * span, rules.sure_gap)

    if judgement.verdict == -1 or apart <= 0.0:
        return 0
    return bisect_left(range(1, len(member) - 1), True, key=is_open)


def _by_segment(arms: Arms, member: Flags) -> Indices:
    """Return the arms by segment and piece, and within these by their lower ends."""
    segments = segments_of(member, arms.by_mean)
    return np.lexsort((np.arange(len(member)), arms.low, segments))


def advance(
    arms: Arms, rules: Rules, until: Until, stages: list[Stage], complete: bool, pulls: int
) -> tuple[bool, bool]:
    """Declare and judge as far as the intervals allow.

    Args:
        arms: The arms; those of the stages are declared, and new ones are declared in place.
        rules: The rules of the problem.
        until: What is asked for.
        stages: The stages so far; new ones are added, and their judgements set.
        complete: Whether no further group is possible.
        pulls: The pulls so far.

    Returns:
        Whether no further group is possible now, and whether all that was asked for is decided.
    """
    while True:
        if open_stage(until, stages, complete):
            for stage in stages:
                if not stage.judgement.verdict:
                    stage.judgement = judge(arms, rules, stage.members)
            if open_stage(until, stages, complete):
                return complete, False
            if until != "confirmed" and last_confirmed(stages):
                break
        if complete:
            break
        new, complete = declare(arms, rules)
        if len(new):
            stages.append(Stage.after(stages, new, pulls, len(arms.low)))
            arms.declared[new] = True
        elif not complete:
            return complete, False
    for stage in stages:
        if not stage.judgement.verdict:
            stage.judgement = replace(judge(arms, rules, stage.members), verdict=0)
    return complete, True


def open_stage(until: Until, stages: Sequence[Stage], complete: bool) -> Stage | None:
    """Return the first stage whose arms are to be judged now; None if there is none."""
    if until == "ranked" or (until == "confirmed" and not complete):
        return None
    return next((stage for stage in stages if not stage.judgement.verdict), None)


def last_confirmed(stages: Sequence[Stage]) -> int:
    """Return the last stage, from 1 on, whose declared arms are a group; 0 if there is none."""
    verdicts = [stage.judgement.verdict for stage in stages]
    return max((k for k, verdict in enumerate(verdicts, start=1) if verdict == 1), default=0)


def exact_stages(
    means: Sequence[Fraction], problem: Problem, stages: Sequence[Stage], pulls: int
) -> list[Stage]:
    """Return the stages of a search whose means are known exactly, all judged.

    Groups that contain all declared arms follow as further stages. If a group is neither one of
    those nor a stage, an interval has failed, which has probability at most δ: then all stages are
    withdrawn.
    """
    groups: list[frozenset[Any]] = [frozenset(g.members) for g in groups_of(means, problem)]
    sets = [frozenset(np.flatnonzero(stage.members).tolist()) for stage in stages]
    last = sets[-1] if sets else frozenset()
    result = list(stages)
    if not all(group in sets or group >= last for group in groups):
        result = []
    for group in groups:
        declared = result[-1].members if result else np.zeros(len(means), dtype=np.bool_)
        new = np.array([arm for arm in sorted(group) if not declared[arm]], dtype=np.int64)
        if len(new):
            result.append(Stage.after(result, new, pulls, len(means)))

    def judged(stage: Stage) -> Stage:
        members = frozenset(np.flatnonzero(stage.members).tolist())
        exact = distances(means, members, problem.neighbours)
        bounds = tuple(end(x) for x in exact for end in (rounded_down, rounded_up))
        return replace(stage, judgement=Judgement(1 if members in groups else -1, bounds))

    return [judged(stage) for stage in result]


def exact_neighbours(means: Sequence[Fraction], problem: Problem, member: Flags) -> int:
    """Return `most_neighbours` for arms whose means are known exactly."""
    members = set(np.flatnonzero(member).tolist())
    groups = groups_of(means, replace(problem.at_slack(), neighbours=1))
    return next((g.max_neighbours for g in groups if members == set(g.members)), 0)


def estimated_gaps(means: Floats, by_mean: Wholes) -> Floats:
    """Return the gaps between neighbours by their estimates, infinite at both ends."""
    gaps, means = np.full(len(means) + 1, np.inf), means[by_mean]
    np.subtract(means[1:], means[:-1], out=gaps[1:-1])
    return gaps


def segments_of(member: Flags, by_mean: Wholes) -> Wholes:
    """Return for each arm how many borders of the group lie below it, by the estimates."""
    segments = np.zeros(len(member), dtype=np.int64)
    sides = member[by_mean]
    segments[by_mean[1:]] = np.cumsum(sides[1:] != sides[:-1])
    return segments


def _borders(sides: Flags) -> Wholes:
    """Return the places at which a row of flags changes."""
    return np.flatnonzero(sides[1:] != sides[:-1]) + 1


def places_around(first: int, last: int, n: int) -> Wholes:
    """Return where the gaps around a block are."""
    return np.array([at for at in (first, last) if 0 < at < n], dtype=np.int64)


def widest_gaps(gaps: Floats, by_mean: Wholes, declared: Flags, count: int) -> Wholes:
    """Return where the widest gaps are that are not beside declared arms, the widest first."""
    free = ~declared[by_mean]
    places = np.flatnonzero(free[1:] & free[:-1]) + 1
    return places[np.argsort(-gaps[places], kind="stable")[:count]]
