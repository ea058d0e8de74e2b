"""Confirming a group by evidence against a whole truth, and the pulls that add to it.

docs/adaptive.md, "Evidence against a whole truth", has the statement and its proof. Arrays in,
verdicts and pulls out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oddarm._typing import Flags, Floats
from oddarm.kernels.blocks import Arms, Rules, find_gaps
from oddarm.kernels.joint import is_group, slopes_of, weakest_truths
from oddarm.strategies.adaptive.certify import (
    Judgement,
    estimated_gaps,
    judge,
    segments_of,
    sharpen,
)
from oddarm.strategies.adaptive.constants import (
    JOINT_FOCUS,
    JOINT_LEAST_GAP,
    JOINT_LEAST_STRETCH,
    JOINT_ROUND,
    JOINT_TEMPER,
    JOINT_TRY,
    LEAST_SHARE,
)

__all__ = ["Outlook", "further_pulls", "judge_jointly", "look_at", "pulls_towards"]


@dataclass(frozen=True)
class Outlook:
    """What stands between the evidence and a group.

    Attributes:
        member: Who seems to be a group.
        margins: By how much the evidence against each of the weakest truths exceeds what is needed.
        slopes: By how much a pull of each arm adds to it: one row for each of these truths.
    """

    member: Flags
    margins: Floats
    slopes: Floats

    @property
    def near(self) -> bool:
        """Whether it is worth the time to look at all truths."""
        return bool(self.margins.min(initial=np.inf) >= -JOINT_TRY)


def _borders(arms: Arms, member: Flags) -> Flags:
    """Return at which places of the order members and others are neighbours."""
    sides = member[arms.by_mean]
    borders = np.zeros(len(member) + 1, dtype=np.bool_)
    borders[1:-1] = sides[1:] != sides[:-1]
    return borders


def seems_a_group(arms: Arms, rules: Rules, member: Flags) -> bool:
    """Whether the members are a group by the estimates."""
    size = int(member.sum())
    if not 0 < size <= rules.max_members or size == len(member):
        return False
    sizes = np.bincount(segments_of(member, arms.by_mean)[~member])
    if sizes[sizes > 0].min() < rules.min_segment:
        return False
    gaps, borders = estimated_gaps(arms.means, arms.by_mean)[1:-1], _borders(arms, member)[1:-1]
    sides = member[arms.by_mean]
    inside = ~(sides[1:] | sides[:-1])
    apart, rest = gaps[borders].min(), gaps[inside].max(initial=0.0)
    return bool(apart > max(rules.sure_factor * rest, rules.sure_gap))


def look_at(arms: Arms, rules: Rules, member: Flags, joint_delta: float) -> Outlook | None:
    """Return what stands between the evidence and a group; None if it does not seem to be one.

    None, too, if stretches would have to be looked at that are too short.
    """
    if not seems_a_group(arms, rules, member):
        return None
    borders = np.flatnonzero(_borders(arms, member))
    estimated, certain = estimated_gaps(arms.means, arms.by_mean), find_gaps(arms)
    narrowest = max(JOINT_LEAST_GAP * estimated[borders].min(), certain[borders].min())
    shortest = float(narrowest / rules.sure_factor)
    if shortest < JOINT_LEAST_STRETCH:
        return None
    truths = weakest_truths(arms, rules, member, -math.log(joint_delta), shortest)
    return Outlook(member, truths[:, 0].copy(), slopes_of(arms, member, truths))


def judge_jointly(
    arms: Arms, rules: Rules, member: Flags, joint_delta: float, finest: int = 128
) -> Judgement | None:
    """Judge that the members are a group; None if that is not certain.

    The gaps around them must be certain, and wide enough for the floor, by intervals or the
    evidence of pairs. The smaller the cells may be, the more is certain: `finest` is as for
    `is_group`.
    """
    if not seems_a_group(arms, rules, member):
        return None
    borders = np.flatnonzero(_borders(arms, member))
    estimated, certain = estimated_gaps(arms.means, arms.by_mean), find_gaps(arms)
    sharpen(arms, rules, estimated, certain, borders)
    apart = float(certain[borders].min())
    if not apart > rules.sure_gap or apart / rules.sure_factor < JOINT_LEAST_STRETCH:
        return None
    if not is_group(arms, rules, member, -math.log(joint_delta), apart, finest):
        return None
    return Judgement(1, judge(arms, rules, member).bounds)


def pulls_towards(outlook: Outlook, counts: Floats, costs: Floats | None) -> Floats:
    """Return the next pulls of each arm: those that add most to the evidence that is weakest.

    A truth counts the more the weaker the evidence against it is. As the pulls grow, they come near
    the shares that raise the least evidence fastest.
    """
    margins = outlook.margins
    weights = np.exp(-(margins - margins.min()) / JOINT_TEMPER)
    gains = weights @ outlook.slopes
    if costs is not None:
        gains = gains * (costs.mean() / costs)
    shares = gains**JOINT_FOCUS
    total = counts.sum()
    if shares.sum() > 0:
        wanted = np.floor(JOINT_ROUND * total * shares / shares.sum() + 0.5)
        if not wanted.any():
            wanted[np.argmax(shares)] = 1.0
    else:
        wanted = np.ceil(JOINT_ROUND * counts)
    behind: Floats = np.ceil(LEAST_SHARE * counts.mean()) - counts
    pulls: Floats = np.maximum(wanted, behind)
    return pulls


def further_pulls(outlook: Outlook, counts: Floats, costs: Floats | None) -> float:
    """Return after how many further pulls the weakest evidence would be enough, at this rate.

    The rate is that of the next round against each of the weakest truths. If there are none,
    the intervals exclude every truth in which the members are not a group.
    """
    if not len(outlook.margins):
        return 0.0
    pulls = pulls_towards(outlook, counts, costs)
    rates = outlook.slopes @ pulls / pulls.sum()
    lacks = np.maximum(-outlook.margins, 0.0)
    with np.errstate(divide="ignore"):
        needed = np.divide(lacks, rates, out=np.zeros_like(lacks), where=lacks > 0)
    return float(needed.max(initial=0.0))
