"""GOLD: Generic OutLier Detection (Ban and He, KDD 2020, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm.bounds import RadiusBound, radius_bound
from oddarm.errors import ParameterError
from oddarm.graph import NeighbourGraph
from oddarm.strategies.base import Floats, Run, Setting, Strategy

__all__ = ["Gold", "GoldRun"]


@dataclass(frozen=True)
class Gold(Strategy):
    """Pull all arms in turn until small communities split off from the rest.

    Two arms are neighbours while |ŷᵢ-ŷⱼ| ≤ b(βᵢ+βⱼ); a community is a connected component. An arm
    whose community has at most c members is terminal: it is no longer pulled, and its score S is
    the round T in which that happened. The run ends when c arms are terminal, and ranks by S.

    With `bound="paper"` everything is as printed, with `bound="anytime"` as proved.

    Promises: every member of every outlier group ranks before all arms outside the group, with
    probability at least 1-δ, for `bound="anytime"` (proof in docs/guarantees.md). It does not say
    whether a group exists.

    Finds: upper, lower, intermediate and mixed groups.

    Cost: O(n) per pull and n² bytes; about n·m pulls where m separates the group from the rest.

    Example:
        >>> import oddarm
        >>> result = oddarm.simulate([0.1, 0.12, 0.15, 0.17, 0.9], "gold", max_outliers=1)
        >>> result.ranking[0], result.verdict
        (4, 'ranked')
    """

    name: ClassVar[str] = "gold"

    def start(self, setting: Setting) -> GoldRun:
        """Return a new run."""
        self.check(setting)
        return GoldRun(setting)


class GoldRun(Run):
    """Algorithm 1, one told reward at a time.

    With `bound="anytime"` the radius depends on an arm's pulls alone. The proof needs the pulls of
    arms that are still in play to differ by one at most, so an arm that is ahead of the slowest by
    more (told in large batches, or out of turn) is judged by the larger radius of the count that
    it would have in a sweep. Pulled one by one in the order asked, that never happens.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        n, problem = setting.n, setting.problem
        if setting.rewards.pools is not None:
            raise ParameterError(
                "finite pools with strategy 'gold': its radius is for endless rewards, "
                "drop pools or draw with replacement."
            )
        self.b = problem.b
        self.largest_group = problem.largest_group(n)
        # Line 11 stops at |Ψ̂| ≥ n(1-ρ). Where that is no whole number, it waits for an arm more
        # than any group can have; the rigorous version does not.
        self.enough = (
            math.ceil(problem.capacity(n)) if setting.bound == "paper" else self.largest_group
        )
        self.radius: RadiusBound = radius_bound(setting.rewards, n, problem.delta, setting.bound)
        self.graph: NeighbourGraph | None = None  # built once every arm has its first pulls
        self.fresh = True  # no pull since the graph was built
        self.position = 0  # of the next arm in the sweep
        self.terminal: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self.score: NDArray[np.int64] = np.zeros(n, dtype=np.int64)  # S; 0 for none yet
        self.level = 0  # the least pulls of an arm in play
        self.beta: Floats = np.full(n, math.inf)

    @property
    def bound(self) -> RadiusBound:
        """The radius that decides, here without the coefficient b."""
        return self.radius

    def ask(self, limit: int | None) -> Sequence[int]:
        """Go on with the sweep over the arms in play, in the given order."""
        if self.verdict != "running":
            return []
        n = self.setting.n
        if limit is None:
            arms = [i for i in range(self.position, n) if not self.terminal[i]]
            if not arms:
                arms = [i for i in range(n) if not self.terminal[i]]
            self.position = 0
            return arms
        arms = []
        while len(arms) < limit:
            if not self.terminal[self.position]:
                arms.append(self.position)
            self.position = (self.position + 1) % n
        return arms

    def update(self, arm: int) -> None:
        """Algorithm 1, lines 14 to 19, after one pull (or several of the same arm)."""
        if self.verdict != "running" or self.terminal[arm]:
            return
        if self.graph is None:
            if int(self.tally.counts.min()) >= self.radius.warmup:
                self._build()
            return
        touched = [arm] if self.radius.grows else self._judge(arm)
        split = self.fresh
        self.fresh = False
        for i in touched:
            split |= self._drop_edges(i)
        if split:
            self._declare()

    def _build(self) -> None:
        """Lines 7 to 10: an edge between all that are neighbours after the first pulls."""
        tally = self.tally
        self.level = int(tally.counts.min())
        judged = tally.counts if self.radius.grows else np.minimum(tally.counts, self.level + 1)
        self.beta = self.radius.radii(judged, tally.totals, tally.pulls)
        means = tally.means
        apart = np.abs(means[:, None] - means[None, :])
        self.graph = NeighbourGraph(apart <= self.b * (self.beta[:, None] + self.beta[None, :]))

    def _judge(self, arm: int) -> list[int]:
        """Update the radii after a pull of `arm`; return the arms whose edges need a look."""
        counts = self.tally.counts
        slowest = int(counts[~self.terminal].min())
        touched = [arm]
        if slowest > self.level:
            # Arms that were judged by less than their count have a smaller radius now.
            held_back = (counts > self.level + 1) & ~self.terminal
            held_back[arm] = True
            touched = np.flatnonzero(held_back).tolist()
            self.level = slowest
        self.beta[touched] = self.radius.radii(
            np.minimum(counts[touched], self.level + 1), self.tally.totals[touched], 0
        )
        return touched

    def _drop_edges(self, arm: int) -> bool:
        """Lines 23 to 28 for the edges of one arm; return whether a community may have split.

        No other pair can lose its edge: radii of arms that were not pulled only grow with T.
        """
        assert self.graph is not None
        tally = self.tally
        if self.radius.grows:
            self.beta = self.radius.radii(tally.counts, tally.totals, tally.pulls)
        means = tally.totals / tally.counts
        apart = np.abs(means[arm] - means) > self.b * (self.beta[arm] + self.beta)
        lost = np.flatnonzero(apart & self.graph.edges[arm])
        return bool(len(lost)) and self.graph.drop(arm, lost)

    def _declare(self) -> None:
        """Lines 30 to 36: members of small communities become terminal, S written once."""
        assert self.graph is not None
        pulls = self.tally.pulls
        for members in self.graph.communities():
            if len(members) <= self.largest_group:
                new = members[~self.terminal[members]]
                self.terminal[new] = True
                self.score[new] = pulls
        if int(self.terminal.sum()) >= self.enough:
            self.verdict = "ranked"

    def declared(self) -> list[int]:
        """Return the terminal arms, the first to become so first."""
        return [int(i) for i in self.order() if self.terminal[i]]

    def scores(self) -> Floats:
        """Return S; nan for an arm that never became terminal."""
        return np.where(self.terminal, self.score.astype(np.float64), np.nan)

    def order(self) -> NDArray[np.intp]:
        """Rank by S; then by distance of the sample mean from the median; then as given."""
        means = self.tally.means
        seen = ~np.isnan(means)
        centre = float(np.median(means[seen])) if seen.any() else 0.0
        distance = np.where(seen, np.abs(means - centre), -1.0)
        last = np.where(self.terminal, self.score, np.iinfo(np.int64).max)
        return np.lexsort((np.arange(self.setting.n), -distance, last))

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run as JSON values."""
        return {
            "verdict": self.verdict,
            "position": self.position,
            "fresh": self.fresh,
            "level": self.level,
            "terminal": np.flatnonzero(self.terminal).tolist(),
            "score": self.score.tolist(),
            "beta": [b if math.isfinite(b) else None for b in self.beta.tolist()],
            "graph": None if self.graph is None else self.graph.to_dict(),
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Take over the state that `to_dict` returned."""
        self.verdict = values["verdict"]
        self.position = values["position"]
        self.fresh = values["fresh"]
        self.level = values["level"]
        self.terminal[:] = False
        self.terminal[values["terminal"]] = True
        self.score[:] = values["score"]
        self.beta = np.array([math.inf if b is None else b for b in values["beta"]])
        graph = values["graph"]
        self.graph = None if graph is None else NeighbourGraph.from_dict(graph)
