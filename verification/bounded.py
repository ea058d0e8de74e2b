"""What does evidence of several arms at once save for rewards in a range, and is it right?

Each search is made twice on the same rewards: by intervals alone, as a search that was begun before
there was such evidence goes on, and as it begins now. Rewards are Beta(kμ, k(1-μ)): their variance
is 1/(k+1) of that of 0/1 rewards with the same mean, a fifth with k = 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

import oddarm
from oddarm._typing import Floats
from oddarm.definitions.truth import Truth
from oddarm.rewards import Clipped
from oddarm.strategies.adaptive.constants import SECOND_PLANNER
from verification.adaptive import Line
from verification.question import INSTANCES as QUESTIONS
from verification.report import Check

Draw = Callable[[int, int], Floats]


@dataclass(frozen=True)
class Case:
    """An instance with rewards in a range, and what is asked.

    Attributes:
        name: What it is.
        means: The means, in [0, 1].
        options: Those of a search.
        k: The rewards are Beta(kμ, k(1-μ)); latencies of `LATENCIES` in ms if it is 0.
    """

    name: str
    means: Sequence[float]
    options: dict[str, Any]
    k: float = 4.0

    def draw(self, seed: int) -> Draw:
        """Return what draws rewards of an arm; they depend on the seed and the arm alone."""
        streams = [np.random.default_rng([seed, arm]) for arm in range(len(self.means))]
        if not self.k:
            return lambda arm, some: streams[arm].lognormal(math.log(LATENCIES[arm]), 0.5, some)
        a, b = self.k * np.array(self.means), self.k * (1 - np.array(self.means))
        return lambda arm, some: streams[arm].beta(a[arm], b[arm], some)


LATENCIES = [*(45 + i / 2 for i in range(19)), 220.0]
"""Medians, in ms, of docs/latencies.md."""
SPREAD = np.linspace(0.3, 0.5, 19).tolist()
FEWER = np.linspace(0.3, 0.5, 18).tolist()
SIDES = [*np.linspace(0.15, 0.25, 9).tolist(), *np.linspace(0.75, 0.85, 9).tolist()]
RELATIVE = {
    "one above: 19 arms spread from 0.3 to 0.5, and 0.75": [*SPREAD, 0.75],
    "two above: 18 arms from 0.3 to 0.5, 0.75 and 0.77": [*FEWER, 0.75, 0.77],
    "on both sides: 18 arms from 0.3 to 0.5, 0.1 and 0.8": [*FEWER, 0.1, 0.8],
    "in between: 9 arms near 0.2, 9 near 0.8, 0.48 and 0.49": [*SIDES, 0.48, 0.49],
}
BY_MIN_GAP = [
    *(
        Case(name, asked.means, asked.options, k)
        for k in (4.0, 0.3)
        for name, asked in QUESTIONS.items()
    ),
    Case(
        "20 latencies of docs/latencies.md, clipped; g = 80",
        [0.0] * 20,
        {"min_gap": 80, "max_outliers": 1, "rewards": Clipped(0, 250)},
        0,
    ),
]
BY_EPSILON = [
    Case(
        f"{name}; slack {slack}",
        means,
        {"max_outliers": 2, "delta": 0.1, "slack": slack, "until": "found"},
    )
    for name, means in RELATIVE.items()
    for slack in (0.2, 0.0)
]


def search_for(case: Case, jointly: bool, **changes: Any) -> oddarm.Search:
    """Return a search as it begins now, or one by intervals alone."""
    options = {"rewards": (0.0, 1.0), **case.options, **changes}
    search = oddarm.Search(len(case.means), **options)
    if jointly:
        return search
    state = search.to_dict()
    state["run"] |= {"planner": SECOND_PLANNER, "pairs": 0.0, "joint": 0.0}
    return oddarm.Search.from_dict(state)


def pulled(search: oddarm.Search, draw: Draw) -> oddarm.Result:
    """Pull until the search is done; return its result."""
    while not search.done:
        counts = np.bincount(search.ask_indices(), minlength=search.n)
        arms = np.flatnonzero(counts)
        rewards = [draw(arm, int(counts[arm])) for arm in arms.tolist()]
        search.tell_indices(np.repeat(arms, counts[arms]), np.concatenate(rewards))
    return search.result()


def both(case: Case, seed: int) -> tuple[int, int, bool]:
    """Return the pulls by intervals alone and now, and whether both give the same answer."""
    one, other = (pulled(search_for(case, jointly), case.draw(seed)) for jointly in (False, True))
    same = (one.verdict, sorted(one.outliers)) == (other.verdict, sorted(other.outliers))
    return one.pulls, other.pulls, same


def compared(pool: Executor, case: Case, runs: int) -> Line:
    """Return geometric means of the pulls of some runs, and their ratio."""
    found = list(pool.map(partial(both, case), range(runs)))
    before, now = np.exp(np.log([run[:2] for run in found]).mean(axis=0))
    ratios = [run[1] / run[0] for run in found]
    kind = f"k = {case.k:g}" if case.k else ""
    agree = sum(run[2] for run in found)
    return Line(
        f"{case.name:<58} {kind:<8} {before:>8,.0f} {now:>8,.0f} {now / before:>6.2f}"
        f" ({min(ratios):.2f} to {max(ratios):.2f})  same answer {agree} of {runs}"
    )


def wrong_near(rule: str, seed: int, jointly: bool = True) -> bool:
    """Search a random instance near the line at δ = 0.5; return whether the answer is wrong.

    The gap is 0.8 to 1.2 times what it must exceed.
    """
    rng = np.random.default_rng([41, seed])
    n, gap = int(rng.integers(4, 8)), float(rng.uniform(0.25, 0.4))
    width = gap if rule == "absolute" else gap / 2.5
    bulk = np.cumsum(rng.uniform(0.2, 1.0, n) * 0.25 * width)
    means = np.append(bulk, bulk[-1] + gap * rng.uniform(0.8, 1.2))
    means = 0.03 + (means - means[0]) * min(1.0, 0.94 / float(np.ptp(means)))
    means = rng.permutation(means if rng.random() < 0.5 else 1 - means)
    options: dict[str, Any] = {"max_outliers": 1, "delta": 0.5, "until": "found"}
    options |= {"min_gap": gap} if rule == "absolute" else {"epsilon": 2.0}
    case = Case(rule, means.tolist(), options, float(rng.choice([0.3, 2.0, 20.0])))
    search = search_for(case, jointly, max_pulls=200_000)
    result = pulled(search, case.draw(seed))
    truth = Truth.of(case.means, result.problem)
    return truth.agrees(result.verdict, result.outliers, "found", result.ranking) is False


def checks(runs: int = 8, errors: int = 400) -> Iterator[Check | Line]:
    """Yield pulls by intervals alone, pulls now and their ratio, and error rates at δ = 0.5."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield Line(f"geometric means of {runs} seeds: pulls by intervals alone, now, ratio")
        for case in (*BY_MIN_GAP, *BY_EPSILON):
            yield compared(pool, case, runs)
        for rule in ("absolute", "relative"):
            wrong = sum(pool.map(partial(wrong_near, rule), range(errors), chunksize=5))
            yield Check(f"rewards in a range near the line, {rule}", wrong, errors, 0.5)
