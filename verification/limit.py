"""How close to the limit does the adaptive strategy come?

For each instance: T*, the bound kl(δ, 1-δ)·T* that holds for every method
(`oddarm.theory.least_pulls`), the mean pulls of the adaptive strategy, and how many times T* they
are. Every alternative that proves a bound is checked exactly; a check fails if one is not an
alternative, or if the mean pulls are below the bound. How large the ratios are cannot fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

import oddarm
from oddarm._typing import Floats
from oddarm.datasets.synthetic import InstanceKind
from oddarm.definitions.theory import LeastPulls, is_alternative, least_pulls
from oddarm.definitions.truth import Truth
from verification import question
from verification.adaptive import Line
from verification.report import Check

DELTA = 0.1
CAP = 2_000_000
"""Pulls after which a run is given up; it counts with these."""
SIZES = (20, 50, 100)
KINDS: tuple[InstanceKind, ...] = ("upper", "intermediate")


@dataclass(frozen=True)
class Instance:
    """Means and a question about them.

    Attributes:
        cell: What it is an example of.
        means: The means.
        options: Of the search and of the bound: epsilon, min_gap, max_outliers, delta, slack.
        until: "found" or "ranked".
    """

    cell: str
    means: Sequence[float]
    options: dict[str, Any]
    until: Any

    @property
    def problem(self) -> oddarm.Problem:
        """What is looked for."""
        return oddarm.Problem(**self.options)


@dataclass(frozen=True)
class Run:
    """The pulls of a run, those of each arm, and whether its answer is right."""

    pulls: int
    counts: Floats
    right: bool


@dataclass(frozen=True)
class Measured:
    """What was measured on an instance."""

    instance: Instance
    limit: LeastPulls
    runs: Sequence[Run]

    @property
    def pulls(self) -> Floats:
        """The pulls of each run."""
        return np.array([run.pulls for run in self.runs], dtype=np.float64)

    @property
    def ratio(self) -> float:
        """Mean pulls ÷ T*."""
        return float(self.pulls.mean()) / self.limit.time

    @property
    def over_bound(self) -> float:
        """Mean pulls ÷ the bound."""
        return float(self.pulls.mean()) / self.limit.pulls

    @property
    def tail(self) -> float:
        """The greatest run ÷ the median."""
        return float(self.pulls.max() / np.median(self.pulls))

    @property
    def wrong_alternatives(self) -> int:
        """How many of the truths that prove the bound are not alternatives."""
        problem, until = self.instance.problem, self.instance.until
        return sum(
            not is_alternative(self.instance.means, list(one.means.values()), problem, until)
            for one in self.limit.alternatives
        )


def synthetic_instances(until: Any, n: int, kind: InstanceKind, seeds: int) -> Iterator[Instance]:
    """Yield instances of the paper's kind.

    A ranking is asked for at the ε that they were made for; groups that are to be found were made
    for ε = 5 and are looked for at 2.5, without slack.
    """
    made = 2.5 if until == "ranked" else 5.0
    options = {"epsilon": 2.5, "delta": DELTA, "slack": 0.0}
    for seed in range(seeds):
        means = oddarm.datasets.synthetic(kind, n, made, seed=seed).means.tolist()
        yield Instance(f"{until:<6} {n:>3} arms, {kind}", means, options, until)


def absolute_instances() -> Iterator[Instance]:
    """Yield the instances of `verification.question`."""
    for name, asked in question.INSTANCES.items():
        options = {key: value for key, value in asked.options.items() if key != "until"}
        yield Instance(name, asked.means, options, "found")


def limit_of(instance: Instance, rounds: int = 60) -> LeastPulls:
    """Return what any method needs."""
    return least_pulls(instance.means, until=instance.until, rounds=rounds, **instance.options)


def run(instance: Instance, seed: int) -> Run:
    """Return what the adaptive strategy takes."""
    result = oddarm.simulate(
        instance.means,
        "adaptive",
        until=instance.until,
        seed=seed,
        max_pulls=CAP,
        **instance.options,
    )
    truth = Truth.of(instance.means, result.problem)
    if instance.until == "ranked":
        right = truth.ranks_groups_first(result.ranking)
    else:
        right = truth.confirms(result.verdict, result.outliers, "found") is not False
    return Run(result.pulls, np.asarray(result.counts, dtype=np.float64), right)


def measured(pool: Executor, instances: Iterable[Instance], runs: int) -> Iterator[Measured]:
    """Yield what is measured on each instance, with the work spread over a pool."""
    several = list(instances)
    limits = pool.map(limit_of, several)
    found = [pool.map(partial(run, instance), range(runs)) for instance in several]
    for instance, limit, results in zip(several, limits, found, strict=True):
        yield Measured(instance, limit, list(results))


HEADER = (
    f"{'':<47} {'T*':>8} {'bound':>8} {'adaptive':>10} {'÷ bound':>8} {'÷ T*':>7} {'max/med':>8}"
)


def line(name: str, some: Sequence[Measured]) -> Line:
    """Return the figures of one or more instances: geometric means, and the greatest tail."""
    return Line(
        f"{name:<47} {_geometric(one.limit.time for one in some):>8,.0f}"
        f" {_geometric(one.limit.pulls for one in some):>8,.0f}"
        f" {_geometric(one.pulls.mean() for one in some):>10,.0f}"
        f" {_geometric(one.over_bound for one in some):>8.1f}"
        f" {_geometric(one.ratio for one in some):>7.0f} {max(one.tail for one in some):>8.1f}"
    )


def checks(
    runs: int = 20, seeds: int = 3, sizes: tuple[int, ...] = SIZES
) -> Iterator[Check | Line]:
    """Yield costs beside the limit.

    Args:
        runs: Runs on each instance.
        seeds: Instances of each kind and size.
        sizes: Numbers of arms.
    """
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield from measure(pool, runs, seeds, sizes)


def measure(
    pool: Executor, runs: int, seeds: int, sizes: tuple[int, ...], absolute: bool = True
) -> Iterator[Check | Line]:
    """Yield what `checks` yields, with the work spread over a pool."""
    yield Line(f"δ = {DELTA} (by the absolute rule {question.DELTA}); geometric means over")
    yield Line(f"{seeds} instances of {runs} runs; a run that reaches {CAP:,} counts with that")
    yield Line(HEADER)
    every: list[Measured] = []
    for until in ("ranked", "found"):
        cells = []
        for n in sizes:
            for kind in KINDS:
                some = list(measured(pool, synthetic_instances(until, n, kind, seeds), runs))
                yield line(some[0].instance.cell, some)
                cells += some
        yield line(f"{until}: all", cells)
        every += cells
        if until == "found":
            yield from allocation(cells[0])
    if absolute:
        cells = list(measured(pool, absolute_instances(), runs))
        for one in cells:
            yield line(one.instance.cell, [one])
        yield line("absolute rule: all", cells)
        every += cells
    truths = sum(len(one.limit.alternatives) for one in every)
    wrong = sum(one.wrong_alternatives for one in every)
    yield Check("truths that prove a bound, checked exactly", wrong, truths, 0.0)
    below = sum(one.over_bound < 1 for one in every)
    yield Check("mean pulls below the bound", below, len(every), 0.0)
    errors = sum(not run.right for one in every for run in one.runs)
    yield Check("answers", errors, sum(len(one.runs) for one in every), DELTA)


def allocation(one: Measured) -> Iterator[Line]:
    """Yield where the pulls go on an instance, beside the best shares."""
    spent = np.mean([run.counts / run.pulls for run in one.runs], axis=0)
    yield Line("")
    yield Line(f"where the pulls go, {one.instance.cell}: mean of the arm, best share, share")
    shares = list(one.limit.shares.values())
    for arm in np.argsort(one.instance.means).tolist():
        mean, best, share = one.instance.means[arm], shares[arm], spent[arm]
        yield Line(f"{mean:>8.3f} {100 * best:>7.1f} % {100 * share:>7.1f} %")
    yield Line("")


def _geometric(values: Iterable[float]) -> float:
    return math.exp(float(np.mean(np.log(list(values)))))
