"""What intervals show of blocks of arms: which may be outlier groups, and which gaps are certain.

docs/adaptive.md has the mathematics; blocks.c does the work. A *block* is a run of arms in
the order of their estimates; a *rival* of a block is one that may be a piece of a group which does
not contain it.
"""

from __future__ import annotations

from ctypes import byref, c_double, c_int64
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar

import numpy as np

from oddarm._typing import Flags, Floats, Wholes
from oddarm.kernels.native import Record, fields, function, layout

__all__ = [
    "Arms",
    "Rules",
    "beside",
    "best_block",
    "best_windows",
    "find_gaps",
    "find_rival",
    "resort",
]


_resort = function("resort", "wholes floats whole")
_find_rival = function("find_rival", "record record real real real real real results", "flag")
_find_gaps = function("find_gaps", "record floats")
_best_block = function("best_block", "record record floats whole results", "real")
_best_windows = function("best_windows", "record floats real wholes whole", "real")
_beside = function("beside", "record whole real results")
_Two, _Range = c_double * 2, c_int64 * 2


class _Arms(Record):
    """What the kernels read of arms; as in oddarm.h."""

    kinds: ClassVar = layout("""
        whole n
        floats low high means
        wholes by_low by_high by_mean
        flags declared
        floats totals
        wholes counts
        floats scatter pulls single_evidence left work
    """)
    _fields_: ClassVar = fields(kinds)


@dataclass(frozen=True, eq=False)
class Arms:
    """What is known of the arms: arrays with one entry for each.

    Kernels work on the arrays themselves, so an entry may be changed in place.

    Attributes:
        low: Lower ends of intervals.
        high: Upper ends.
        means: Estimates.
        by_low: The arms in the order of their lower ends.
        by_high: The arms in the order of their upper ends.
        by_mean: The arms in the order of their estimates.
        declared: Which arms are declared.
        totals: Sums of the rewards told; for the evidence of pairs.
        counts: How many rewards were told; for the evidence of pairs.
        scatter: Sums of squared deviations from the means of the rewards told, or of those from
            which a plan starts; None for 0/1 rewards.
        pulls: What the pulls of each arm from which a plan starts have cost.
        single_evidence: The log capital at which the interval of each arm ends; None if plans are
            not to count on the evidence of pairs.
        left: What the pulls that its pool has left cost; None if plans are not to count on that.
        record: What kernels take.

    Raises:
        TypeError: An array is of another type, has gaps, or may not be written to.
        ValueError: An array is of another length.
    """

    low: Floats
    high: Floats
    means: Floats
    by_low: Wholes
    by_high: Wholes
    by_mean: Wholes
    declared: Flags
    totals: Floats | None = None
    counts: Wholes | None = None
    scatter: Floats | None = None
    pulls: Floats | None = None
    single_evidence: Floats | None = None
    left: Floats | None = None
    record: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = len(self.low)
        arrays = {name: value for name, value in vars(self).items() if value is not None}
        for name, array in arrays.items():
            if len(array) != n:
                raise ValueError(f"{name} has {len(array)} entries, must have {n}")
        work = np.empty(14 * n + 16)  # no kernel needs more than 13 numbers for each arm
        object.__setattr__(self, "record", byref(_Arms(n=n, work=work, **arrays)))

    def having(self, *names: str) -> Any:
        """Return the record; ValueError if one of these arrays is missing."""
        for name in names:
            if getattr(self, name) is None:
                raise ValueError(f"arms without {name}, which this needs")
        return self.record

    @classmethod
    def exactly(cls, means: Floats, by_mean: Wholes, declared: Flags) -> Arms:
        """Return arms whose means are known."""
        return cls(means, means, means, by_mean, by_mean, by_mean, declared)


