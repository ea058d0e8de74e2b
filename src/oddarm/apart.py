"""Where the arms of a result are certain to lie apart: for its picture and its live page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oddarm.gaps import certified_cuts

if TYPE_CHECKING:
    from oddarm.result import Result

__all__ = ["Gap", "certain_gaps", "communities"]


@dataclass(frozen=True)
class Gap:
    """A stretch that is certain to be free of arms, or as wide as one that is.

    Attributes:
        below: How many arms lie below it, of those that were not set aside.
        start: Where it begins.
        stop: Where it ends.
    """

    below: int
    start: float
    stop: float


def certain_gaps(result: Result) -> list[Gap]:
    """Return the gaps that are certain, by ascending place.

    Those that no interval reaches, and those around the sets of arms that have a certificate: the
    evidence of two arms at once can tell more of them than the two intervals. Such a gap is in the
    middle between the two estimates.
    """
    arms = _by_mean(result)
    means, low, high = _estimates(result)[arms], result.low[arms], result.high[arms]
    found = {}
    for one in result.certificates:
        if one.gap_at_least <= 0:
            continue
        members = {result.names.index(name) for name in one.members}
        inside = np.array([arm in members for arm in arms.tolist()])
        for below in (np.flatnonzero(inside[1:] != inside[:-1]) + 1).tolist():
            middle, half = means[below - 1 : below + 1].mean(), one.gap_at_least / 2
            found[below] = Gap(below, float(middle - half), float(middle + half))
    for cut in certified_cuts(low, high):
        known = found.get(cut.below)
        if known is None or known.stop - known.start < cut.gap:
            start = float(high[: cut.below].max())
            found[cut.below] = Gap(cut.below, start, start + cut.gap)
    return [found[below] for below in sorted(found)]


def communities(result: Result) -> NDArray[np.intp]:
    """Return the number of each arm's community, from 0 for the lowest; -1 if it was set aside.

    Communities are what lies between certain gaps.
    """
    arms = _by_mean(result)
    starts = np.zeros(len(arms), dtype=np.intp)
    starts[[gap.below for gap in certain_gaps(result)]] = 1
    found = np.full(len(result.names), -1, dtype=np.intp)
    found[arms] = np.cumsum(starts)
    return found


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
