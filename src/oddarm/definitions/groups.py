"""Which arms are outliers if the means are known: Definitions 1 and 2, and the absolute rule.

All comparisons are exact. Means are read as the numbers they print as (see `problem.exact`) and
scaled to integers, so a gap that is exactly (1 + ε) times another is never taken for a wider one.
"""

from __future__ import annotations

import heapq
import math
import sys
from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from oddarm._checks import numbers_by_arm, real_number
from oddarm._typing import Floats, Indices
from oddarm.problem import Problem, exact

__all__ = [
    "Apart",
    "Group",
    "Kind",
    "Means",
    "apart",
    "distances",
    "float_means",
    "groups_of",
    "outlier_arms",
    "outlier_groups",
]

Kind = Literal["upper", "lower", "intermediate", "mixed"]
Number = float | Fraction | Decimal
N = TypeVar("N", int, Fraction)


class Indexed(Protocol):
    """A pandas Series, or what is like it: values in an order, with the name of each."""

    @property
    def index(self) -> Any: ...

    def tolist(self) -> list[Any]: ...


Means = Mapping[Any, Number] | Sequence[Number] | NDArray[Any] | Indexed
"""The mean of each arm, by name or by position; see `_checks.numbers_by_arm`."""


@dataclass(frozen=True)
class Group:
    """An (ε, ρ)-outlier group, or the outliers of the absolute rule.

    Attributes:
        members: The arms of the group, by ascending mean: names if the means were given by name,
            else positions.
        kind: "upper", "lower" or "intermediate"; "mixed" for a general group that is not one
            contiguous block.
        gap: The distance from the group to the nearest arm outside it.
        max_epsilon: The ε below which it is a group: gap / (largest gap among the others) - 1;
            infinite if the others are all tied. The absolute rule does not compare the two gaps,
            so there it may be 0 or less. With `neighbours` = k, the longest span of k gaps in a
            row stands in place of the largest gap.
        max_neighbours: The largest k at which it is a group, at most n - 2: no k + 1 neighbours
            among the others span as much as ε allows. 0 by the absolute rule.
    """

    members: tuple[Hashable, ...]
    kind: Kind
    gap: float
    max_epsilon: float
    max_neighbours: int = 0


@dataclass(frozen=True)
class Apart:
    """Who lies apart by the absolute rule.

    Attributes:
        members: The arms in pieces of at most c arms, O(g), by ascending mean: names if the means
            were given by name, else positions.
        max_members: c, the most arms that may be outliers.
    """

    members: tuple[Hashable, ...]
    max_members: int

    @property
    def scattered(self) -> bool:
        """Whether they are more than may be outliers. Then nobody is an outlier."""
        return len(self.members) > self.max_members


@dataclass(frozen=True)
class _Sorted:
    """Means in ascending order as exact integers, with the scale and the names of the means."""

    order: Indices
    values: list[int]
    scale: int
    names: Sequence[Hashable] | None

    def label(self, positions: Iterable[int]) -> tuple[Hashable, ...]:
        indices = (int(self.order[p]) for p in positions)
        return tuple(indices if self.names is None else (self.names[i] for i in indices))

    def whole_units(self, gap: Fraction) -> int:
        """Return a gap on the scale of the values, rounded down; the same integers exceed it."""
        return math.floor(gap * self.scale)

    def group(self, positions: Sequence[int], gap: int, inner: int, order: int = 0) -> Group:
        return Group(
            members=self.label(positions),
            kind=_kind(positions, len(self.values)),
            gap=_ratio(gap, self.scale),
            max_epsilon=math.inf if inner == 0 else _ratio(gap - inner, inner),
            max_neighbours=order,
        )


