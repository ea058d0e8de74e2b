"""The best guess by the sample means, and the pulls that make it better: arrays in, arrays out.

A guess cuts the sorted means at every gap that is wider than a *line*: the arms in small pieces are
the outliers. An error in the mean of one arm changes the guess only if the arm crosses a *critical
point*, where a gap beside it becomes as wide as the line. How far an arm is from there, in standard
errors, says how well it is placed; `pulls_for` gives the next pulls to the arms that are placed
worst. docs/adaptive.md, "Spending a budget".
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from oddarm._typing import Flags, Floats, Wholes
from oddarm.strategies.adaptive.constants import (
    BLUR,
    GUESS_GROWTH,
    GUESS_ROUND,
    GUESS_SHARE,
    LINE_PLACE,
)

__all__ = ["Guess", "best_group", "pulls_for", "room_to_move"]


@dataclass(frozen=True)
class Guess:
    """A guess by the relative rule.

    Attributes:
        members: Which arms are guessed to be outliers.
        lines: A width between the gaps that the guess cuts and those that it does not; and the
            same for the second-best set, if there is one.
    """

    members: Flags
    lines: tuple[float, ...]


@dataclass(frozen=True)
class _Cut:
    """The sorted arms cut at their widest gaps.

    Attributes:
        pieces: The first place and the end of each small piece.
        large: The same of each segment.
        apart: The least gap between a small piece and a segment; infinite if there is none.
        inner: The widest gap inside a segment.
    """

    pieces: list[tuple[int, int]]
    large: list[tuple[int, int]]
    apart: float
    inner: float

    @property
    def line(self) -> float:
        """A width between the gaps inside segments and those around small pieces."""
        return self.inner + LINE_PLACE * (self.apart - self.inner)

    def widest_span(self, means: Floats, neighbours: int) -> float:
        """Return the longest span of so many gaps in a row inside a segment."""
        if neighbours == 1:
            return self.inner
        segments = (means[first:end] for first, end in self.large)
        spans = (y - y[np.maximum(np.arange(len(y)) - neighbours, 0)] for y in segments)
        return max((float(span.max()) for span in spans), default=0.0)

    def has(self, place: int) -> bool:
        """Whether the arm at a place is in a small piece."""
        return any(first <= place < end for first, end in self.pieces)


def best_group(
    means: Floats,
    max_members: int,
    min_segment: int,
    gap_factor: float,
    floor: float,
    required: Flags,
    neighbours: int = 1,
) -> Guess:
    """Return the set whose distance to the others exceeds gap_factor times their gaps by the most.

    A set is what is in pieces of fewer than `min_segment` arms when the k widest gaps are cut.
    Every group is such a set, with k at most twice its members. So if there are groups by the
    means, one of them is the guess; if there are none, the set that comes nearest.

    Args:
        means: Estimates.
        max_members: The most members that a group may have.
        min_segment: The fewest arms of a segment.
        gap_factor: How many times wider than the gaps among the others the distance must be.
        floor: The distance that a group must exceed.
        required: Arms that must be members.
        neighbours: The distance is compared with spans of so many gaps in a row.

    Returns:
        The set; nobody but the required arms if no set exceeds the floor.
    """
    n = len(means)
    by_mean = np.argsort(means, kind="stable")
    gaps = np.diff(means[by_mean])
    widest = np.argsort(-gaps, kind="stable").tolist()
    widths = gaps.tolist()
    places = np.flatnonzero(required[by_mean]).tolist()
    found: list[tuple[float, _Cut]] = []
    cuts, size = [0, n], 0
    for k in range(min(2 * max_members, n - 1)):
        at = widest[k] + 1
        place = bisect_right(cuts, at)
        first, end = cuts[place - 1], cuts[place]
        cuts.insert(place, at)
        # An arm in a small piece stays in one, so only a segment that is cut adds arms to the set.
        new = sum(x for x in (at - first, end - at) if end - first >= min_segment > x)
        size += new
        if size > max_members:
            break
        if not new:
            continue
        if widths[at - 1] <= floor and max(at - first, end - at) >= min_segment:
            continue  # this gap is beside a small piece, and too narrow, as a tie is
        cut = _measured(cuts, widths, widest, min_segment)
        margin = cut.apart - gap_factor * cut.widest_span(means[by_mean], neighbours)
        if cut.apart > floor and all(map(cut.has, places)):
            found.append((margin, cut))
    members = required.copy()
    if not found:
        return Guess(members, (max(widths[widest[0]] * LINE_PLACE, floor),))
    found.sort(key=lambda pair: -pair[0])
    for first, end in found[0][1].pieces:
        members[by_mean[first:end]] = True
    return Guess(members, tuple(max(cut.line, floor) for _, cut in found[:2]))


def _measured(cuts: list[int], gaps: list[float], widest: list[int], min_segment: int) -> _Cut:
    """Return the pieces between cuts, and the gaps that matter.

    Args:
        cuts: Where the sorted arms are cut, ends included.
        gaps: The gaps between neighbours.
        widest: The gaps, the widest first; the first of them are the cuts.
        min_segment: The fewest arms of a segment.
    """
    pieces = list(pairwise(cuts))
    small = [end - first < min_segment for first, end in pieces]
    apart, inner = np.inf, 0.0
    for (left, right), at in zip(pairwise(small), cuts[1:-1], strict=True):
        if left != right:
            apart = min(apart, gaps[at - 1])
        elif not left:
            inner = max(inner, gaps[at - 1])
    for gap in islice(widest, len(cuts) - 2, None):
        if gaps[gap] <= inner:
            break
        if not small[bisect_right(cuts, gap) - 1]:
            inner = gaps[gap]
    kinds: tuple[list[tuple[int, int]], ...] = ([], [])
    for piece, few in zip(pieces, small, strict=True):
        kinds[few].append(piece)
    return _Cut(kinds[True], kinds[False], apart, inner)


def room_to_move(means: Floats, line: float) -> Floats:
    """Return how far each mean is from the nearest place where it would change the cuts.

    If gaps wider than the line are cut, an arm at y changes the cuts when it crosses a critical
    point: the line above the lower end, or below the upper end, of a gap among the other arms that
    is wider than the line. The gaps beyond the least and the greatest mean are infinitely wide.

    Examples:
        The last arm is apart as long as it is above 0.4; the third one is with the second one up
        to 0.3.

        >>> room_to_move(np.array([0.0, 0.1, 0.2, 0.8]), 0.2).round(2).tolist()
        [0.1, 0.3, 0.1, 0.4]
    """
    n = len(means)
    by_mean = np.argsort(means, kind="stable")
    y = means[by_mean]
    ends = np.concatenate(([-np.inf], y, [np.inf]))
    wide = np.flatnonzero(ends[1:] - ends[:-1] > line)  # gap k is between arms k - 1 and k
    points = np.concatenate((ends[wide] + line, ends[wide + 1] - line))
    gap_of = np.concatenate((wide, wide))
    order = np.argsort(points, kind="stable")
    # Two gaps beside an arm have four points, so five on either side have one of another gap.
    points = np.concatenate((np.full(5, -np.inf), points[order], np.full(5, np.inf)))
    gap_of = np.concatenate((np.full(5, -1), gap_of[order], np.full(5, -1)))
    near = np.searchsorted(points, y)[:, None] + np.arange(-5, 5)
    place = np.arange(n)[:, None]
    own = (gap_of[near] == place) | (gap_of[near] == place + 1)
    room = np.where(own, np.inf, np.abs(points[near] - y[:, None])).min(axis=1)
    # Without the arm, the two gaps beside it are one.
    below, above = ends[:-2], ends[2:]
    merged = np.minimum(np.abs(y - (below + line)), np.abs(above - line - y))
    room = np.where(above - below > line, np.minimum(room, merged), room)
    result = np.empty(n)
    result[by_mean] = room
    return result


def pulls_for(
    counts: Floats, half_widths: Floats, room: Floats, prices: Floats | None, least: int
) -> Wholes:
    """Return the next pulls of each arm: first to those that are placed worst.

    Standard errors are taken from the intervals, so that an arm whose pool is exhausted has none.

    Args:
        counts: Pulls of each arm so far.
        half_widths: Half the width of the interval of each arm; 0 if it is to have no pull.
        room: How far each mean may move, as `room_to_move` says.
        prices: What a pull of each arm costs; None if all cost the same.
        least: The fewest pulls to give.
    """
    squares = half_widths**2
    moved = room**2 + BLUR * squares
    with np.errstate(divide="ignore", invalid="ignore"):
        needs = np.where(squares > 0, counts * squares / moved, 0.0)
    shares = (half_widths > 0).astype(np.float64)
    if prices is not None:
        # Of two arms that set a gap, pulls in inverse proportion to the roots of their prices
        # make it known best for the money.
        needs, shares = needs / np.sqrt(prices), shares / np.sqrt(prices)
    if not shares.any():
        return np.zeros(len(counts), dtype=np.int64)
    pulls = max(least, 1, int(GUESS_ROUND * counts.sum()))
    fair = GUESS_SHARE * (counts.sum() + pulls) * shares / shares.sum()
    more = np.maximum(fair - counts, 0.0)
    more *= min(1.0, pulls / max(more.sum(), 1.0))
    growth = GUESS_GROWTH * max(1.0, pulls / (GUESS_ROUND * counts.sum()))
    most = np.maximum(growth * counts, 1.0) * (needs > 0)
    more += _raised(counts + more, needs, pulls - more.sum(), most)
    whole: Wholes = np.floor(more).astype(np.int64)
    left = min(pulls - int(whole.sum()), int(np.count_nonzero(more > whole)))
    if left > 0:
        whole[np.argsort(whole - more, kind="stable")[:left]] += 1
    return whole


def _raised(counts: Floats, needs: Floats, pulls: float, most: Floats) -> Floats:
    """Share out pulls so that the least count for its need is as large as can be.

    Args:
        counts: Pulls of each arm so far.
        needs: In which proportions the arms need pulls.
        pulls: How many pulls to share out.
        most: The most that each arm may have of them; more, in these proportions, if that is not
            enough.
    """
    enough = float(most.sum())
    if pulls >= enough:
        return np.asarray(most * (pulls / enough))
    # What is shared out grows with the level of counts for needs, linearly between the levels at
    # which an arm has its first pull and its last one.
    some = np.flatnonzero(needs)
    need = needs[some]
    levels = np.concatenate((counts[some] / need, (counts[some] + most[some]) / need))
    order = np.argsort(levels, kind="stable")
    levels, slopes = levels[order], np.cumsum(np.concatenate((need, -need))[order])
    shared = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(levels))))
    level = np.interp(pulls, shared, levels)
    return np.clip(level * needs - counts, 0.0, most)
