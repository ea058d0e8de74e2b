"""How sure the search of a study was when it had fewer pulls, at a few hundred moments.

The moments follow from the log, but to compute one takes as long as a look at the study. So the
service notes one now and then. What is kept is at most one in each stretch of pulls of a length
that doubles as the study grows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oddarm.store.database.base import Connection

__all__ = ["Moment", "due_after", "kept", "read_history"]

MOST_STRETCHES = 256
"""Into how many stretches the pulls of a study are cut at most, and at least half as many."""


@dataclass(frozen=True)
class Moment:
    """What was known at some number of pulls.

    Attributes:
        pulls: Rewards that counted.
        at: When it was noted, in seconds since 1970.
        evidence: The odds for the answer, or for the best guess.
        forecast: How many further pulls were likely to decide; None if that was unknown.
    """

    pulls: int
    at: float
    evidence: float
    forecast: int | None


def _stretch(pulls: int) -> int:
    """Return the length of a stretch, a power of two, for a study with so many pulls."""
    return 1 << max(pulls // MOST_STRETCHES, 0).bit_length()


def due_after(pulls: int) -> int:
    """Return from how many pulls on another moment is due after one at `pulls`.

    Examples:
        >>> [due_after(pulls) for pulls in (0, 100, 256, 1000)]
        [1, 101, 258, 1004]
    """
    length = _stretch(pulls)
    return (pulls // length + 1) * length


def kept(moments: Iterable[Moment]) -> list[Moment]:
    """Return the moments to keep, in order: the last one, and the first of each earlier stretch.

    Examples:
        >>> every = [Moment(pulls, 0.0, 1.0, None) for pulls in range(1000)]
        >>> [moment.pulls for moment in kept(every)][-3:], len(kept(every))
        ([992, 996, 999], 251)
    """
    ordered = sorted(moments, key=lambda moment: moment.pulls)
    length = _stretch(ordered[-1].pulls) if ordered else 1
    first: dict[int, Moment] = {}
    for moment in ordered[:-1]:
        first.setdefault(moment.pulls // length, moment)
    return [*first.values(), *ordered[-1:]]


def read_history(connection: Connection, study: int) -> list[Moment]:
    """Return the moments of a study that were noted, in order."""
    rows = connection.execute(
        "SELECT pulls, at, evidence, forecast FROM oddarm_history WHERE study = ? ORDER BY pulls",
        (study,),
    ).fetchall()
    return [Moment(*row) for row in rows]
