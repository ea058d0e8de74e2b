"""Single linkage into K clusters, which BOC-Elim and LUCB-BOC share (Chandran and others, 2025).

G. D. Chandran, K. S. Reddy and S. Bhashyam, "Online clustering of data sequences with bandit
information", arXiv 2501.11421. We had its abstract: LUCB-BOC follows LUCB for the best arm, and
BOC-Elim extends MaxGapElim from two clusters to more. The details are reconstructed from there.

For arms on a line, single linkage into K clusters cuts the K-1 largest gaps between neighbours. If
all intervals hold, a cut between sides whose intervals do not touch has at least the certain gap.
So if K-1 cuts have certain gaps that are at least as large as any gap within the pieces can be, the
pieces are the clusters. No further probability is spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._checks import whole_number
from oddarm._typing import Floats, Indices
from oddarm.bounds import Bound, HoeffdingUnion
from oddarm.definitions.interval_gaps import certified_cuts, largest_possible_gap
from oddarm.errors import ParameterError
from oddarm.strategies.base import Run, RunContext, Strategy
from oddarm.strategies.rounds import RoundRun

__all__ = ["ClusterRun", "ClusterStrategy"]


class ClusterRun(RoundRun):
    """A run that ends when the clusters are certain."""

    def __init__(self, context: RunContext, clusters: int) -> None:
        super().__init__(context)
        self.clusters = clusters

    def printed(self) -> Bound:
        """Return intervals of Hoeffding's radius, summed over all pulls, as for ROAI."""
        context = self.context
        rewards, delta = context.rewards, context.problem.delta
        return HoeffdingUnion(delta, context.n, rewards.sigma, rewards.low, rewards.high)

    def certain_cuts(self) -> list[tuple[float, int]]:
        """Return the K-1 largest certain gaps, or fewer, with how many arms lie below each."""
        cuts = certified_cuts(self.intervals.low, self.intervals.high)
        return sorted(((cut.gap, cut.below) for cut in cuts), reverse=True)[: self.clusters - 1]

    def decide(self, arm: int) -> None:
        """Stop when K-1 cuts are certain to be the widest."""
        del arm
        cuts = self.certain_cuts()
        if len(cuts) < self.clusters - 1:
            return
        low, high = self.intervals.low, self.intervals.high
        pieces = np.split(np.argsort(low, kind="stable"), sorted(below for _, below in cuts))
        if cuts[-1][0] >= max(largest_possible_gap(low[p], high[p]) for p in pieces):
            self.finish(self._small(pieces))

    def estimated_clusters(self) -> list[Indices]:
        """Return the clusters of the sample means, from the lowest."""
        order = np.argsort(self.tally.means, kind="stable")
        gaps = np.diff(self.tally.means[order])
        return np.split(order, np.sort(np.argsort(-gaps, kind="stable")[: self.clusters - 1] + 1))

    def estimate(self) -> list[int]:
        """Return the small clusters of the sample means."""
        return self._small(self.estimated_clusters())

    def _small(self, pieces: list[Indices]) -> list[int]:
        """Return the arms of the smallest clusters, as many as may be outliers, the furthest first.

        The largest cluster is never among them. Clusters of one size go together, or not at all.
        """
        sizes = sorted(map(len, pieces))[:-1]
        most = self.context.problem.max_members(self.context.n)
        fitting = [s for s in sizes if sum(t for t in sizes if t <= s) <= most]
        largest = max(map(len, pieces))
        chosen = [p for p in pieces if len(p) in fitting and len(p) < largest]
        arms = np.concatenate(chosen) if chosen else np.empty(0, dtype=np.intp)
        far = self.scores()[arms]
        return [int(i) for i in arms[np.argsort(-far, kind="stable")]]

    def scores(self) -> Floats:
        """Return how far each sample mean lies from those of the largest cluster."""
        if not self.ready:
            return np.full(self.context.n, np.nan)
        means = self.tally.means
        bulk = means[max(self.estimated_clusters(), key=len)]
        return np.asarray(np.maximum(np.maximum(bulk.min() - means, means - bulk.max()), 0.0))


@dataclass(frozen=True)
class ClusterStrategy(Strategy):
    """Parameters of a strategy that finds clusters.

    Args:
        clusters: K, how many clusters there are.
    """

    run: ClassVar[type[ClusterRun]]
    promise: ClassVar[str] = "no gap within a cluster is wider than one between clusters"
    clusters: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "clusters", whole_number("clusters", self.clusters, 2))

    def start(self, context: RunContext) -> Run:
        """Return a new run."""
        self.check(context)
        if self.clusters >= context.n:
            raise ParameterError(
                f"clusters == {self.clusters} of {context.n} arms, must be fewer than the arms."
            )
        return self.run(context, self.clusters)

    def predicate(self, found: int, side: str) -> str:
        """Say that arms lie in small clusters."""
        del side
        return f"{'lies' if found == 1 else 'lie'} in the smaller of {self.clusters} clusters"
