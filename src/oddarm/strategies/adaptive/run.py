"""A run of the adaptive strategy: what is asked for, what was told, and what is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Flags, Floats, Indices, Wholes
from oddarm.bounds import Bound, CentredBeta, interval_bound
from oddarm.errors import ParameterError
from oddarm.kernels.blocks import Arms, Rules, best_block, resort
from oddarm.rewards import Bernoulli
from oddarm.state import Kind, encode_fields
from oddarm.strategies.adaptive import saved
from oddarm.strategies.adaptive.certify import (
    Stage,
    declare,
    estimated_gaps,
    exact_stages,
    judge,
)
from oddarm.strategies.adaptive.constants import (
    CAUTION_STEP,
    FIRST_CAUTION,
    FIRST_PULLS,
    FIRST_SHARES,
    LARGE_CAUTION_STEP,
    MANY_ARMS,
    MAX_ASK,
    MAX_CAUTION,
    MAX_GROWTH,
    PAIR_SHARE,
    PATIENCE,
    WIDE_SHARE,
)
from oddarm.strategies.adaptive.plan import RoundPlan, RoundPlanner, plan_judgement
from oddarm.strategies.adaptive.round import Round
from oddarm.strategies.base import Certificate, Run, RunContext, Strategy

__all__ = ["Adaptive", "AdaptiveRun"]


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

    def start(self, context: RunContext) -> AdaptiveRun:
        """Return a new run."""
        self.check(context)
        if context.bound == "paper":
            raise ParameterError(
                "bound == 'paper' with strategy 'adaptive', which needs intervals that hold at all "
                "times: pass bound='anytime', or strategy='gold'."
            )
        return AdaptiveRun(context)


class AdaptiveRun(Run):
    """The mutable part.

    Attributes:
        low: Lower ends of the arms' intervals, over all times so far.
        high: Upper ends.
        means: Estimates: the sample means, kept within the intervals.
        dirty: Whether an arm has rewards that its interval does not include yet.
        asked: How often each arm has been asked for, or told of.
        round: What is left of the present round.
        stages: The arms declared, stage by stage.
        complete: Whether no further group is possible.
        shares: Which shares, of a gap and of the level of windows, the last plan made certain.
        patience: For how many rounds to plan for the best block alone.
        caution: By what factor plans raise the evidence of pairs that they count on.
        pair_delta: The error probability of the evidence of pairs; 0 if there is none.
        margin: How far out the ends of intervals are moved for decisions about finite pools, where
            ties occur: more than all rounding. docs/adaptive.md, "Exact ties".
    """

    compiled: ClassVar[str | None] = "oddarm.strategies.adaptive.compiled"

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        n, problem, rewards = context.n, context.problem, context.rewards
        self.gap_factor = float(problem.ratio)
        self.max_members = problem.max_members(n)
        self.min_segment = problem.min_segment(n)
        paired = isinstance(rewards, Bernoulli) and rewards.pools is None
        self.pair_delta = PAIR_SHARE * problem.delta if paired else 0.0
        self._bound: Bound = (
            CentredBeta((problem.delta - self.pair_delta) / n)
            if paired
            else interval_bound(rewards, n, problem.delta)
        )
        self.margin = 0.0
        if rewards.pools is not None:
            self.margin = 8 * (n + 8) * 2.0**-53 * max(abs(rewards.low), abs(rewards.high))
        self.low: Floats = np.full(n, rewards.low)
        self.high: Floats = np.full(n, rewards.high)
        self.means: Floats = np.zeros(n)
        self.by_low, self.by_high, self.by_mean = np.arange(n), np.arange(n), np.arange(n)
        self.dirty: Flags = np.zeros(n, dtype=np.bool_)
        self.asked: Wholes = np.zeros(n, dtype=np.int64)
        self.round = Round(n)
        self.stages: list[Stage] = []
        self.complete = False
        self.shares = FIRST_SHARES
        self.patience = 0
        self.caution = FIRST_CAUTION

    @property
    def bound(self) -> Bound:
        """The intervals that decide, as of now; `interval_ends` are those of all times."""
        return self._bound

    @property
    def members(self) -> Flags:
        """Which arms are declared."""
        if self.stages:
            return self.stages[-1].members
        return np.zeros(self.context.n, dtype=np.bool_)

    def interval_ends(self) -> tuple[Floats, Floats]:
        """Return the intervals that decide, up to date; the run stays as it is."""
        low, high = self.low.copy(), self.high.copy()
        if self.verdict == "running" and self.dirty.any():
            arms = np.flatnonzero(self.dirty)
            low[arms], high[arms] = self._narrowed(arms)
        return low, high

    def ask(self, limit: int | None) -> Sequence[int]:
        """Go on with the round; begin another if it is used up, or `limit` wants more."""
        if limit == 1 and self.verdict == "running":
            arm = self.round.next_arm()
            if arm is not None:
                self.asked[arm] = self.asked.item(arm) + 1
                return [arm]
        arms: list[int] = []
        while self.verdict == "running" and (not arms if limit is None else len(arms) < limit):
            if not self.round.quota.any():
                self._settle()
                if self.verdict != "running":
                    break
                self.begin_round(bool(arms), None if limit is None else limit - len(arms))
                if not self.round.quota.any():
                    if self.tally.exhausted:
                        self._conclude()
                    elif self.context.rewards.rows is not None and not arms:
                        return self._wanting()
                    break
            left = max(self.context.n, MAX_ASK) if limit is None else limit - len(arms)
            asked, times = self.round.next_arms(left)
            arms += np.repeat(asked, times).tolist()
            self.asked[asked] += times
        return arms

    def update(self, arm: int) -> None:
        """Take note that the tally of `arm` has grown; decide when the round is complete."""
        count = self.tally.counts.item(arm)
        self.dirty[arm] = True
        if self.asked.item(arm) < count:
            self.asked[arm] = count
        self.round.note(arm, count)
        if not self.round.waiting and self.verdict == "running":
            self._settle()

    def update_many(self, arms: Indices) -> None:
        """The same for many arms, deciding once."""
        self.dirty[arms] = True
        np.maximum(self.asked, self.tally.counts, out=self.asked)
        self.round.note_all(self.tally.counts)
        if not self.round.waiting and self.verdict == "running":
            self._settle()

    def adopt(self) -> None:
        """Take note of the rewards that the tally had when the run began.

        The evidence of pairs is for the neighbours among arms that were chosen before any reward.
        """
        self.pair_delta = 0.0
        self.dirty[:] = self.tally.counts > 0
        self.asked[:] = self.tally.counts
        self._settle()

    def _narrowed(self, arms: Indices) -> tuple[Floats, Floats]:
        """Return the intervals of some arms by all rewards told."""
        low, high = self._bound.interval(self.tally.take(arms.tolist()))
        # Crossed ends mean that an interval has failed, which has probability at most δ/n; the
        # latest one alone then lets the search end.
        both = np.maximum(low, self.low[arms]), np.minimum(high, self.high[arms])
        failed = both[0] > both[1]
        return np.where(failed, low, both[0]), np.where(failed, high, both[1])

    def _refresh(self) -> None:
        """Bring the intervals of dirty arms up to date."""
        arms = np.flatnonzero(self.dirty)
        self.low[arms], self.high[arms] = self._narrowed(arms)
        means = self.tally.totals[arms] / self.tally.counts[arms]
        self.means[arms] = np.clip(means, self.low[arms], self.high[arms])
        self.dirty[:] = False

    def _sort(self) -> None:
        """Bring the orders up to date."""
        resort(self.by_low, self.low)
        resort(self.by_high, self.high)
        resort(self.by_mean, self.means)

    def _settle(self) -> None:
        """Decide by all rewards told."""
        if self.dirty.any():
            self._refresh()
            if self.ready:
                self.decide()

    def _arms(self) -> Arms:
        """Return what is known for decisions: the ends of intervals moved out by the margin."""
        low, high = self.low, self.high
        if self.margin:
            low, high = low - self.margin, high + self.margin
        orders = self.by_low, self.by_high, self.by_mean
        told = self.tally.totals, self.tally.counts
        return Arms(low, high, self.means, *orders, self.members.copy(), *told)

    def _rules(self, caution: float = 1.0) -> Rules:
        """Return the rules of the problem."""
        return Rules(
            gap_factor=self.gap_factor,
            max_members=self.max_members,
            min_segment=self.min_segment,
            pair_delta=self.pair_delta,
            caution=caution,
        )

    def decide(self) -> None:
        """Declare, judge and stop, as far as the intervals allow."""
        self._sort()
        if self.tally.exhausted:
            self._conclude()
            return
        arms, rules = self._arms(), self._rules()
        while True:
            if self._open_stage():
                for stage in self.stages:
                    if not stage.judgement.verdict:
                        stage.judgement = judge(arms, rules, stage.members)
                if self._open_stage():
                    return
                if self.context.until == "found" and self._confirmed():
                    break
            if self.complete:
                break
            new, self.complete = declare(arms, rules)
            if len(new):
                stage = Stage.after(self.stages, new, self.tally.pulls, self.context.n)
                self.stages.append(stage)
                arms.declared[new] = True
            elif not self.complete:
                return
        for stage in self.stages:
            if not stage.judgement.verdict:
                stage.judgement = replace(judge(arms, rules, stage.members), verdict=0)
        self._end()

    def _end(self) -> None:
        """End the run with what is declared and judged."""
        if self.context.until == "ranked":
            self.verdict = "ranked" if self.stages else "none"
        else:
            self.verdict = "confirmed" if self._confirmed() else "none"

    def _conclude(self) -> None:
        """End the run by the means themselves, in exact arithmetic: all pools are exhausted."""
        means, pulls = self.tally.exact_means(), self.tally.pulls
        self.stages = exact_stages(means, self.context.problem, self.stages, pulls)
        self.complete = True
        self._end()

    def _confirmed(self) -> int:
        """Return the last stage whose declared arms are a group; 0 if there is none."""
        verdicts = [stage.judgement.verdict for stage in self.stages]
        return max((k for k, verdict in enumerate(verdicts, start=1) if verdict == 1), default=0)

    def _open_stage(self) -> Stage | None:
        """Return the first stage whose arms are to be judged now; None if there is none."""
        until = self.context.until
        if until == "ranked" or (until == "confirmed" and not self.complete):
            return None
        return next((stage for stage in self.stages if not stage.judgement.verdict), None)

    def begin_round(self, another: bool = False, left: int | None = None) -> None:
        """Plan a round.

        Args:
            another: Whether this ask has had a round already. If not, and the plan wants no pull,
                pulls that were asked for and not told are asked for again.
            left: How many more pulls the ask wants; None for a round. Above MANY_ARMS arms,
                another round has them all: no reward comes in between.
        """
        at_once = left if another and self.context.n > MANY_ARMS else None
        counts = self.tally.counts
        np.maximum(self.asked, counts, out=self.asked)  # rewards told after a budget
        for asked in (self.asked,) if another else (self.asked, counts):
            self.round.fill(self._quota(asked, at_once))
            if self.round.quota.any():
                self.asked[:] = asked
                self.round.begin(asked, counts)
                return

    def _quota(self, asked: Wholes, at_once: int | None) -> NDArray[Any]:
        """Return the pulls of the next round, given how often each arm has been asked for."""
        limits = self.tally.limits
        left = None if limits is None else np.maximum(limits - asked, 0)
        # First every arm once, then again, …
        open_ = asked if limits is None else asked[asked < limits]
        first = min(int(open_.min(initial=FIRST_PULLS)) + 1, FIRST_PULLS)
        quota: NDArray[Any] = np.maximum(first - asked, 0)
        if left is not None:
            quota = np.minimum(quota, left)
        if quota.any() or not self.ready:
            return quota
        quota = self._planned_quota(asked, at_once)
        if left is not None:
            quota = np.minimum(quota, left)
            if not quota.any():  # the planned arms are used up
                step = 1 if self.tally.pools is not None else np.ceil(MAX_GROWTH * asked)
                quota = np.minimum(left, step)
        return quota

    def _wanting(self) -> list[int]:
        """Return the arms that a plan asks for although no arm has rows left."""
        if not self.ready:
            return []
        return np.flatnonzero(self._planned_quota(self.tally.counts, None)).tolist()

    def _planned_quota(self, asked: Wholes, at_once: int | None) -> Floats:
        """Return the pulls of a round by a plan, whatever arms have left."""
        counts, caution = asked.astype(np.float64), self.caution
        all_told = bool((asked == self.tally.counts).all())
        plan = self._plan(counts, caution)
        while plan.cost == 0 and self.pair_delta and caution < MAX_CAUTION:
            # The evidence that was planned for is not enough.
            caution *= CAUTION_STEP if all_told or len(asked) <= MANY_ARMS else LARGE_CAUTION_STEP
            plan = self._plan(counts, caution)
        if all_told:
            self.caution = caution
        wanted = np.ceil(np.minimum(counts * (plan.factors - 1.0), 1e15))
        step = np.maximum(np.ceil(MAX_GROWTH * counts), 1.0)
        quota = np.minimum(wanted, step)
        if not quota.any():  # no plan: the widest intervals
            widths = self.high - self.low
            limits = self.tally.limits
            if limits is not None and (asked < limits).any():
                widths = np.where(asked < limits, widths, -1.0)
            if widths.max() > 0 or self.tally.pools is None:
                quota = wanted = np.where(widths >= WIDE_SHARE * widths.max(), step, 0.0)
        if at_once is not None and wanted.any():
            # Beyond all that seems needed, in the proportions of a plan for more evidence.
            beyond = plan.cost == 0 or caution > self.caution
            share = at_once / wanted.sum()
            quota = np.ceil(wanted * (share if beyond else min(share, 1.0)))
        return quota

    def _plan(self, counts: Floats, caution: float) -> RoundPlan:
        """Plan from so many pulls of each arm on, told or in flight."""
        arms, rules = self._foreseen(counts), self._rules(caution)
        stage = self._open_stage()
        if stage:
            return plan_judgement(arms, rules, stage.members)
        planner = RoundPlanner(arms, rules, self.shares)
        plan = planner.plan(self.context.until != "found", self.patience == 0)
        self.shares = planner.share, planner.base
        if plan.ending or self.stages:
            self.patience = 0
        else:
            self.patience = self.patience - 1 if self.patience else PATIENCE
        return plan

    def _foreseen(self, counts: Floats) -> Arms:
        """Return the arms as they are expected to be after so many pulls of each."""
        low, high, told = self.low, self.high, self.tally.counts
        if (counts > told).any():
            # Rewards in flight will narrow the intervals like those that came.
            scale = np.sqrt(told / counts)
            low = self.means - (self.means - low) * scale
            high = self.means + (high - self.means) * scale
        evidence = None
        if self.pair_delta:
            assert isinstance(self._bound, CentredBeta)
            rates = np.clip(self.means, 0.5 / counts, 1 - 0.5 / counts)
            evidence = self._bound.level + 0.5 * np.log1p(counts * rates * (1 - rates))
        orders = np.argsort(low, kind="stable"), np.argsort(high, kind="stable"), self.by_mean
        return Arms(
            low, high, self.means, *orders, self.members, pulls=counts, single_evidence=evidence
        )

    def declared(self, order: Indices) -> list[int]:
        """Return the arms declared, in order; once all is judged, the members of groups."""
        last = len(self.stages)
        if self.verdict in ("confirmed", "none"):
            last = 0 if self.context.until == "ranked" else self._confirmed()
        members = self.stages[last - 1].members[order] if last else np.zeros(len(order), np.bool_)
        return [int(arm) for arm in order[members]]

    def scores(self) -> Floats:
        """Return the pulls after which each arm was declared; nan for none."""
        when = np.full(self.context.n, np.nan)
        for stage in self.stages:
            when[stage.new] = stage.pulls
        return when

    def order(self) -> Indices:
        """Declared arms first, by stage; then the block that leads; each furthest out first."""
        n = self.context.n
        if not self.ready:
            return np.arange(n)
        means, declared = self.tally.means, self.members
        by_mean = np.argsort(means, kind="stable")
        arms, gaps = Arms.exactly(means, by_mean, declared), estimated_gaps(means, by_mean)
        _, first, last = best_block(arms, self._rules(), gaps, 0)
        stage_of = np.full(n, n + 1)
        stage_of[by_mean[first:last]] = n
        for k, stage in enumerate(self.stages):
            stage_of[stage.new] = k
        far = np.abs(means - np.median(means))
        return np.lexsort((np.arange(n), -far, stage_of))

    def certificates(self, order: Indices) -> list[Certificate]:
        """Return what is certain of each set of arms that may be a group, the smallest first."""
        certificates = []
        for stage in self.stages:
            judgement = stage.judgement
            if self.verdict == "running" and not judgement.verdict:
                judgement = judge(self._arms(), self._rules(), stage.members)
            certificates.append(stage.certificate(judgement, order, self.by_mean, self.min_segment))
        return certificates

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        return saved.fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run, beyond the tally, as JSON values."""
        return encode_fields(saved.encoded(self), saved.fields(self))

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned."""
        saved.restore(self, values)
        pulled = self.tally.counts > 0
        self.means[pulled] = np.clip(self.tally.means, self.low, self.high)[pulled]
        self._sort()
