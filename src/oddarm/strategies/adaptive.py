"""The adaptive strategy: pull what stands between the present intervals and an answer.

docs/adaptive.md has the statement, the proof and the cost argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm.bounds import Bound, CentredBeta, interval_bound
from oddarm.definitions.groups import distances, outlier_groups
from oddarm.errors import ParameterError
from oddarm.problem import rounded_down, rounded_up
from oddarm.rewards import Bernoulli
from oddarm.state import Flags, Kind, Real, Reals, Whole, Wholes, Word
from oddarm.strategies.base import (
    Certificate,
    Floats,
    Run,
    Setting,
    Strategy,
    without_gaps,
)
from oddarm.strategies.outlook import CUTS, SHARES, Outlook, places_around, widest_gaps

__all__ = ["Adaptive", "AdaptiveRun"]

FIRST = 5
"""Pulls of every arm before anything is planned."""
STEP = 0.15
"""The most by which a round raises an arm's pulls: then there is more to plan by."""
PAIRS = 0.6
"""Of δ, what share goes to the evidence of pairs; the rest goes to the intervals of single arms."""
EAGER = 0.8
"""What part of the evidence that pairs seem to need plans count on at first."""
CAUTION = 1.05
"""By what factor plans raise the evidence they count on, when what they had foreseen fails."""
MANY = 500
"""Arms beyond which plans take so long that an ask is given all that it wants by a few."""
RASH = 1.25
"""The same as CAUTION, for pulls of so many arms beyond those on their way that seem enough."""
PATIENCE = 7
"""For how many rounds to go for the best block when no other way was cheaper."""
AT_ONCE = 1_000_000
"""The most pulls that an ask for a round returns, if there are no more arms than that."""
MOST_CAUTION = 8.0
"""Beyond that something else is amiss, and the widest intervals are narrowed."""


@dataclass(frozen=True)
class Adaptive(Strategy):
    """Rank the outliers first, and confirm them or say that there are none.

    Every round looks for the block of arms with the widest gaps around it, plans the fewest pulls
    that would show that every group must contain it, and pulls towards that plan. An arm deep
    among the others is pulled just often enough to know that it does not bridge a gap.

    Promises: every member of every group, of arms above, below, in between or on both sides,
    ranks before the arms outside it, with probability at least 1-δ, whatever the rewards'
    variances. With `until="found"` it stops at the first group that is confirmed, or when none
    can be; with `until="confirmed"` when every set of arms that may be a group is judged.

    Finds: all groups.

    Cost: in pulls, a fifth to a sixteenth of GOLD's on the paper's kind of instance
    (`make verify`). In time, O(n) for each step of a round's plan, in compiled code.

    Example:
        >>> import oddarm
        >>> rates = [0.20, 0.22, 0.24, 0.25, 0.27, 0.28, 0.30, 0.31, 0.33, 0.35, 0.95]
        >>> result = oddarm.simulate(rates, "adaptive", until="found")
        >>> result.verdict, result.outliers
        ('confirmed', [10])
        >>> oddarm.simulate(rates[:10] + [0.38], "adaptive", until="confirmed").verdict
        'none'
    """

    name: ClassVar[str] = "adaptive"
    confirms: ClassVar[bool] = True

    def start(self, setting: Setting) -> AdaptiveRun:
        """Return a new run."""
        self.check(setting)
        if setting.bound == "paper":
            raise ParameterError(
                "bound == 'paper' with strategy 'adaptive', which needs intervals that hold at all "
                "times: pass bound='anytime', or strategy='gold'."
            )
        return AdaptiveRun(setting)


