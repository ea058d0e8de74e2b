"""Where the arms of a result are certain to lie apart: for its picture and its live page."""

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
    """A stretch that is certain to be free of arms, or as wide as one that is.

    Attributes:
        below: How many arms lie below it, of those that were not set aside.
        start: Where it begins.
        width: How wide it is.
    """

    below: int
    start: float
    width: float

    @property
    def stop(self) -> float:
        """Where it ends."""
        return self.start + self.width


def certain_gaps(result: Result) -> list[Gap]:
    """Return the gaps that are certain, by ascending place.

    Those that no interval reaches, and those around the sets of arms that have a certificate: the
    evidence of two arms at once can tell more of them than the two intervals. Such a gap is in the
    middle between the two estimates. Of two that are known of one place, the wider counts.
    """
    arms = _by_mean(result)
    means, low, high = _estimates(result)[arms], result.low[arms], result.high[arms]
    reach = np.maximum.accumulate(high)
    found = {
        cut.below: Gap(cut.below, float(reach[cut.below - 1]), cut.gap)
        for cut in certified_cuts(low, high)
    }
    index = {name: arm for arm, name in enumerate(result.names)} if result.certificates else {}
    for one in result.certificates:
        member = np.zeros(len(result.names), dtype=np.bool_)
        member[[index[name] for name in one.members]] = True
        inside = member[arms]
        for below in (np.flatnonzero(inside[1:] != inside[:-1]) + 1).tolist():
            known = found[below].width if below in found else 0.0
            if one.gap_at_least > known:
                middle = float(means[below - 1 : below + 1].mean())
                found[below] = Gap(below, middle - one.gap_at_least / 2, one.gap_at_least)
    return [found[below] for below in sorted(found)]


def communities(result: Result, gaps: list[Gap] | None = None) -> NDArray[np.intp]:
    """Return the number of each arm's community, from 0 for the lowest; -1 if it was set aside.

    Communities are what lies between certain gaps.

    Args:
        result: The arms.
        gaps: Their certain gaps, if they are known already.
    """
    arms = _by_mean(result)
    starts = np.zeros(len(arms), dtype=np.intp)
    starts[[gap.below for gap in (certain_gaps(result) if gaps is None else gaps)]] = 1
    found = np.full(len(result.names), -1, dtype=np.intp)
    found[arms] = np.cumsum(starts)
    return found


def gaps_around_outliers(
    gaps: list[Gap], community: NDArray[np.intp], outlier: NDArray[np.bool_]
) -> list[Gap]:
    """Return the gaps between a community with outliers and a neighbouring one without.

    Args:
        gaps: All gaps that are certain.
        community: The number of each arm's community.
        outlier: Whether each arm is an outlier.
    """
    odd = np.zeros(len(gaps) + 1, dtype=np.bool_)
    odd[community[outlier]] = True
    return [gaps[k] for k in np.flatnonzero(odd[1:] != odd[:-1])]


def _estimates(result: Result) -> NDArray[np.float64]:
    """Return the means, as far as the intervals allow; the middle where nothing was told."""
    middle = (result.low + result.high) / 2
    means = np.where(np.isnan(result.means), middle, result.means)
    return np.asarray(np.clip(means, result.low, result.high), dtype=np.float64)


def _by_mean(result: Result) -> NDArray[np.intp]:
    """Return the arms that were not set aside, by ascending estimate."""
    taken = np.flatnonzero([status != "failed" for status in result.statuses])
    order = np.lexsort((result.low[taken], _estimates(result)[taken]))
    return np.asarray(taken[order], dtype=np.intp)
