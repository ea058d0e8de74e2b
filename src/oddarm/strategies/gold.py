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

    With `bound="paper"` every edge of the pulled arm is judged by the pulls and rewards so far, as
    printed. With `bound="anytime"` the radius depends on pulls alone, and the proof needs those of
    the arms in play to differ by one at most and edges to be cut one arm at a time. Pulled one by
    one in the order asked, that is so. Rewards told in batches or out of turn are used for the
    means at once, but an arm is *judged* by at most one pull more than the slowest has; as the
    slowest catches up, edges are cut in the order in which their distance outgrows the radius.
    """

    kernel: ClassVar[str | None] = "gold"
    state: ClassVar[tuple[str, ...]] = ("position", "fresh", "judged", "beta", "score", "stage")

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
        self.judged: NDArray[np.int64] = np.zeros(n, dtype=np.int64)  # pulls that set the radius
        self.beta: Floats = np.full(n, math.inf)
        self.score: NDArray[np.int64] = np.zeros(n, dtype=np.int64)  # S; 0 for none yet
        self.stage: NDArray[np.int64] = np.zeros(n, dtype=np.int64)  # 1, 2, … in order of S

    @property
    def bound(self) -> RadiusBound:
        """The radius that decides, here without the coefficient b."""
        return self.radius

    @property
    def terminal(self) -> NDArray[np.bool_]:
        """Ψ̂: the arms whose community has become small."""
        return self.stage > 0

    def ask(self, limit: int | None) -> Sequence[int]:
        """Go on with the sweep over the arms in play, in the given order."""
        if self.verdict != "running":
            return []
        n, terminal = self.setting.n, self.terminal.tolist()
        if limit is None:
            arms = [i for i in range(self.position, n) if not terminal[i]]
            if not arms:
                arms = [i for i in range(n) if not terminal[i]]
            self.position = 0
            return arms
        arms = []
        while len(arms) < limit:
            if not terminal[self.position]:
                arms.append(self.position)
            self.position = (self.position + 1) % n
        return arms

    def update(self, arm: int) -> None:
        """Algorithm 1, lines 14 to 19, after one pull (or several of the same arm)."""
        if self.verdict != "running" or self.stage[arm]:
            return
        if self.graph is None:
            if int(self.tally.counts.min()) >= self.radius.warmup:
                self._build()
        elif self.radius.grows:
            self.beta = self._radii(self.tally.counts)
            if self._cut(arm) or self.fresh:
                self._declare()
            self.fresh = False
        else:
            self._judge(arm)

    def _build(self) -> None:
        """Lines 7 to 10: an edge between all that are neighbours after the first pulls."""
        n = self.setting.n
        if not self.radius.grows:
            self.graph = NeighbourGraph(np.ones((n, n), dtype=bool))
            self.fresh = False
            self._settle(int(self.tally.counts.min()))
            self._step_ahead()
            return
        means = self.tally.means
        self.beta = self._radii(self.tally.counts)
        apart = np.abs(means[:, None] - means[None, :])
        self.graph = NeighbourGraph(apart <= self.b * (self.beta[:, None] + self.beta[None, :]))

    def _judge(self, arm: int) -> None:
        """Cut edges after a pull of `arm`, as if the arms in play had been pulled in turn."""
        counts, level = self.tally.counts, self._level(self.judged)
        if self.judged[arm] == level:
            self._judge_by(arm, level + 1)
        elif self._cut(arm):  # its mean has moved, its radius stays
            self._declare()
        if self.verdict != "running":
            return
        slowest = self._level(counts)
        if slowest == level:
            return
        for i in np.flatnonzero((self.judged == level) & (self.stage == 0)).tolist():
            self._judge_by(i, level + 1)
        self._settle(slowest)
        self._step_ahead()

    def _level(self, counts: NDArray[np.int64]) -> int:
        return int(counts[self.stage == 0].min())

    def _judge_by(self, arm: int, pulls: int) -> None:
        """Let the radius of one arm be that of so many pulls, and cut its edges."""
        if self.verdict != "running" or self.stage[arm]:
            return
        self.judged[arm] = pulls
        self.beta[arm] = self._radii(self.judged[arm : arm + 1])[0]
        if self._cut(arm):
            self._declare()

    def _settle(self, pulls: int) -> None:
        """Shrink the radii of all arms in play together to that of so many pulls.

        Edges are cut in the order in which the shrinking radius gives them up.
        """
        assert self.graph is not None
        in_play = self.stage == 0
        if self.verdict != "running" or (self.judged[in_play] == pulls).all():
            return
        self.judged[in_play] = pulls
        self.beta[in_play] = self._radii(self.judged[in_play][:1])[0]
        means = self.tally.totals / self.tally.counts
        apart = np.abs(means[:, None] - means[None, :])
        given_up = (apart > self.b * (self.beta[:, None] + self.beta[None, :])) & self.graph.edges
        first, second = np.nonzero(np.triu(given_up, 1))
        widths = apart[first, second]
        for width in np.unique(widths)[::-1]:
            split = False
            for k in np.flatnonzero(widths == width):
                split |= self.graph.drop(int(first[k]), second[k : k + 1])
            if split:
                self._declare()
            if self.verdict != "running":
                return

    def _step_ahead(self) -> None:
        """Judge the arms that are ahead of the slowest by one pull more than it has."""
        for i in np.flatnonzero((self.tally.counts > self.judged) & (self.stage == 0)).tolist():
            self._judge_by(i, int(self.judged[i]) + 1)

    def _radii(self, counts: NDArray[np.int64]) -> Floats:
        return self.radius.radii(counts, self.tally.totals, self.tally.pulls)

    def _cut(self, arm: int) -> bool:
        """Lines 23 to 28 for the edges of one arm; return whether a community may have split.

        No other pair can lose its edge: radii of arms that were not pulled never shrink.
        """
        assert self.graph is not None
        means = self.tally.totals / self.tally.counts
        apart = np.abs(means[arm] - means) > self.b * (self.beta[arm] + self.beta)
        lost = np.flatnonzero(apart & self.graph.edges[arm])
        return bool(len(lost)) and self.graph.drop(arm, lost)

    def _declare(self) -> None:
        """Lines 30 to 36: members of small communities become terminal, S written once."""
        assert self.graph is not None
        stage = int(self.stage.max()) + 1
        for members in self.graph.communities():
            if len(members) <= self.largest_group:
                new = members[self.stage[members] == 0]
                self.stage[new] = stage
                self.score[new] = self.tally.pulls
        if np.count_nonzero(self.stage) >= self.enough:
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
        stage = np.where(self.stage > 0, self.stage, np.iinfo(np.int64).max)
        return np.lexsort((np.arange(self.setting.n), -distance, stage))

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run as JSON values."""
        graph = None if self.graph is None else self.graph.to_dict()
        return {**super().to_dict(), "graph": graph}

    def restore(self, values: dict[str, Any]) -> None:
        """Take over the state that `to_dict` returned."""
        super().restore(values)
        graph = values["graph"]
        self.graph = None if graph is None else NeighbourGraph.from_dict(graph)