def outlier_groups(
    means: Means,
    epsilon: float | None = None,
    rho: float | None = None,
    strict: bool = False,
    mixed: bool = False,
    *,
    max_outliers: int | None = None,
    min_gap: float | None = None,
    neighbours: int = 1,
) -> list[Group]:
    """Return every outlier group of arms with known means.

    The relative rule (ε) is Definition 2. The absolute rule (`min_gap` alone) cuts every gap
    between neighbours that is wider than `min_gap`; the arms in pieces of at most c arms are the
    outliers, unless there are more than c of them.

    `neighbours` = k asks for groups of order k: the gap around the group must exceed (1+ε) times
    the longest span of k gaps in a row among the others, or of all gaps in a segment that has no
    more than k. The paper names this ◊^k and leaves it to future work. A group of order k is one
    of every lower order, too. docs/adaptive.md compares it with the letter of the paper.

    Args:
        means: The means, as a mapping from arm to mean, a pandas Series whose index names the
            arms, or a sequence, which goes by position, as does a polars Series. Ties are legal.
        epsilon: How much wider the gap around the group must be; > 0. Default 2.5, unless
            `min_gap` is given alone.
        rho: The least share of normal arms; default 0.9.
        strict: |N̂| < c instead of |N̂| ≤ c.
        mixed: Look for general groups, which may have members above and below at once. The
            absolute rule always does.
        max_outliers: The capacity c as a count, in place of `rho`.
        min_gap: With `epsilon`: only groups with a wider gap around them count. Alone: the
            absolute rule.
        neighbours: The order k of the groups; must be 1 by the absolute rule.

    Returns:
        The groups, smallest first. They are nested: each contains the one before it. By the
        absolute rule there is one group or none; `apart` says why there is none.

    Examples:
        Nineteen arms lie close together, one is an outlier.

        >>> groups = outlier_groups([*(0.30 + 0.01 * i for i in range(19)), 0.9], rho=0.9)
        >>> [(g.members, g.kind, round(g.gap, 2), round(g.max_epsilon)) for g in groups]
        [((19,), 'upper', 0.42, 41)]
        >>> outlier_groups({"a": 0.1, "b": 0.5, "c": 0.52, "d": 0.54, "e": 0.9},
        ...                epsilon=2.5, max_outliers=2, mixed=True)[-1].members
        ('a', 'e')

        Two arms beside a bulk are a group, but hardly: three neighbours span as much.

        >>> bulk = [0.2, 0.22, 0.25, 0.26, 0.29, 0.31, 0.32, 0.35, 0.47]
        >>> [(g.members, g.max_neighbours) for g in outlier_groups(bulk, 2.5, max_outliers=1)]
        [((8,), 1)]
        >>> outlier_groups(bulk, 2.5, max_outliers=1, neighbours=2)
        []

        More than 0.2 away from everyone else:

        >>> [g.members for g in outlier_groups([0.1, 0.25, 0.4, 0.7], min_gap=0.2, max_outliers=1)]
        [(3,)]
    """
    problem = Problem(
        epsilon, rho, max_outliers, strict=strict, min_gap=min_gap, neighbours=neighbours
    )
    return groups_of(means, problem, mixed)


def groups_of(means: Means, problem: Problem, mixed: bool = True) -> list[Group]:
    """Return what `outlier_groups` does, for a problem; general groups unless `mixed` is False."""
    ordered = _sort(means)
    problem.check(len(ordered.values))
    if problem.absolute:
        return _absolute_group(ordered, problem)
    find = _general_groups if mixed else _contiguous_groups
    return find(ordered, problem)


def apart(means: Means, problem: Problem) -> Apart:
    """Return who lies apart by the absolute rule, and whether they are too many to be outliers.

    Args:
        means: As for `outlier_groups`.
        problem: With `min_gap` alone.

    Examples:
        >>> two = Problem(min_gap=0.2, max_outliers=2)
        >>> apart([0.1, 0.11, 0.12, 0.4, 0.7], two)
        Apart(members=(3, 4), max_members=2)
        >>> apart({"a": 0.1, "b": 0.11, "c": 0.4, "d": 0.41, "e": 0.7}, two).scattered
        True
    """
    ordered = _sort(means)
    n = len(ordered.values)
    problem.check(n)
    return Apart(ordered.label(_positions_apart(ordered, problem)), problem.max_members(n))


