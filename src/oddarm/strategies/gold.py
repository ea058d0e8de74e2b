"""GOLD: Generic OutLier Detection (Ban and He, KDD 2020, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from oddarm.bounds import NormalMixture
from oddarm.errors import ParameterError
from oddarm.graph import Edges, NeighbourGraph
from oddarm.state import Flag, Kind, OrNone, Wholes
from oddarm.strategies.base import Floats, Setting, Strategy
from oddarm.strategies.gold_intervals import GoldIntervalRun
from oddarm.strategies.sweeps import SweepRun

__all__ = ["Gold", "GoldRun"]

FEWEST_QUIET = 4
"""How many rounds without a look are worth finding them."""


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
    The form "intervals" has the same promise and hardly another answer, at O(1) per pull and some
    50 bytes per arm: use it for thousands of arms and more (docs/strategies.md). It needs
    `bound="anytime"`.

    Args:
        form: "edges", the algorithm as printed; or "intervals", its form for many arms.

    Example:
        >>> import oddarm
        >>> result = oddarm.simulate([0.1, 0.12, 0.15, 0.17, 0.9], "gold", max_outliers=1)
        >>> result.ranking[0], result.verdict
        (4, 'ranked')
    """

    name: ClassVar[str] = "gold"
    finite: ClassVar[bool] = False
    form: Literal["edges", "intervals"] = "edges"

    def __post_init__(self) -> None:
        if self.form not in ("edges", "intervals"):
            raise ParameterError(f"form == {self.form!r}, must be 'edges' or 'intervals'.")

    def start(self, setting: Setting) -> SweepRun:
        """Return a new run."""
        self.check(setting)
        return GoldRun(setting) if self.form == "edges" else GoldIntervalRun(setting)


