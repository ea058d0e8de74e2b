"""Whether nobody but some arms lies apart, by evidence against a whole truth, for 0/1 rewards.

docs/adaptive.md has the statement and its proof; pieces.c does the work, and says how in short.
"""

from __future__ import annotations

import math
from ctypes import byref
from typing import Any, ClassVar

import numpy as np

from oddarm._typing import Flags, Floats
from oddarm.kernels.native import Record, fields, function, layout

__all__ = ["PASSES", "nobody_else_apart", "plan_bulk"]

_nobody_else_apart = function("nobody_else_apart", "record real", "flag")
PASSES = 16
"""So often a plan is gone over, to the end in nearly all cases."""
_plan_bulk = function("plan_bulk", "record floats real whole floats", "flag")


class Bulk(Record):
    """What the kernels read of arms; as in oddarm.h."""

    kinds: ClassVar = layout("""
        whole n
        floats totals counts
        flags member
        real gap
        whole max_members
        floats work
    """)
    _fields_: ClassVar = fields(kinds)


def _bulk(totals: Floats, counts: Floats, member: Flags, gap: float, max_members: int) -> Any:
    n = len(totals)
    work = np.empty(64 * n + 16)  # 40 n of it for planning, one byte for an arm at each place
    return byref(
        Bulk(
            n=n,
            totals=totals,
            counts=counts,
            member=member,
            gap=gap,
            max_members=max_members,
            work=work,
        )
    )


def _needed(member: Flags, delta: float) -> float:
    """Return the log capital at which a truth is rejected.

    The stake is divided among all arms that lie apart in that truth, and at least one part of it
    in one more than members is on a mistake.
    """
    return math.log((int(member.sum()) + 1) / delta)


def nobody_else_apart(
    totals: Floats, counts: Floats, member: Flags, gap: float, max_members: int, delta: float
) -> bool:
    """Whether it is certain that no arm but members is in a piece of at most `max_members` arms.

    Args:
        totals: Sums of the 0/1 rewards of each arm.
        counts: How many rewards each arm has.
        member: Which arms may be in such a piece.
        gap: Gaps wider than this separate pieces.
        max_members: The most arms of a small piece, and the most members.
        delta: Error probability, over all times.

    Example:
        >>> rates, pulls = np.array([0.2, 0.2, 0.2, 0.2, 0.8]), np.full(5, 200.0)
        >>> alone = np.arange(5) == 4
        >>> nobody_else_apart(rates * pulls, pulls, alone, 0.3, 1, 0.05)
        True
    """
    bulk = _bulk(totals, counts, member, gap, max_members)
    certain: bool = _nobody_else_apart(bulk, _needed(member, delta))
    return certain


def plan_bulk(
    means: Floats,
    counts: Floats,
    member: Flags,
    rule: tuple[float, int, float],
    prices: Floats,
    factors: Floats,
    caution: float = 1.0,
    passes: int = PASSES,
) -> bool:
    """Raise factors of pulls until nobody else would be apart, if the means are right.

    Args:
        means: Estimates of the means.
        counts: The pulls of each arm.
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
    bulk = _bulk(means * counts, counts, member, gap, max_members)
    needed = caution * _needed(member, delta)
    foreseen: bool = _plan_bulk(bulk, prices, needed, passes, factors)
    return foreseen