def outlier_arms(
    means: Means,
    epsilon: float | None = None,
    rho: float | None = None,
    strict: bool = False,
    *,
    max_outliers: int | None = None,
    neighbours: int = 1,
) -> list[Hashable]:
    """Return every single (ε, ρ)-outlier arm (Definition 1), by ascending mean.

    Unlike in a group, the normal arms may be *any* subsets of the arms above and below: an arm can
    be an outlier with respect to most others while a few lie right beside it. `neighbours` is as
    for `outlier_groups`.

    Takes O(n² log n) time in the number of arms; that for each number of neighbours from c to
    `neighbours`, if it is more than c.

    Examples:
        >>> outlier_arms([0.1, 0.11, 0.12, 0.13, 0.14, 0.5, 0.9], max_outliers=2)
        [5, 6]
    """
    problem = Problem(epsilon, rho, max_outliers, strict=strict, neighbours=neighbours)
    ordered = _sort(means)
    n = len(ordered.values)
    problem.check(n)
    y = _as_array(ordered.values, problem.ratio)
    wider, unit = problem.ratio.as_integer_ratio()
    side = problem.min_segment(n)
    normal = n - problem.max_members(n)
    found = np.zeros(n, dtype=bool)
    # A run of more than k + 1 arms is as wide as a span of k gaps, a shorter one as all its gaps.
    spans = [y[k:] - y[:-k] for k in range(min(neighbours, side - 1), neighbours + 1) if k]
    for inner in np.unique(np.concatenate([np.zeros_like(y[:1]), *spans])):
        # N_u and N_l are best chosen as runs of consecutive arms with spans ≤ inner, further than
        # (1 + ε)·inner from j: dropping an arm from within a run only widens a span.
        above = _longest_run(y, neighbours, inner, wider, unit)
        below = _longest_run(-y[::-1], neighbours, inner, wider, unit)[::-1]
        above = np.where(above >= side, above, 0)
        below = np.where(below >= side, below, 0)
        found |= above + below >= normal
    return list(ordered.label(np.flatnonzero(found).tolist()))


def distances(
    means: Sequence[Fraction], members: Collection[int], neighbours: int = 1
) -> tuple[Fraction, Fraction]:
    """Return how far the members are from the others, and the longest span inside a segment.

    The members are a group, if the sizes fit, when the first exceeds (1 + ε) times the second.

    Args:
        means: Of all arms.
        members: Positions of some.
        neighbours: Of how many gaps in a row a span is.
    """
    order = sorted(range(len(means)), key=means.__getitem__)
    positions = {position for position, arm in enumerate(order) if arm in members}
    return _distances([means[arm] for arm in order], positions, neighbours)


def _distances(values: Sequence[N], members: Collection[int], neighbours: int = 1) -> tuple[N, N]:
    """Return `distances` for ascending values, on any scale."""
    borders, inside = [], [values[0] - values[0]]
    first = 0  # of the present segment
    for position, value in enumerate(values):
        if position and (position in members) != (position - 1 in members):
            borders.append(value - values[position - 1])
        if position in members:
            first = position + 1
        else:
            inside.append(value - values[max(position - neighbours, first)])
    return min(borders), max(inside)


def _largest_order(gap: Any, problem: Problem, y: NDArray[Any], members: Sequence[int]) -> int:
    """Return the largest k at which members with a gap around them are a group; 0 if at none.

    A segment of m arms has no span of more than m - 1 gaps, so that from then on nothing changes.
    """
    wider, unit = problem.ratio.as_integer_ratio()
    cuts = np.concatenate([[-1], members, [len(y)]]).tolist()
    segments = [y[first + 1 : end] for first, end in pairwise(cuts) if end - first > 2]
    if gap * unit > wider * max(segment[-1] - segment[0] for segment in segments):
        return len(y) - 2

    def too_wide(order: int) -> bool:
        spans = (segment[order:] - segment[:-order] for segment in segments)
        full = max(int(span.max()) for span in spans if len(span))
        short = max((int(s[-1] - s[0]) for s in segments if len(s) <= order), default=0)
        return bool(gap * unit <= wider * max(full, short))

    return bisect_left(range(1, max(map(len, segments))), True, key=too_wide)


def _longest_run(y: NDArray[Any], neighbours: int, inner: Any, wider: int, unit: int) -> Indices:
    """For each arm j: the most consecutive arms with spans ≤ inner that lie further above j."""
    n = len(y)
    position = np.arange(n)
    # A run from p on goes to the last arm within inner of p, if that is among its k neighbours;
    # else to the k-th neighbour of the last arm before the first one with a span that is too wide.
    reach = np.searchsorted(y, y + inner, side="right") - 1
    breaks = np.where(reach < position + neighbours, position, n)
    first = np.minimum.accumulate(breaks[::-1])[::-1]
    end = np.where(first == position, reach, np.minimum(first + neighbours, n) - 1)
    from_here = end - position + 1
    longest = np.append(np.maximum.accumulate(from_here[::-1])[::-1], 0)
    # Strictly further than (1 + ε)·inner, and strictly above j itself.
    first = np.searchsorted(y * unit, y * unit + wider * inner, side="right")
    result: Indices = longest[first]
    return result


