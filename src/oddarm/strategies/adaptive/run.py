"""A run of the adaptive strategy: what is asked for, what was told, and what is decided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Flags, Floats, Indices, Wholes
from oddarm.bounds import Bernstein, Bound, CentredBeta, at_level, interval_bound
from oddarm.bounds.bernstein import mixing_precision
from oddarm.kernels.blocks import Arms, Rules, best_block, find_rival, resort
from oddarm.rewards import Bernoulli, Bounded
from oddarm.state import Kind, encode_fields
from oddarm.strategies.adaptive import saved
from oddarm.strategies.adaptive.certify import (
    Judgement,
    Stage,
    advance,
    estimated_gaps,
    exact_neighbours,
    exact_stages,
    judge,
    last_confirmed,
    most_neighbours,
    open_stage,
)
from oddarm.strategies.adaptive.constants import (
    BOUNDED_MOST_ARMS,
    BOUNDED_SHARES,
    CAUTION_STEP,
    FIRST_CAUTION,
    FIRST_PULLS,
    FIRST_SHARES,
    FORECAST_MARGIN,
    JOINT_MOST_ARMS,
    JOINT_SHARES,
    LARGE_CAUTION_STEP,
    LEAST_ROUND,
    LEAST_SHARE,
    MANY_ARMS,
    MAX_ASK,
    MAX_CAUTION,
    MAX_GROWTH,
    MOST_FORECAST,
    OLD_PLANNER,
    PAIR_SHARE,
    PATIENCE,
    PLANNER,
    SECOND_PLANNER,
    SMALL_STEPS_MOST_ARMS,
    THIRD_PLANNER,
    WIDE_SHARE,
)
from oddarm.strategies.adaptive.evidence import odds_for
from oddarm.strategies.adaptive.guess import Guess, best_group, pulls_for, room_to_move
from oddarm.strategies.adaptive.joint import (
    Outlook,
    further_pulls,
    judge_jointly,
    look_at,
    pulls_towards,
)
from oddarm.strategies.adaptive.plan import RoundPlan, RoundPlanner, plan_judgement
from oddarm.strategies.adaptive.round import Round
from oddarm.strategies.base import UNDECIDED, Certificate, Run, RunContext

__all__ = ["AdaptiveRun"]


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
        joint_delta: That of the evidence against a whole truth; 0 if there is none.
        planner: How the run decides and plans, from OLD_PLANNER to PLANNER.
        jointly: Whether the run began with evidence against a whole truth.
        margin: How far out the ends of intervals are moved for decisions about finite pools, where
            ties occur: more than all rounding. docs/adaptive.md, "Exact ties".
    """

    compiled: ClassVar[str | None] = "oddarm.strategies.adaptive.compiled"
    joint_shares: ClassVar[tuple[float, float]] = JOINT_SHARES
    bounded_shares: ClassVar[tuple[float, float]] = BOUNDED_SHARES

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        n, problem, rewards = context.n, context.problem, context.rewards
        self.max_members = problem.max_members(n)
        self.min_segment = problem.min_segment(n)
        sure = problem.at_slack()
        self._limits = {
            "gap_factor": float(problem.ratio),
            "floor": float(problem.floor),
            "sure_factor": float(sure.ratio),
            "sure_gap": float(sure.floor),
        }
        self._bound: Bound
        self.begin_with(PLANNER)
        # The pulls and the arms in question for which an outlook was computed last.
        self._outlook: tuple[int, Flags, Outlook | None] = -1, np.zeros(n, dtype=np.bool_), None
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
        self._odds = -1, 1.0  # the pulls at which evidence was weighed, and the odds

    @property
    def _paired(self) -> bool:
        """Whether evidence of several arms at once counts.

        It does for endless 0/1 rewards, and for endless bounded ones where it pays: not where the
        evidence of pairs would take its share of δ from intervals that judge a group.
        """
        rewards, pays = self.context.rewards, self._weighs_truths or self.context.until == "ranked"
        bounded = isinstance(rewards, Bounded) and self.planner > SECOND_PLANNER and pays
        return rewards.pools is None and (bounded or isinstance(rewards, Bernoulli))

    @property
    def _began(self) -> RunContext:
        """The context that says how δ is shared: bets stay what they are when arms fail."""
        return self.context if self.planner < PLANNER else self.context.of_all

    @property
    def _weighs_truths(self) -> bool:
        """Whether the question is one for evidence against a whole truth.

        It is proved for groups of order 1 alone.
        """
        if self._began.problem.neighbours > 1:
            return False
        if self.planner == SECOND_PLANNER:
            return self.context.until == "found" and self.context.n <= BOUNDED_MOST_ARMS
        zero_one = isinstance(self.context.rewards, Bernoulli)
        most = JOINT_MOST_ARMS if zero_one else BOUNDED_MOST_ARMS
        return self.context.until != "ranked" and self._began.n <= most

    @property
    def _many_arms(self) -> bool:
        """Whether the run plans in few steps, as many arms need."""
        return self.planner >= THIRD_PLANNER and self.context.n > SMALL_STEPS_MOST_ARMS

    def begin_with(self, planner: int) -> None:
        """Take a planner, and share δ among evidence against a whole truth, pairs and intervals."""
        delta, n, rewards = self.context.problem.delta, self.context.n, self.context.rewards
        self.planner = planner
        self.jointly = planner != OLD_PLANNER and self._paired and self._weighs_truths
        zero_one = isinstance(rewards, Bernoulli)
        shares = self.joint_shares if zero_one else self.bounded_shares
        joint_share, pair_share = shares if self.jointly else (0.0, PAIR_SHARE)
        pair_share = pair_share if self._paired else 0.0
        self._alpha = (delta - joint_share * delta - pair_share * delta) / n
        # What belongs to no arm alone stays whole when arms fail.
        self.joint_delta = joint_share * self._began.problem.delta
        self.pair_delta = pair_share * self._began.problem.delta
        self._origin, self._span = 0.0, 1.0
        if self._paired and zero_one:
            self._bound = CentredBeta(self._alpha)
        elif self._paired:
            self._bound = Bernstein(self._alpha, rewards.low, rewards.high)
            self._origin, self._span = rewards.low, rewards.high - rewards.low
        else:
            self._bound = interval_bound(rewards, n, delta)

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
                        return self.wanting()
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

    def until_decision(self, arms: Indices, sizes: Wholes) -> int:
        """Return how many arms, told in turn, complete the round; all of them if they do not."""
        waiting = self.round.waiting
        if not waiting:
            return 1
        reached = np.flatnonzero(self.round.reached(arms, self.tally.counts[arms] + sizes))
        return len(arms) if len(reached) < waiting else int(reached[waiting - 1]) + 1

    def adopt(self) -> None:
        """Take note of the rewards that the tally had when the run began."""
        self.dirty[:] = self.tally.counts > 0
        self.asked[:] = self.tally.counts
        self._settle()

    def replaces(self, before: Run) -> None:
        """Start over on the rewards told so far, with the planner of the run before.

        The evidence of pairs, and that against a whole truth, is for arms that no reward has
        chosen: it goes on if no reward is lost. docs/adaptive.md, "Arms that fail".
        """
        assert isinstance(before, AdaptiveRun)
        self.begin_with(before.planner)
        lost = self.planner < PLANNER or self.tally.pulls < before.tally.pulls
        if lost or not before.pair_delta:
            self.pair_delta = self.joint_delta = 0.0
        self.adopt()

    def look(self, bound: Bound) -> None:
        """Decide by all rewards told with other intervals, without the evidence of pairs."""
        self._bound, self.pair_delta, self.joint_delta = bound, 0.0, 0.0
        self.dirty[:] = self.tally.counts > 0
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

    def _arms_at(self, share: float) -> Arms:
        """Return what the rewards alone say now, at a share of δ, with nothing declared."""
        low, high = at_level(self._bound, share * self._alpha).interval(self.tally)
        means = self.tally.means
        by_low, by_high, by_mean = (np.argsort(x, kind="stable") for x in (low, high, means))
        nobody = np.zeros(len(low), dtype=np.bool_)
        low, high = low - self.margin, high + self.margin
        given = self._in_units(low), self._in_units(high), self._in_units(means)
        return Arms(*given, by_low, by_high, by_mean, nobody, *self._told())

    def _in_units(self, values: Floats) -> Floats:
        """Return means as what decides sees them: from 0 to 1, where evidence is for a range."""
        if (self._origin, self._span) == (0.0, 1.0):
            return values
        return (values - self._origin) / self._span

    def _told(self) -> tuple[Floats, Wholes, Floats | None]:
        """Return the sums of rewards told, as what decides sees them, their number and scatter."""
        tally = self.tally
        if tally.beyond is None or tally.scatter is None or not self._paired:
            return tally.totals, tally.counts, None
        return tally.beyond / self._span, tally.counts, tally.scatter / self._span**2

    def evidence(self) -> float | None:
        """Return the odds for the best guess; for an answer at least those that were asked for."""
        if not self.ready:
            return 1.0
        if self._odds[0] != self.tally.pulls:
            guess, order = np.zeros(self.context.n, dtype=np.bool_), np.arange(self.context.n)
            decided = self.verdict in ("confirmed", "none")
            guess[self.declared(order) if decided else self.guess(order)] = True
            delta = self.context.delta_of_all  # arms that have failed weigh as much as the others

            def certain(odds_delta: float) -> bool:
                share = odds_delta / delta
                return self._is_certain(guess, self._arms_at(share), self._rules(share=share))

            self._odds = self.tally.pulls, odds_for(certain)
        odds = self._odds[1]
        return odds if self.verdict in UNDECIDED else max(odds, 1 / self.context.delta_of_all)

    def _is_certain(self, guess: Flags, arms: Arms, rules: Rules) -> bool:
        """Whether the guess, which may be nobody, is certain by these intervals, or jointly."""
        if self.context.until != "ranked" and guess.any():
            if judge(arms, rules, guess).verdict == 1:
                return True
            joint_delta = rules.joint_delta
            return joint_delta > 0 and bool(judge_jointly(arms, rules, guess, joint_delta, 32))
        stages: list[Stage] = []
        _, over = advance(arms, rules, self.context.until, stages, False, self.tally.pulls)
        if not guess.any():  # arms that every group contains, not yet judged, may be a group
            return over and all(stage.judgement.verdict == -1 for stage in stages)
        return any(bool((stage.members == guess).all()) for stage in stages)

    def forecast(self) -> int | None:
        """Return how many further pulls would likely decide: what a plan takes, and a margin."""
        if not self.ready or self.verdict not in UNDECIDED:
            return None
        counts, run = self.tally.counts.astype(np.float64), self._up_to_date()
        outlook = run._outlook_at(self.tally.counts)
        if outlook is not None:
            pulls = further_pulls(outlook, counts, self.context.costs)
        else:
            with np.errstate(over="ignore"):
                pulls = float(counts @ (run._whole_plan(counts) - 1.0))
        if not 0 <= pulls < MOST_FORECAST:
            return None
        return math.ceil(pulls + FORECAST_MARGIN * self.tally.pulls)

    def _up_to_date(self) -> Self:
        """Return a run that knows all rewards told; this one stays as it is."""
        if not self.dirty.any():
            return self
        other = copy(self)
        for name in ("low", "high", "means", "dirty", "by_low", "by_high", "by_mean"):
            setattr(other, name, getattr(self, name).copy())
        other._refresh()
        other._sort()
        return other

    def _whole_plan(self, counts: Floats) -> Floats:
        """Return by what factors pulls must grow until all is decided, by the estimates."""
        arms, rules, until = self._foreseen(counts), self._rules(), self.context.until
        stage = open_stage(until, self.stages, self.complete)
        if stage:
            return plan_judgement(arms, rules, stage.members, self._chains).factors
        plan = RoundPlanner(arms, rules, self.shares).plan(until == "confirmed", True)
        if plan.cost == np.inf:
            return np.full(len(counts), np.inf)
        guess = self.guess(np.arange(len(counts)))
        if plan.ending or until == "ranked" or not guess:
            return plan.factors
        members = np.zeros(len(counts), dtype=np.bool_)
        members[guess] = True
        then = plan_judgement(arms, rules, members, self._chains)
        if then.cost == np.inf:
            return np.full(len(counts), np.inf)
        return np.maximum(plan.factors, then.factors)

    def widest_gap(self) -> float | None:
        """Return the widest that the gaps around a piece of outliers can be, if nobody is one."""
        if self.verdict != "none":
            return None
        arms = replace(self._arms(), declared=np.zeros_like(self.dirty))
        rules = self._piece_rules()
        low, high = 0.0, float(self.high.max() - self.low.min()) / self._span
        for _ in range(40):
            middle = (low + high) / 2
            if find_rival(arms, rules, middle) is None:
                high = middle
            else:
                low = middle
        return high * self._span

    def _piece_rules(self) -> Rules:
        """Return the rules by which a piece of outliers is possible."""
        return self._rules()

    def _arms(self) -> Arms:
        """Return what is known for decisions: the ends of intervals moved out by the margin."""
        low, high = self.low, self.high
        if self.margin:
            low, high = low - self.margin, high + self.margin
        orders = self.by_low, self.by_high, self.by_mean
        given = self._in_units(low), self._in_units(high), self._in_units(self.means)
        return Arms(*given, *orders, self.members.copy(), *self._told())

    def _rules(self, caution: float = 1.0, share: float = 1.0) -> Rules:
        """Return the rules of the problem, with a share of δ for evidence beyond intervals."""
        limits = self._limits
        return Rules(
            gap_factor=limits["gap_factor"],
            floor=limits["floor"] / self._span,
            sure_factor=limits["sure_factor"],
            sure_gap=limits["sure_gap"] / self._span,
            max_members=self.max_members,
            min_segment=self.min_segment,
            neighbours=self.context.problem.neighbours,
            pair_delta=share * self.pair_delta,
            joint_delta=share * self.joint_delta,
            caution=caution,
            many_arms=self._many_arms,
        )

    def decide(self) -> None:
        """Declare, judge and stop, as far as the intervals allow."""
        self._sort()
        if self.tally.exhausted:
            self._conclude()
            return
        self.complete, over = advance(
            self._arms(),
            self._rules(),
            self.context.until,
            self.stages,
            self.complete,
            self.tally.pulls,
        )
        if over or self._confirmed_jointly():
            self._end()

    def _confirmed_jointly(self) -> bool:
        """Confirm the arms in question by evidence against a whole truth; whether all is decided.

        Until "confirmed" they are those of a stage, and all stages are to be judged. Else they are
        the best guess, which then is the last stage.
        """
        outlook = self._outlook_at(self.tally.counts)
        if outlook is None or not outlook.near:
            return False
        arms, rules, member = self._arms(), self._rules(), outlook.member
        judgement = judge_jointly(arms, rules, member, self.joint_delta)
        if judgement is None:
            return False
        if self.context.until == "confirmed":
            stages = self.stages, self.complete
            stage = open_stage("confirmed", *stages)
            assert stage is not None
            stage.judgement = judgement
            return open_stage("confirmed", *stages) is None or self._confirmed_jointly()
        new = np.flatnonzero(member & ~self.members)
        if len(new):
            self.stages.append(Stage.after(self.stages, new, self.tally.pulls, len(member)))
        self.stages[-1].judgement = judgement
        for stage in self.stages:
            if not stage.judgement.verdict:
                stage.judgement = replace(judge(arms, rules, stage.members), verdict=0)
        return True

    def _in_question(self) -> Flags | None:
        """Return the arms that evidence against a whole truth is to confirm; None if nobody."""
        if self.context.until != "confirmed":
            return self._guess().members
        stage = open_stage(self.context.until, self.stages, self.complete)
        return None if stage is None else stage.members

    def _outlook_at(self, counts: Wholes) -> Outlook | None:
        """Return what stands between the arms in question and a group after so many pulls."""
        member = self._in_question() if self.joint_delta else None
        if member is None:
            return None
        told = bool((counts == self.tally.counts).all())
        pulls, asked_for, outlook = self._outlook
        if told and pulls == self.tally.pulls and bool((asked_for == member).all()):
            return outlook
        arms = self._arms()
        if not told:
            arms = replace(arms, **self._foreseen_sums(counts))
        outlook = look_at(arms, self._rules(), member, self.joint_delta)
        if told:
            self._outlook = self.tally.pulls, member, outlook
        return outlook

    def _foreseen_sums(self, counts: Wholes) -> dict[str, Any]:
        """Return the sums that so many pulls have, if further rewards are like those told."""
        totals, told, scatter = self._told()
        return {
            "totals": totals / told * counts,
            "counts": counts.copy(),
            "scatter": None if scatter is None else scatter / told * counts,
        }

    def _end(self) -> None:
        """End the run with what is declared and judged."""
        if self.context.until == "ranked":
            self.verdict = "ranked" if self.stages else "none"
        else:
            self.verdict = "confirmed" if last_confirmed(self.stages) else "none"

    def _conclude(self) -> None:
        """End the run by the means themselves, in exact arithmetic: all pools are exhausted."""
        means, pulls = self.tally.exact_means(), self.tally.pulls
        self.stages = exact_stages(means, self.context.problem, self.stages, pulls)
        self.complete = True
        self._end()

    def begin_round(self, another: bool = False, left: int | None = None) -> None:
        """Plan a round.

        Args:
            another: Whether this ask has had a round already. If not, and the plan wants no pull,
                pulls that were asked for and not told are asked for again.
            left: How many more pulls the ask wants; None for a round. Where plans are slow, another
                round has them all: no reward comes in between.
        """
        rest = left if another else None
        counts = self.tally.counts
        np.maximum(self.asked, counts, out=self.asked)  # rewards told after a budget
        for asked in (self.asked,) if another else (self.asked, counts):
            self.round.fill(self._quota(asked, rest))
            if self.round.quota.any():
                self.asked[:] = asked
                self.round.begin(asked, counts)
                return

    def _quota(self, asked: Wholes, rest: int | None) -> NDArray[Any]:
        """Return the pulls of the next round, given how often each arm has been asked for.

        `rest` is what an ask still wants that has had a round already; else None.
        """
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
        if self.context.until == "budget":
            quota = self._guess_quota(asked, rest if self.context.n > MANY_ARMS else None)
        else:
            quota = self._planned_quota(asked, rest)
            if rest is not None and self._short_asks and not quota.any():
                return quota
        if left is not None:
            least = min(quota.sum(), LEAST_ROUND * asked.sum() if self._many_arms else 1)
            quota = np.minimum(quota, left)
            if not quota.any() or quota.sum() < least:  # the planned arms are used up
                step = 1 if self.tally.pools is not None else np.ceil(MAX_GROWTH * asked)
                quota = np.maximum(quota, np.minimum(left, step))
        return quota

    def wanting(self) -> list[int]:
        """Return the arms that a plan asks for although no arm has rows left."""
        if not self.ready:
            return []
        return np.flatnonzero(self._planned_quota(self.tally.counts, None)).tolist()

    def _planned_quota(self, asked: Wholes, rest: int | None) -> Floats:
        """Return the pulls of a round by a plan, whatever arms have left; `rest` as above."""
        outlook = self._outlook_at(asked)
        if outlook is not None and not (outlook.margins >= 0).all():
            quota = pulls_towards(outlook, asked.astype(np.float64), self.context.costs)
            quota *= max(1.0, (rest or 0) / quota.sum())
            return np.ceil(quota, out=quota)
        counts, caution = asked.astype(np.float64), self.caution
        all_told = bool((asked == self.tally.counts).all())
        plan = self._plan(counts, caution)
        if plan.cost == 0 and rest is not None and self._short_asks:
            return np.zeros(len(counts))  # the pulls of this ask may decide
        if plan.cost == 0 and self.pair_delta:  # the evidence that was planned for is not enough
            small = all_told or len(asked) <= MANY_ARMS
            by = CAUTION_STEP if small else LARGE_CAUTION_STEP
            plan, caution = self._more_cautious_plan(counts, plan, caution, by)
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
        if self.context.problem.slack or self._by_intervals:
            # So that no arm stays unknown, and every search with a slack ends.
            behind = np.ceil(LEAST_SHARE * counts.mean()) - counts
            quota = np.maximum(quota, np.minimum(behind, step))
        if rest is not None and len(asked) > MANY_ARMS and wanted.any():
            # Beyond all that seems needed, in the proportions of a plan for more evidence.
            beyond = plan.cost == 0 or caution > self.caution
            share = rest / wanted.sum()
            quota = np.ceil(wanted * (share if beyond else min(share, 1.0)))
        return quota

    def _more_cautious_plan(
        self, counts: Floats, plan: RoundPlan, caution: float, by: float
    ) -> tuple[RoundPlan, float]:
        """Return the first plan that wants a pull, of ever more cautious ones, and its caution.

        With many arms it doubles the number of steps until a plan wants a pull, and then halves
        the steps in between: a plan takes long.
        """
        steps = [caution]
        while steps[-1] < MAX_CAUTION:
            steps.append(steps[-1] * by)
        last, below, at = len(steps) - 1, 0, 0
        while plan.cost == 0 and at < last:
            below, at = at, min(max(2 * at, 1) if self._many_arms else at + 1, last)
            plan = self._plan(counts, steps[at])
        while plan.cost != 0 and at - below > 1:
            middle = (below + at) // 2
            other = self._plan(counts, steps[middle])
            if other.cost == 0:
                below = middle
            else:
                plan, at = other, middle
        return plan, steps[at]

    @property
    def _chains(self) -> bool:
        """Whether plans to judge a group cover its segments by chains: where intervals decide."""
        return self.planner != OLD_PLANNER and not self.pair_delta

    @property
    def _by_intervals(self) -> bool:
        """Whether a group is to be judged now, by a plan that may have chains."""
        stage = open_stage(self.context.until, self.stages, self.complete)
        return self._chains and stage is not None

    @property
    def _short_asks(self) -> bool:
        """Whether an ask ends when its pulls seem to be enough."""
        return self._by_intervals

    def _guess_quota(self, asked: Wholes, at_once: int | None) -> Wholes:
        """Return the pulls of a round that makes the best guess better."""
        widths = (self.high - self.low) * np.sqrt(self.tally.counts / asked)  # all told
        if self.tally.pools is not None:
            widths = np.where(asked < self.tally.pools, widths, 0.0)
        means = self.tally.means
        room = np.min([room_to_move(means, line) for line in self._guess().lines], axis=0)
        return pulls_for(
            asked.astype(np.float64), widths / 2, room, self.context.costs, at_once or 1
        )

    def _plan(self, counts: Floats, caution: float) -> RoundPlan:
        """Plan from so many pulls of each arm on, told or in flight."""
        arms, rules = self._foreseen(counts), self._rules(caution)
        stage = open_stage(self.context.until, self.stages, self.complete)
        if stage:
            return plan_judgement(arms, rules, stage.members, self._chains)
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
        costs, pools = self.context.costs, self.tally.pools
        paid = counts if costs is None else counts * (costs / costs.mean())  # what plans minimise
        left = None
        if pools is not None and self._by_intervals:
            left = np.maximum(pools - counts, 0.0) * (paid / counts)
        if (counts > told).any():
            # Rewards in flight will narrow the intervals like those that came.
            shares = told / counts
            if left is not None:  # all the more as a pool ends
                assert pools is not None
                shares *= np.maximum(pools - counts, 0.0) / np.maximum(pools - told, 1.0)
            scale = np.sqrt(shares)
            low = self.means - (self.means - low) * scale
            high = self.means + (high - self.means) * scale
        scatter = self._told()[2]
        if scatter is not None:
            scatter = scatter / told * counts
        evidence = None
        if self.pair_delta:
            if scatter is not None:
                varied = scatter / mixing_precision(self._alpha)
            else:
                rates = np.clip(self.means, 0.5 / counts, 1 - 0.5 / counts)
                varied = counts * rates * (1 - rates)
            evidence = 0.5 * np.log1p(varied) - math.log(self._alpha)
        orders = np.argsort(low, kind="stable"), np.argsort(high, kind="stable"), self.by_mean
        given = self._in_units(low), self._in_units(high), self._in_units(self.means)
        return Arms(
            *given,
            *orders,
            self.members,
            scatter=scatter,
            pulls=paid,
            single_evidence=evidence,
            left=left,
        )

    def guess(self, order: Indices) -> list[int]:
        """Return the arms declared, or with them the best guess while the run goes on."""
        if not self.ready or self.verdict != "running":
            return self.declared(order)
        return [int(arm) for arm in order[self._guess().members[order]]]

    def _guess(self) -> Guess:
        """Return the best guess by the sample means, which contains the declared arms."""
        factor = (self._limits["gap_factor"] + self._limits["sure_factor"]) / 2
        sizes = self.max_members, self.min_segment
        neighbours = self.context.problem.neighbours
        return best_group(self.tally.means, *sizes, factor, self.line, self.members, neighbours)

    @property
    def line(self) -> float:
        """How far apart outliers must be by the estimates: in the middle of the slack."""
        return (self._limits["floor"] + self._limits["sure_gap"]) / 2

    def declared(self, order: Indices) -> list[int]:
        """Return the arms declared, in order; once all is judged, the members of groups."""
        last = len(self.stages)
        if self.verdict in ("confirmed", "none"):
            last = 0 if self.context.until == "ranked" else last_confirmed(self.stages)
        members = self.stages[last - 1].members[order] if last else np.zeros(len(order), np.bool_)
        return [int(arm) for arm in order[members]]

    def scores(self) -> Floats:
        """Return the pulls after which each arm was declared; nan for none."""
        when = np.full(self.context.n, np.nan)
        for stage in self.stages:
            when[stage.new] = stage.pulls
        return when

    def order(self) -> Indices:
        """Declared arms first, by stage; then the best guess; each furthest out first."""
        n = self.context.n
        if not self.ready:
            return np.arange(n)
        means, declared = self._in_units(self.tally.means), self.members
        stage_of = np.full(n, n + 1)
        if self.verdict == "running" and self.context.until != "ranked":
            stage_of[self._guess().members] = n
        else:
            by_mean = np.argsort(means, kind="stable")
            arms, gaps = Arms.exactly(means, by_mean, declared), estimated_gaps(means, by_mean)
            _, first, last = best_block(arms, self._rules(), gaps, 0)
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
            neighbours = self._most_neighbours(stage, judgement)
            if self._span != 1.0:
                bounds = tuple(self._span * bound for bound in judgement.bounds)
                judgement = replace(judgement, bounds=bounds)
            sizes = self.by_mean, self.min_segment
            certificate = stage.certificate(judgement, neighbours, order, *sizes)
            epsilon = self.context.problem.at_slack().epsilon
            if self.jointly and certificate.status == "confirmed" and epsilon is not None:
                certificate = replace(certificate, confirmed_at=epsilon)
            certificates.append(certificate)
        return certificates

    def _most_neighbours(self, stage: Stage, judgement: Judgement) -> int:
        """Return the largest order at which the arms of a stage are certain to be a group."""
        problem = self.context.problem
        if problem.absolute:
            return 0
        if self.tally.exhausted:
            most = exact_neighbours(self.tally.exact_means(), problem, stage.members)
        else:
            most = most_neighbours(self._arms(), self._rules(), stage.members, judgement)
        return max(most, problem.neighbours) if judgement.verdict == 1 else most

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
