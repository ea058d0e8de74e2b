"""Algorithm 1 as proved: with a radius that depends on the pulls of an arm alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddarm.bounds import NormalMixture
from oddarm.state import Kind, Wholes
from oddarm.strategies.base import RunContext
from oddarm.strategies.gold.algorithm import GoldRun
from oddarm.strategies.gold.graph import NeighbourGraph

__all__ = ["AnytimeRun"]


class AnytimeRun(GoldRun):
    """Algorithm 1 with an anytime radius, for rewards in turn, in batches or out of turn.

    The proof needs the pulls of the arms in play to differ by at most one, and edges to be deleted
    one arm at a time. Pulled one by one in the order asked, that is so. Rewards told in any other
    way change the means at once. But an arm is *judged* by at most one pull more than the slowest
    arm has: its radius is that of so many pulls. When the slowest arm catches up, edges are deleted
    in the order in which their distance outgrows the shrinking radius.

    Attributes:
        level: The fewest pulls by which an arm in play is judged.
        judged: How many pulls set the radius of each arm: for an arm in play, `level` or one more.
    """

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self.radius: NormalMixture
        self.level = 0
        self.judged: NDArray[np.int64] = np.zeros(context.n, dtype=np.int64)

    def update(self, arm: int) -> None:
        """Lines 7 to 19 after a pull of `arm`; then judge what the slowest arm held back."""
        super().update(arm)
        self._catch_up()

    def update_many(self, arms: NDArray[np.intp]) -> None:
        """Do the same for many arms, whose means have all changed before any is judged."""
        if self.graph is None:
            super().update(int(arms[0]))
        elif self.verdict == "running" and self._slowest == self.level:
            for arm in np.unique(arms).tolist():
                self.separate(arm)
            self._step_ahead()
        self._catch_up()

    def create_graph(self) -> NeighbourGraph:
        """Lines 7 to 10: a complete graph, from which `_catch_up` deletes edges in order."""
        n = self.context.n
        return NeighbourGraph(np.ones((n, n), dtype=bool))

    def update_radii(self, arm: int) -> None:
        """Line 16, for the one radius that changes."""
        self.judged[arm] = min(int(self.tally.counts[arm]), self.level + 1)
        self.beta[arm] = self.radius.radius(int(self.judged[arm]))

    def _catch_up(self) -> None:
        """If the slowest arm has more pulls than before, judge all arms in play by as many."""
        if self.graph is None or self.verdict != "running":
            return
        slowest = self._slowest
        if slowest > self.level:
            self._shrink_radii(self.graph, slowest)
            self._step_ahead()

    def _shrink_radii(self, graph: NeighbourGraph, pulls: int) -> None:
        """Shrink the radii of all arms in play together to that of so many pulls.

        Edges are deleted in the order in which their distance outgrows the shrinking radius.
        """
        self.level = self.judged[self.in_play] = pulls
        self.beta[self.in_play] = self.radius.radius(pulls)
        means = self.tally.means
        if np.ptp(means) <= self.b * self.beta.min():
            return  # no pair is nearly as far apart as it must be
        distance = np.abs(means[:, None] - means[None, :])
        apart = distance > self.b * (self.beta[:, None] + self.beta[None, :])
        first, second = np.nonzero(np.triu(apart & graph.edges, 1))
        distances = distance[first, second]
        order = np.argsort(-distances, kind="stable")
        for equal in np.split(order, np.flatnonzero(np.diff(distances[order])) + 1):
            for k in equal.tolist():
                graph.delete(int(first[k]), second[k : k + 1])
            if graph.may_have_split:
                self.update_terminal(graph.communities())
            if self.verdict != "running":
                return

    def _step_ahead(self) -> None:
        """Judge the arms that are ahead of the slowest by one pull more, one after the other."""
        ahead = (self.tally.counts > self.level) & (self.judged == self.level)
        for arm in np.flatnonzero(ahead).tolist():
            super().update(arm)

    @property
    def _slowest(self) -> int:
        """The fewest pulls that an arm in play has had."""
        return int(self.tally.counts[self.in_play].min())

    @property
    def up_to_date(self) -> bool:
        """Whether everything that was told has been judged, as the compiled loop supposes."""
        judged = (self.judged == self.tally.counts) | self.terminal
        return super().up_to_date and (self.graph is None or bool(judged.all()))

    def judge_all(self) -> None:
        """Take note that the compiled loop has pulled arms in turn, and judged them."""
        self.judged[:] = self.tally.counts
        self._find_level()

    def _find_level(self) -> None:
        """Set what follows from `judged`."""
        self.level = int(self.judged[self.in_play].min(initial=self.tally.pulls))
        self.beta = self.radius.radii(self.judged)

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        judged = Wholes(self.context.n, 0, self.tally.counts)
        return {**super().fields(), "judged": judged}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield from super().rules()
        if self.graph is not None:
            yield (self.judged > 0).all(), "every arm of the graph was judged by its pulls"

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned."""
        super().restore(values)
        self._find_level()
