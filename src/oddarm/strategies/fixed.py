"""Fixed: every arm equally often, then one look: what a plain test with Bonferroni does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from oddarm._checks import whole_number
from oddarm._typing import Floats, Indices, Wholes
from oddarm.bounds import Bound, one_look_bound
from oddarm.errors import ParameterError
from oddarm.state import MOST, Flag, Kind, mapping
from oddarm.state import Wholes as WholeNumbers
from oddarm.strategies.adaptive import Adaptive
from oddarm.strategies.base import UNDECIDED, Certificate, Run, RunContext, Strategy, Verdict

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
        pulls: How often each arm is pulled, as far as it has rewards. Default: the budget divided
            by the arms; without a budget, all rewards of finite arms.

    Examples:
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
        n, limits, budget = context.n, context.rewards.limits, context.max_pulls
        goal = np.full(n, MOST if self.pulls is None else self.pulls, dtype=np.int64)
        if self.pulls is None and budget is not None:
            goal[:] = budget // n
            if context.costs is None:  # else it may not pay for the first arms
                goal[: budget % n] += 1
            if budget < n:
                raise ParameterError(
                    f"a budget of {budget} for {n} arms with strategy 'fixed', which pulls every "
                    f"arm: pass max_pulls={n} or more."
                )
        elif self.pulls is None and limits is None:
            raise ParameterError(
                "strategy 'fixed' without a number of pulls: pass max_pulls, which it divides "
                "by the arms, or strategies.Fixed(pulls=…)."
            )
        return goal if limits is None else np.minimum(goal, np.array(limits, dtype=np.int64))


class FixedRun(Run):
    """Sweeps over the arms, then one look.

    Attributes:
        wanted: How often each arm is to be pulled before the look.
        asked: How often each arm has been asked for, or told of.
        judge: Decides at the look, as an adaptive run does. Before it, its intervals include no
            rewards, and every arm with rewards is dirty.
        over: Whether more rewards were told before the look than were fixed beforehand: their
            number may then depend on the rewards, and δ is not proved.
    """

    def __init__(self, context: RunContext, wanted: Wholes) -> None:
        super().__init__(context)
        self.wanted = wanted
        self.asked: Wholes = np.zeros(context.n, dtype=np.int64)
        self.judge = Adaptive().start(context)
        self.over = False
        self._bound = one_look_bound(context.rewards, context.n, context.problem.delta)

    @property
    def bound(self) -> Bound:
        """The intervals of the look."""
        return self._bound

    @property
    def proved(self) -> bool:
        """Whether the look was at so many rewards as were fixed beforehand."""
        return self.bound.proved and not self.over

    @property
    def reason(self) -> str:
        """Why δ is proved, or why not."""
        return self.bound.reason if not self.over else "more rewards were told than were fixed"

    def ask(self, limit: int | None) -> Sequence[int]:
        """Return the next arms to pull, in turn; without a limit, every arm once."""
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
        self._look_if_complete()
        if self.verdict != "running":
            return np.empty(0, dtype=np.intp)
        if (self.asked >= self.wanted).all() and not self.in_flight:  # some were lost
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
        self.judge.dirty[arm] = self.verdict == "running"
        if self.asked.item(arm) < count:
            self.asked[arm] = count
        if count >= self.wanted.item(arm):
            self._look_if_complete()

    def update_many(self, arms: Indices) -> None:
        """The same for many arms."""
        self.judge.dirty[arms] = self.verdict == "running"
        np.maximum(self.asked, self.tally.counts, out=self.asked)
        self._look_if_complete()

    def adopt(self) -> None:
        """Count the rewards that the tally had when the run began."""
        self.judge.dirty[:] = self.tally.counts > 0
        self.asked[:] = self.tally.counts
        self._look_if_complete()

    def _look_if_complete(self) -> None:
        if self.verdict == "running" and (self.tally.counts >= self.wanted).all():
            self.look()

    def look(self) -> None:
        """Decide by all rewards told, once and for all."""
        self.over = bool((self.tally.counts > self.wanted).any())
        self.judge.look(self._bound)
        limits = self.tally.limits
        used_up = limits is not None and bool((self.tally.counts >= limits).all())
        undecided: Verdict = "rows" if used_up else "budget"
        self.verdict = undecided if self.judge.verdict == "running" else self.judge.verdict

    def short_arms(self) -> Sequence[int]:
        """Return the arms of which more rows would most likely decide what is open."""
        return self.judge.wanting() if self.verdict == "rows" else []

    def interval_ends(self) -> tuple[Floats, Floats]:
        """Return the intervals of the look; before it, what the rewards allow at all."""
        return self.judge.low.copy(), self.judge.high.copy()

    def order(self) -> Indices:
        """Return all arms, the most outlying first."""
        return self.judge.order()

    def declared(self, order: Indices) -> list[int]:
        """Return the arms declared at the look, in order."""
        return self.judge.declared(order)

    def guess(self, order: Indices) -> list[int]:
        """Return the best guess at the outliers, in order."""
        return self.judge.guess(order)

    def scores(self) -> Floats:
        """Return the pulls of the look for the arms declared; nan for others."""
        return self.judge.scores()

    def certificates(self, order: Indices) -> list[Certificate]:
        """Return what is certain of each set of arms that may be a group."""
        return self.judge.certificates(order)

    def widest_gap(self) -> float | None:
        """Return the widest that the gap around outliers can still be; None if unknown."""
        return self.judge.widest_gap()

    def fields(self) -> dict[str, Kind]:
        """Return the saved attributes and the kind of each."""
        n = self.context.n
        return {
            **super().fields(),
            "wanted": WholeNumbers(n, 1, MOST),
            "asked": WholeNumbers(n, 0, MOST),
            "over": Flag(),
        }

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules between the verdict and what was decided at the look."""
        decided, planned = self.judge.verdict, self.judge.round
        yield not (planned.goal.any() or planned.quota.any()), "a look plans no rounds"
        yield decided in ("running", self.verdict), "the verdict is that of the look"
        yield decided != "running" or self.verdict in UNDECIDED, "what is open is not decided"

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run, beyond the tally, as JSON values."""
        return {**super().to_dict(), "judge": self.judge.to_dict()}

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned."""
        self.judge.restore(mapping(values, "run").get("judge"))
        super().restore(values)