def _positions_apart(ordered: _Sorted, problem: Problem) -> list[int]:
    """Return the arms in pieces of at most c arms, where gaps wider than `min_gap` are cut."""
    n = len(ordered.values)
    widest, largest = ordered.whole_units(problem.floor), problem.max_members(n)
    gaps = (high - low for low, high in pairwise(ordered.values))
    cuts = [0, *(k for k, gap in enumerate(gaps, start=1) if gap > widest), n]
    pieces = (range(start, stop) for start, stop in pairwise(cuts))
    return [position for piece in pieces if len(piece) <= largest for position in piece]


def _absolute_group(ordered: _Sorted, problem: Problem) -> list[Group]:
    """Return the outliers of the absolute rule as one group; nothing if none or too many."""
    positions = _positions_apart(ordered, problem)
    if not 1 <= len(positions) <= problem.max_members(len(ordered.values)):
        return []
    return [ordered.group(positions, *_distances(ordered.values, set(positions)))]


def _contiguous_groups(ordered: _Sorted, problem: Problem) -> list[Group]:
    """Definition 2 by block size: O(n) for each of at most c sizes."""
    n = len(ordered.values)
    y = _as_array(ordered.values, problem.ratio)
    wider, unit = problem.ratio.as_integer_ratio()
    side, narrow = problem.min_segment(n), ordered.whole_units(problem.floor)
    gaps = np.diff(y)
    zero, position = np.zeros_like(y[:1]), np.arange(n)
    spans_down = y - y[np.maximum(position - problem.neighbours, 0)]
    spans_up = y[np.minimum(position + problem.neighbours, n - 1)] - y
    # below[i]: the longest span among the i lowest arms; above[i]: among arms i, i + 1, …
    below = np.concatenate([zero, np.maximum.accumulate(spans_down)])
    above = np.concatenate([np.maximum.accumulate(spans_up[::-1])[::-1], zero])
    groups = []
    for size in range(1, problem.max_members(n) + 1):
        start = np.arange(n - size + 1)
        low, high = start, n - start - size  # how many arms lie below and above
        fits = ((low == 0) | (low >= side)) & ((high == 0) | (high >= side))
        start = start[fits]
        stop = start + size
        inner = np.maximum(below[start], above[stop])
        lower_gap = gaps[np.maximum(start - 1, 0)]
        upper_gap = gaps[np.minimum(stop - 1, n - 2)]
        gap = np.where(
            start == 0,
            upper_gap,
            np.where(stop == n, lower_gap, np.minimum(lower_gap, upper_gap)),
        )
        for k in np.flatnonzero((gap * unit > wider * inner) & (gap > narrow)):
            block = range(int(start[k]), int(stop[k]))
            order = _largest_order(int(gap[k]), problem, y, block)
            groups.append(ordered.group(block, int(gap[k]), int(inner[k]), order))
    return groups


