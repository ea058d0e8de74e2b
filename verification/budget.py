"""Is the best guess at the end of a budget right more often than with equal pulls of every arm?

Every way of pulling sees the same rewards of the same instances, and makes its guess by the same
rule. A guess is right if it names exactly the outliers.

*Uniform* pulls every arm equally often. *Halving* is successive halving for gaps: the budget is
divided among phases; each pulls the remaining arms equally often, then drops the half of them that
are furthest from changing the guess, down to about as many as set the gaps of a group. *Adaptive*
is `until="budget"`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.stats import binomtest

import oddarm
from oddarm._typing import Floats, Wholes
from oddarm.datasets.synthetic import KINDS, InstanceKind
from oddarm.sources import SimulatedArms
from oddarm.strategies.adaptive import compiled
from oddarm.strategies.adaptive.guess import best_group, room_to_move
from verification.adaptive import EPSILONS, Line
from verification.report import Check

BUDGETS = (100, 200, 400)
"""Pulls per arm."""
MIN_GAP = 0.1
FIRST_SEED = 0
"""The constants of the strategy were chosen on instances from seed 10,000 on."""


@dataclass(frozen=True)
class Cell:
    """Instances of one kind with n arms; by the absolute rule if there is no ε."""

    kind: InstanceKind
    n: int
    epsilon: float | None

    def instance(self, seed: int) -> tuple[Floats, set[int]]:
        """Return the means and the outliers of a seed."""
        if self.epsilon is None:
            return apart_by_min_gap(self.kind, self.n, seed)
        instance = oddarm.datasets.synthetic(self.kind, self.n, self.epsilon, seed=seed)
        return instance.means, set(instance.outliers)

    @property
    def rule(self) -> dict[str, Any]:
        """The rule, as options of a search."""
        return {"min_gap": MIN_GAP} if self.epsilon is None else {"epsilon": self.epsilon}

    def __str__(self) -> str:
        rule = f"min_gap = {MIN_GAP}" if self.epsilon is None else f"ε = {self.epsilon:g}"
        return f"{self.kind:<12} n = {self.n:>2}, {rule}"


@dataclass
class Score:
    """How often each way was right, and how often only one of adaptive and uniform was.

    Attributes:
        right: By way.
        runs: Runs of each.
        won: Runs in which adaptive was right and uniform wrong.
        lost: Runs in which it was the other way round.
    """

    right: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))
    runs: int = 0
    won: int = 0
    lost: int = 0

    def add(self, outcomes: Sequence[dict[str, bool]]) -> None:
        """Count runs."""
        for outcome in outcomes:
            self.runs += 1
            for way, right in outcome.items():
                self.right[way] += right
            self.won += outcome["adaptive"] and not outcome["uniform"]
            self.lost += outcome["uniform"] and not outcome["adaptive"]

    @property
    def shares(self) -> str:
        """The share of right guesses of each way, in percent."""
        return " ".join(f"{100 * self.right[way] / self.runs:>8.1f}" for way in WAYS)

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % interval of the share of wins among the runs in which one of the two was right."""
        if self.won + self.lost == 0:
            return 0.0, 1.0
        return tuple(binomtest(self.won, self.won + self.lost).proportion_ci(0.95, method="exact"))


def checks(
    runs: int = 40, sizes: tuple[int, ...] = (20, 50), budgets: tuple[int, ...] = BUDGETS
) -> Iterator[Check | Line]:
    """Yield how often guesses are right.

    Args:
        runs: Instances of each kind.
        sizes: Numbers of arms.
        budgets: Pulls per arm.
    """
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield from measure(pool, runs, sizes, budgets)


def measure(
    pool: Executor, runs: int, sizes: tuple[int, ...], budgets: tuple[int, ...]
) -> Iterator[Check | Line]:
    """Yield what `checks` yields, with the runs spread over the workers of a pool."""
    for name, epsilons, kinds in (
        ("relative rule", EPSILONS, KINDS),
        ("absolute rule", (None,), ("upper", "lower", "mixed")),
    ):
        cells = [Cell(kind, n, e) for n in sizes for e in epsilons for kind in kinds]
        yield Line(f"{name}: % of {runs} guesses that are right, by pulls per arm")
        yield Line(f"{'':<30} " + " | ".join(f"{b:>4}: {' '.join(WAYS)}" for b in budgets))
        yield from _compare(pool, name, cells, range(FIRST_SEED, FIRST_SEED + runs), budgets)


def _compare(
    pool: Executor, name: str, cells: Sequence[Cell], seeds: range, budgets: tuple[int, ...]
) -> Iterator[Check | Line]:
    totals = {budget: Score() for budget in budgets}
    overall = Score()
    for cell in cells:
        outcomes = list(pool.map(partial(guesses_right, cell, budgets), seeds, chunksize=5))
        shares = []
        for budget in budgets:
            here = Score()
            for score in (here, totals[budget], overall):
                score.add([outcome[budget] for outcome in outcomes])
            shares.append(here.shares)
        yield Line(f"{cell!s:<30} {' | '.join(shares)}")
    for budget, total in totals.items():
        yield Line(f"{f'all, {budget} pulls per arm':<30} {total.shares}")
        yield _against_uniform(f"{name}, {budget} pulls per arm", total)
    low, high = overall.interval
    yield _against_uniform(f"{name}, all budgets", overall)
    yield Line(
        f"clearly more often right than uniform: wins are {100 * low:.0f} to {100 * high:.0f} % "
        f"of the differences (aim > 50: {'reached' if low > 0.5 else 'missed'})"
    )


