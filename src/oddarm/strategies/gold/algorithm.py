"""Algorithm 1 as printed, line by line.

Lines are numbered as the paper's text does: its two empty lines count as 22 and 29. `sweep` has the
lines that the interval form shares: 11 to 13, 20 and 30 to 36.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats
from oddarm.state import Kind, OrNone
from oddarm.strategies.base import RunContext
from oddarm.strategies.gold.graph import Edges, NeighbourGraph
from oddarm.strategies.gold.sweep import SweepRun

__all__ = ["GoldRun"]


class GoldRun(SweepRun):
    """Algorithm 1, driven by one told reward at a time.

    `ask` chooses the arms of lines 3 and 11 to 13. The caller pulls them (lines 4 and 14) and tells
    their rewards, which the tally counts: it has T, m and ŷ (lines 5, 6, 15 and 16).

    Attributes:
        graph: G; None until every arm has had its first pull.
        beta: The radius β of each arm.
    """

    compiled: ClassVar[str | None] = "oddarm.strategies.gold.compiled"

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)  # lines 1 and 2
        self.graph: NeighbourGraph | None = None
        self.beta: Floats = np.full(context.n, math.inf)

    def update(self, arm: int) -> None:
        """Go on after a pull of `arm`: line 7, once every arm was pulled; after that, line 16."""
        if self.verdict != "running" or self.stage[arm]:
            return
        if self.graph is None:
            if int(self.tally.counts.min()) >= self.radius.warmup:
                self.graph = self.create_graph()  # lines 7 to 10
            return
        self.update_radii(arm)  # line 16
        self.separate(arm)  # lines 17 to 19

    def create_graph(self) -> NeighbourGraph:
        """Lines 7 to 10: arms that are neighbours after the first pulls have an edge."""
        means = self.tally.means
        self.beta = self._radii_now()
        distance = np.abs(means[:, None] - means[None, :])
        return NeighbourGraph(distance <= self.b * (self.beta[:, None] + self.beta[None, :]))

    def update_radii(self, arm: int) -> None:
        """Line 16. A radius as printed depends on T, so that of every arm changes."""
        del arm
        self.beta = self._radii_now()

    def separate(self, arm: int) -> None:
        """Lines 17 to 19, after the mean or the radius of `arm` has changed."""
        assert self.graph is not None
        if self.verdict == "running":
            self.update_graph(self.graph, arm)  # line 17
            if self.graph.may_have_split:
                self.update_terminal(self.graph.communities())  # lines 18 and 19

    def update_graph(self, graph: NeighbourGraph, arm: int) -> None:
        """Procedure UpdateG, lines 23 to 28, for the edges of one arm.

        No other pair can lose its edge: radii of arms that were not pulled never shrink.
        """
        means = self.tally.means
        apart = np.abs(means[arm] - means) > self.b * (self.beta[arm] + self.beta)  # line 25
        lost = np.flatnonzero(apart & graph.edges[arm])  # line 26
        if len(lost):
            graph.delete(arm, lost)  # line 27

    def _radii_now(self) -> Floats:
        """Return β of every arm for the pulls and rewards that have been told."""
        return self.radius.radii(self.tally.counts, self.tally.totals, self.tally.pulls)

    @property
    def up_to_date(self) -> bool:
        """Whether everything that was told has been judged, as the compiled loop supposes."""
        return self.graph is None or not self.graph.may_have_split

    def judge_all(self) -> None:
        """Take note that the compiled loop has pulled arms in turn, and judged them."""

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        return {**super().fields(), "graph": OrNone(Edges(self.context.n))}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules that the saved attributes keep."""
        yield from super().rules()
        if self.graph is None:
            yield not self.terminal.any(), "no arm is terminal before there is a graph"
        else:
            fewest = int(self.tally.counts.min())
            yield fewest >= self.radius.warmup, "every arm had its first pulls before the graph"
