"""Fixed: every arm equally often, then one look: what a plain test with Bonferroni does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar, get_args

import numpy as np

from oddarm._checks import whole_number
from oddarm._typing import Floats, Indices, Wholes
from oddarm.bounds import one_look_bound
from oddarm.errors import ParameterError
from oddarm.state import MOST, Kind, Word, decode_fields, encode_fields, require
from oddarm.state import Wholes as WholeNumbers
from oddarm.strategies.adaptive.certify import judge
from oddarm.strategies.adaptive.run import AdaptiveRun
from oddarm.strategies.base import RunContext, Strategy, Verdict

__all__ = ["Fixed", "FixedRun"]


@dataclass(frozen=True)
class Fixed(Strategy):
    """Pull every arm equally often, then look once.

    The number of pulls is fixed before the first reward, so the intervals need to hold at one look
    only and are narrower than those of other strategies, each at δ/n. What they decide is decided
    by the rules of the adaptive strategy. What they leave open stays open: looking again after
    more pulls would break the promise.

    Promises: the answer is right with probability at least 1-δ, if there is one.

    Finds: all groups.

    Cost: as many pulls as one says, whether they are too few or too many. `oddarm.plan` says how
    many would do.

    Args:
        pulls: How often each arm is pulled. Default: the budget divided by the arms; without a
            budget, all rewards of finite arms.

    Example:
        >>> import oddarm
        >>> rates = [0.20, 0.22, 0.24, 0.25, 0.27, 0.28, 0.30, 0.31, 0.33, 0.35, 0.95]
        >>> result = oddarm.simulate(rates, oddarm.strategies.Fixed(pulls=1000))
        >>> result.verdict, result.outliers, result.pulls
        ('confirmed', [10], 11000)
    """

    name: ClassVar[str] = "fixed"
    confirms: ClassVar[bool] = True
    pulls: int | None = None

    def __post_init__(self) -> None:
        if self.pulls is not None:
            object.__setattr__(self, "pulls", whole_number("pulls", self.pulls, 1, MOST))

    def start(self, context: RunContext) -> FixedRun:
        """Return a new run."""
        self.check(context)
        if context.bound == "paper":
            raise ParameterError(
                "bound == 'paper' with strategy 'fixed', which has intervals for one look: pass "
                "bound='anytime', or strategy='gold'."
            )
        return FixedRun(context, self._wanted(context))

    def _wanted(self, context: RunContext) -> Wholes:
        """Return how often each arm is to be pulled."""
        n, pools, budget = context.n, context.rewards.pools, context.max_pulls
        goal = np.full(n, MOST if self.pulls is None else self.pulls, dtype=np.int64)
        if self.pulls is None and budget is not None:
            goal[:] = budget // n
            goal[: budget % n] += 1
            if budget < n:
                raise ParameterError(
                    f"a budget of {budget} for {n} arms with strategy 'fixed', which pulls every "
                    f"arm: pass max_pulls={n} or more."
                )
        elif self.pulls is None and pools is None:
            raise ParameterError(
                "strategy 'fixed' without a number of pulls: pass max_pulls, which it divides "
                "by the arms, or strategies.Fixed(pulls=…)."
            )
        return goal if pools is None else np.minimum(goal, np.array(pools, dtype=np.int64))


class FixedRun(AdaptiveRun):
    """Sweeps over the arms, then one look.

    Attributes:
        wanted: How often each arm is to be pulled before the look.
    """

    compiled: ClassVar[str | None] = None

    def __init__(self, context: RunContext, wanted: Wholes) -> None:
        super().__init__(context)
        self.wanted = wanted
        self.pair_delta = 0.0
        self._bound = one_look_bound(context.rewards, context.n, context.problem.delta)

    def ask(self, limit: int | None) -> Sequence[int]:
        """Return the next pulls of the sweeps; all arms once if there is no limit."""
        if limit == 1 and self.verdict == "running":
            arm = int(self.asked.argmin())
            asked = self.asked.item(arm)
            if asked < self.wanted.item(arm):  # the usual case, made fast
                self.asked[arm] = asked + 1
                return [arm]
        arms: list[int] = self.ask_indices(limit).tolist()
        return arms

    def ask_indices(self, limit: int | None) -> Indices:
        """Return the same as an array."""
        if self.verdict != "running":
            return np.empty(0, dtype=np.intp)
        if (self.asked >= self.wanted).all():  # all are in flight, or were lost
            self.asked[:] = self.tally.counts
        sweeps, left = [], int((self.asked < self.wanted).sum()) if limit is None else limit
        while left > 0 and (self.asked < self.wanted).any():
            sweeps.append(self._sweep(left))
            left -= len(sweeps[-1])
        return np.concatenate(sweeps) if sweeps else np.empty(0, dtype=np.intp)

    def _sweep(self, limit: int) -> Indices:
        """Return the arms asked for least often, as many times as they stay so; `limit` at most."""
        open_ = np.flatnonzero(self.asked < self.wanted)
        asked = self.asked[open_]
        level = int(asked.min())
        arms = open_[asked == level][:limit]
        upto = min(int(self.wanted[arms].min()), int(asked[asked > level].min(initial=MOST)))
        times = max(min(upto - level, limit // len(arms)), 1)
        self.asked[arms] += times
        return np.tile(arms, times)

    def update(self, arm: int) -> None:
        """Look once every arm has its rewards."""
        count = self.tally.counts.item(arm)
        if self.asked.item(arm) < count:
            self.asked[arm] = count
        if count >= self.wanted.item(arm):
            self._look_if_complete()

    def update_many(self, arms: Indices) -> None:
        """The same for many arms."""
        del arms
        np.maximum(self.asked, self.tally.counts, out=self.asked)
        self._look_if_complete()

    def adopt(self) -> None:
        """Count the rewards that the tally had when the run began."""
        self.asked[:] = self.tally.counts
        self._look_if_complete()

    def _look_if_complete(self) -> None:
        if self.verdict == "running" and (self.tally.counts >= self.wanted).all():
            self.look()

    def look(self, undecided: Verdict = "budget") -> None:
        """Decide by all rewards told, once and for all.

        Args:
            undecided: The verdict if the intervals leave the answer open.
        """
        self.dirty[:] = self.tally.counts > 0
        self._refresh()
        self.decide()
        if self.verdict != "running":
            return
        self.verdict = undecided
        arms, rules = self._arms(), self._rules()
        for stage in self.stages:
            if not stage.judgement.verdict:
                stage.judgement = replace(judge(arms, rules, stage.members), verdict=0)

    def interval_ends(self) -> tuple[Floats, Floats]:
        """Return the intervals of the look; before it, what the rewards allow at all."""
        return self.low.copy(), self.high.copy()

    def evidence(self) -> float | None:
        """Return None: one look gives no odds."""
        return None

    def forecast(self) -> int | None:
        """Return None: there is no second look."""
        return None

    def own_fields(self) -> dict[str, Kind]:
        """Return what is saved beyond the state of an adaptive run, and the kind of each."""
        return {"wanted": WholeNumbers(self.context.n, 1, MOST), "final": Word(*get_args(Verdict))}

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run, beyond the tally, as JSON values.

        The verdict is saved as `final`, since an adaptive run has no verdict that leaves it open.
        """
        own = SimpleNamespace(wanted=self.wanted, final=self.verdict)
        adaptive = {**super().to_dict(), "verdict": "running"}
        return {**adaptive, **encode_fields(own, self.own_fields())}

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned."""
        super().restore(values)
        own = SimpleNamespace()
        decode_fields(own, self.own_fields(), values, "run")
        require(self.verdict == "running", "the verdict of a fixed run is saved as final")
        require(own.final != "confirmed" or self._confirmed() > 0, "confirmed arms are a group")
        self.wanted, self.verdict = own.wanted, own.final
