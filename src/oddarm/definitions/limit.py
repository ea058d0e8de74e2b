"""The limit: how many pulls every method needs, whatever it does."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog

from oddarm._checks import numbers_by_arm
from oddarm._typing import Floats
from oddarm.definitions.alternatives import Family, IsolatedSets, LongChains, WideStretches
from oddarm.definitions.gap_programs import GapPrograms, bernoulli_kl, solve
from oddarm.definitions.groups import Means, float_means
from oddarm.definitions.truth import Truth
from oddarm.errors import ParameterError
from oddarm.options import DEFAULT_SLACK
from oddarm.problem import Problem, exact

__all__ = ["Alternative", "LeastPulls", "is_alternative", "least_pulls"]

LimitUntil = Literal["found", "ranked"]

ROUNDS = 60
"""The most rounds of the search for alternatives."""
CLOSE = 0.01
"""The search ends once the best shares found are within this share of the optimum."""
PATIENCE = 6
"""It also ends after so many rounds in which the bound hardly rose."""
COARSE, FINE = 0.3, 2e-3
"""How exactly programs are solved: to choose among them, and to use them."""
TOWARDS = (0.4, 0.7, 0.2)
"""Alternatives are looked for so far on the way from the best shares so far to the program's.

The later ones are tried while the bound does not rise."""
FLOOR_SHARE = 1e-3
"""No arm has less than this share of an even share while alternatives are looked for."""
EXPLORED = 3
"""Beside so many alternatives of each family the search goes on in each round."""
NEWEST = 1500
"""Of so many alternatives that were found last, those that are rather far away are kept too."""
CHECKED = 12
"""So many of the nearest alternatives of a round are checked at once, others when they matter."""
LEAST_RATE = 1e-15
"""Divergences below this are lost in rounding; means on the very line have alternatives so near."""
WIDE_EVERY = 3
"""Each round of a family looks beside what was found; every third looks everywhere."""


@dataclass(frozen=True)
class Alternative:
    """Means under which no answer that is right about the true means is right.

    Attributes:
        means: The mean of each arm, by name or by position.
        weight: Its weight in the proof of the bound; the weights sum to 1.
    """

    means: dict[Hashable, float]
    weight: float


@dataclass(frozen=True)
class LeastPulls:
    """What every method must pay.

    Attributes:
        pulls: No method that is wrong with probability at most δ needs fewer on average:
            kl(δ, 1-δ)·T*.
        time: T*, as far as the search found it. It does not depend on δ; for small δ the bound is
            about T*·log(1/δ).
        shares: w*, the share of the pulls that each arm gets, by the best shares found.
        alternatives: The truths that prove the bound. None if the bound is 0: there is nothing to
            find out, or no alternative was found.
        delta: δ.
        unsettled: By how much the search may still have missed, as a share of the bound: the
            shares it found need at most this much more time, by the alternatives it found.
    """

    pulls: float
    time: float
    shares: dict[Hashable, float]
    alternatives: tuple[Alternative, ...]
    delta: float
    unsettled: float = 0.0

    def __float__(self) -> float:
        return self.pulls


def least_pulls(
    means: Means,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    max_outliers: int | None = None,
    min_gap: float | None = None,
    delta: float = 0.05,
    slack: float | None = None,
    strict: bool = False,
    until: LimitUntil = "found",
    rounds: int = ROUNDS,
) -> LeastPulls:
    """Return how many pulls any method needs on average for arms with these means.

    Rewards are 0 or 1, and endless, and groups are of order 1 (`neighbours`). The method knows
    nothing of the means, and is wrong with probability at most δ whatever they are. The bound is
    that of Garivier and Kaufmann (2016):

        E[pulls] ≥ kl(δ, 1-δ)·T*,   1/T* = sup over shares w of inf over λ of Σᵢ wᵢ KL(μᵢ, λᵢ),

    where λ runs over the *alternatives*: means under which no answer that is right about μ is
    right. Let E be the event that the answer is right about μ. It has probability at least 1-δ
    under μ and at most δ under an alternative, so Σᵢ E[Nᵢ] KL(μᵢ, λᵢ) ≥ kl(δ, 1-δ) for each of them
    (Kaufmann, Cappé and Garivier 2016, Lemma 1). Here only some alternatives λ¹, λ², … are used,
    with weights q that sum to 1. Adding up,

        kl(δ, 1-δ) ≤ Σₐ qₐ Σᵢ E[Nᵢ] KL(μᵢ, λᵢᵃ) ≤ E[pulls] · maxᵢ Σₐ qₐ KL(μᵢ, λᵢᵃ),

    so 1 / maxᵢ Σₐ qₐ KL(μᵢ, λᵢᵃ) is at most T*, whatever λ and q are: alternatives that the search
    misses, programs that it solves roughly and weights that are not the best make the bound
    smaller, never wrong. The weights are the dual solution of the linear program over w. Each
    alternative is checked with exact arithmetic. docs/limit.md has the whole argument.

    Args:
        means: As for `outlier_groups`, from 0 to 1.
        epsilon: As for `Search`.
        rho: As for `Search`.
        max_outliers: As for `Search`.
        min_gap: As for `Search`.
        delta: As for `Search`.
        slack: As for `Search`: default 0.2, and 0 for "ranked".
        strict: As for `Search`.
        until: "found": a verdict, "confirmed" with the arms of a group or "none". "ranked": a
            ranking in which every group comes first.
        rounds: The most rounds of the search for alternatives.

    Returns:
        The bound. It is 0 where every answer is right (a ranking of arms without a group), where
        the slack makes "none" as right as a group, and where more arms lie apart than may be
        outliers ("scattered"), for which it is not computed.

    Examples:
        >>> limit = least_pulls([0.1, 0.1, 0.1, 0.1, 0.5], min_gap=0.2, max_outliers=1)
        >>> 140 < limit.pulls < 160, max(limit.shares, key=limit.shares.get)
        (True, 4)
    """
    if until not in ("found", "ranked"):
        raise ParameterError(f"until == {until!r}, must be 'found' or 'ranked'.")
    if slack is None:
        slack = 0.0 if until == "ranked" else DEFAULT_SLACK
    problem = Problem(epsilon, rho, max_outliers, delta, strict, min_gap, slack)
    names, mu = float_means(means)
    problem.check(len(mu))
    if mu.min() < 0 or mu.max() > 1:
        raise ParameterError(
            f"means from {mu.min():g} to {mu.max():g}, must be from 0 to 1: rewards are 0 or 1."
        )
    search = _Alternatives(means, mu, problem, until)
    search.run(rounds)
    arms: list[Hashable] = list(range(len(mu))) if names is None else names
    proof = search.proof
    time = 1 / max(proof.rate, LEAST_RATE)  # 0 if there is no alternative
    return LeastPulls(
        pulls=float(bernoulli_kl(delta, 1 - delta)) * time if delta < 0.5 else 0.0,
        time=time,
        shares=dict(zip(arms, search.best_shares.tolist(), strict=True)),
        alternatives=tuple(
            Alternative(dict(zip(arms, row.tolist(), strict=True)), float(weight))
            for row, weight in zip(proof.alternatives, proof.weights, strict=True)
        ),
        delta=problem.delta,
        unsettled=search.unsettled,
    )


def is_alternative(means: Means, other: Means, problem: Problem, until: LimitUntil) -> bool:
    """Return whether no answer that is right about `means` is right about `other`, exactly.

    Examples:
        >>> one = Problem(min_gap=0.2, max_outliers=1)
        >>> is_alternative([0.1, 0.1, 0.1, 0.5], [0.1, 0.1, 0.3, 0.5], one, "found")
        True
        >>> is_alternative([0.1, 0.1, 0.1, 0.5], [0.1, 0.1, 0.2, 0.5], one, "found")
        False
    """
    names, values = numbers_by_arm(means, "means", "mean")
    other_names, other_values = numbers_by_arm(other, "other", "mean")
    if names != other_names and None not in (names, other_names):
        raise ParameterError("other names other arms than means, must name the same in one order.")
    if len(values) != len(other_values):
        raise ParameterError(
            f"other has {len(other_values)} means and means has {len(values)}, must be as many."
        )
    truth, wrong = (Truth.of(list(given), problem) for given in (values, other_values))
    return _Answers(truth, until).none_right(wrong)


@dataclass(frozen=True)
class _Answers:
    """The answers that are right about the true means."""

    truth: Truth
    until: LimitUntil

    @property
    def unclear(self) -> bool:
        """Whether no bound is computed."""
        if self.until == "ranked":
            return not self.truth.groups
        if self.truth.apart is not None:
            return self.truth.apart[1].scattered
        return bool(self.truth.groups_at_slack) and not self.truth.groups

    def none_right(self, other: Truth) -> bool:
        """Return whether none of them is right about other means."""
        if self.unclear:
            return False
        if self.until == "ranked":
            return _cross(self.truth, other)
        if self.truth.apart is not None and other.apart is not None:
            least, most = (set(part.members) for part in self.truth.apart)
            other_least, other_most = (set(part.members) for part in other.apart)
            return not (least <= other_most and other_least <= most)
        if not self.truth.groups_at_slack:
            return bool(other.groups)
        groups = [set(group.members) for group in self.truth.groups_at_slack]
        return not any(set(group.members) in groups for group in other.groups_at_slack)


def _cross(one: Truth, other: Truth) -> bool:
    """Return whether a group of one and a group of the other cannot both rank first."""
    pairs = ((set(a.members), set(b.members)) for a in one.groups for b in other.groups)
    return any(not (a <= b or b <= a) for a, b in pairs)


@dataclass(frozen=True)
class _Proof:
    """Alternatives with weights: every method needs at least 1/rate pulls a nat on average."""

    rate: float
    shares: Floats
    alternatives: Floats
    weights: Floats


class _Alternatives:
    """The search for shares and alternatives, by cutting planes."""

    def __init__(self, means: Means, mu: Floats, problem: Problem, until: LimitUntil) -> None:
        self.mu, self.problem = mu, problem
        self.answers = _Answers(Truth.of(_values(means), problem), until)
        n = len(mu)
        self.rows = np.zeros((0, n))  # alternatives found
        self.costs = np.zeros((0, n))  # KL(μᵢ, λᵢ)
        self.checked = np.zeros(0, dtype=bool)
        self.proof = _Proof(np.inf, np.full(n, 1 / n), self.rows, np.zeros(0))
        self.best_rate, self.best_shares = 0.0, self.proof.shares
        self.tried, self.rates = np.zeros((0, n)), np.zeros(0)
        self.families = [] if self.answers.unclear else list(self._families(until))
        self.starts: list[list[tuple[Any, Floats]]] = [[] for _ in self.families]

    @property
    def unsettled(self) -> float:
        """By how much T* may still rise, by what is known."""
        if not self.best_rate or self.proof.rate == np.inf:
            return 0.0
        return max(self.proof.rate / self.best_rate - 1, 0.0)

    def _families(self, until: LimitUntil) -> Iterator[Family]:
        """Yield where alternatives are looked for."""
        problem, mu, truth = self.problem, self.mu, self.answers.truth
        n = len(mu)
        largest, side = problem.max_members(n), problem.min_segment(n)
        floor = float(problem.floor)
        easier = problem.at_slack()
        if truth.apart is not None:
            least, most = (_indices(part.members) for part in truth.apart)
            right = most if until == "found" else least
            if len(right) < n:
                yield IsolatedSets(mu, largest, 1, None, floor, right)
            if least:
                ends = np.array(least, dtype=np.intp)
                yield LongChains(mu, largest + 1, float(easier.floor), ends)
            return
        groups = truth.groups if until == "ranked" else truth.groups_at_slack
        sets = [_indices(group.members) for group in groups]
        if until == "ranked" or not sets:
            inside = sets[-1] if sets else []
            around = inside if len(inside) < largest else []
            yield IsolatedSets(mu, largest, side, float(problem.ratio), floor, inside, around)
            return
        for members in sets:
            group = np.array(members, dtype=np.intp)
            yield WideStretches(mu, group, float(easier.ratio))
            if problem.min_gap is not None:
                others = np.setdiff1d(np.arange(n), group)
                yield LongChains(mu, 2, float(easier.floor), group, others)

    def run(self, rounds: int) -> None:
        """Look for alternatives until they hardly change the shares."""
        n, stale = len(self.mu), 0
        for number in range(rounds if self.families else 0):
            towards = 1.0 if number == 0 else TOWARDS[stale % len(TOWARDS)]
            middle = towards * self.proof.shares + (1 - towards) * self.best_shares
            shares = (1 - FLOOR_SHARE) * middle + FLOOR_SHARE / n
            before = self.proof.rate
            wide = number % WIDE_EVERY == 0 or stale > 0
            for which in range(len(self.families)):
                self._look(which, shares, wide)
            if not len(self.rows):
                break
            self._compare(shares)
            self._weigh()
            gained = before == np.inf or self.proof.rate < before * (1 - CLOSE / 5)
            stale = 0 if gained else stale + 1
            tired = stale >= PATIENCE and (self.unsettled < 10 * CLOSE or stale >= 2 * PATIENCE)
            if tired or (wide and self.unsettled < CLOSE):
                break
            self._trim()

    def _compare(self, shares: Floats) -> None:
        """Note which of the shares tried so far is best against all alternatives so far."""
        self.tried = np.concatenate([self.tried, shares[None, :]])
        self.rates = np.append(self.rates, np.inf)
        self.rates = np.minimum(self.rates, (self.costs @ self.tried.T).min(axis=0))
        best = int(np.argmax(self.rates))
        self.best_rate, self.best_shares = float(self.rates[best]), self.tried[best]

    def _look(self, which: int, shares: Floats, wide: bool) -> None:
        """Add the nearest alternatives of one family for these shares."""
        family, n = self.families[which], len(self.mu)
        limit = max(40 + 2 * n, 4000 // n)
        batches = [family.propose(shares, limit)] if wide else []
        for order, means in self.starts[which]:
            batches.append(family.vary(shares, order, means))
        programs = _joined([batch for batch in batches if len(batch)])
        if programs is None:
            return
        keep = 30 + n
        if len(programs) > keep:
            found, solved = solve(programs, self.mu, shares, COARSE)
            cost = self._cost_of(programs, found, solved, shares)
            programs = programs.take(np.argsort(cost, kind="stable")[:keep])
        found, solved = solve(programs, self.mu, shares, FINE)
        cost = self._cost_of(programs, found, solved, shares)
        best = np.argsort(cost, kind="stable")
        best = best[cost[best] < np.inf]
        used: list[tuple[Floats, bool]] = []
        starts: list[tuple[Any, Floats]] = []
        for number, row in enumerate(best.tolist()):
            if cost[row] > 3 * cost[best[0]] and used:
                break
            means = self.mu.copy()
            means[programs.order[row]] = found[row]
            checked = number < CHECKED or len(starts) < EXPLORED
            if checked and not self._holds(means):
                continue
            used.append((means, checked))
            if len(starts) < EXPLORED:
                starts.append((programs.order[row], found[row]))
        self.starts[which] = starts or self.starts[which]
        if used:
            rows = np.array([means for means, _ in used])
            self.rows = np.concatenate([self.rows, rows])
            self.costs = np.concatenate([self.costs, bernoulli_kl(self.mu, rows)])
            self.checked = np.concatenate([self.checked, [checked for _, checked in used]])

    def _cost_of(self, programs: GapPrograms, found: Floats, solved: Any, shares: Floats) -> Floats:
        cost = (shares[programs.order] * bernoulli_kl(self.mu[programs.order], found)).sum(axis=1)
        return np.where(solved & np.isfinite(cost), cost, np.inf)

    def _holds(self, means: Floats) -> bool:
        """Return whether means are an alternative, exactly."""
        return self.answers.none_right(Truth.of(means.tolist(), self.problem))

    def _weigh(self) -> None:
        """Solve the linear program: shares that make the nearest alternative as far as possible.

        An alternative that has weight is checked first; one that fails is dropped, and the program
        solved once more.
        """
        while len(self.rows):
            solved = _shares_and_weights(self.costs)
            if solved is None:
                return
            shares, weights = solved
            failed = [
                row
                for row in np.flatnonzero((weights > 0) & ~self.checked).tolist()
                if not self._holds(self.rows[row])
            ]
            self.checked |= weights > 0
            if failed:
                self._keep(np.isin(np.arange(len(self.rows)), failed, invert=True))
                continue
            some = weights > 0
            rate = float((weights[some] @ self.costs[some]).max())  # valid whatever the weights are
            self.proof = (
                _Proof(rate, shares, self.rows[some], weights[some])
                if rate <= self.proof.rate
                else replace(self.proof, shares=shares)
            )
            return

    def _keep(self, kept: Any) -> None:
        self.rows, self.costs, self.checked = self.rows[kept], self.costs[kept], self.checked[kept]

    def _trim(self) -> None:
        """Drop alternatives that are far away at the present shares."""
        cost = self.costs @ self.proof.shares
        near = cost <= 4 * self.proof.rate
        near[:-NEWEST] &= cost[:-NEWEST] <= 1.5 * self.proof.rate
        self._keep(near)


def _shares_and_weights(costs: Floats) -> tuple[Floats, Floats] | None:
    """Return the best shares w against these alternatives, and the weights q that prove it."""
    count, n = costs.shape
    scale = float(np.median(costs.max(axis=1)))
    answer = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([-costs / scale, np.ones(count)]),
        b_ub=np.zeros(count),
        A_eq=np.append(np.ones(n), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
        method="highs",
    )
    if answer.status != 0 or answer.x is None:
        return None
    shares = np.maximum(answer.x[:n], 0.0)
    weights = np.maximum(-answer.ineqlin.marginals, 0.0)
    weights[weights < 1e-9] = 0.0
    return shares / shares.sum(), weights / weights.sum()


def _values(means: Means) -> list[Any]:
    """Return the means as they were given, without their names."""
    values: Iterable[Any] = numbers_by_arm(means, "means", "mean")[1]
    return [exact(value) for value in values]


def _indices(members: Iterable[Any]) -> list[int]:
    """Return the positions of arms that go by position."""
    return sorted(members)


def _joined(batches: list[GapPrograms]) -> GapPrograms | None:
    if not batches:
        return None
    parts = ("order", "least", "least_times", "most", "most_times")
    return GapPrograms(*(np.concatenate([getattr(b, part) for b in batches]) for part in parts))
