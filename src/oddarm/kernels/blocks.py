"""Blocks of arms known only by intervals: which may be outlier groups, and what rules them out.

docs/adaptive.md has the mathematics; the work is done by blocks.c. A *block* is a run of arms in
the order of their means; a *rival* of a block is one that may be a piece of a group which does not
contain it. Arrays are per arm; `by_low`, `by_high` and `by_mean` are permutations that sort them.
"""

from __future__ import annotations

from ctypes import c_double, c_int64

import numpy as np
from numpy.typing import NDArray

from oddarm.kernels.native import function

__all__ = [
    "beside",
    "best_block",
    "best_windows",
    "find_cuts",
    "find_piece",
    "find_rival",
    "find_windows",
    "plan_cuts",
    "resort",
    "room_for",
]

Floats = NDArray[np.float64]
Arms = NDArray[np.int64]
Mask = NDArray[np.bool_]

_INTERVALS = "floats floats wholes wholes flags whole"  # sorted by both ends
_ORDERED = "floats floats wholes flags floats whole"  # with cuts between them

_resort = function("resort", "wholes floats whole")
_find_piece = function(
    "find_piece", f"{_INTERVALS} real whole whole real real real results floats", "flag"
)
_find_rival = function(
    "find_rival", f"{_INTERVALS} real whole whole real real real real results floats", "flag"
)
_find_cuts = function("find_cuts", "floats floats wholes floats whole")
_best_block = function("best_block", "floats wholes flags whole whole whole results", "real")
_find_windows = function("find_windows", f"{_ORDERED} real real wholes whole floats", "flag")
_best_windows = function("best_windows", f"{_ORDERED} real wholes whole floats", "real")
_beside = function("beside", "floats floats wholes whole whole real results")
_plan_cuts = function(
    "plan_cuts",
    "floats floats floats floats wholes wholes wholes flags whole "
    "wholes whole whole whole real wholes whole real "
    "real whole whole floats floats real floats",
    "real",
)
_Two, _Range = c_double * 2, c_int64 * 2


def room_for(arms: int) -> Floats:
    """Return room for the work of any kernel here, which takes at most 13 numbers for each arm."""
    return np.empty(14 * arms + 16)


def resort(order: Arms, keys: Floats) -> None:
    """Sort a permutation by keys, ties by arm, in place; quick when it is nearly sorted."""
    _resort(order, keys, len(order))


def find_piece(
    low: Floats,
    high: Floats,
    by_low: Arms,
    by_high: Arms,
    declared: Mask,
    tau: float,
    room: int,
    side: int,
    start: float,
    stop: float,
    reach: float,
) -> tuple[bool, float, float]:
    """Look for a block that may be a piece of a group whose gaps exceed `tau`.

    Its lower gap begins at a lower end x from `start` to `stop`, and its upper gap ends at `reach`
    or beyond; at least `side` arms can lie below it, at most `room` undeclared arms must lie
    inside, and one can.

    Returns:
        Whether there is one; x; and the upper end e at which its upper gap ends, infinite if
        nothing need lie above it.
    """
    n, ends = len(low), _Two()
    found = _find_piece(
        low,
        high,
        by_low,
        by_high,
        declared,
        n,
        tau,
        room,
        side,
        start,
        stop,
        reach,
        ends,
        room_for(n),
    )
    return found, *ends


def find_rival(
    low: Floats,
    high: Floats,
    by_low: Arms,
    by_high: Arms,
    declared: Mask,
    tau: float,
    room: int,
    side: int,
    begin: float,
    end: float,
    top: float,
    bottom: float,
) -> tuple[bool, float, float]:
    """Look for a piece with gaps above `tau` that can leave out an arm of a block.

    The block's arms have lower ends from `begin` on and upper ends up to `end`. With -inf and inf
    for them any piece is a rival. A piece has from one to `room` members that are not declared.
    Only pieces whose lower gap begins at `top` or below and whose upper gap ends at `bottom` or
    above; any with inf and -inf.

    Returns:
        Whether there is one; where its lower gap begins and where its upper gap ends.
    """
    n, ends = len(low), _Two()
    found = _find_rival(
        low,
        high,
        by_low,
        by_high,
        declared,
        n,
        tau,
        room,
        side,
        begin,
        end,
        top,
        bottom,
        ends,
        room_for(n),
    )
    return found, *ends