def _against_uniform(name: str, score: Score) -> Check:
    """Return the check that adaptive loses to uniform in at most half of their differences."""
    note = f"where only one of the two is right, of {score.runs:,} runs"
    return Check(f"{name}: worse than uniform", score.lost, score.won + score.lost, 0.5, note)


def guesses_right(cell: Cell, budgets: tuple[int, ...], seed: int) -> dict[int, dict[str, bool]]:
    """Return whether each way names exactly the outliers, by pulls per arm."""
    means, outliers = cell.instance(seed)
    named = {way: guess(cell, means, budgets, seed) for way, guess in WAYS.items()}
    return {
        budget: {way: named[way][k] == outliers for way in WAYS} for k, budget in enumerate(budgets)
    }


def adaptive_guesses(
    cell: Cell, means: Floats, budgets: tuple[int, ...], seed: int
) -> list[set[int]]:
    """Return what the adaptive strategy names, with one budget after the other."""
    n, arms = len(means), SimulatedArms(means, seed=seed)
    search = oddarm.Search(n, until="budget", max_pulls=max(budgets) * n, **cell.rule)
    named = []
    for budget in budgets:
        if not search.done:
            compiled.advance(search.run, arms, budget * n)
        named.append(_named(search))
    return named


def uniform_guesses(
    cell: Cell, means: Floats, budgets: tuple[int, ...], seed: int
) -> list[set[int]]:
    """Return what equal pulls of every arm name."""
    return [_told(cell, means, np.full(len(means), budget), seed) for budget in budgets]


def halving_guesses(
    cell: Cell, means: Floats, budgets: tuple[int, ...], seed: int
) -> list[set[int]]:
    """Return what successive halving names."""
    return [halving_guess(cell, means, budget, seed) for budget in budgets]


def halving_guess(cell: Cell, means: Floats, budget: int, seed: int) -> set[int]:
    """Return what successive halving names with so many pulls per arm."""
    n = len(means)
    problem = oddarm.Problem(**cell.rule, slack=0.2)
    members, segment = problem.max_members(n), problem.min_segment(n)
    phases = 1 + math.ceil(math.log2(n / (2 * members + 2)))
    counts, left, remaining = np.zeros(n, dtype=np.int64), budget * n, np.arange(n)
    for phase in range(phases):
        pulls = left // (phases - phase)
        counts[remaining] += pulls // len(remaining)
        counts[remaining[: pulls % len(remaining)]] += 1
        left -= pulls
        estimates = np.array([rewards.mean() for rewards in _rewards(means, counts, seed)])
        line = 0.9 * MIN_GAP
        if cell.epsilon is not None:
            factor = 1 + 0.9 * cell.epsilon
            nobody = np.zeros(n, dtype=np.bool_)
            line = best_group(estimates, members, segment, factor, 0.0, nobody).lines[0]
        room = room_to_move(estimates, line)[remaining]
        remaining = np.sort(remaining[np.argsort(room, kind="stable")[: (len(room) + 1) // 2]])
    return _told(cell, means, counts, seed)


WAYS: dict[str, Callable[[Cell, Floats, tuple[int, ...], int], list[set[int]]]] = {
    "uniform": uniform_guesses,
    "halving": halving_guesses,
    "adaptive": adaptive_guesses,
}


def _rewards(means: Floats, counts: Wholes, seed: int) -> list[Floats]:
    """Return the first rewards of each arm, the same for every way."""
    arms = SimulatedArms(means, seed=seed)
    return [arms.draw(arm, count) for arm, count in enumerate(counts.tolist())]


def _told(cell: Cell, means: Floats, counts: Wholes, seed: int) -> set[int]:
    """Return what a search names after so many rewards of each arm."""
    search = oddarm.Search(len(means), until="budget", max_pulls=int(counts.sum()), **cell.rule)
    rewards = np.concatenate(_rewards(means, counts, seed))
    search.tell_indices(np.repeat(np.arange(len(means)), counts), rewards)
    return _named(search)


def _named(search: oddarm.Search) -> set[int]:
    """Return the outliers or the candidates of a result, without the time for its evidence."""
    run, order = search.run, np.arange(search.n)
    if run.verdict == "none":
        return set()
    return set(run.declared(order) if run.verdict == "confirmed" else run.guess(order))


def apart_by_min_gap(kind: str, n: int, seed: int) -> tuple[Floats, set[int]]:
    """Return means of which some lie apart by the absolute rule, and which.

    The gaps among the others are at most 0.6 of MIN_GAP; the outliers, as many as there may be, are
    1.2 to 1.6 of it away.
    """
    rng = np.random.default_rng([seed, n, len(kind)])
    k = n // 10
    normal = np.sort(rng.uniform(0.0, 0.3, n - k))
    normal *= min(1.0, 0.6 * MIN_GAP / np.diff(normal).max())
    above = {"upper": k, "lower": 0}.get(kind, (k + 1) // 2)
    steps = MIN_GAP * rng.uniform(1.2, 1.6, k)
    high = normal[-1] + steps[:above] * (1 + 0.2 * np.arange(above))
    low = normal[0] - steps[above:] * (1 + 0.2 * np.arange(k - above))
    means = np.concatenate([normal, high, low])
    means += rng.uniform(0.02, 0.98 - np.ptp(means)) - means.min()
    order = rng.permutation(n)
    return means[order], set(np.flatnonzero(order >= n - k).tolist())