class Rules(Record):
    """The rules of the problem; as in oddarm.h.

    Args:
        gap_factor: 1 + ε.
        floor: The gap that a group must exceed; 0 if there is none.
        sure_factor: 1 + ε less the slack: what a confirmed group is certain to have.
        sure_gap: The floor less the slack, likewise.
        max_members: The most members that a group may have.
        min_segment: The fewest arms of a segment.
        neighbours: The order of a group: with spans of how many gaps its distance is compared.
        pair_delta: The error probability of the evidence of pairs; 0 if there is none.
        joint_delta: The error probability of evidence against a whole truth, likewise.
        caution: By what factor plans raise the evidence that seems to be needed.
        many_arms: Whether plans are made in few steps, as many arms need.
    """

    kinds: ClassVar = layout("""
        real gap_factor floor sure_factor sure_gap
        whole max_members min_segment neighbours
        real pair_delta joint_delta caution
        flag many_arms
    """)
    _fields_: ClassVar = fields(kinds)

    def __init__(self, *, neighbours: int = 1, **values: Any) -> None:
        super().__init__(neighbours=neighbours, **values)

    def rival_gap(self, gap: float) -> float:
        """Return how wide the gaps of a group are that leaves a gap inside one of its segments."""
        return float(max(self.gap_factor * gap, self.floor))


def resort(order: Wholes, keys: Floats) -> None:
    """Sort a permutation by keys, ties by arm, in place; quick when it is nearly sorted."""
    _resort(order, keys, len(order))


def find_rival(
    arms: Arms,
    rules: Rules,
    tau: float,
    begin: float = -inf,
    end: float = inf,
    top: float = inf,
    bottom: float = -inf,
) -> tuple[float, float] | None:
    """Look for a piece of a group with gaps above `tau` that can leave out an arm of a block.

    A piece has at least one member that is not declared, and at most as many as a group may gain.

    Args:
        arms: The arms.
        rules: The rules of the problem.
        tau: How wide its gaps are at least.
        begin: The least lower end of the block; with -inf and inf any piece is a rival.
        end: The greatest upper end of the block.
        top: Its lower gap begins there or below.
        bottom: Its upper gap ends there or above.

    Returns:
        Where its lower gap begins and where its upper gap ends; None if there is no rival.
    """
    ends = _Two()
    found = _find_rival(arms.record, byref(rules), tau, begin, end, top, bottom, ends)
    return (ends[0], ends[1]) if found else None


def find_gaps(arms: Arms) -> Floats:
    """Return by how much by_mean[:k] are certain to lie below the others, for every k.

    Infinite at both ends; not positive where nothing is certain.
    """
    gaps = np.empty(len(arms.low) + 1)
    _find_gaps(arms.record, gaps)
    return gaps


def best_block(arms: Arms, rules: Rules, gaps: Floats, enough: int) -> tuple[float, int, int]:
    """Return the block with the widest gaps around it, and its range in by_mean.

    A block has at most as many arms as a group may have, at least one that is not declared, and
    with the declared arms at least `enough`. The gap is the lesser of the two; 0 if there is none.
    """
    block = _Range()
    gap = _best_block(arms.record, byref(rules), gaps, enough, block)
    return gap, block[0], block[1]


def best_windows(arms: Arms, gaps: Floats, level: float, windows: Wholes) -> float:
    """Find windows that share no arm: stretches that are long for the arms in them.

    Between by_mean[first] and those before it and by_mean[last] and those after it is a distance of
    at least `level` for each of the last - first gaps that there can be, and a distance to spare;
    or the window is a single gap, which `gaps` says is that wide. No window has a declared arm;
    the declared arms must be certain to lie where `by_mean` has them.

    Writes first and last of each, as many as `windows` has rows.

    Returns:
        The most that all windows can spare; or the largest level at which there are windows, if
        `level` is 0. Not positive if there are none.
    """
    best: float = _best_windows(arms.record, gaps, level, windows, len(windows))
    return best


def beside(arms: Arms, at: int, gap: float) -> tuple[float, float]:
    """Return up to where by_mean[:at] can reach, and from where on the others can begin.

    The gap between them is certain to be at least `gap`.
    """
    sides = _Two()
    _beside(arms.record, at, gap, sides)
    return sides[0], sides[1]
