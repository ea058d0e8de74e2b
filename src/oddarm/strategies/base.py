"""What a strategy is: which arms to pull next, what is decided, when to stop.

A `Strategy` is a frozen set of parameters, shared freely; `start` makes the `Run` that one search
drives. A run sees indices and a tally, never names, storage or the source of rewards.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from oddarm._typing import Floats, Indices, Wholes
from oddarm.bounds import Bound
from oddarm.errors import ParameterError
from oddarm.options import BoundKind, Until
from oddarm.problem import Problem, rounded_down
from oddarm.rewards import Rewards
from oddarm.state import Kind, Word, decode_fields, encode_fields, require
from oddarm.tally import Tally

__all__ = [
    "Certificate",
    "Outcome",
    "Run",
    "RunContext",
    "Status",
    "Strategy",
    "Until",
    "Verdict",
    "without_gaps",
]

Verdict = Literal["confirmed", "none", "scattered", "ranked", "budget", "rows", "running"]
"""How a search ended, or that it has not."""
Status = Literal["outlier", "candidate", "normal", "undecided", "failed"]
"""What an arm is."""
UNDECIDED: tuple[Verdict, ...] = ("running", "budget", "rows")
"""Verdicts that promise nothing yet."""


@dataclass(frozen=True)
class Certificate:
    """What is certain about a set of arms that may be an outlier group.

    Attributes:
        members: The arms.
        status: "confirmed" if they are a group, "refuted" if they are not, else "undecided".
        gap_at_least: The least that their distance to every other arm can be.
        gap_at_most: The most that it can be.
        rest_at_least: The least that the largest gap among the others can be; with `neighbours`
            = k, the longest span of k gaps in a row.
        rest_at_most: The most that it can be.
        large_segments: Whether every segment of the others has more arms than a group may have. If
            not, they are not a group, whatever ε is.
        confirmed_at: The ε at which evidence of many arms at once has confirmed them, which says
            more than their gaps one by one; -1 if it has not.
        max_neighbours: The largest order k (`neighbours`) at which they are certain to be a group
            at the ε asked for, less the slack; 0 if at none, or by the absolute rule.
    """

    members: tuple[Any, ...]
    status: Literal["confirmed", "refuted", "undecided"]
    gap_at_least: float
    gap_at_most: float
    rest_at_least: float
    rest_at_most: float
    large_segments: bool = True
    confirmed_at: float = -1.0
    max_neighbours: int = 0

    @property
    def epsilon(self) -> float:
        """The ε below which they are certain to be a group; -1 or more, infinite at best.

        It is rounded down, so that what it says is certain.
        """
        if not self.large_segments or self.gap_at_least <= 0 or self.rest_at_most == math.inf:
            return self.confirmed_at
        if self.rest_at_most == 0:
            return math.inf
        ratio = rounded_down(Fraction(self.gap_at_least) / Fraction(self.rest_at_most) - 1)
        return max(ratio, self.confirmed_at)


@dataclass(frozen=True)
class Outcome:
    """What is known at one moment; arms are positions.

    Attributes:
        order: All arms, the most outlying first.
        outliers: The arms that are outliers, by the verdict or by the strategy's own rule, as they
            come in `order`.
        candidates: The best guess, as long as there are no outliers; none if the guess is that
            nobody is an outlier.
        scores: The strategy's own score of each arm; nan for none.
        statuses: What is decided of each arm.
        certificates: What is certain of each set of arms that may be a group.
        low: Lower ends of the arms' intervals.
        high: Upper ends.
        evidence: The odds for the answer or the best guess, at least 1; None if the strategy does
            not say. docs/guarantees.md says what they promise.
        forecast: How many further pulls would likely decide; None if that is unknown.
        widest_gap: The widest that the gap around outliers can still be; None if unknown.
    """

    order: Indices
    outliers: list[int]
    candidates: list[int]
    scores: Floats
    statuses: list[Status]
    certificates: list[Certificate]
    low: Floats
    high: Floats
    evidence: float | None = None
    forecast: int | None = None
    widest_gap: float | None = None


@dataclass(frozen=True)
class RunContext:
    """All that a strategy may know of the search that it serves.

    `costs` has what a pull of each arm costs; None if all cost the same. `max_pulls` is the budget
    that the search began with, for strategies that divide it; a budget by cost counts with the
    pulls that it pays for if all arms are pulled alike. When arms have failed, `began` is the
    context of the search with all arms, and the δ of the problem is the part that the others have.
    """

    problem: Problem
    rewards: Rewards
    tally: Tally
    n: int
    bound: BoundKind
    until: Until
    seed: int
    costs: Floats | None = None
    max_pulls: int | None = None
    began: RunContext | None = None

    @property
    def of_all(self) -> RunContext:
        """The context with the arms that have failed, too."""
        return self if self.began is None else self.began

    @property
    def delta_of_all(self) -> float:
        """The stated δ: that of the problem with the arms that have failed, too."""
        return self.of_all.problem.delta


class Run(ABC):
    """One run of a strategy: the mutable part.

    The state of a run is the tally and the attributes that `fields` names. They are saved. On
    loading, each is checked by its kind of `oddarm.state`, then all together by `rules`. A run of
    your own declares its attributes in `fields`. A run that declares none saves only its verdict,
    and starts anew on the tally. Attributes that follow from others are not declared: `restore`
    computes them.

    Attributes:
        verdict: "running" until the run is over, then why it ended.
        in_flight: Whether pulls are known to be in flight: they will be told, or given back.
    """

    verdict: Verdict = "running"
    in_flight: bool = False
    own_rule: ClassVar[bool] = False
    """Whether the declared arms are outliers by a rule of the strategy's own."""
    compiled: ClassVar[str | None] = None
    """The module that can advance the run on simulated 0/1 rewards in compiled code, if any."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.tally = context.tally

    @property
    @abstractmethod
    def bound(self) -> Bound:
        """The intervals that decide, and whether the stated δ is proved for them."""

    @abstractmethod
    def ask(self, limit: int | None) -> Sequence[int]:
        """Return the arms to pull next, at most `limit`; None: one natural round."""

    def ask_indices(self, limit: int | None) -> Indices:
        """Return the same as an array; runs that need no list override this."""
        return np.array(self.ask(limit), dtype=np.intp)

    @abstractmethod
    def update(self, arm: int) -> None:
        """Take note that the tally of `arm` has grown."""

    def update_many(self, arms: Indices) -> None:
        """Take note that the tallies of `arms` have grown; repeats are allowed."""
        for arm in np.unique(arms).tolist():
            self.update(arm)

    def until_decision(self, arms: Indices, sizes: Wholes) -> int:
        """Return how many of these arms, told in turn, are told by when the run may next decide.

        They can be told together, since only the last of them can end the run.

        Args:
            arms: Distinct arms, at least one.
            sizes: How many rewards of each will be told.
        """
        del arms, sizes
        return 1

    def adopt(self) -> None:
        """Take note of the rewards that the tally had when the run began."""
        for arm in np.flatnonzero(self.tally.counts).tolist():
            self.update(arm)

    def replaces(self, before: Run) -> None:
        """Start over on the rewards told so far, in place of a run of the same search."""
        del before
        self.adopt()

    def interval_ends(self) -> tuple[Floats, Floats]:
        """Return the ends of the intervals that decide, of all arms."""
        return self.bound.interval(self.tally)

    @abstractmethod
    def order(self) -> Indices:
        """Return all arms, the most outlying first."""

    @abstractmethod
    def declared(self, order: Indices) -> list[int]:
        """Return the arms declared outliers so far, as they come in `order`."""

    @abstractmethod
    def scores(self) -> Floats:
        """Return the strategy's own score of each arm, in its own sense; nan for none."""

    def certificates(self, order: Indices) -> list[Certificate]:
        """Return what is certain of each set of arms that may be a group, if anything is.

        Args:
            order: All arms, the most outlying first; members come in that order.
        """
        del order
        return []

    def guess(self, order: Indices) -> list[int]:
        """Return the best guess at the outliers, as they come in `order`, until there are any."""
        return self.declared(order)

    def evidence(self) -> float | None:
        """Return the odds for the answer or the best guess; None if the strategy does not say."""
        return None

    def forecast(self) -> int | None:
        """Return how many further pulls would likely decide; None if that is unknown."""
        return None

    def short_arms(self) -> Sequence[int]:
        """Return the arms that had too few rows, if the run has ended with "rows"."""
        return []

    def widest_gap(self) -> float | None:
        """Return the widest that the gap around outliers can still be; None if unknown."""
        return None

    def outcome(self) -> Outcome:
        """Return what is known now; the arms are ranked once."""
        order = self.order()
        final = self.verdict == "confirmed" or (self.own_rule and self.verdict == "ranked")
        outliers = self.declared(order) if final else []
        candidates = [] if final or self.verdict == "none" else self.guess(order)
        rest: Status = "undecided" if self.verdict in UNDECIDED else "normal"
        if self.verdict == "ranked" and not final:
            rest = "undecided"  # a ranking promises an order, not who is an outlier
        statuses: list[Status] = [rest] * self.context.n
        for status, arms in (("outlier", outliers), ("candidate", candidates)):
            for arm in arms:
                statuses[arm] = status  # type: ignore[call-overload]
        low, high = self.interval_ends()
        return Outcome(
            order=order,
            outliers=outliers,
            candidates=candidates,
            scores=self.scores(),
            statuses=statuses,
            certificates=self.certificates(order),
            low=low,
            high=high,
            evidence=self.evidence(),
            forecast=self.forecast() if self.verdict in UNDECIDED else None,
            widest_gap=self.widest_gap(),
        )

    @property
    def ready(self) -> bool:
        """Whether every arm has been pulled."""
        return int(self.tally.counts.min()) > 0

    @property
    def proved(self) -> bool:
        """Whether the stated δ is proved for this run's answer."""
        return self.bound.proved

    @property
    def reason(self) -> str:
        """Why δ is proved, or why not."""
        return self.bound.reason

    def fields(self) -> dict[str, Kind]:
        """Return the attributes that are the state of the run, and the kind of each."""
        return {"verdict": Word(*get_args(Verdict))}

    def rules(self) -> Iterator[tuple[bool | np.bool_, str]]:
        """Yield the rules between the fields and the tally: whether each holds, and its words.

        Each is checked before the next is computed, so a rule may rely on those before it.
        """
        yield from ()

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run, beyond the tally, as JSON values."""
        return encode_fields(self, self.fields())

    def restore(self, values: Any) -> None:
        """Take over the state that `to_dict` returned.

        Raises:
            StateError: A field or a rule is broken; do not use the run then.
        """
        decode_fields(self, self.fields(), values, "run")
        for holds, rule in self.rules():
            require(holds, rule)


@dataclass(frozen=True)
class Strategy(ABC):
    """The parameters of an algorithm."""

    name: ClassVar[str]
    confirms: ClassVar[bool] = False
    finite: ClassVar[bool] = True
    """Whether it takes finite pools, drawn without replacement."""

    @abstractmethod
    def start(self, context: RunContext) -> Run:
        """Return a new run, or raise ParameterError if the algorithm does not fit the search."""

    def check(self, context: RunContext) -> None:
        """Raise ParameterError if the strategy cannot do what `until` or the rule asks."""
        self.check_rule(context.problem)
        if not self.confirms and context.until != "ranked":
            raise ParameterError(
                f"until == {context.until!r} with strategy {self.name!r}, which only ranks: "
                "pass until='ranked'."
            )

    def check_rule(self, problem: Problem) -> None:
        """Raise ParameterError if the strategy cannot judge by the rule of the problem."""
        if not self.confirms and problem.min_gap is not None:
            raise ParameterError(
                f"min_gap == {problem.min_gap!r} with strategy {self.name!r}, which does not know "
                "it: pass strategy='adaptive', or epsilon instead of min_gap."
            )
        if not self.confirms and problem.neighbours > 1:
            raise ParameterError(
                f"neighbours == {problem.neighbours} with strategy {self.name!r}, which does not "
                "know it: pass strategy='adaptive', or leave out neighbours."
            )

    def predicate(self, found: int, side: str) -> str:
        """Return what an answer of verdict "ranked" says of its declared arms, from the verb on.

        Args:
            found: How many arms are declared: the subject of the sentence.
            side: Where they lie, as in `Result.side`.
        """
        return f"{'was' if found == 1 else 'were'} the first to separate, {side} the rest"

    @property
    def promise(self) -> str:
        """What is right with probability 1-δ about an answer of verdict "ranked"."""
        return "if outliers exist they rank first"

    def to_dict(self) -> dict[str, Any]:
        """Return the name and parameters as JSON values."""
        return {"name": self.name, **dataclasses.asdict(self)}


def without_gaps(stages: Wholes) -> bool:
    """Return whether the stages are numbered 1, 2, … without a gap."""
    numbers = np.unique(stages[stages > 0])
    return len(numbers) == int(stages.max())
