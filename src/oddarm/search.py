"""A search that is asked for arms and told their rewards, by name; the caller draws rewards."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from oddarm._checks import is_number, numbers_by_arm, real_number, whole_number
from oddarm._files import replace_file
from oddarm._typing import Floats, Indices
from oddarm._version import __version__
from oddarm.errors import (
    OddarmError,
    ParameterError,
    RewardError,
    StateError,
    UnknownArmError,
)
from oddarm.ledger import ROUNDING, Ledger
from oddarm.options import DEFAULT_SLACK, BoundKind, Until
from oddarm.problem import Problem
from oddarm.results.html import framed, paragraph
from oddarm.results.result import Result
from oddarm.results.sentence import counted
from oddarm.rewards import Rewards, as_rewards
from oddarm.search_core import SearchCore
from oddarm.state import EXACT, OrNone, Real, Reals, Whole, Word, Words, damaged, mapping, parse
from oddarm.strategies import Gold, Outcome, Run, RunContext, Strategy, Verdict, as_strategy
from oddarm.tally import Tally

__all__ = ["FORMAT_VERSION", "Search", "as_costs"]

FORMAT = "oddarm.search"
FORMAT_VERSION = 1
LARGEST_COST = 1e15
MOST_ARMS = 10**8
"""More arms do not fit the memory of one machine."""
BEGUN_BEFORE = "The search was begun by oddarm {}: it has no slack and no min_gap."
"""What a result says of a search that was begun by a version without them."""
MOST_PLANNED_ARMS = 100_000
"""With more arms, a plan of the adaptive strategy takes longer than most pulls."""
GOLD_CHOSEN = (
    "With {:,} arms, more than the {:,} that the adaptive strategy plans for, GOLD's interval "
    "form was chosen: it ranks the arms and confirms nothing."
)
"""What a result says of a search whose strategy was chosen by the number of arms."""
DEEPEST = 50
"""How deep tuples may be nested in the name of an arm."""


class Search:
    """A search for outlying arms, driven by ask and tell.

    Args:
        arms: The names of the arms (hashable, distinct), or their number.
        strategy: A name of `oddarm.strategies.STRATEGIES`, or an instance with parameters of your
            own. With more than 100,000 arms, "adaptive" by name is GOLD's interval form, and every
            result says so.
        epsilon: How much wider the gap around the outliers is than any gap among the others: more
            than 1 + epsilon times as wide. Default 2.5, unless `min_gap` is given alone.
        min_gap: How far the outliers are from all others at least, in units of reward. Alone, it is
            the whole rule; with `epsilon`, closer arms do not matter.
        rho: The least share of arms that are normal; default 0.9.
        max_outliers: The most arms that may be outliers, in place of `rho`.
        delta: The probability with which the answer may be wrong.
        slack: The share of `epsilon` and `min_gap` in which either answer is right. Default 0.2, or
            0 for a search that only ranks.
        strict: Read the paper's |N̂| < c to the letter.
        neighbours: With how many neighbours in a row the gap around the outliers is compared: with
            `epsilon`, it must be wider than 1 + epsilon times any span of so many gaps among the
            others.
        rewards: "bernoulli", a pair (low, high), or a model of `oddarm.rewards`.
        bound: "anytime" (proved) or "paper" (as printed).
        until: When to stop: "found", when a group is confirmed or none can be; "confirmed", when
            it is also certain that no group is larger; "ranked", when every group must rank first;
            "budget", when the budget is spent on the best guess. Default "found" if the
            strategy can, else "ranked".
        max_pulls: A budget; the search is done after that many rewards.
        costs: What a pull of each arm costs, by name or in order; 1 by default. A mapping and the
            index of a pandas Series name the arms. The adaptive strategy plans the cheapest pulls;
            the others only count what they cost.
        max_cost: A budget; no pull is asked for that would cost more.
        seed: For strategies that choose at random.

    Attributes:
        fingerprint: What identifies the source of the rewards, if it is known: set by
            `find`, saved with the search, and compared by `resume`.
        supposes: What the stated δ supposes of the rewards beyond their model, in sentences that
            every result repeats. Studies say here which pulls were drawn again or given up,
            searches begun by version 0.1 that they have no slack and no `min_gap`, and searches of
            more than 100,000 arms which strategy was chosen.

    Examples:
        >>> import oddarm
        >>> rates = dict(zip("abcdefghijk", [0.2, 0.22, 0.24, 0.25, 0.27, 0.28, 0.3, 0.31, 0.33,
        ...                                  0.35, 0.95], strict=True))
        >>> coin = oddarm.sources.SimulatedArms(list(rates.values()))
        >>> search = oddarm.Search(rates, epsilon=2.5, rho=0.9, delta=0.1)
        >>> while not search.done:
        ...     for arm in search.ask(1):
        ...         search.tell(arm, coin.draw("abcdefghijk".index(arm)))
        >>> search.result().outliers
        ['k']
    """

    def __init__(
        self,
        arms: Sequence[Hashable] | int | Any,
        strategy: str | Strategy = "adaptive",
        *,
        epsilon: float | None = None,
        min_gap: float | None = None,
        rho: float | None = None,
        max_outliers: int | None = None,
        delta: float = 0.05,
        slack: float | None = None,
        strict: bool = False,
        neighbours: int = 1,
        rewards: str | Sequence[float] | Rewards = "bernoulli",
        bound: BoundKind = "anytime",
        until: Until | None = None,
        max_pulls: int | None = None,
        costs: Mapping[Any, float] | Sequence[float] | None = None,
        max_cost: float | None = None,
        seed: int = 0,
    ) -> None:
        self.names = _names(arms)
        self.n = len(self.names)
        self.rewards = as_rewards(rewards)
        self.strategy = as_strategy(strategy)
        self.supposes: list[str] = []
        if strategy == "adaptive" and self.n > MOST_PLANNED_ARMS:
            _check_that_gold_can(self.n, min_gap, until, neighbours, self.rewards)
            self.strategy = Gold(form="intervals")
            self.supposes.append(GOLD_CHOSEN.format(self.n, MOST_PLANNED_ARMS))
        self.until: Until = _until(until, self.strategy)
        if slack is None:
            slack = 0.0 if self.until == "ranked" else DEFAULT_SLACK
        self.problem = Problem(
            epsilon, rho, max_outliers, delta, strict, min_gap, slack, neighbours
        )
        self._check_rule()
        if bound not in ("anytime", "paper"):
            raise ParameterError(f"bound == {bound!r}, must be 'anytime' or 'paper'.")
        self.problem.check(self.n)
        sizes = self.rewards.limits
        if sizes is not None and len(sizes) != self.n:
            kind = "rows" if self.rewards.pools is None else "pools"
            raise ParameterError(
                f"{kind} has {len(sizes)} sizes for {self.n} arms, must be one each."
            )
        self.bound: BoundKind = bound
        budget = _budget(max_pulls)
        self.costs = as_costs(costs, self.names)
        most = _max_cost(max_cost)
        if self.until == "budget" and budget is None and most is None:
            raise ParameterError("until == 'budget' without a budget: pass max_pulls or max_cost.")
        self.seed = whole_number("seed", seed, 0)
        self.fingerprint: dict[str, Any] | None = None
        self._index = (
            None
            if isinstance(self.names, range)
            else dict(zip(self.names, range(self.n), strict=True))
        )
        self.tally = Tally(self.n, self.rewards)
        context = RunContext(
            problem=self.problem,
            rewards=self.rewards,
            tally=self.tally,
            n=self.n,
            bound=bound,
            until=self.until,
            seed=self.seed,
            costs=self.costs,
            max_pulls=_pulls_of_budget(budget, most, self.costs),
        )
        ledger = Ledger(self.tally, budget, self.costs, most)
        self.core = SearchCore(self.strategy, context, ledger)

    def _check_rule(self) -> None:
        """Raise ParameterError if the rule does not fit the strategy or `until`."""
        self.strategy.check_rule(self.problem)
        if self.until == "ranked" and self.problem.absolute:
            raise ParameterError(
                "until == 'ranked' with min_gap alone, which has nothing to rank by: pass "
                "until='found', or epsilon too."
            )
        if self.until == "ranked" and self.problem.slack:
            raise ParameterError(
                f"slack == {self.problem.slack!r} with until == 'ranked', must be 0: a ranking "
                "does not say where the line is."
            )

    @property
    def run(self) -> Run:
        """The run of the strategy; when arms have failed, it numbers the others anew."""
        return self.core.run

    @property
    def max_pulls(self) -> int | None:
        """The budget, which may be changed at any time; None for no limit."""
        return self.core.ledger.max_pulls

    @max_pulls.setter
    def max_pulls(self, budget: int | None) -> None:
        self.core.ledger.max_pulls = _budget(budget)

    @property
    def max_cost(self) -> float | None:
        """The most that all pulls may cost, which may be changed at any time; None for no limit."""
        return self.core.ledger.max_cost

    @max_cost.setter
    def max_cost(self, budget: float | None) -> None:
        self.core.ledger.max_cost = _max_cost(budget)

    @property
    def pulls(self) -> int:
        """T: rewards told so far."""
        return self.tally.pulls

    @property
    def verdict(self) -> Verdict:
        """Why the search ended, or "running"."""
        return self.core.verdict

    @property
    def done(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.core.done

    @property
    def errors(self) -> dict[Any, str]:
        """The arms that have failed, and why."""
        return {self.names[i]: reason for i, reason in self.core.failed.items()}

    def ask(self, limit: int | None = None) -> list[Any]:
        """Return the arms to pull next; repeats are allowed.

        Args:
            limit: The most arms to return, ten million at a time; None for one natural round of
                the strategy. With 1, and each reward told before the next is asked for, this is
                the sequential algorithm.

        Returns:
            Names of arms; empty when the search is done.
        """
        arms = self.core.ask(limit)
        return arms if self._index is None else [self.names[i] for i in arms]

    def ask_indices(self, limit: int | None = None) -> Indices:
        """Return the same as an array of positions in `names`, for callers with many arms.

        Examples:
            >>> import numpy as np, oddarm
            >>> search = oddarm.Search(100_000, oddarm.strategies.Gold(form="intervals"))
            >>> means = np.linspace(0.4, 0.6, 100_000)
            >>> rng = np.random.default_rng(0)
            >>> for _ in range(3):
            ...     arms = search.ask_indices()
            ...     search.tell_indices(arms, rng.random(len(arms)) < means[arms])
            >>> search.pulls
            300000
        """
        return self.core.ask_indices(limit)

    def give_back(self, arms: Iterable[Hashable]) -> None:
        """Say that pulls were asked for and will not be told: the next asks return them first.

        A search that is given back all that it was not told, saved and loaded makes exactly the
        pulls of a search that never stopped. Pulls of arms that have failed are dropped. Once the
        search is done, all are dropped.

        Args:
            arms: Their names, in the order in which they were asked for.

        Examples:
            >>> import oddarm
            >>> search = oddarm.Search(["a", "b", "c", "d"], max_outliers=1)
            >>> search.ask(2)
            ['a', 'b']
            >>> search.give_back(["b"])
            >>> search.ask(2), search.ask(2)
            (['b'], ['c', 'd'])
        """
        self.core.give_back([self.index_of(arm) for arm in arms])

    @property
    def given_back(self) -> list[Any]:
        """The pulls given back that have not been asked for again, in order."""
        return [self.names[i] for i in self.core.ledger.given_back]

    def tell(self, arm: Hashable, reward: ArrayLike) -> None:
        """Report one reward of an arm, or an array of several.

        Rewards may come late, in batches, or for arms not asked for: all are data. But the rewards
        of one arm must be told in an order that does not depend on their values, or the stated δ
        does not hold: if time-outs come last, an arm looks better than it is until they do. Tell
        those of each arm in the order in which you asked for them, as `oddarm.find` and studies
        do, and tell what a time-out counts as.

        A batch with one bad reward is refused whole. Rewards told after the search is done are
        counted and change no decision. Rewards of an arm that has failed are ignored.

        Raises:
            UnknownArmError: The search has no such arm.
            RewardError: A reward does not fit the declared model.
        """
        self.core.tell(self.index_of(arm), self.rewards.check(reward))

    def tell_indices(self, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Report rewards of many arms at once, as two arrays of equal length.

        Args:
            arms: The position in `names` of the arm of each reward; repeats are allowed.
            rewards: The rewards, those of one arm in the order in which they were drawn.

        Raises:
            UnknownArmError: A position is outside 0 … n-1.
            RewardError: A reward does not fit the declared model, or the lengths differ. Nothing
                has been counted then.
        """
        index = np.asarray(arms)
        if index.ndim != 1 or (index.dtype.kind not in "iu" and len(index)):
            raise UnknownArmError(
                f"arms is an array of {index.dtype} of {index.ndim} dimensions, "
                "must be a flat array of whole numbers, as ask_indices returns."
            )
        values = self.rewards.check(rewards)
        if len(values) != len(index):
            raise RewardError(
                f"{len(values)} rewards for {len(index)} arms, must be one for each: "
                "name an arm as often as it has rewards."
            )
        if len(index) == 0:
            return
        if index.min() < 0 or index.max() >= self.n:
            bad = index.min() if index.min() < 0 else index.max()
            raise UnknownArmError(f"arm {bad}, must be a whole number from 0 to {self.n - 1}.")
        self.core.tell_many(index.astype(np.intp, copy=False), values)

    def set_aside(self, arm: Hashable, reason: str) -> None:
        """Go on without an arm that cannot be pulled any more.

        The run starts over on the rewards that the other arms have had. Their intervals stay at
        δ/n and the capacity stays that of all n arms, so the promise holds for the arms that are
        left. The arm ranks last, with the status "failed". Nothing happens if the search is done.

        With the adaptive strategy an arm that never gave a reward costs nothing, and whether such
        an arm fails must not depend on the rewards of the others. After an arm that gave some, the
        search goes on by intervals alone, which can take several times the pulls.

        Args:
            arm: Its name.
            reason: Why, for `Result.errors`.

        Raises:
            ParameterError: Too few arms would be left for the problem.
        """
        self.core.set_aside(self.index_of(arm), str(reason))

    def ranking(self) -> list[Any]:
        """Return all arms as ranked now, the most outlying first."""
        return [self.names[i] for i in self.core.ranked(self.run.order()).tolist()]

    def declared(self) -> list[Any]:
        """Return the arms declared so far, in order."""
        return [self.names[i] for i in self.core.indices(self.run.declared(self.run.order()))]

    def result(self) -> Result:
        """Return what is known now; at any time, not only at the end."""
        return Result.of(
            self._outcome(),
            names=self.names,
            tally=self.tally,
            errors=self.errors,
            verdict=self.verdict,
            problem=self.problem,
            strategy=self.strategy,
            provenance=self.provenance(),
            costs=self.costs,
        )

    def _outcome(self) -> Outcome:
        """Return what the run knows, with the arms that have failed."""
        outcome = self.run.outcome()
        live = self.core.live
        if live is None:
            return outcome
        low, high = self.run.bound.interval(self.tally)
        low[live], high[live] = outcome.low, outcome.high
        scores = np.full(self.n, np.nan)
        scores[live] = outcome.scores
        statuses = dict(zip(live.tolist(), outcome.statuses, strict=True))
        return replace(
            outcome,
            order=self.core.ranked(outcome.order),
            outliers=self.core.indices(outcome.outliers),
            candidates=self.core.indices(outcome.candidates),
            scores=scores,
            statuses=[statuses.get(i, "failed") for i in range(self.n)],
            certificates=[
                replace(certificate, members=tuple(self.core.indices(certificate.members)))
                for certificate in outcome.certificates
            ],
            low=low,
            high=high,
        )

    def provenance(self) -> dict[str, Any]:
        """Return all that decides the answer besides the rewards, as JSON values."""
        short = self.core.short_arms()
        return {
            "oddarm": __version__,
            "arms": self.n,
            **self.problem.to_dict(),
            "strategy": self.strategy.to_dict(),
            "rewards": self.rewards.to_dict(),
            "bound": self.bound,
            "until": self.until,
            "max_pulls": self.max_pulls,
            "max_cost": self.max_cost,
            "seed": self.seed,
            "delta_proved": self.run.proved,
            "delta_reason": self.run.reason,
            "delta_supposes": list(self.supposes),
            **({"short": [self.names[i] for i in short]} if short else {}),
        }

    def to_dict(self, in_flight: Iterable[Hashable] = ()) -> dict[str, Any]:
        """Return the whole state as JSON values.

        Args:
            in_flight: Pulls that were asked for and may not be told, in order: in the state they
                are given back, so that a search that goes on from it asks for them first.
        """
        return self._state([self.index_of(arm) for arm in in_flight])

    def _state(self, in_flight: Iterable[int]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "oddarm": __version__,
            "arms": self.n if self._index is None else list(self.names),
            "problem": self.problem.to_dict(),
            "strategy": self.strategy.to_dict(),
            "rewards": self.rewards.to_dict(),
            "bound": self.bound,
            "until": self.until,
            "max_pulls": self.max_pulls,
            "costs": None if self.costs is None else self.costs.tolist(),
            "max_cost": self.max_cost,
            "seed": self.seed,
            "fingerprint": self.fingerprint,
            "supposes": list(self.supposes),
            **self.core.to_dict(in_flight),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any], *, strategy: Strategy | None = None) -> Search:
        """Return a search that continues from `state` exactly as the saved one would.

        Args:
            state: What `to_dict` returned.
            strategy: The strategy, if it is one of your own; those of oddarm are found by name.

        Raises:
            StateError: The state is damaged: a value breaks its rule, which is named.
        """
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise StateError("this is not the saved state of an oddarm search.")
        if state.get("version") != FORMAT_VERSION:
            raise StateError(
                f"state version == {state.get('version')!r}, must be {FORMAT_VERSION}: "
                f"it was saved by oddarm {state.get('oddarm')}, this is {__version__}."
            )
        try:
            return cls._restored(state, strategy)
        except StateError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # A parameter is out of range, or a strategy of the caller checks nothing.
            text = str(error) if isinstance(error, OddarmError) else repr(error)
            raise StateError(f"the saved state is damaged: {text}") from error

    @classmethod
    def _restored(cls, state: dict[str, Any], strategy: Strategy | None) -> Search:
        """Return a search that continues from `state`; each key is checked before it is used."""
        arms = _checked_arms(state)
        n = len(arms) if isinstance(arms, list) else arms
        problem = Problem.from_dict(state.get("problem"))
        if strategy is None:
            spec = mapping(state.get("strategy"), "strategy")
            Word().decode(spec.get("name"), "strategy.name")
            strategy = as_strategy(spec)
        search = cls(
            arms,
            strategy,
            epsilon=problem.epsilon,
            rho=problem.rho,
            max_outliers=problem.max_outliers,
            delta=problem.delta,
            strict=problem.strict,
            min_gap=problem.min_gap,
            slack=problem.slack,
            neighbours=problem.neighbours,
            rewards=as_rewards(mapping(state.get("rewards"), "rewards")),
            bound=state.get("bound"),  # type: ignore[arg-type]
            until=state.get("until", "ranked"),
            max_pulls=OrNone(Whole(1)).decode(state.get("max_pulls"), "max_pulls"),
            costs=OrNone(Reals(n, plain=True)).decode(state.get("costs"), "costs"),
            max_cost=OrNone(Real()).decode(state.get("max_cost"), "max_cost"),
            seed=Whole(-math.inf, math.inf).decode(state.get("seed"), "seed"),
        )
        search.core.restore(state)
        search.supposes = Words().decode(state.get("supposes", []), "supposes")
        if "slack" not in state["problem"]:
            begun = Word().decode(state.get("oddarm"), "oddarm")
            search.supposes.append(BEGUN_BEFORE.format(begun))
        fingerprint = state.get("fingerprint")
        search.fingerprint = None if fingerprint is None else mapping(fingerprint, "fingerprint")
        return search

    def save(self, path: str | Path, in_flight: Iterable[Hashable] = ()) -> None:
        """Write the state to a JSON file, which only its owner may read.

        It replaces a search that was saved there before, in one step, once all is safe on the
        disk.

        Args:
            path: The file.
            in_flight: As for `to_dict`.

        Raises:
            StateError: The file is there and is not a saved search; or a name of an arm cannot be
                written as JSON.
        """
        self.save_indices(path, [self.index_of(arm) for arm in in_flight])

    def save_indices(self, path: str | Path, in_flight: Iterable[int]) -> None:
        """Save as `save` does, with the positions in `names` of the pulls in flight."""
        try:
            text = json.dumps(self._state(in_flight), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise StateError(
                f"the state cannot be written as JSON ({error}): "
                "name arms by strings, numbers or tuples of them."
            ) from error
        _check_replaceable(Path(path))
        replace_file(path, text)

    @classmethod
    def load(cls, path: str | Path, *, strategy: Strategy | None = None) -> Search:
        """Return the search saved in a file, ready to continue.

        Raises:
            StateError: The file is not a saved search, or is damaged.
            OSError: There is no such file, or it may not be read.
        """
        try:
            return cls.from_dict(parse(Path(path).read_bytes()), strategy=strategy)
        except StateError as error:
            raise StateError(f"{path}: {error}") from error

    def __repr__(self) -> str:
        return f"<Search {self.strategy.name}: {self.n} arms, {self.pulls:,} pulls, {self.verdict}>"

    def _repr_html_(self) -> str:
        result, budget = self.result(), f" of {self.max_pulls:,}" if self.max_pulls else ""
        facts = (
            f"of {counted(self.n, 'arms')} by {self.strategy.name}, until {self.until}: "
            f"{self.verdict}, {self.pulls:,}{budget} pulls"
        )
        return framed(paragraph(facts, bold="Search") + paragraph(result.summary))

    def index_of(self, arm: Hashable) -> int:
        """Return the position of an arm in `names`.

        Raises:
            UnknownArmError: The search has no such arm.
        """
        if self._index is None:
            try:
                index = int(operator.index(arm))  # type: ignore[arg-type]
            except TypeError:
                index = -1
            if not 0 <= index < self.n:
                raise UnknownArmError(
                    f"arm {arm!r}, must be a whole number from 0 to {self.n - 1}."
                )
            return index
        try:
            position: int = self._index[arm]
        except (KeyError, TypeError):
            raise UnknownArmError(
                f"arm {arm!r} is not one of the {self.n} arms of this search, "
                f"such as {self.names[0]!r}: tell the arm as ask returned it."
            ) from None
        return position


def _check_that_gold_can(
    n: int, min_gap: float | None, until: Until | None, neighbours: int, rewards: Rewards
) -> None:
    """Raise ParameterError if GOLD, which is to take the place of "adaptive", cannot answer."""
    if min_gap is not None:
        asked = f"min_gap == {min_gap!r}"
    elif until not in (None, "ranked"):
        asked = f"until == {until!r}"
    elif neighbours != 1:
        asked = f"neighbours == {neighbours!r}"
    elif rewards.pools is not None:
        asked = "finite pools"
    else:
        return
    raise ParameterError(
        f"{asked} with {n:,} arms: with more than {MOST_PLANNED_ARMS:,}, strategy='adaptive' is "
        "GOLD's interval form, which only ranks by epsilon, on endless rewards: ask for that, or "
        "pass strategy=oddarm.strategies.Adaptive(), whose plans then take long."
    )


def _until(until: Until | None, strategy: Strategy) -> Until:
    """Return when the search stops."""
    if until is None:
        return "found" if strategy.confirms else "ranked"
    if until not in get_args(Until):
        raise ParameterError(
            f"until == {until!r}, must be 'found', 'confirmed', 'ranked' or 'budget'."
        )
    return until


def as_costs(costs: Mapping[Any, float] | Sequence[float] | None, names: Any) -> Floats | None:
    """Return what a pull of each arm costs, in the order of the arms; None if all cost 1.

    Raises:
        ParameterError: An arm has no cost, a cost has no arm, or is not a finite number above 0.
    """
    if costs is None:
        return None
    named, values = numbers_by_arm(costs, "costs", "cost")
    if named is not None:
        cost_of, known = dict(zip(named, values, strict=True)), set(names)
        for arms, others, what in (
            (names, cost_of, "no cost for arm"),
            (named, known, "a cost for unknown arm"),
        ):
            missing = [arm for arm in arms if arm not in others]
            if missing:
                raise ParameterError(
                    f"costs has {what} {missing[0]!r}, must have one number for each arm."
                )
        values = [cost_of[name] for name in names]
    if len(values) != len(names):
        raise ParameterError(
            f"costs has {len(values)} numbers for {len(names)} arms, must be one each."
        )
    rule = f"a finite number > 0, at most {LARGEST_COST:g}"
    return np.array(
        [
            real_number(f"the cost of arm {name!r}", value, rule, lambda x: 0 < x <= LARGEST_COST)
            for name, value in zip(names, values, strict=True)
        ]
    )


def _max_cost(max_cost: float | None) -> float | None:
    if max_cost is None:
        return None
    return real_number("max_cost", max_cost, "a finite number > 0", lambda x: 0 < x < math.inf)


def _budget(max_pulls: int | None) -> int | None:
    return None if max_pulls is None else whole_number("max_pulls", max_pulls, 1)


def _pulls_of_budget(
    max_pulls: int | None, max_cost: float | None, costs: Floats | None
) -> int | None:
    """Return how many pulls the budgets pay for if all arms are pulled alike; None for no limit."""
    if max_cost is None:
        return max_pulls
    price = 1.0 if costs is None else float(costs.mean())
    by_cost = int(min(max_cost * (1 + ROUNDING) / price, EXACT))
    return by_cost if max_pulls is None else min(max_pulls, by_cost)


def _names(arms: Any) -> Sequence[Any]:
    if is_number(arms):
        return range(whole_number("arms", arms, 3, MOST_ARMS))  # an outlier and two others
    if isinstance(arms, str | bytes):
        raise ParameterError(f"arms == {arms!r}, must be a sequence of names or a number of arms.")
    try:
        names = list(arms.tolist() if hasattr(arms, "tolist") else arms)
    except TypeError:
        raise ParameterError(
            f"arms == {arms!r}, must be a sequence of names or a number of arms."
        ) from None
    seen: set[Hashable] = set()
    for name in names:
        try:
            known = name in seen
            seen.add(name)
        except TypeError:
            raise ParameterError(
                f"arm {name!r} is not hashable: pass a string or number."
            ) from None
        if known:
            raise ParameterError(f"arm {name!r} is named twice, names must be distinct.")
    if len(names) < 3:
        raise ParameterError(f"{len(names)} arms, must be >= 3: an outlier and two others.")
    return names


def _check_replaceable(path: Path) -> None:
    """Raise StateError if a file is not a saved search: saving would destroy it."""
    if not path.exists():
        return
    saved = path.is_file()
    if saved:
        with path.open("rb") as file:
            head = file.read(len(_HEAD))
        saved = head in (b"", _HEAD)
    if not saved:
        raise StateError(
            f"{path} is there already and is not a saved search: "
            "choose another name, or remove it first."
        )


_HEAD = f'{{"format": "{FORMAT}"'.encode()
"""How a saved search begins."""


def _checked_arms(state: dict[str, Any]) -> Any:
    """Return the number of arms or their names, after a check that the tally has as many."""
    arms, tally = state.get("arms"), mapping(state.get("tally"), "tally")
    if type(arms) is not int and type(arms) is not list:
        raise damaged("arms", arms, "the names of the arms or their number")
    n, counts = arms if isinstance(arms, int) else len(arms), tally.get("counts")
    if type(counts) is not list or len(counts) != n:
        raise damaged("tally.counts", counts, f"a list of {n} entries, one for each arm")
    return arms if isinstance(arms, int) else [_tuple(name, DEEPEST) for name in arms]


def _tuple(name: Any, deep: int) -> Any:
    """Return a name with its lists as tuples again: JSON writes tuples as lists."""
    if not isinstance(name, list):
        return name
    if not deep:
        raise damaged("arms", name, f"names with tuples nested at most {DEEPEST} deep")
    return tuple([_tuple(part, deep - 1) for part in name])