def _general_groups(ordered: _Sorted, problem: Problem) -> list[Group]:
    """General groups by single linkage: close the gaps from the narrowest on, O(n log n).

    With some gaps closed, pieces of at most c arms form N̂ and larger pieces are the segments. A
    piece becomes a segment once and stays one, so each open gap changes its kind at most twice.
    Groups of order k are those among these with a gap that is wide enough for spans of k gaps.
    """
    y, array = ordered.values, _as_array(ordered.values, problem.ratio)
    n = len(y)
    wider, unit = problem.ratio.as_integer_ratio()
    largest, side = problem.max_members(n), problem.min_segment(n)
    narrow = ordered.whole_units(problem.floor)
    gaps = [high - low for low, high in pairwise(y)]
    first = list(range(n))  # of the piece that ends at this arm
    last = list(range(n))  # of the piece that starts at this arm
    outside = n  # arms in pieces that are not segments
    inner = 0  # the widest closed gap inside a segment
    between = 0  # open gaps with a segment on either side
    frontier: list[tuple[int, int]] = []  # open gaps with a segment on one side (lazily deleted)
    opened = [True] * (n - 1)

    def is_segment(start: int, stop: int) -> bool:
        return stop - start + 1 >= side

    def beside(position: int) -> int:
        """How many of the two pieces at the open gap `position` are segments."""
        left = is_segment(first[position], position)
        right = is_segment(position + 1, last[position + 1])
        return left + right

    groups: list[Group] = []
    last_size = n + 1  # of the last group found
    for g in sorted(range(n - 1), key=gaps.__getitem__):
        start, stop = first[g], last[g + 1]
        was_left, was_right = is_segment(start, g), is_segment(g + 1, stop)
        between -= was_left and was_right
        edges = [p for p in (start - 1, stop) if 0 <= p < n - 1]
        before = [beside(p) for p in edges]
        opened[g] = False
        last[start], first[stop] = stop, start
        if not is_segment(start, stop):
            continue
        outside -= (0 if was_left else g - start + 1) + (0 if was_right else stop - g)
        inner = gaps[g]  # closed in ascending order, so the newest is the widest
        for position, count in zip(edges, before, strict=True):
            now = beside(position)
            if now == count:
                continue
            if now == 2:
                between += 1
            else:
                heapq.heappush(frontier, (gaps[position], position))
        while frontier and not (opened[frontier[0][1]] and beside(frontier[0][1]) == 1):
            heapq.heappop(frontier)
        if between or not 1 <= outside <= largest or not frontier or outside == last_size:
            continue
        gap = frontier[0][0]
        if gap * unit > wider * inner and gap > narrow:
            last_size = outside
            members = _outside_segments(last, side)
            order = _largest_order(gap, problem, array, members)
            if order >= problem.neighbours:
                span = inner
                if problem.neighbours > 1:
                    span = _distances(y, set(members), problem.neighbours)[1]
                groups.append(ordered.group(members, gap, span, order))
    return groups[::-1]


def _outside_segments(last: list[int], side: int) -> list[int]:
    members: list[int] = []
    position = 0
    while position < len(last):
        stop = last[position]
        if stop - position + 1 < side:
            members.extend(range(position, stop + 1))
        position = stop + 1
    return members


def _ratio(one: int, other: int) -> float:
    """Return the quotient; the largest float if it is beyond that."""
    try:
        return one / other
    except OverflowError:
        return sys.float_info.max


def _kind(positions: Sequence[int], n: int) -> Kind:
    low, high = positions[0], positions[-1]
    if high - low + 1 != len(positions):
        return "mixed"
    if low == 0:
        return "lower"
    return "upper" if high == n - 1 else "intermediate"


def float_means(means: Means) -> tuple[list[Any] | None, Floats]:
    """Return the names of the arms, None if they are numbered, and their means as floats.

    Raises:
        ParameterError: A mean is not a finite number.
    """
    names, values = numbers_by_arm(means, "means", "mean")
    if {*map(type, values)} <= {float}:  # the usual case, fast for a million arms
        floats = np.array(values, dtype=np.float64)
        if np.isfinite(floats).all():
            return names, floats
    floats = np.empty(len(values))
    for k, (arm, value) in enumerate(zip(names or range(len(values)), values, strict=True)):
        floats[k] = real_number(f"mean of arm {arm!r}", value, "a finite number")
    return names, floats


def _sort(means: Means) -> _Sorted:
    names, values = numbers_by_arm(means, "means", "mean")
    fractions = []
    for i, value in enumerate(values):
        arm = i if names is None else names[i]
        fractions.append(exact(value, f"mean of arm {arm!r}"))
    scale = math.lcm(*(f.denominator for f in fractions))
    scaled = [f.numerator * (scale // f.denominator) for f in fractions]
    order = sorted(range(len(scaled)), key=scaled.__getitem__)
    return _Sorted(np.array(order, dtype=np.intp), [scaled[i] for i in order], scale, names)


def _as_array(values: list[int], ratio: Fraction) -> NDArray[Any]:
    """Exact integers: int64 where every product of the comparison fits, else Python's own."""
    wider, unit = ratio.as_integer_ratio()
    base = values[0] if values else 0
    shifted = [v - base for v in values]
    largest = 2**62 // max(wider, unit)
    fits = not shifted or shifted[-1] <= largest
    return np.array(shifted, dtype=np.int64 if fits else object)