class AdaptiveRun(Run):
    """The mutable part.

    Attributes:
        low: Lower ends of the arms' intervals, over all times so far.
        high: Upper ends.
        means: Estimates: the sample means, kept within the intervals.
        dirty: Whether an arm has rewards that its interval does not know yet.
        asked: How often each arm has been asked for, or told of.
        quota: What is left to be asked of the present round.
        goal: The pulls of each arm at which the round is complete.
        waiting: How many arms are short of their goal.
        stages: The stage at which each arm was declared, from 1; 0 if it was not.
        when: The pulls after which it was.
        verdicts: Entry 0 is 1 when no further group is possible; entry k is whether the arms
            declared up to stage k are a group: 1 yes, -1 no, 0 open.
        judged: What is certain of the arms declared up to each stage, when the run ended: how far
            they are from the others, at least and at most, and the largest gap among those.
        share: Which share of a gap's estimate the last plan made certain.
        base: Which share of the level of windows it did.
        patience: For how many rounds to go for the best block, before other ways are looked at.
        caution: By what factor plans raise the evidence of pairs that they count on.
        pairs: The error probability of the evidence of pairs; 0 if there is none.
        margin: How far out the ends of intervals are moved for decisions about finite pools, where
            ties occur: more than all rounding. docs/adaptive.md, "Exact ties".
    """

    kernel: ClassVar[str | None] = "adaptive"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        n, problem = setting.n, setting.problem
        self.most = problem.largest_group(n)
        self.side = problem.smallest_side(n)
        self.epsilon = float(problem.epsilon)
        self.wider = 1.0 + self.epsilon
        paired = isinstance(setting.rewards, Bernoulli) and setting.rewards.pools is None
        self.pairs = PAIRS * problem.delta if paired else 0.0
        self._bound: Bound = (
            CentredBeta((problem.delta - self.pairs) / n)
            if paired
            else interval_bound(setting.rewards, n, problem.delta)
        )
        self.margin = 0.0
        if setting.rewards.pools is not None:
            largest = max(abs(setting.rewards.low), abs(setting.rewards.high))
            self.margin = 8 * (n + 8) * 2.0**-53 * largest
        self.low: Floats = np.full(n, setting.rewards.low)
        self.high: Floats = np.full(n, setting.rewards.high)
        self.means: Floats = np.zeros(n)
        self.by_low, self.by_high, self.by_mean = np.arange(n), np.arange(n), np.arange(n)
        self.dirty: NDArray[np.bool_] = np.zeros(n, dtype=np.bool_)
        self.asked: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self.quota: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self._at = 0  # no arm before it has quota left
        self.goal: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self.waiting = 0
        self.stages: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self.when: Floats = np.full(n, np.nan)
        self.verdicts: NDArray[np.int64] = np.zeros(self.most + 2, dtype=np.int64)
        self.judged: Floats = np.zeros((self.most + 2, 4))
        self.share = SHARES.index(0.4)
        self.base = SHARES.index(0.5)
        self.patience = 0
        self.caution = EAGER

    @property
    def bound(self) -> Bound:
        """The intervals that decide, as of now; `interval_ends` are those of all times."""
        return self._bound

    def interval_ends(self) -> tuple[Floats, Floats]:
        """Return the intervals that decide, up to date; looking at them changes nothing."""
        low, high = self.low.copy(), self.high.copy()
        if self.verdict == "running" and self.dirty.any():
            arms = np.flatnonzero(self.dirty)
            low[arms], high[arms] = self._narrowed(arms)
        return low, high

    def ask(self, limit: int | None) -> Sequence[int]:
        """Go on with the round; begin another if it is used up, or `limit` wants more."""
        if limit == 1 and self.verdict == "running":
            arm = self._one()
            if arm is not None:
                return [arm]
        arms: list[int] = []
        while self.verdict == "running" and (not arms if limit is None else len(arms) < limit):
            if not self.quota.any():
                self._settle()
                if self.verdict != "running":
                    break
                self.begin_round(bool(arms), None if limit is None else limit - len(arms))
                if not self.quota.any():
                    if self.tally.exhausted:
                        self._conclude()
                    break
            left = max(self.setting.n, AT_ONCE) if limit is None else limit - len(arms)
            asked = np.flatnonzero(self.quota)[:left]  # no more arms than can be asked for
            times = np.minimum(self.quota[asked], left)
            before = np.cumsum(times) - times
            times = np.clip(left - before, 0, times)
            arms += np.repeat(asked, times).tolist()
            self.quota[asked] -= times
            self.asked[asked] += times
        return arms

    def _one(self) -> int | None:
        """Return the next arm of the round; None if it is used up."""
        for arm in range(self._at, self.setting.n):
            left = self.quota.item(arm)
            if left:
                self._at = arm
                self.quota[arm] = left - 1
                self.asked[arm] = self.asked.item(arm) + 1
                return arm
        self._at = self.setting.n
        return None

    def update(self, arm: int) -> None:
        """Take note that the tally of `arm` has grown; decide when the round is complete."""
        count = self.tally.counts.item(arm)
        self.dirty[arm] = True
        if self.asked.item(arm) < count:
            self.asked[arm] = count
        if 0 < self.goal.item(arm) <= count:
            self.goal[arm] = 0
            self.waiting -= 1
        if not self.waiting and self.verdict == "running":
            self._settle()

    def update_many(self, arms: NDArray[np.intp]) -> None:
        """The same for many arms, deciding once."""
        self.dirty[arms] = True
        np.maximum(self.asked, self.tally.counts, out=self.asked)
        reached = (self.goal > 0) & (self.goal <= self.tally.counts)
        self.goal[reached] = 0
        self.waiting -= int(np.count_nonzero(reached))
        if not self.waiting and self.verdict == "running":
            self._settle()

    def adopt(self) -> None:
        """Take note of the rewards that the tally had when the run began.

        The evidence of pairs is for the neighbours among arms that were chosen before any reward.
        """
        self.pairs = 0.0
        self.dirty[:] = self.tally.counts > 0
        self.asked[:] = self.tally.counts
        self._settle()

    def _narrowed(self, arms: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the intervals of some arms by all that was told."""
        low, high = self._bound.interval(self.tally.take(arms.tolist()))
        # Crossed ends mean that an interval has failed, which has probability at most δ/n; the
        # latest one alone then lets the search end.
        both = np.maximum(low, self.low[arms]), np.minimum(high, self.high[arms])
        failed = both[0] > both[1]
        return np.where(failed, low, both[0]), np.where(failed, high, both[1])

    def _refresh(self) -> None:
        """Bring the intervals up to date."""
        arms = np.flatnonzero(self.dirty)
        self.low[arms], self.high[arms] = self._narrowed(arms)
        means = self.tally.totals[arms] / self.tally.counts[arms]
        self.means[arms] = np.clip(means, self.low[arms], self.high[arms])
        self.dirty[:] = False

    def _settle(self) -> None:
        """Decide by all that was told."""
        if self.dirty.any():
            self._refresh()
            if self.ready:
                self.decide()

    def decide(self) -> None:
        """Declare, judge and stop, as far as the intervals allow."""
        from oddarm.kernels.blocks import resort

        resort(self.by_low, self.low)
        resort(self.by_high, self.high)
        resort(self.by_mean, self.means)
        if self.tally.exhausted:
            self._conclude()
            return
        while True:
            if self._open_stage():
                self._judge()
                if self._open_stage():
                    return
                if self.setting.until == "found" and (self.verdicts[1:] == 1).any():
                    break
            if self.verdicts[0]:
                break
            if not self._declare() and not self.verdicts[0]:
                return
        for stage in range(1, int(self.stages.max()) + 1):
            if self.verdicts[stage] == 0:
                self.judged[stage] = self._weigh(stage)[1:]
        self._end()

    def _end(self) -> None:
        """End the run with what is declared and judged."""
        if self.setting.until == "ranked":
            self.verdict = "ranked" if self.stages.any() else "none"
        else:
            self.verdict = "confirmed" if (self.verdicts[1:] == 1).any() else "none"

    def _conclude(self) -> None:
        """End the run by the means themselves, in exact arithmetic: all pools are exhausted."""
        means, problem = self.tally.exact_means(), self.setting.problem
        limits = problem.epsilon, problem.rho, problem.strict
        found = outlier_groups(means, *limits, mixed=True, max_outliers=problem.max_outliers)
        groups: list[frozenset[Any]] = [frozenset(group.members) for group in found]
        stages = self._stages()
        if not all(group in stages or group >= stages[-1] for group in groups):
            self.stages[:] = 0  # an interval has failed, which has probability at most δ
            self.when[:] = np.nan
        for group in groups:
            new = [arm for arm in group if not self.stages[arm]]
            if new:
                self.stages[new] = self.stages.max() + 1
                self.when[new] = self.tally.pulls
        self.verdicts[0] = 1
        for stage, members in enumerate(self._stages()[1:], start=1):
            gap, inner = distances(means, members)
            self.verdicts[stage] = 1 if members in groups else -1
            self.judged[stage, :2] = rounded_down(gap), rounded_up(gap)
            self.judged[stage, 2:] = rounded_down(inner), rounded_up(inner)
        self._end()

    def _stages(self) -> list[frozenset[Any]]:
        """Return the arms declared up to each stage, from 0 on."""
        last = int(self.stages.max())
        return [frozenset(np.flatnonzero(self._up_to(k)).tolist()) for k in range(last + 1)]

    def _open_stage(self) -> int:
        """Return the first stage whose arms are to be judged now; 0 if there is none."""
        until = self.setting.until
        if until == "ranked" or (until == "confirmed" and not self.verdicts[0]):
            return 0
        stages = self.verdicts[1 : int(self.stages.max()) + 1]
        return int(np.argmin(stages != 0)) + 1 if (stages == 0).any() else 0

    def _declare(self) -> bool:
        """Declare a block that every further group contains; return whether there was one."""
        from oddarm.kernels.blocks import best_block

        declared = self.stages > 0
        room = self.most - int(declared.sum())
        seem, sure = self._cuts()
        for enough in (self.most, 0):  # first those that would end the search
            limits = declared, self.most, enough
            gap, first, last = best_block(seem, self.by_mean, *limits)
            if gap > 0 and not self._rival(gap, first, last):
                self._sharpen(sure, seem, places_around(first, last, len(declared)))
            gap, first, last = best_block(sure, self.by_mean, *limits)
            if gap <= 0 or self._rival(gap, first, last):
                continue
            block = self.by_mean[first:last]
            new = block[~declared[block]]
            if len(new) <= room:
                self.stages[new] = self.stages.max() + 1
                self.when[new] = self.tally.pulls
            if len(new) >= room:  # the block completes the largest group, or none can hold it
                self.verdicts[0] = 1
            return True
        self.verdicts[0] = self._ended(seem, sure)
        return False

    def _ended(self, seem: Floats, sure: Floats) -> bool:
        """Whether no further group is possible, as its members would leave a window free.

        Either no piece has gaps above (1+ε) times the level of the windows; or none beside a
        wider gap has them, and none at all has gaps above (1+ε) times that one.
        """
        from oddarm.kernels.blocks import beside, best_windows

        declared = self.stages > 0
        windows = np.empty((self.most - int(declared.sum()) + 1, 2), dtype=np.int64)
        places = widest_gaps(seem, self.by_mean, declared, 2 * len(windows))
        if len(places) and self._rival(seem[places[0]], 0, 0):
            return False
        self._sharpen(sure, seem, places)
        intervals = *self._ends(), self.by_mean
        level = best_windows(*intervals, declared, sure, 0.0, windows)
        if self._rival(level, 0, 0) and not any(
            sure[at] > level
            and not self._rival(sure[at], 0, 0)
            and not self._rival(level, 0, 0, *beside(*intervals, at, sure[at]))
            for at in places[:CUTS]
        ):
            return False
        # The declared arms must be certain to lie where the order has them.
        sides = declared[self.by_mean]
        edges = np.flatnonzero(sides[1:] != sides[:-1]) + 1
        self._sharpen(sure, seem, edges)
        return bool((sure[edges] > 0).all())

    def _cuts(self) -> tuple[Floats, Floats]:
        """Return the gaps between neighbours: those that seem to be, and those that are certain."""
        from oddarm.kernels.blocks import find_cuts

        seem, sure = np.empty(self.setting.n + 1), np.empty(self.setting.n + 1)
        find_cuts(self.means, self.means, self.by_mean, seem)
        find_cuts(*self._ends(), self.by_mean, sure)
        return seem, sure

    def _ends(self) -> tuple[Floats, Floats]:
        """Return the ends of intervals for decisions, moved outwards by the margin."""
        if not self.margin:
            return self.low, self.high
        return self.low - self.margin, self.high + self.margin

    def _rival(
        self, gap: float, first: int, last: int, top: float = np.inf, bottom: float = -np.inf
    ) -> bool:
        """Whether by_mean[first:last] has a rival if its gaps are so wide; if empty, any piece."""
        from oddarm.kernels.blocks import find_rival

        declared = self.stages > 0
        block = self.by_mean[first:last]
        low, high = self._ends()
        begin, end = -np.inf, np.inf
        if len(block):
            begin, end = low[block].min(), high[block].max()
        return bool(
            find_rival(
                low,
                high,
                self.by_low,
                self.by_high,
                declared,
                self.wider * gap,
                self.most - int(declared.sum()),
                self.side,
                begin,
                end,
                top,
                bottom,
            )[0]
        )

    def _sharpen(self, sure: Floats, seem: Floats, places: NDArray[np.int64]) -> None:
        """Raise what is certain of the gaps at some places by the evidence of pairs."""
        from oddarm.kernels.pairs import certain_gap

        if not self.pairs:
            return
        for at in places:
            if seem[at] > max(sure[at], 0.0):
                gap = certain_gap(
                    self.tally.totals,
                    self.tally.counts,
                    self.low,
                    self.high,
                    self.by_mean,
                    at,
                    seem[at],
                    self.pairs,
                )
                sure[at] = max(sure[at], gap)
                if gap == 0.0:
                    return

    def _judge(self) -> None:
        """Judge the sets of arms that may be groups, as far as they are open."""
        for stage in range(1, int(self.stages.max()) + 1):
            if not self.verdicts[stage]:
                self.verdicts[stage], *self.judged[stage] = self._weigh(stage)

    def _weigh(self, stage: int) -> tuple[int, float, float, float, float]:
        """Return whether the arms up to a stage are a group, and what is certain of them."""
        from oddarm.kernels.groups import judge_group

        member = self._up_to(stage)
        seem, sure = self._cuts()
        sides = member[self.by_mean]
        edges = np.flatnonzero(sides[1:] != sides[:-1]) + 1
        inside = np.flatnonzero(~(sides[1:] | sides[:-1])) + 1
        widest = inside[np.argmax(seem[inside])] if len(inside) else edges[:0]
        self._sharpen(sure, seem, np.append(edges, widest))
        return judge_group(
            *self._ends(),
            self._by_segment(member),
            member,
            self.epsilon,
            self.side,
            sure[edges].min(),
            sure[widest].max(initial=0.0),
        )

    def _segments(self, member: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return for each arm how many borders of the group lie below it, by the estimates."""
        segments = np.empty(len(member), dtype=np.int64)
        sides = member[self.by_mean]
        segments[self.by_mean] = np.append(0, np.cumsum(sides[1:] != sides[:-1]))
        return segments

    def _by_segment(self, member: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the arms by segment and piece, and within these by their lower ends."""
        return np.lexsort((np.arange(len(member)), self.low, self._segments(member)))

    def _up_to(self, stage: int) -> NDArray[np.bool_]:
        """Return which arms were declared up to a stage."""
        return (self.stages > 0) & (self.stages <= stage)

    def begin_round(self, another: bool = False, left: int | None = None) -> None:
        """Plan a round.

        Args:
            another: Whether the ask has had a round. If not, what was asked and not told is asked
                for anew if there is nothing else.
            left: How many more pulls the ask wants; None for a round. Of many arms another round
                has them all: nothing is learnt in between.
        """
        at_once = left if another and self.setting.n > MANY else None
        np.maximum(self.asked, self.tally.counts, out=self.asked)  # rewards told after a budget
        for asked in (self.asked,) if another else (self.asked, self.tally.counts):
            self._fill_quota(asked, at_once)
            if self.quota.any():
                self.asked[:] = asked
                self.goal[:] = np.where(self.quota > 0, asked + self.quota, 0)
                self.waiting = int((self.tally.counts < self.goal).sum())
                return

    def _fill_quota(self, asked: NDArray[np.int64], left: int | None) -> None:
        """Fill the quota of the next round, given how often each arm has been asked for."""
        self._at = 0
        pools = self.tally.pools
        # First every arm once, then again, …
        open_ = asked if pools is None else asked[asked < pools]
        level = min(int(open_.min(initial=FIRST)) + 1, FIRST)
        self.quota[:] = np.maximum(level - asked, 0)
        left_of = None if pools is None else np.maximum(pools - asked, 0)
        if left_of is not None:
            np.minimum(self.quota, left_of, out=self.quota)
        if self.quota.any() or not self.ready:
            return
        counts = asked.astype(np.float64)
        caution = self.caution
        known = bool((asked == self.tally.counts).all())
        factors, cost = self._plan(counts, caution)
        while (
            cost == 0 and self.pairs and caution < MOST_CAUTION
        ):  # all that was foreseen is not enough
            caution *= CAUTION if known or len(asked) <= MANY else RASH
            factors, cost = self._plan(counts, caution)
        if known:
            self.caution = caution
        wanted = np.ceil(np.minimum(counts * (factors - 1.0), 1e15))
        step = np.maximum(np.ceil(STEP * counts), 1.0)
        self.quota[:] = np.minimum(wanted, step)
        if not self.quota.any():  # no plan: the widest intervals
            widths = self.high - self.low
            if pools is not None:
                widths = np.where(asked < pools, widths, -1.0)
            if widths.max() > 0 or pools is None:
                wanted = np.where(widths >= 0.7 * widths.max(), step, 0.0)
                self.quota[:] = wanted
        if left is not None and wanted.any():
            # Beyond all that seems needed, in the proportions of a plan for more evidence.
            beyond = cost == 0 or caution > self.caution
            share = left / wanted.sum()
            self.quota[:] = np.ceil(wanted * (share if beyond else min(share, 1.0)))
        if left_of is not None:
            np.minimum(self.quota, left_of, out=self.quota)
            if not self.quota.any():  # what matters most is known exactly
                self.quota[:] = np.minimum(left_of, 1)

    def _plan(self, counts: Floats, caution: float) -> tuple[Floats, float]:
        """Return by what factor the pulls of each arm must grow, as far as can be foreseen.

        Returns:
            The factors, and how many pulls that takes; infinite if nothing can be foreseen.
        """
        from oddarm.kernels.groups import plan_group

        low, high = self.low, self.high
        if (counts > self.tally.counts).any():
            # Rewards on their way will narrow the intervals like those that came.
            scale = np.sqrt(self.tally.counts / counts)
            low = self.means - (self.means - low) * scale
            high = self.means + (high - self.means) * scale
        pairs = self._evidence(counts, caution)
        arms = low, high, self.means, counts
        stage = self._open_stage()
        if stage:
            best = np.ones(len(counts))
            member = self._up_to(stage)
            # Pairs can tell the order of arms whose intervals overlap.
            shifts = np.zeros(len(counts))
            if self.pairs:
                shifts += 2.0 * self._segments(member)
            order = np.lexsort((np.arange(len(counts)), low + shifts))
            group = order, self.by_mean, member, shifts
            return best, plan_group(*arms, *group, self.epsilon, pairs, best)
        problem = self.epsilon, self.most, self.side
        outlook = Outlook(*arms, self.by_mean, pairs, *problem, (self.share, self.base))
        declared = self.stages > 0
        on = self.setting.until != "found"
        factors, cost, ending = outlook.cheapest(declared, on, self.patience == 0)
        self.share, self.base = outlook.share, outlook.base
        if ending or declared.any():
            self.patience = 0
        elif self.patience == 0:
            self.patience = PATIENCE
        else:
            self.patience -= 1
        return factors, cost

    def _evidence(self, counts: Floats, caution: float) -> Floats:
        """Return what `certify` in blocks.c wants to know of the evidence of pairs."""
        if not self.pairs:
            return np.empty(0)
        assert isinstance(self._bound, CentredBeta)
        rates = np.clip(self.means, 0.5 / counts, 1 - 0.5 / counts)
        alone = self._bound.level + 0.5 * np.log1p(counts * rates * (1 - rates))
        return np.append(alone, [self.pairs, caution])

    def declared(self, order: NDArray[np.intp]) -> list[int]:
        """Return the arms declared, in order; once all is judged, the members of groups."""
        last = int(self.stages.max())
        if self.verdict in ("confirmed", "none"):
            last = int(np.flatnonzero(self.verdicts == 1).max(initial=0))
            if self.setting.until == "ranked":
                last = 0
        stages = self.stages[order]
        return [int(arm) for arm in order[(stages > 0) & (stages <= last)]]

    def scores(self) -> Floats:
        """Return the pulls after which each arm was declared; nan for none."""
        return self.when.copy()

    def order(self) -> NDArray[np.intp]:
        """Declared arms first, by stage; then the block that leads; each furthest out first."""
        from oddarm.kernels.blocks import best_block, find_cuts

        n = self.setting.n
        if not self.ready:
            return np.arange(n)
        means = self.tally.means
        by_mean = np.argsort(means, kind="stable")
        stage = np.where(self.stages > 0, self.stages, n + 1)
        seem = np.empty(n + 1)
        find_cuts(means, means, by_mean, seem)
        _, first, last = best_block(seem, by_mean, self.stages > 0, self.most, 0)
        leaders = by_mean[first:last]
        stage[leaders] = np.minimum(stage[leaders], n)
        far = np.abs(means - np.median(means))
        return np.lexsort((np.arange(n), -far, stage))

    def certificates(self, order: NDArray[np.intp]) -> list[Certificate]:
        """Return what is certain of each set of arms that may be a group, the smallest first."""
        found = []
        names = {1: "confirmed", -1: "refuted", 0: "undecided"}
        for stage in range(1, int(self.stages.max()) + 1):
            member = self._up_to(stage)
            open_ = self.verdict == "running" and not self.verdicts[stage]
            least, most, certain, possible = self._weigh(stage)[1:] if open_ else self.judged[stage]
            found.append(
                Certificate(
                    members=tuple(int(arm) for arm in order if member[arm]),
                    status=names[int(self.verdicts[stage])],  # type: ignore[arg-type]
                    gap_at_least=float(least),
                    gap_at_most=float(most),
                    rest_at_least=float(certain),
                    rest_at_most=float(possible),
                )
            )
        return found

    def fields(self) -> dict[str, Kind]:
        """Return what is saved, and what each may be."""
        n, rewards, shares = self.setting.n, self.setting.rewards, len(SHARES) - 1
        ends, wholes = Reals(n, rewards.low, rewards.high), Wholes(n)
        return {
            "verdict": Word("running", "ranked", "confirmed", "none"),
            "low": ends,
            "high": ends,
            "dirty": Flags(n),
            "asked": wholes,
            "quota": wholes,
            "goal": wholes,
            "stages": Wholes(n, 0, self.most),
            "when": Reals(n, 1, max(self.tally.pulls, 1), nan=True),
            "verdicts": Wholes(self.most + 2, -1, 1),
            "judged": Reals((self.most + 2, 4), -np.inf, np.inf),
            "share": Whole(0, shares),
            "base": Whole(0, shares),
            "patience": Whole(0, PATIENCE),
            "caution": Real(EAGER, MOST_CAUTION * RASH),
            "pairs": Real(0.0, self.pairs),
        }

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield what must hold between them."""
        counts, over = self.tally.counts, self.verdict != "running"
        yield (self.low <= self.high).all(), "no interval has its ends crossed"
        yield not (self.dirty & (counts == 0)).any(), "what an interval lacks was told"
        known = (counts > 0) & ~self.dirty
        widths = self.high[known] - self.low[known]
        yield np.isfinite(widths).all(), "the interval of every arm that was pulled is finite"
        declared, last = self.stages > 0, int(self.stages.max())
        yield int(declared.sum()) <= self.most, f"at most {self.most} arms are declared"
        yield without_gaps(self.stages), "stages are numbered without gaps"
        yield (np.isnan(self.when) == ~declared).all(), "declared arms have the pulls after which"
        yield self.verdicts[0] >= 0, "verdicts begin with 0 or 1"
        yield not self.verdicts[last + 1 :].any(), "no more is judged than declared"
        yield self.ready or not (over or last), "nothing is declared before every arm was pulled"
        confirmed = bool((self.verdicts[1:] == 1).any())
        ends = (
            ("ranked" if last else "none",)
            if self.setting.until == "ranked"
            else ("confirmed" if confirmed else "none",)
        )
        yield self.verdict in ("running", *ends), "the verdict fits what is declared and judged"

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned."""
        super().restore(values)
        self._at = 0
        counts = self.tally.counts
        self.goal[self.goal <= counts] = 0
        self.waiting = int(np.count_nonzero(self.goal))
        seen = counts > 0
        self.means[seen] = np.clip(self.tally.means, self.low, self.high)[seen]
        # As `resort` has them; that takes the square of their number where nothing is in order.
        self.by_low, self.by_high, self.by_mean = (
            np.argsort(keys, kind="stable") for keys in (self.low, self.high, self.means)
        )
