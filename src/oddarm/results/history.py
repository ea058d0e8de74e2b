"""How the evidence of a search grew while it ran: a few points, for its plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oddarm.search import Search

__all__ = ["EvidenceHistory"]

GROWTH = 1.15
"""Between two points the pulls grow by this factor, so that even long searches have few points."""


class EvidenceHistory:
    """A callback that notes the pulls of a search and the odds of its best guess.

    It is not part of the state of the search: of a search that was resumed it has what came since.

    Attributes:
        points: Pairs of pulls and odds, in order; none if the strategy weighs no evidence.
    """

    def __init__(self) -> None:
        self.points: list[tuple[int, float]] = []
        self._next = 0

    def __call__(self, search: Search) -> None:
        """Note the evidence if the pulls have grown enough since the last point."""
        if search.pulls >= self._next and search.run.ready:
            self.note(search)

    def note(self, search: Search) -> None:
        """Note the evidence now, unless there is none or this is the last point already."""
        if not search.run.ready or (self.points and self.points[-1][0] == search.pulls):
            return
        evidence = search.run.evidence()
        if evidence is not None:
            self.points.append((search.pulls, evidence))
        self._next = int(GROWTH * search.pulls) + 1