class GoldRun(SweepRun):
    """Algorithm 1, one told reward at a time.

    With `bound="paper"` every edge of the pulled arm is judged by the pulls and rewards so far, as
    printed. With `bound="anytime"` the radius depends on pulls alone, and the proof needs those of
    the arms in play to differ by one at most and edges to be cut one arm at a time. Pulled one by
    one in the order asked, that is so. Rewards told in batches or out of turn are used for the
    means at once, but an arm is *judged* by at most one pull more than the slowest has; as the
    slowest catches up, edges are cut in the order in which their distance outgrows the radius.
    """

    kernel: ClassVar[str | None] = "gold"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        n = setting.n
        self.graph: NeighbourGraph | None = None  # built once every arm has its first pulls
        self.fresh = True  # no pull since the graph was built
        self.judged: NDArray[np.int64] = np.zeros(n, dtype=np.int64)  # pulls that set the radius
        self.beta: Floats = np.full(n, math.inf)
        self._behind = 0  # arms that have yet to be pulled in a round of which stock was taken
        self._quiet = 0  # pulls up to which no reward of any arm can cut an edge; 0 if not known

    def update(self, arm: int) -> None:
        """Algorithm 1, lines 14 to 19, after one pull (or several of the same arm)."""
        counts, totals = self.tally.counts, self.tally.totals
        if counts[arm] <= self._quiet:
            return
        if self._quiet:
            self._wake(arm)
            return
        if self._behind:
            pulls = self._level_now + 1
            if counts[arm] == pulls:
                self._next_in_turn(arm, pulls, totals[arm] / pulls)
                return
            self._behind = 0
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

    def update_many(self, arms: NDArray[np.intp]) -> None:
        """The same for many arms, whose means have all moved before any of them is judged."""
        if self.graph is None or self.radius.grows:
            super().update_many(arms)
            return
        if self.verdict != "running":
            return
        slowest = self._level(self.tally.counts)
        if slowest > self._level(self.judged):
            self._settle(slowest)
        else:
            for arm in np.unique(arms).tolist():
                if not self.stage[arm] and self._cut(arm):
                    self._declare()
        self._step_ahead()
        self._behind = 0  # stock is taken again when arms are told in turn

    def _build(self) -> None:
        """Lines 7 to 10: an edge between all that are neighbours after the first pulls."""
        n = self.setting.n
        if not self.radius.grows:
            self.graph = NeighbourGraph(np.ones((n, n), dtype=bool))
            self.fresh = False
            self._settle(int(self.tally.counts.min()))
            self._step_ahead()
            self._take_stock()
            return
        means = self.tally.means
        self.beta = self._radii(self.tally.counts)
        apart = np.abs(means[:, None] - means[None, :])
        self.graph = NeighbourGraph(apart <= self.b * (self.beta[:, None] + self.beta[None, :]))

    def _judge(self, arm: int) -> None:
        """Cut edges after a pull of `arm`, as if the arms in play had been pulled in turn."""
        counts, level = self.tally.counts, self._level(self.judged)
        if self.judged[arm] == level < counts[arm]:
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
        self._take_stock()

    def _take_stock(self) -> None:
        """See whether a round begins, the arms in play having had as many pulls each."""
        self._behind = 0
        if self.verdict != "running" or self.graph is None:
            return  # there may be no arm in play
        counts = self.tally.counts[self.stage == 0]
        level = int(counts.min())
        if (counts == level).all():
            self._begin_round(level, len(counts))

    def _begin_round(self, level: int, arms: int) -> None:
        """Note what the edges hang on while `arms` arms, pulled `level` times, are pulled in turn.

        No edge of an arm can break while its mean is near enough to the extremes of its
        neighbours', give or take how far an arm has moved in the round. Where none can for rounds
        to come, nothing is looked at in these.
        """
        assert self.graph is not None
        n, edges = self.setting.n, self.graph.edges
        means = self.tally.totals / self.tally.counts
        self._means = means.tolist()
        top, bottom = max(self._means), min(self._means)
        if edges.all():  # all are neighbours of all
            self._quiet = self._quiet_after(level, top - bottom)
            if self._quiet:
                return
            self._top, self._bottom = [top] * n, [bottom] * n
        else:
            tops = np.where(edges, means, -np.inf).max(axis=1)
            bottoms = np.where(edges, means, np.inf).min(axis=1)
            in_play = self.stage == 0
            self._quiet = self._quiet_after(level, float((tops - bottoms)[in_play].max()))
            if self._quiet:
                return
            self._top, self._bottom = np.where(in_play, tops, np.inf).tolist(), bottoms.tolist()
        self._level_now, self._beta_next = level, self._radius(level + 1)
        self._moved = 0.0
        room = 2 * self.b * self._beta_next
        self._room = room - 1e-12 * max(room, top, -bottom)  # for the rounding
        # Views, in which one number is read and written in half the time.
        self._cells: tuple[Any, Any] = self.judged.data, self.beta.data
        self._arms = self._behind = arms

    def _quiet_after(self, level: int, apart: float) -> int:
        """Return up to how many pulls of an arm nothing need be looked at; 0 if that is soon.

        From `level` pulls to m, a mean moves by at most 1 - level/m of the way to an end of the
        range, so two that are at most `apart` get no further apart than that leaves them.

        Args:
            level: The pulls of the arms in play, one of which may have had one more.
            apart: How far apart two neighbours are at most.
        """
        rewards = self.setting.rewards
        rounding = 1e-9 * max(abs(rewards.low), abs(rewards.high))
        ahead, quiet = FEWEST_QUIET, 0
        while True:
            pulls = level + ahead
            furthest = apart + (rewards.high - rewards.low - apart) * ahead / pulls
            if not furthest < 2 * self.b * self._radius(pulls) - rounding:
                return quiet
            quiet = pulls - 1  # the reward that shows that it is over is harmless too
            ahead *= 2

    def _wake(self, arm: int) -> None:
        """Go on after rounds without a look, one pull of `arm` past them."""
        level = self._quiet
        self.unsettle()
        counts = self.tally.counts[self.stage == 0]
        if not self.stage[arm] and counts.sum() == level * len(counts) + 1:
            self._begin_round(level, len(counts))
            if self._behind:
                self._behind -= 1

    def __getstate__(self) -> dict[str, Any]:
        self.unsettle()
        return super().__getstate__()  # a copy takes stock anew

    def unsettle(self) -> None:
        """Bring all up to date, and take stock anew: counts are about to change, or changed."""
        self._behind = 0
        if not self._quiet:
            return
        self._quiet = 0
        in_play = self.stage == 0
        counts = self.tally.counts[in_play]
        self.judged[in_play] = np.minimum(counts, counts.min() + 1)
        self.beta[in_play] = self._radii(self.judged[in_play])

    def _next_in_turn(self, arm: int, pulls: int, mean: float) -> None:
        """Judge an arm that had its one pull of the round."""
        moved = abs(mean - self._means[arm])
        if moved > self._moved:
            self._moved = moved
        room = self._room - self._moved
        if self._top[arm] - mean > room or mean - self._bottom[arm] > room:
            if self.stage[arm]:  # told late
                return
            self._judge_by(arm, pulls)
        else:  # plainly cuts no edge
            judged, beta = self._cells
            judged[arm] = pulls
            beta[arm] = self._beta_next
        if self._behind:
            self._behind -= 1
            if not self._behind:
                self._begin_round(pulls, self._arms)

    def _level(self, counts: NDArray[np.int64]) -> int:
        return int(counts[self.stage == 0].min())

    def _judge_by(self, arm: int, pulls: int) -> None:
        """Let the radius of one arm be that of so many pulls, and cut its edges."""
        if self.verdict != "running" or self.stage[arm]:
            return
        self.judged[arm] = pulls
        self.beta[arm] = self._radius(pulls)
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
        self.beta[in_play] = self._radius(pulls)
        means = self.tally.totals / self.tally.counts
        if means.max() - means.min() <= self.b * self.beta.min():
            return  # by far
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
        if self.verdict != "running":
            return  # there may be no arm in play
        level = self._level(self.judged)
        ahead = (self.tally.counts > level) & (self.judged == level)
        if not ahead.any():  # mostly, after a batch
            return
        for i in np.flatnonzero(ahead & (self.stage == 0)).tolist():
            self._judge_by(i, level + 1)

    def _radius(self, pulls: int) -> float:
        assert isinstance(self.radius, NormalMixture)  # the one that does not grow
        return self.radius.radius(pulls)

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
        small = [m for m in self.graph.communities() if len(m) <= self.largest_group]
        if small:
            self.declare(np.concatenate(small))
            self._behind = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run as JSON values."""
        self.unsettle()
        return super().to_dict()

    def fields(self) -> dict[str, Kind]:
        """Return what is saved, and what each may be."""
        n = self.setting.n
        own = {
            "fresh": Flag(),
            "judged": Wholes(n, 0, self.tally.counts),
            "graph": OrNone(Edges(n)),
        }
        return {**super().fields(), **own}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield what must hold between them."""
        yield from super().rules()
        if self.graph is None:
            yield not self.terminal.any(), "no arm is terminal before there is a graph"
            return
        fewest = int(self.tally.counts.min())
        yield fewest >= self.radius.warmup, "every arm had its first pulls before the graph"
        if not self.radius.grows:
            yield (self.judged > 0).all(), "every arm of the graph was judged by its pulls"

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned."""
        super().restore(values)
        self._behind = self._quiet = 0
        if self.graph is not None:
            self.beta = self._radii(self.tally.counts if self.radius.grows else self.judged)