def find_cuts(low: Floats, high: Floats, order: Arms, cuts: Floats) -> None:
    """Write by how much order[:k] lie below the others, for every k; infinite at both ends.

    With estimates for both `low` and `high` these are the gaps that seem to be; with intervals
    those that are certain, where they are positive.
    """
    _find_cuts(low, high, order, cuts, len(low))


def best_block(
    cuts: Floats, order: Arms, declared: Mask, most: int, enough: int
) -> tuple[float, int, int]:
    """Return the block with the widest gaps around it, and its range in `order`.

    Only blocks of at most `most` arms that are not declared wholly and with the declared ones make
    at least `enough`. The gap, the lesser of the two, is 0 if there is none.
    """
    block = _Range()
    gap = _best_block(cuts, order, declared, len(order), most, enough, block)
    return gap, *block


def find_windows(
    low: Floats,
    high: Floats,
    order: Arms,
    declared: Mask,
    cuts: Floats,
    level: float,
    spare: float,
    windows: Arms,
) -> bool:
    """Look for windows that no two share an arm: stretches that are long for the arms in them.

    Between order[first] and those before it and order[last] and those after it is a distance of
    at least `level` for each of the last - first gaps that there can be, and `spare` beyond that;
    or it is a single gap, of which `cuts` says so. No window has a declared arm, and those must be
    certain to lie where `order` has them.

    Writes first and last of each, as many as `windows` has rows; returns whether there are.
    """
    n = len(order)
    found: bool = _find_windows(
        low,
        high,
        order,
        declared,
        cuts,
        n,
        level,
        spare,
        windows,
        len(windows),
        room_for(n),
    )
    return found


def best_windows(
    low: Floats,
    high: Floats,
    order: Arms,
    declared: Mask,
    cuts: Floats,
    level: float,
    windows: Arms,
) -> float:
    """Return the largest `spare` with which there are windows, and write these.

    If `level` is 0, return the largest level at which there are windows at all. Not positive if
    there are none.
    """
    n = len(order)
    best: float = _best_windows(
        low,
        high,
        order,
        declared,
        cuts,
        n,
        level,
        windows,
        len(windows),
        room_for(n),
    )
    return best


def beside(low: Floats, high: Floats, order: Arms, at: int, gap: float) -> tuple[float, float]:
    """Return up to where order[:at] can reach, and from where on the others can begin.

    The gap between them is certain to be at least `gap`.
    """
    sides = _Two()
    _beside(low, high, order, len(order), at, gap, sides)
    return sides[0], sides[1]


def plan_cuts(
    low: Floats,
    high: Floats,
    means: Floats,
    counts: Floats,
    by_low: Arms,
    by_high: Arms,
    by_mean: Arms,
    declared: Mask,
    cuts: Arms,
    first: int,
    last: int,
    gap: float,
    windows: Arms,
    level: float,
    epsilon: float,
    room: int,
    side: int,
    pairs: Floats,
    factors: Floats,
    budget: float,
) -> float:
    """Plan the pulls that make gaps certain and rule out the rivals of by_mean[first:last].

    Raises `factors`, from those that are planned already. If every estimate is right and an arm's
    interval shrinks with the root of its pulls, then after multiplying the pulls of each arm by
    its factor there is a certain gap of at
    least `gap` at each of the places `cuts` in by_mean, and no piece with gaps above (1+ε) times
    that is left which can leave out an arm of the block; none at all if the block is empty. And
    the `windows` are certain to have gaps of `level`, and no piece beside the first of the cuts,
    if any, is left with gaps above (1+ε) times that.

    Returns:
        How many more pulls than now that takes; infinite if more than `budget`, or it cannot be.
    """
    n = len(low)
    cost: float = _plan_cuts(
        low,
        high,
        means,
        counts,
        by_low,
        by_high,
        by_mean,
        declared,
        n,
        cuts,
        len(cuts),
        first,
        last,
        gap,
        windows,
        len(windows),
        level,
        epsilon,
        room,
        side,
        pairs if len(pairs) else None,
        factors,
        budget,
        room_for(n),
    )
    return cost
