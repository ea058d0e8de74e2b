"""Whether arms are a group, by evidence against a whole truth, for rewards in [0, 1].

docs/adaptive.md has the statement and its proof; joint.c does the work, and says how in short.
"""

from __future__ import annotations

from ctypes import byref
from typing import ClassVar

import numpy as np

from oddarm._typing import Flags, Floats
from oddarm.kernels.blocks import Arms, Rules
from oddarm.kernels.native import Record, fields, function, layout

__all__ = ["is_group", "slopes_of", "weakest_truths"]

_joint_memory = function("joint_memory", "whole", "whole")
_joint_evidence = function("joint_evidence", "record record record", "flag")
_joint_slopes = function("joint_slopes", "record record floats")

COLUMNS = 10
IMPOSSIBLE = 1e4
"""Truths with so much evidence against them are not within the intervals."""


class Claim(Record):
    """What is claimed of the arms; as in oddarm.h."""

    kinds: ClassVar = layout("""
        flags member
        real log_odds narrowest
        whole parts most_parts
        floats found memory
    """)
    _fields_: ClassVar = fields(kinds)


def _evidence(
    arms: Arms,
    rules: Rules,
    member: Flags,
    log_odds: float,
    narrowest: float,
    parts: tuple[int, int],
    found: Floats | None,
) -> bool:
    sides = member[arms.by_mean]
    memory = np.empty(_joint_memory(int(np.count_nonzero(sides[1:] != sides[:-1]))))
    claim = Claim(
        member=member,
        log_odds=log_odds,
        narrowest=narrowest,
        parts=parts[0],
        most_parts=parts[1],
        found=found,
        memory=memory,
    )
    record = arms.having("totals", "counts")
    enough: bool = _joint_evidence(record, byref(rules), byref(claim))
    return enough


def is_group(
    arms: Arms, rules: Rules, member: Flags, log_odds: float, apart: float, finest: int = 128
) -> bool:
    """Whether every truth is rejected in which the members are no group.

    Args:
        arms: The arms, with their totals and counts.
        rules: The rules of the problem.
        member: Who is claimed to be a group.
        log_odds: The log of the inverse of the error probability.
        apart: By how much members and others are certain to lie apart, in the order of estimates.
        finest: The most parts of a stretch that a cell may be: 32, 64 or 128.
    """
    narrowest = apart / rules.sure_factor
    return _evidence(arms, rules, member, log_odds, narrowest, (32, finest), None)


def weakest_truths(
    arms: Arms, rules: Rules, member: Flags, log_odds: float, narrowest: float
) -> Floats:
    """Return truths in which the members are no group, those with least evidence against them.

    One for each place at which the middle of the empty stretch can lie among the estimates. A row
    has by how much the evidence exceeds what is needed, where the stretch begins, its width, the
    lower arm of the pair and its mean, the upper one and its mean, the evidence that is needed,
    where the segment begins in `by_mean`, and the scale of the bets. The search is coarse: it
    plans, it does not decide.
    """
    found = np.full((len(member) + 1, COLUMNS), np.inf)
    _evidence(arms, rules, member, log_odds, narrowest, (32, 32), found)
    return found[found[:, 0] < IMPOSSIBLE]


def slopes_of(arms: Arms, member: Flags, truths: Floats) -> Floats:
    """Return by how much a pull of each arm adds to the evidence against truths, about.

    Args:
        arms: The arms, with their totals and counts.
        member: Who is claimed to be a group.
        truths: As `weakest_truths` returns them.
    """
    n = len(member)
    slopes, memory = np.empty((len(truths), n)), np.empty(8 * n)
    record = arms.having("totals", "counts")
    for k, truth in enumerate(truths):
        claim = Claim(member=member, found=truth, memory=memory)
        _joint_slopes(record, byref(claim), slopes[k])
    return slopes
