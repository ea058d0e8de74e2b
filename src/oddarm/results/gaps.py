"""The gaps between arms that are certain: for the plot of a result and its live page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oddarm.definitions.interval_gaps import certified_cuts

if TYPE_CHECKING:
    from oddarm.results.result import Result

__all__ = ["Gap", "certain_gaps", "communities", "gaps_around_outliers"]


@dataclass(frozen=True)
class Gap:
    """A gap between two neighbouring arms that is certain to be there.

    Attributes:
        below: How many arms lie below it; failed arms are not counted.
        width: The least that its width can be.
        start: Where it is drawn from; an estimate if the gap is known from a certificate.
        stop: Where it is drawn to.
    """

    below: int
    width: float
    start: float
    stop: float


def certain_gaps(result: Result) -> list[Gap]:
    """Return the gaps that are certain, the lowest first.

    A gap is certain if no interval reaches into it, or if a certificate says so: the evidence of
    two arms together can prove a gap although their intervals overlap. If both are known, the wider
    one counts. Of a gap of a certificate only the width is certain: it is drawn in the middle
    between the two estimates. No gap is drawn over a mean, even if it is wider than the space.
    """
    arms = _by_estimate(result)
    estimates, low, high = _estimates(result)[arms], result.low[arms], result.high[arms]
    reach = np.maximum.accumulate(high)
    space = _space(result, arms)

    def gap(below: int, start: float, width: float) -> Gap:
        low, high = space[below - 1]
        ends = (min(max(end, low), high) for end in (start, start + width))
        return Gap(below, width, *ends)

    gaps = {
        cut.below: gap(cut.below, float(reach[cut.below - 1]), cut.gap)
        for cut in certified_cuts(low, high)
    }
    positions = {name: arm for arm, name in enumerate(result.names)} if result.certificates else {}
    for certificate in result.certificates:
        member = np.zeros(len(result.names), dtype=np.bool_)
        member[[positions[name] for name in certificate.members]] = True
        inside, width = member[arms], certificate.gap_at_least
        for below in (np.flatnonzero(inside[1:] != inside[:-1]) + 1).tolist():
            if width > (gaps[below].width if below in gaps else 0.0):
                middle = float(estimates[below - 1 : below + 1].mean())
                gaps[below] = gap(below, middle - width / 2, width)
    return [gaps[below] for below in sorted(gaps)]


def communities(result: Result, gaps: list[Gap] | None = None) -> NDArray[np.intp]:
    """Return the number of each arm's community, from 0 for the lowest; -1 for a failed arm.

    A community is the arms between two certain gaps.

    Args:
        result: The arms.
        gaps: Its certain gaps, if the caller has them already.
    """
    arms = _by_estimate(result)
    starts = np.zeros(len(arms), dtype=np.intp)
    starts[[gap.below for gap in (certain_gaps(result) if gaps is None else gaps)]] = 1
    community = np.full(len(result.names), -1, dtype=np.intp)
    community[arms] = np.cumsum(starts)
    return community


def gaps_around_outliers(
    gaps: list[Gap], community: NDArray[np.intp], outlier: NDArray[np.bool_]
) -> list[Gap]:
    """Return the gaps between a community with outliers and a neighbouring one without.

    Args:
        gaps: All gaps that are certain.
        community: The number of each arm's community.
        outlier: Whether each arm is an outlier.
    """
    has_outliers = np.zeros(len(gaps) + 1, dtype=np.bool_)
    has_outliers[community[outlier]] = True
    return [gaps[k] for k in np.flatnonzero(has_outliers[1:] != has_outliers[:-1])]


def _space(result: Result, arms: NDArray[np.intp]) -> list[tuple[float, float]]:
    """Return the space between the means below and above each place in the order of the arms.

    If means overlap there, because they lie outside their intervals, the space is one point.
    """
    means = np.where(np.isnan(result.means), _estimates(result), result.means)[arms]
    low = np.maximum.accumulate(means)[:-1]
    high = np.minimum.accumulate(means[::-1])[::-1][1:]
    middle = (low + high) / 2
    ends = np.where(low < high, (low, high), (middle, middle))
    return [(float(a), float(b)) for a, b in ends.T]


def _estimates(result: Result) -> NDArray[np.float64]:
    """Return the means, moved into the intervals; without rewards the middle of the interval.

    The middle of an interval without ends is 0.
    """
    without = np.isnan(result.means)
    means = result.means.copy()
    bounded = np.isfinite(result.low[without]) & np.isfinite(result.high[without])
    ends = [np.where(bounded, ends[without], 0.0) for ends in (result.low, result.high)]
    means[without] = (ends[0] + ends[1]) / 2
    return np.asarray(np.clip(means, result.low, result.high), dtype=np.float64)


def _by_estimate(result: Result) -> NDArray[np.intp]:
    """Return the arms that have not failed, by ascending estimate."""
    arms = np.flatnonzero([status != "failed" for status in result.statuses])
    order = np.lexsort((result.low[arms], _estimates(result)[arms]))
    return np.asarray(arms[order], dtype=np.intp)
