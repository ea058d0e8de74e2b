"""Whether nobody but some arms lies apart, by evidence against a whole truth.

For endless rewards in [0, 1]. docs/adaptive.md has the statement and its proof; pieces.c does the
work, and says how in short.
"""

from __future__ import annotations

import math
from ctypes import byref
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from oddarm._typing import Flags, Floats
from oddarm.kernels.native import Record, fields, function, layout

__all__ = ["PASSES", "Told", "nobody_else_apart", "plan_bulk"]

_nobody_else_apart = function("nobody_else_apart", "record real", "flag")
PASSES = 16
"""So often a plan is gone over, to the end in nearly all cases."""
_plan_bulk = function("plan_bulk", "record floats real whole floats", "flag")


class Bulk(Record):
    """What the kernels read of arms; as in oddarm.h."""

    kinds: ClassVar = layout("""
        whole n
        floats totals counts scatter
        flags member
        real gap
        whole max_members
        floats work
    """)
    _fields_: ClassVar = fields(kinds)


def _bulk(told: Told, member: Flags, rule: tuple[float, int]) -> Any:
    n = len(told.totals)
    gap, max_members = rule
    work = np.empty(64 * n + 16)  # 40 n of it for planning, one byte for an arm at each place
    return byref(
        Bulk(
            n=n,
            totals=told.totals,
            counts=told.counts,
            scatter=told.scatter,
            member=member,
            gap=gap,
            max_members=max_members,
            work=work,
        )
    )


@dataclass(frozen=True)
class Told:
    """The rewards of the arms, in [0, 1], as sums; told or foreseen.

    Attributes:
        totals: Sums of the rewards of each arm.
        counts: How many rewards each arm has; they need not be whole.
        scatter: Sums of their squared deviations from the mean of the arm; None for 0/1 rewards.
    """

    totals: Floats
    counts: Floats
    scatter: Floats | None = None


def _needed(member: Flags, delta: float) -> float:
    """Return the log capital at which a truth is rejected.

    The stake is divided among all arms that lie apart in that truth, and at least one part of it
    in one more than members is on a mistake.
    """
    return math.log((int(member.sum()) + 1) / delta)


def nobody_else_apart(
    told: Told, member: Flags, gap: float, max_members: int, delta: float
) -> bool:
    """Whether it is certain that no arm but members is in a piece of at most `max_members` arms.

    Args:
        told: The rewards told.
        member: Which arms may be in such a piece.
        gap: Gaps wider than this separate pieces.
        max_members: The most arms of a small piece, and the most members.
        delta: Error probability, over all times.

    Examples:
        >>> rates, pulls = np.array([0.2, 0.2, 0.2, 0.2, 0.8]), np.full(5, 200.0)
        >>> alone = np.arange(5) == 4
        >>> nobody_else_apart(Told(rates * pulls, pulls), alone, 0.3, 1, 0.05)
        True
    """
    bulk = _bulk(told, member, (gap, max_members))
    certain: bool = _nobody_else_apart(bulk, _needed(member, delta))
    return certain


def plan_bulk(
    told: Told,
    member: Flags,
    rule: tuple[float, int, float],
    prices: Floats,
    factors: Floats,
    caution: float = 1.0,
    passes: int = PASSES,
) -> bool:
    """Raise factors of pulls until nobody else would be apart, if the means are right.

    Args:
        told: The rewards of the pulls from which to plan, as they seem.
        member: Which arms lie apart.
        rule: The gap, the most members, and the error probability.
        prices: What a pull of each arm costs.
        factors: By what factors the pulls grow, to be raised in place.
        caution: By what factor to raise the evidence that is needed.
        passes: How often to go over the plan; each time the pulls of an arm grow by a factor of at
            most 1.6.

    Returns:
        Whether that can be foreseen.
    """
    gap, max_members, delta = rule
    bulk = _bulk(told, member, (gap, max_members))
    needed = caution * _needed(member, delta)
    foreseen: bool = _plan_bulk(bulk, prices, needed, passes, factors)
    return foreseen
