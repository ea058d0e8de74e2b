"""A run by the absolute rule: who is at least `min_gap` away from everyone else."""

from __future__ import annotations

from math import inf
from typing import ClassVar

import numpy as np

from oddarm._typing import Flags, Floats, Indices, Wholes
from oddarm.definitions.groups import apart, distances
from oddarm.kernels.blocks import Arms, Rules
from oddarm.problem import rounded_down, rounded_up
from oddarm.strategies.adaptive.absolute import (
    any_piece,
    apart_at,
    certain_answer,
    plan_answer,
)
from oddarm.strategies.adaptive.certify import Judgement, Stage, judge
from oddarm.strategies.adaptive.constants import (
    ABSOLUTE_JOINT_MOST_ARMS,
    ABSOLUTE_SHARES,
    OLD_PLANNER,
    ROUND_PASSES,
    THIRD_PLANNER,
)
from oddarm.strategies.adaptive.guess import Guess
from oddarm.strategies.adaptive.plan import RoundPlan
from oddarm.strategies.adaptive.run import AdaptiveRun
from oddarm.strategies.base import Verdict

__all__ = ["AbsoluteRun"]

NO_OTHERS: tuple[float, ...] = (0.0, inf, 0.0, 0.0)
"""What is certain of distances if everyone lies apart, or nobody does."""


class AbsoluteRun(AdaptiveRun):
    """A run by the absolute rule. Its answer is the one stage, once it is certain."""

    joint_shares: ClassVar[tuple[float, float]] = ABSOLUTE_SHARES
    bounded_shares: ClassVar[tuple[float, float]] = ABSOLUTE_SHARES

    @property
    def _weighs_truths(self) -> bool:
        """Whether the question is one for evidence against a whole truth: not with many arms."""
        return self.planner < THIRD_PLANNER or self._began.n <= ABSOLUTE_JOINT_MOST_ARMS

    def _outlook_at(self, counts: Wholes) -> None:
        """Return None: `plan_answer` plans for evidence against a whole truth."""
        del counts

    def decide(self) -> None:
        """Stop if an answer is certain."""
        self._sort()
        if self.tally.exhausted:
            self._conclude()
            return
        arms, rules = self._arms(), self._rules()
        answer = certain_answer(arms, rules)
        if answer.verdict == "running":
            return
        bounds = NO_OTHERS
        if answer.members.any() and not answer.members.all():
            bounds = judge(arms, rules, answer.members).bounds
        self._answer(answer.verdict, answer.members, bounds)

    def _conclude(self) -> None:
        """End the run by the means themselves, in exact arithmetic: all pools are exhausted."""
        means = self.tally.exact_means()
        found = apart(means, self.context.problem)
        members = np.zeros(self.context.n, dtype=np.bool_)
        members[np.array(found.members, dtype=np.intp)] = True
        bounds = NO_OTHERS
        if members.any() and not members.all():
            exact = distances(means, set(np.flatnonzero(members).tolist()))
            bounds = tuple(end(x) for x in exact for end in (rounded_down, rounded_up))
        answer: Verdict = "confirmed" if members.any() else "none"
        self._answer("scattered" if found.scattered else answer, members, bounds)

    def _answer(self, verdict: Verdict, members: Flags, bounds: tuple[float, ...]) -> None:
        """End the run."""
        self.verdict, self.complete = verdict, True
        if members.any():
            judgement = Judgement(int(verdict == "confirmed"), bounds)
            new = np.flatnonzero(members)
            self.stages = [Stage(new, self.tally.pulls, members, judgement)]

    def _piece_rules(self) -> Rules:
        """Return the rules by which a small piece is possible, whatever is beside it."""
        return any_piece(self._rules(), np.zeros_like(self.dirty))

    def widest_gap(self) -> float | None:
        """Return the widest that the gap around outliers can still be: no more than `min_gap`."""
        widest = super().widest_gap()  # by the intervals; all arms together may say more
        return None if widest is None else min(widest, self._limits["floor"])

    def _is_certain(self, guess: Flags, arms: Arms, rules: Rules) -> bool:
        """Whether the guess, which may be nobody, is certain by these intervals."""
        answer = certain_answer(arms, rules)
        return answer.verdict != "running" and bool((answer.members == guess).all())

    def _whole_plan(self, counts: Floats) -> Floats:
        """Return by what factors pulls must grow until all is decided, by the estimates."""
        return plan_answer(self._foreseen(counts), self._rules(), counts).factors

    def _plan(self, counts: Floats, caution: float) -> RoundPlan:
        """Plan from so many pulls of each arm on, told or in flight."""
        return plan_answer(self._foreseen(counts), self._rules(caution), counts, ROUND_PASSES)

    @property
    def _short_asks(self) -> bool:
        """Whether an ask ends when its pulls seem to be enough."""
        return self.planner != OLD_PLANNER

    def _apart(self) -> Flags:
        """Return which arms are apart by the estimates, at the middle of the slack."""
        if self.stages or not self.ready:
            return self.members
        means = self.tally.means
        by_mean = np.argsort(means, kind="stable")
        return apart_at(means, by_mean, self.line, self.max_members)[0]

    def _guess(self) -> Guess:
        """Return who is apart by the estimates, and the line that decides it."""
        return Guess(self._apart(), (self.line,))

    def order(self) -> Indices:
        """The arms that are apart first; each furthest out first."""
        n = self.context.n
        if not self.ready:
            return np.arange(n)
        means = self.tally.means
        far = np.abs(means - np.median(means))
        return np.lexsort((np.arange(n), -far, ~self._apart()))
