"""Is the evidence of a search an e-value? Claims that are false, on instances near the line.

A search of the adaptive strategy is followed and looked at again and again. At each look the value
is the evidence of its best guess if that guess is false, else 0; odds of 1 say nothing and count
as 0. The mean value must be at most 1 at every rule for stopping that looks only at the past, and
the value may ever reach r in at most one run in r.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.stats import norm

from oddarm import Search
from oddarm._typing import Floats, Indices
from oddarm.definitions.truth import Truth
from oddarm.rewards import Bernoulli, Bounded, Rewards, SubGaussian
from verification.adaptive import Line
from verification.report import SURE, Check

LEVELS = (1.5, 2.0, 5.0, 20.0)
"""A run is stopped as soon as the evidence is at least one of these."""
DELTA = 0.05
GROWTH = 1.05
"""The pulls grow by this factor from one look to the next, or by a round."""
FIRST = 6
"""Pulls of each arm at the first look."""
MOST_DRAWN = 4096
"""So many rewards of an arm are made at once."""


@dataclass(frozen=True)
class Instance:
    """Arms with known means, and a question about them to which the guess is often false.

    Attributes:
        means: The means; of pools, whole numbers of successes divided by the size of the pool.
        options: Of the search.
        cap: Pulls after which a run ends.
        model: The rewards.
    """

    means: Sequence[float]
    options: dict[str, Any]
    cap: int = 2000
    model: Rewards = field(default_factory=Bernoulli)

    def search(self) -> Search:
        """Return a new search."""
        options = {"delta": DELTA, "until": "found", **self.options}
        return Search(len(self.means), "adaptive", rewards=self.model, **options)


class Draws:
    """The rewards of an instance, in an order that only the seed decides."""

    def __init__(self, instance: Instance, seed: int) -> None:
        self.means, self.model = np.array(instance.means), instance.model
        self.rng = np.random.default_rng(seed)
        self.rows = [self._more(arm) for arm in range(len(self.means))]
        self.drawn = np.zeros(len(self.means), dtype=np.int64)

    def _more(self, arm: int) -> Floats:
        mean, model = self.means[arm], self.model
        if model.pools is not None:
            size = model.pools[arm]
            return self.rng.permutation((np.arange(size) < round(mean * size)).astype(np.float64))
        if isinstance(model, SubGaussian):
            return self.rng.normal(mean, model.scale, MOST_DRAWN)
        if isinstance(model, Bounded):
            return self.rng.beta(2 * mean, 2 * (1 - mean), MOST_DRAWN)
        return (self.rng.random(MOST_DRAWN) < mean).astype(np.float64)

    def draw(self, arms: Indices) -> Floats:
        """Return the next reward of each of some arms, repeats included."""
        values = np.empty(len(arms))
        for arm in np.unique(arms).tolist():
            places = np.flatnonzero(arms == arm)
            last = self.drawn[arm] + len(places)
            while last > len(self.rows[arm]):
                self.rows[arm] = np.append(self.rows[arm], self._more(arm))
            values[places] = self.rows[arm][self.drawn[arm] : last]
            self.drawn[arm] = last
        return values


def next_pulls(search: Search, uniform: bool) -> Indices:
    """Return the arms that the strategy asks for, or some of each arm."""
    if not uniform:
        return search.ask_indices()
    counts = search.tally.counts
    more = np.full(search.n, max(int((GROWTH - 1) * counts.max()), 1))
    if search.tally.pools is not None:
        more = np.minimum(more, search.tally.pools - counts)
    return np.repeat(np.arange(search.n), more)


def is_false(search: Search, truth: Truth) -> bool:
    """Return whether the present best guess, or the answer, is false."""
    run = search.run
    order = np.arange(search.n)
    decided = search.verdict in ("confirmed", "none")
    guess = run.declared(order) if decided else run.guess(order)
    if search.until == "ranked":
        sets = [set(group.members) for group in truth.groups]
        if not guess:
            return bool(sets)
        return not all(group <= set(guess) or set(guess) <= group for group in sets)
    most = search.problem.max_members(search.n)
    claim = "none" if not guess else "confirmed"
    if search.problem.absolute and len(guess) > most:
        claim = "scattered"
    return truth.confirms(claim, guess, search.until) is False


def follow(instance: Instance, uniform: bool, seed: int) -> list[float]:
    """Return the value at each look at a run: the evidence of a false guess, else 0."""
    search, rewards = instance.search(), Draws(instance, seed)
    truth = Truth.of(_exact(instance), search.problem)
    values, look = [], float(FIRST * search.n)
    while not search.done and search.pulls < instance.cap:
        arms = next_pulls(search, uniform)
        search.tell_indices(arms, rewards.draw(arms))
        if search.done or search.pulls >= min(look, instance.cap):
            look = GROWTH * search.pulls
            odds = search.run.evidence() if is_false(search, truth) else 0.0
            assert odds is not None
            values.append(odds if odds > 1 else 0.0)
    return values


def _exact(instance: Instance) -> Sequence[Any]:
    """Return the means, those of pools as fractions."""
    pools = instance.model.pools
    if pools is None:
        return instance.means
    pairs = zip(instance.means, pools, strict=True)
    return [Fraction(round(mean * size), size) for mean, size in pairs]


def stopped(values: Sequence[float], level: float) -> float:
    """Return the value when it is first at least `level`; else the last one."""
    return next((value for value in values if value >= level), values[-1])


@dataclass(frozen=True)
class Followed:
    """The values of some runs on one instance, and whether they are those of an e-value.

    Attributes:
        name: Of the instance.
        values: For each run, those at its looks.
    """

    name: str
    values: Sequence[Sequence[float]]

    def means(self) -> Iterator[tuple[float, float]]:
        """Yield the mean and its standard error for each rule for stopping."""
        for level in (*LEVELS, np.inf):
            stops = np.array([stopped(values, level) for values in self.values])
            yield float(stops.mean()), float(stops.std(ddof=1)) / math.sqrt(len(stops))

    def rises(self) -> Iterator[Check]:
        """Yield for each level how many runs ever reached it."""
        for level in LEVELS:
            rose = sum(max(values) >= level for values in self.values)
            yield Check(self.name, rose, len(self.values), 1 / level)

    @property
    def holds(self) -> bool:
        """Whether every mean is at most 1, and no level is reached too often."""
        sure = float(norm.ppf(SURE))
        low = all(mean - sure * error <= 1 for mean, error in self.means())
        return low and all(check.holds for check in self.rises())

    def __str__(self) -> str:
        means = "  ".join(f"{mean:.2f} ± {error:.2f}" for mean, error in self.means())
        rises = ", ".join(str(check.errors) for check in self.rises())
        verdict = "ok  " if self.holds else "FAIL"
        return f"{verdict} {self.name:<56} {means}   {rises} of {len(self.values)}"


HEADER = Line(
    f"{'mean when stopped at':<56} {'  '.join(f'{level:<11g}' for level in LEVELS)}  the end"
    f"       runs that ever rose to {', '.join(f'{level:g}' for level in LEVELS)}"
)


def _from(first: float, step: float, count: int) -> list[float]:
    return [round(first + step * k, 9) for k in range(count)]


def _line(count: int, inner: float, distance: float, first: float = 0.3) -> list[float]:
    """Arms with equal gaps, and one above them."""
    normal = _from(first, inner, count)
    return [*normal, round(normal[-1] + distance, 9)]


POOLS = Bernoulli(pools=(30,) * 6)
INSTANCES: dict[str, Instance] = {
    "equal arms": Instance([0.3] * 6, {"min_gap": 0.1, "max_outliers": 1}),
    "equal arms, wide scale": Instance([0.5] * 7, {"min_gap": 0.3, "max_outliers": 2}),
    "equal rare arms": Instance([0.03] * 6, {"min_gap": 0.1, "max_outliers": 2}),
    "equal arms, no slack": Instance([0.5] * 5, {"min_gap": 0.2, "max_outliers": 1, "slack": 0.0}),
    "three arms, gap exactly min_gap": Instance(
        [0.3, 0.3, 0.6], {"min_gap": 0.3, "max_outliers": 1, "slack": 0.0}),
    "three arms, gap exactly min_gap, near 0": Instance(
        [0.01, 0.31, 0.31], {"min_gap": 0.3, "max_outliers": 1, "slack": 0.0}),
    "three arms, nobody is false": Instance(
        [0.3, 0.3, 0.601],
        {"min_gap": 0.3, "epsilon": 1.0, "max_outliers": 1, "slack": 0.0}),
    "three arms, ratio exactly 1+ε": Instance(
        [0.05, 0.35, 0.95], {"epsilon": 1.0, "max_outliers": 1, "slack": 0.0}),
    "gap exactly (1-s)·min_gap": Instance(
        _line(5, 0.0, 0.16), {"min_gap": 0.2, "max_outliers": 1}),
    "gap exactly min_gap, no slack": Instance(
        _line(5, 0.0, 0.2), {"min_gap": 0.2, "max_outliers": 1, "slack": 0.0}),
    "the same with spread": Instance(
        _line(6, 0.03, 0.3, 0.1), {"min_gap": 0.3, "max_outliers": 2, "slack": 0.0}),
    "gap 0.97 of min_gap below, near 0": Instance(
        [0.006, *[0.2] * 5], {"min_gap": 0.2, "max_outliers": 1, "slack": 0.0}),
    "gap 0.97 of min_gap in between": Instance(
        [*[0.1] * 3, 0.391, *[0.7] * 3], {"min_gap": 0.3, "max_outliers": 1, "slack": 0.0}),
    "an outlier and a false candidate": Instance(
        [*[0.1] * 5, 0.255, 0.7], {"min_gap": 0.2, "max_outliers": 2}),
    "the same without slack": Instance(
        [*[0.1] * 5, 0.295, 0.7], {"min_gap": 0.2, "max_outliers": 2, "slack": 0.0}),
    "two outliers, one just above min_gap": Instance(
        [*[0.1] * 5, 0.305, 0.7], {"min_gap": 0.2, "max_outliers": 2, "slack": 0.0}),
    "nobody is false, gap 1.02": Instance(
        _line(5, 0.0, 0.204), {"min_gap": 0.2, "max_outliers": 1, "slack": 0.0}),
    "nobody is false, gap 1.02, slack": Instance(
        _line(5, 0.01, 0.306, 0.2), {"min_gap": 0.3, "max_outliers": 1, "slack": 0.4}),
    "scattered is false": Instance(
        [*[0.2] * 4, 0.495, 0.79], {"min_gap": 0.3, "max_outliers": 1, "slack": 0.0}),
    "confirmed is false, scattered": Instance(
        [*[0.2] * 4, 0.505, 0.81], {"min_gap": 0.3, "max_outliers": 1, "slack": 0.0}),
    "ratio: equal arms": Instance([0.4] * 6, {"epsilon": 1.0, "max_outliers": 1}),
    "ratio just below 1+(1-s)ε": Instance(
        _line(6, 0.05, 0.149, 0.1), {"epsilon": 2.5, "max_outliers": 1}),
    "ratio exactly 1+ε, no slack": Instance(
        _line(5, 0.1, 0.3, 0.1), {"epsilon": 2.0, "max_outliers": 1, "slack": 0.0}),
    "ratio 0.97, on both sides": Instance(
        [0.03, *_from(0.321, 0.15, 3), 0.912],
        {"epsilon": 1.0, "max_outliers": 2, "slack": 0.0}),
    "ratio, an outlier and a false candidate": Instance(
        [*_from(0.05, 0.04, 5), 0.35, 0.95], {"epsilon": 3.0, "max_outliers": 2, "slack": 0.1}),
    "floor: gap exactly (1-s)·min_gap": Instance(
        _line(5, 0.0, 0.16), {"epsilon": 2.5, "min_gap": 0.2, "max_outliers": 1}),
    "floor: gap 0.98 of min_gap": Instance(
        _line(5, 0.0, 0.196),
        {"epsilon": 2.5, "min_gap": 0.2, "max_outliers": 1, "slack": 0.0}),
    "floor: nobody is false, gap 1.02": Instance(
        _line(5, 0.0, 0.204),
        {"epsilon": 2.5, "min_gap": 0.2, "max_outliers": 1, "slack": 0.0}),
    "floor: nobody is false, gap 1.02, slack": Instance(
        _line(7, 0.0, 0.306), {"epsilon": 2.5, "min_gap": 0.3, "max_outliers": 1, "slack": 0.4}),
    "ranked, a false order": Instance(
        [0.1, 0.38, *_from(0.45, 0.02, 4), 0.8],
        {"epsilon": 1.0, "max_outliers": 1, "slack": 0.0, "until": "ranked"}),
    "bounded, gap exactly min_gap": Instance(
        _line(5, 0.0, 0.2), {"min_gap": 0.2, "max_outliers": 1, "slack": 0.0},
        cap=600, model=Bounded(minimum=0.0, maximum=1.0)),
    "sub-Gaussian, gap exactly min_gap": Instance(
        _line(5, 0.0, 0.2), {"min_gap": 0.2, "max_outliers": 1, "slack": 0.0},
        model=SubGaussian(scale=0.3)),
    "sub-Gaussian, nobody is false": Instance(
        _line(5, 0.0, 0.204),
        {"epsilon": 2.5, "min_gap": 0.2, "max_outliers": 1, "slack": 0.0},
        model=SubGaussian(scale=0.3)),
    "pools, gap exactly min_gap": Instance(
        _line(5, 0.0, 0.2), {"min_gap": 0.2, "max_outliers": 1, "slack": 0.0}, model=POOLS),
    "pools, nobody is false": Instance(
        _line(5, 0.0, 0.2), {"min_gap": 0.19, "max_outliers": 1, "slack": 0.0}, model=POOLS),
}  # fmt: skip


def checks(runs: int = 200) -> Iterator[Followed | Line]:
    """Yield for each instance the mean value at every rule for stopping, and how often it rose."""
    yield HEADER
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield from measure(pool, runs, INSTANCES)


def measure(pool: Executor, runs: int, names: Iterable[str]) -> Iterator[Followed]:
    """Yield the lines of some instances, with the runs spread over the workers of a pool."""
    for name in names:
        for uniform in (False, True):
            job = partial(follow, INSTANCES[name], uniform)
            found = list(pool.map(job, range(runs), chunksize=10))
            yield Followed(f"{name}{', uniform pulls' if uniform else ''}", found)
