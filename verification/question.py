"""What do answers to the absolute rule cost, and are they right? Forecasts and defaults, too.

Each instance is asked "who is at least min_gap away from everyone else?" at δ = 0.05 and slack 0.2.
Beside the adaptive strategy's pulls: those of uniform sampling with the same certificate, those of
the relative rule at ε = 2.5 where it ends, and the least that any method needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.stats import binomtest, norm

import oddarm
from oddarm._typing import Floats
from oddarm.definitions.truth import Truth
from oddarm.sources import SimulatedArms
from verification.adaptive import Line
from verification.report import SURE, Check

DELTA = 0.05
SLACK = 0.2
CAP = 200_000
"""Pulls after which a search by the relative rule is given up."""
UNIFORM_STEP = 0.01
"""Uniform pulls grow by this share between two decisions."""
LOOK_STEP = 1.05
"""Pulls grow by this factor between two forecasts."""
PER_ARM = 1000
"""Pulls of each arm within which a search with every default ends."""


@dataclass(frozen=True)
class Asked:
    """An instance, the question, and what is known of its cost.

    Attributes:
        means: The means.
        min_gap: How far is far.
        max_outliers: The most outliers; None for the default share.
        bar: The mean pulls to reach.
        least: What every method needs on average, by `oddarm.theory.least_pulls`, computed once.
    """

    means: Sequence[float]
    min_gap: float
    max_outliers: int | None = None
    bar: int = 0
    least: int = 0

    @property
    def options(self) -> dict[str, Any]:
        """The options of a search."""
        return {
            "min_gap": self.min_gap,
            "max_outliers": self.max_outliers,
            "delta": DELTA,
            "slack": SLACK,
            "until": "found",
        }


HOSTS = [*np.linspace(0.02, 0.10, 18).round(6).tolist(), 0.35, 0.40]
EVEN = [round(0.05 + 0.005 * k, 3) for k in range(20)]
INSTANCES = {
    "20 hosts 0.02-0.10, 0.35, 0.40; g = 0.1, c = 2": Asked(HOSTS, 0.1, 2, 8_500, 850),
    "the same, c = 4": Asked(HOSTS, 0.1, 4, 9_000, 850),
    "19 hosts 0.05-0.14, one at 0.5; g = 0.2": Asked([*EVEN[:19], 0.5], 0.2, None, 3_500, 487),
    "20 hosts 0.05-0.145, nobody; g = 0.1": Asked(EVEN, 0.1, None, 14_000, 1_019),
    "47 arms at 0.2, 3 at 0.5; g = 0.15, c = 5": Asked(
        [0.2] * 47 + [0.5] * 3, 0.15, 5, 26_000, 2_687
    ),
    "20 arms at 0.3; g = 0.1": Asked([0.3] * 20, 0.1, None, 33_000, 2_562),
}


@dataclass(frozen=True)
class Pulls:
    """The pulls of a run, and whether its answer is right; None if it did not end."""

    pulls: int
    right: bool | None


def adaptive(asked: Asked, seed: int) -> Pulls:
    """Return what the adaptive strategy takes."""
    return _judged(asked, oddarm.simulate(asked.means, "adaptive", seed=seed, **asked.options))


def relative(asked: Asked, seed: int) -> Pulls:
    """Return what the relative rule takes."""
    options = {**asked.options, "min_gap": None, "epsilon": 2.5, "max_pulls": CAP}
    return _judged(asked, oddarm.simulate(asked.means, "adaptive", seed=seed, **options))


def uniform(asked: Asked, seed: int) -> Pulls:
    """Return what pulling every arm alike takes until the same certificate decides."""
    search = oddarm.Search(len(asked.means), "adaptive", **asked.options)
    arms, n = SimulatedArms(asked.means, seed=seed), len(asked.means)
    while not search.done:
        more = max(int(UNIFORM_STEP * search.pulls / n), 1)
        rewards = np.concatenate([arms.draw(arm, more) for arm in range(n)])
        search.tell_indices(np.repeat(np.arange(n), more), rewards)
    return _judged(asked, search.result())


def _judged(asked: Asked, result: oddarm.Result) -> Pulls:
    truth = Truth.of(asked.means, result.problem)
    return Pulls(result.pulls, truth.confirms(result.verdict, result.outliers, "found"))


@dataclass(frozen=True)
class Row:
    """The figures of one instance.

    Attributes:
        name: Of the instance.
        asked: The instance.
        adaptive: Runs of the adaptive strategy.
        uniform: Runs of uniform sampling.
        relative: Runs by the relative rule.
    """

    name: str
    asked: Asked
    adaptive: Sequence[Pulls]
    uniform: Sequence[Pulls]
    relative: Sequence[Pulls]

    @property
    def right(self) -> Check:
        """How often an answer of the adaptive strategy is wrong."""
        wrong = sum(not run.right for run in self.adaptive)
        return Check(self.name, wrong, len(self.adaptive), DELTA)

    @property
    def holds(self) -> bool:
        """Whether answers are right often enough, and the bar is within reach of the mean."""
        mean, error = _mean(self.adaptive)
        return self.right.holds and mean - float(norm.ppf(SURE)) * error <= self.asked.bar

    def __str__(self) -> str:
        runs = len(self.adaptive)
        low, high = binomtest(runs - self.right.errors, runs).proportion_ci(0.95, method="exact")
        ended = [run for run in self.relative if run.right is not None]
        ratio = _words(ended) if ended else "none ended"
        return (
            f"{'ok  ' if self.holds else 'FAIL'} {self.name:<47}"
            f" {_words(self.adaptive):>15} {self.asked.bar:>7,} {_words(self.uniform):>16}"
            f" {ratio:>18} ({len(ended)} of {len(self.relative)}) {self.asked.least:>6,}"
            f"  right {runs - self.right.errors} of {runs} ({100 * low:.0f} to {100 * high:.0f} %)"
        )


HEADER = (
    f"{'':<47} {'adaptive':>15} {'bar':>7} {'uniform':>16} {'ε = 2.5 (ended)':>27} {'least':>6}"
)


def _mean(runs: Sequence[Pulls]) -> tuple[float, float]:
    pulls = np.array([run.pulls for run in runs], dtype=np.float64)
    error = pulls.std(ddof=1) / math.sqrt(len(pulls)) if len(pulls) > 1 else 0.0
    return float(pulls.mean()), float(error)


def _words(runs: Sequence[Pulls]) -> str:
    mean, error = _mean(runs)
    return f"{mean:,.0f} ± {error:,.0f}"


def checks(runs: int = 100, others: int = 20) -> Iterator[Check | Line | Row]:
    """Yield the figures of all instances, searches with every default, and forecasts.

    Args:
        runs: Runs of the adaptive strategy on each instance.
        others: Runs of all else.
    """
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield from measure(pool, runs, others, tuple(INSTANCES))


def measure(
    pool: Executor, runs: int, others: int, names: Sequence[str]
) -> Iterator[Check | Line | Row]:
    """Yield what `checks` yields for some instances, with the runs spread over a pool."""
    yield Line(f"mean pulls ± standard error, δ = {DELTA}, slack {SLACK}, until found")
    yield Line(HEADER)
    for name in names:
        asked = INSTANCES[name]
        yield Row(
            name,
            asked,
            list(pool.map(partial(adaptive, asked), range(runs))),
            list(pool.map(partial(uniform, asked), range(others))),
            list(pool.map(partial(relative, asked), range(others))),
        )
    yield from near_the_line(pool, 2 * runs)
    yield Line("")
    yield Line("find(f, arms) with every default: ends in time, with an answer; what it says last")
    for name in names:
        yield defaults(pool, name, others)
    yield Line("")
    yield Line("pulls still needed ÷ forecast, at a quarter, a half and three quarters of the way:")
    yield Line("median (and quartiles)")
    for name in names:
        yield forecasts(name, list(pool.map(partial(forecast, INSTANCES[name]), range(others))))
    found = list(pool.map(random_forecast, range(others)))
    yield forecasts(f"{len(found)} random instances", found)


def defaults(pool: Executor, name: str, runs: int) -> Check:
    """Return in how many searches with every default an answer is missing or late."""
    found = list(pool.map(partial(by_default, INSTANCES[name]), range(runs)))
    note = f"{_words([Pulls(pulls, None) for pulls, _, _ in found])} pulls; {found[0][2]}"
    return Check(name, sum(not well for _, well, _ in found), runs, 0.0, note)


def by_default(asked: Asked, seed: int) -> tuple[int, bool, str]:
    """Search with every default; return the pulls, whether all is well, and the answer."""
    rng, n = np.random.default_rng(seed), len(asked.means)
    result = oddarm.find(
        lambda arm: float(rng.random() < asked.means[arm]),
        n,
        max_pulls=PER_ARM * n,  # until this is the default of `find` on a function
    )
    named = result.outliers or result.candidates
    decided = result.verdict in ("confirmed", "none")
    well = (
        result.pulls <= PER_ARM * n
        and (decided or result.verdict == "budget")
        and result.evidence is not None
        and result.evidence >= 1
        and (not decided or result.evidence >= 1 / result.problem.delta)
        and (decided or result.forecast is None or result.forecast > 0)
    )
    who = ", ".join(str(arm) for arm in named) or "nobody"
    further = "none" if result.forecast is None else f"{result.forecast:,}"
    said = f"{result.verdict}: {who}, evidence {result.evidence:.3g} : 1, forecast {further}"
    return result.pulls, bool(well), said


def _near(rng: np.random.Generator, gap: float, ratio: float) -> Floats:
    """Return a bulk and an arm at `gap` from it, by `ratio` the widest gap of the bulk."""
    n = int(rng.integers(5, 11))
    inner = np.append(1.0, rng.uniform(0.2, 1.0, n - 3)) * gap / ratio
    bulk = np.append(0.0, np.cumsum(rng.permutation(inner)))
    means = np.append(bulk, bulk[-1] + gap)
    means *= min(1.0, 0.9 / means[-1])
    means += rng.uniform(0.02, 0.98 - means[-1])
    return np.asarray(rng.permutation(means if rng.random() < 0.5 else 1 - means))


NEAR: dict[str, dict[str, Any]] = {
    "absolute": {"min_gap": 0.3},
    "floor": {"min_gap": 0.3, "epsilon": 1.5},
    "ratio": {"epsilon": 2.5},
}
"""Rules for which random instances near the line are made."""


def wrong_near(rule: str, delta: float, seed: int) -> tuple[bool, int]:
    """Search a random instance near the line; return whether the answer is wrong, and the pulls.

    The gap is 0.9 to 1.3 times what it must exceed, in 1 of 4 cases exactly that.
    """
    rng = np.random.default_rng([23, seed])
    share = 1.0 if rng.random() < 0.25 else float(rng.uniform(0.9, 1.3))
    if rule == "ratio":
        means = _near(rng, 0.55, 3.5 * share)
    else:
        means = _near(rng, 0.3 * share, float(rng.uniform(4.0, 12.0)))
    options = {**NEAR[rule], "delta": delta, "slack": SLACK, "max_pulls": 2_000_000}
    most = int(rng.integers(1, (len(means) - 1) // 2 + 1))
    result = oddarm.simulate(
        means, "adaptive", max_outliers=most, until="found", seed=seed, **options
    )
    truth = Truth.of(means, result.problem)
    right = truth.agrees(result.verdict, result.outliers, "found", result.ranking)
    return right is False, result.pulls


def near_the_line(pool: Executor, runs: int) -> Iterator[Check]:
    """Yield error rates on random instances near the line, at a small and at a large δ."""
    for rule in NEAR:
        for delta in (DELTA, 0.5):
            found = list(pool.map(partial(wrong_near, rule, delta), range(runs), chunksize=5))
            note = f"{_words([Pulls(pulls, None) for _, pulls in found])} pulls"
            wrong = sum(error for error, _ in found)
            yield Check(f"near the line, {rule}", wrong, runs, delta, note)


def forecast(asked: Asked, seed: int) -> Floats:
    """Return pulls still needed by forecast at a quarter, a half and three quarters of the way."""
    search = oddarm.Search(len(asked.means), "adaptive", **asked.options)
    arms = SimulatedArms(asked.means, seed=seed)
    looks: list[tuple[int, float]] = []
    while not search.done:
        asks = search.ask_indices()
        counts = np.bincount(asks, minlength=search.n)
        rewards = [arms.draw(arm, int(counts[arm])) for arm in np.flatnonzero(counts).tolist()]
        search.tell_indices(np.sort(asks), np.concatenate(rewards))
        if not looks or search.pulls >= LOOK_STEP * looks[-1][0]:
            said = search.run.forecast()
            looks.append((search.pulls, math.nan if said is None else float(said)))
    end = search.pulls
    ratios = []
    for share in (0.25, 0.5, 0.75):
        pulls, said = min(looks, key=lambda look: abs(look[0] - share * end))
        ratios.append((end - pulls) / said)
    return np.array(ratios)


def random_forecast(seed: int) -> Floats:
    """Return the same for a random instance: a bulk, and none to two arms apart from it."""
    rng = np.random.default_rng([17, seed])
    n, gap = int(rng.integers(10, 31)), float(rng.uniform(0.1, 0.2))
    bulk = rng.uniform(0.05, 0.05 + rng.uniform(0.5, 2.0) * gap, n)
    bulk[: int(rng.integers(3))] = bulk.max() + gap * rng.uniform(1.3, 3.0)
    return forecast(Asked(bulk.round(4).tolist(), round(gap, 3), 2), seed)


def forecasts(name: str, found: Sequence[Floats]) -> Line:
    """Return how good forecasts are; how many were missing."""
    ratios = np.array(found)
    quartiles = np.nanquantile(ratios, (0.25, 0.5, 0.75), axis=0).T
    words = "   ".join(f"{middle:.2f} ({low:.2f} to {high:.2f})" for low, middle, high in quartiles)
    return Line(f"{name:<47} {words}   none at {int(np.isnan(ratios).sum())} of {ratios.size}")
