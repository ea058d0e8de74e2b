"""Is the adaptive strategy right as often as it promises, and what does it cost beside GOLD?

Costs are printed beside their aims; a missed aim is not a failure. A check of an error rate fails
if the rate is implausible under δ.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np
from scipy.stats import binomtest

import oddarm
from oddarm._typing import Floats
from oddarm.datasets.synthetic import KINDS, InstanceKind
from oddarm.definitions.truth import Truth, ranks_first
from verification.report import Check

DELTA = 0.1
DELTAS = (DELTA, 0.5)
"""Error rates are measured at a small and at a large δ: errors are frequent only at a large one."""
EPSILONS = (2.5, 5.0)
GOLD_PAPER, GOLD_ANYTIME = ("gold", "paper"), ("gold", "anytime")
ADAPTIVE = ("adaptive", "anytime")


@dataclass(frozen=True)
class Line:
    """A line of a table: a measurement, which cannot fail."""

    text: str
    holds: bool = True

    def __str__(self) -> str:
        return f"     {self.text}"


@dataclass(frozen=True)
class Cost:
    """What one run took.

    Attributes:
        pulls: Its pulls.
        seconds: Processor time.
        right: Whether the group ranks first.
    """

    pulls: int
    seconds: float
    right: bool


@dataclass(frozen=True)
class Cell:
    """Instances of one kind with n arms.

    Attributes:
        kind: Where the outliers are.
        n: How many arms there are.
        epsilon: What the instances are made for and searched with.
        outliers: How many; as many as the capacity allows if None.
        floored: Whether the adaptive strategy is told a `min_gap` of half the true gap.
    """

    kind: InstanceKind
    n: int
    epsilon: float
    outliers: int | None = None
    floored: bool = False

    def means(self, seed: int) -> Floats:
        """Return the instance of a seed."""
        return oddarm.datasets.synthetic(
            self.kind, self.n, self.epsilon, outliers=self.outliers, seed=seed
        ).means

    def __str__(self) -> str:
        return f"{self.kind:<12} n = {self.n:>3}, ε = {self.epsilon:g}"


def checks(
    runs: int = 500, seeds: int = 20, sizes: tuple[int, ...] = (20, 50, 100, 200)
) -> Iterator[Check | Line]:
    """Yield costs and error rates.

    Args:
        runs: Runs for each error rate; half as many where groups are confirmed, which takes longer.
        seeds: Runs for each cost.
        sizes: Numbers of arms; error rates are measured at up to 50.
    """
    with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=_warm_up) as pool:
        yield from measure(pool, runs, seeds, sizes)


def measure(
    pool: Executor, runs: int, seeds: int, sizes: tuple[int, ...]
) -> Iterator[Check | Line]:
    """Yield what `checks` yields, with the runs spread over the workers of a pool."""
    small = tuple(n for n in sizes if n <= 50)
    yield from costs(pool, seeds, sizes)
    yield from fewer_outliers(pool, seeds, small)
    yield from fewer_outliers(pool, seeds, small, floored=True)
    yield from both_sides(pool, seeds, sizes)
    yield Line("")
    yield Line("ranked: every group must rank first")
    cells = [Cell(kind, n, epsilon) for n in small for epsilon in EPSILONS for kind in KINDS]
    for delta in DELTAS:
        for cell in cells:
            job = partial(ranks_wrongly, cell.means, cell.epsilon, None, delta)
            yield _error_rate(pool, str(cell), job, runs, delta)
        for name, (means, capacity) in ADVERSARIES.items():
            job = partial(ranks_wrongly, means, 2.5, capacity, delta)
            yield _error_rate(pool, name, job, runs, delta)
    yield Line("")
    yield Line("confirmed: whether there is a group, and which arms are its members")
    for delta in DELTAS:
        for name, (means, capacity) in QUESTIONS.items():
            for until in ("found", "confirmed"):
                job = partial(answers_wrongly, means, capacity, until, delta)
                yield _error_rate(pool, f"{name}, {until}", job, max(runs // 2, 1), delta)


def costs(pool: Executor, seeds: int, sizes: tuple[int, ...]) -> Iterator[Line]:
    """Yield the pulls of GOLD and of the adaptive strategy where there are exactly c outliers."""
    yield Line(f"mean pulls over {seeds} instances, exactly c outliers, δ = {DELTA}")
    yield Line(_HEADER)
    paper, anytime, tails, microseconds = [], [], [], {}
    for n in sizes:
        for epsilon in EPSILONS:
            for kind in ("upper", "intermediate"):
                cell = Cell(kind, n, epsilon)
                line, measured = _compare(pool, cell, seeds)
                yield line
                paper.append(measured.paper)
                anytime.append(measured.anytime)
                tails.append(measured.tail)
                microseconds[cell] = measured.microseconds
    yield _aim("GOLD (paper) ÷ adaptive, geometric mean", _geometric(paper), "≥", 10)
    yield _aim("GOLD (paper) ÷ adaptive, least of all cells", min(paper), "≥", 5)
    yield _aim("GOLD (anytime) ÷ adaptive, geometric mean", _geometric(anytime), "≥", 20)
    yield _aim(_TAIL, max(tails), "≤", 3)
    large = [time for cell, time in microseconds.items() if cell.n == max(sizes)]
    name = f"µs a pull at n = {max(sizes)}, mean of its cells"
    yield _aim(name, float(np.mean(large)), "≤", 20)


def fewer_outliers(
    pool: Executor, seeds: int, sizes: tuple[int, ...], floored: bool = False
) -> Iterator[Line]:
    """Yield the same costs with one outlier fewer than the capacity, and with only one.

    With a floor, the adaptive strategy is told `min_gap`, half the true gap; GOLD has no such
    option. It is what "nothing nearer than that matters" saves.
    """
    told = "; adaptive told min_gap, half the true gap" if floored else ""
    for name, spare in (("one outlier fewer than the capacity", True), ("one outlier only", False)):
        yield Line("")
        yield Line(f"{name}{told}")
        yield Line(_HEADER)
        ratios, proved, tails = [], [], []
        for n in sizes:
            outliers = n // 10 - 1 if spare else 1
            for epsilon in EPSILONS:
                for kind in ("upper", "intermediate"):
                    cell = Cell(kind, n, epsilon, outliers, floored)
                    line, measured = _compare(pool, cell, seeds)
                    yield line
                    ratios.append(measured.paper)
                    proved.append(measured.anytime)
                    tails.append(measured.tail)
        yield _aim("GOLD (paper) ÷ adaptive, geometric mean", _geometric(ratios), "≥", 10)
        yield _aim("GOLD (anytime) ÷ adaptive, geometric mean", _geometric(proved), "≥", 10)
        yield _aim(_TAIL, max(tails), "≤", 3)


def both_sides(pool: Executor, seeds: int, sizes: tuple[int, ...]) -> Iterator[Line]:
    """Yield the same costs with outliers above and below."""
    yield Line("")
    yield Line("outliers on both sides, exactly c")
    yield Line(_HEADER)
    ratios = []
    for n in sizes:
        for epsilon in EPSILONS:
            line, measured = _compare(pool, Cell("mixed", n, epsilon), seeds)
            yield line
            ratios.append(measured.paper)
    yield _aim("GOLD (paper) ÷ adaptive, geometric mean", _geometric(ratios), "≥", 5)
    yield _aim("GOLD (paper) ÷ adaptive, least of all cells", min(ratios), "≥", 5)


@dataclass(frozen=True)
class _Measured:
    """The figures of a cell: two ratios of mean pulls, the tail, and the time of a pull."""

    paper: float
    anytime: float
    tail: float
    microseconds: float


_HEADER = (
    f"{'':<30} {'GOLD paper':>12} {'anytime':>12} {'adaptive':>10}"
    f" {'ratio':>6} {'any.':>6} {'p95/med':>8} {'µs/pull':>8}  right (of each)"
)


_TAIL = "95th percentile ÷ median of pulls, greatest of all cells"


def _compare(pool: Executor, cell: Cell, seeds: int) -> tuple[Line, _Measured]:
    costs_of = {
        which: list(pool.map(partial(_cost, cell, *which), range(seeds)))
        for which in (GOLD_PAPER, GOLD_ANYTIME, ADAPTIVE)
    }
    paper, anytime, adaptive = (
        float(np.mean([cost.pulls for cost in costs])) for costs in costs_of.values()
    )
    pulls = [cost.pulls for cost in costs_of[ADAPTIVE]]
    measured = _Measured(
        paper / adaptive,
        anytime / adaptive,
        float(np.percentile(pulls, 95) / np.median(pulls)),
        1e6 * sum(cost.seconds for cost in costs_of[ADAPTIVE]) / sum(pulls),
    )
    right = [sum(cost.right for cost in costs) for costs in costs_of.values()]
    return Line(
        f"{cell!s:<30} {paper:>12,.0f} {anytime:>12,.0f} {adaptive:>10,.0f}"
        f" {measured.paper:>6.1f} {measured.anytime:>6.1f} {measured.tail:>8.1f}"
        f" {measured.microseconds:>8.1f}  {', '.join(map(str, right))}"
    ), measured


def _cost(cell: Cell, strategy: str, bound: str, seed: int) -> Cost:
    instance = oddarm.datasets.synthetic(
        cell.kind, cell.n, cell.epsilon, outliers=cell.outliers, seed=seed
    )
    min_gap = None
    if cell.floored and strategy == "adaptive":
        *_, largest = oddarm.outlier_groups(instance.means, cell.epsilon, mixed=True)
        min_gap = largest.gap / 2
    started = time.process_time()
    result = oddarm.simulate(
        instance.means,
        strategy,
        bound=bound,
        epsilon=cell.epsilon,
        min_gap=min_gap,
        delta=DELTA,
        until="ranked",
        seed=seed,
    )
    seconds = time.process_time() - started
    return Cost(result.pulls, seconds, ranks_first(result.ranking, instance.outliers))


def ranks_wrongly(
    means: Callable[[int], Floats], epsilon: float, capacity: int | None, delta: float, seed: int
) -> tuple[bool, int]:
    """Return whether a group does not rank first on the instance of a seed; and the pulls."""
    values = means(seed)
    result = oddarm.simulate(
        values,
        "adaptive",
        epsilon=epsilon,
        max_outliers=capacity,
        delta=delta,
        until="ranked",
        seed=seed,
    )
    truth = Truth.of(values, result.problem)
    return not truth.ranks_groups_first(result.ranking), result.pulls


def answers_wrongly(
    means: Callable[[int], Floats], capacity: int | None, until: str, delta: float, seed: int
) -> tuple[bool, int]:
    """Return whether the verdict, or a declared arm, is wrong; and the pulls."""
    values = means(seed)
    result = oddarm.simulate(
        values, "adaptive", max_outliers=capacity, until=until, delta=delta, seed=seed
    )
    truth = Truth.of(values, result.problem)
    return not truth.confirms(result.verdict, result.outliers, until), result.pulls


def _error_rate(
    pool: Executor, name: str, job: Callable[[int], tuple[bool, int]], runs: int, delta: float
) -> Check:
    answers = list(pool.map(job, range(runs), chunksize=5))
    wrong = sum(error for error, _ in answers)
    low, high = binomtest(wrong, runs).proportion_ci(0.95, method="exact")
    pulls = np.mean([pulls for _, pulls in answers])
    note = f"95 % interval {100 * low:.1f} to {100 * high:.1f} %; {pulls:,.0f} pulls on average"
    return Check(name, wrong, runs, delta, note)


def _line(ratio: float, seed: int) -> Floats:
    """One arm whose gap is `ratio` times the needed one, and equal gaps among the others."""
    del seed
    return np.array([*(0.3 + 0.03 * np.arange(9)), 0.54 + 0.03 * 3.5 * ratio])


def _few(normal: int, ratio: float, seed: int) -> Floats:
    """A few arms with equal gaps, and one whose gap is `ratio` times the needed one."""
    del seed
    inner = 0.9 / (normal - 1 + 3.5 * ratio)
    bulk = 0.05 + inner * np.arange(normal)
    return np.append(bulk, bulk[-1] + inner * 3.5 * ratio)


def _short_sides(ratio: float, seed: int) -> Floats:
    """Two arms in between, with three on either side: the fewest of a segment where c is 2."""
    del seed
    inner = 0.9 / (4 + 7 * ratio)
    gap = 3.5 * ratio * inner
    below = 0.05 + inner * np.arange(3)
    middle = below[-1] + gap
    return np.concatenate([below, [middle, middle], middle + gap + inner * np.arange(3)])


def _nested(ratio: float, seed: int) -> Floats:
    """One arm far above, one nearer below: each gap `ratio` times the needed one."""
    del seed
    inner, near = 0.012, 0.012 * 3.5 * ratio
    normal = 0.3 + near + inner * np.arange(18)
    return np.array([0.3, *normal, normal[-1] + near * 3.5 * ratio])


def _decoy(ratio: float, seed: int) -> Floats:
    """An arm above; the gap of an arm below decides whether the arm above is an outlier."""
    rng = np.random.default_rng(seed)
    normal = 0.25 + np.sort(rng.uniform(0.0, 0.2, 18))
    return np.array([0.2, *normal, normal[-1] + 3.5 * ratio * max(normal[0] - 0.2, 0.05)])


def _spread_out(low: float, high: float, seed: int) -> Floats:
    """Nine arms from low to high, and one above or below at 1.05 times the needed distance."""
    del seed
    normal = np.linspace(low, high, 9)
    return np.append(normal, high + (normal[1] - normal[0]) * 3.5 * 1.05)


def _given(means: Sequence[float], seed: int) -> Floats:
    del seed
    return np.array(means)


def _uniform(seed: int) -> Floats:
    """Twenty arms drawn from [0.1, 0.9], without a group."""
    rng = np.random.default_rng(seed)
    while True:
        means = rng.uniform(0.1, 0.9, 20)
        if not oddarm.outlier_groups(means, 2.5, mixed=True):
            return means


ADVERSARIES: dict[str, tuple[Callable[[int], Floats], int | None]] = {
    "gap 1.02 of the needed, equal gaps": (partial(_line, 1.02), 1),
    "gap 0.98 of the needed, equal gaps": (partial(_line, 0.98), 1),
    "nested, gaps 1.02 of the needed": (partial(_nested, 1.02), 2),
    "nested, gaps 0.98 of the needed": (partial(_nested, 0.98), 2),
    "decoy below, gap 1.02 of the needed": (partial(_decoy, 1.02), 1),
    "decoy below, gap 0.98 of the needed": (partial(_decoy, 0.98), 1),
    "high-variance outlier, low-variance rest": (partial(_spread_out, 0.01, 0.10), 1),
    "low-variance outlier, high-variance rest": (partial(_spread_out, 0.3, 0.7), 1),
    "outliers near 0.5, the rest near 0": (
        partial(_given, [*np.linspace(0.002, 0.05, 18), 0.5, 0.52]), 2),
    "outliers at 0 and 1, the rest near 0.5": (
        partial(_given, [*np.linspace(0.42, 0.58, 18), 0.0, 1.0]), 2),
    "ties among normals and among outliers": (
        partial(_given, [0.5] * 9 + [0.6] * 9 + [0.97] * 2), 2),
    "constant rewards": (partial(_given, [0.0] * 18 + [1.0] * 2), 2),
    "three arms, gap 1.02 of the needed": (partial(_few, 2, 1.02), 1),
    "four arms, gap 1.02 of the needed": (partial(_few, 3, 1.02), 1),
    "five arms, gap 1.02 of the needed, c = 2": (partial(_few, 4, 1.02), 2),
    "segments of c+1, gaps 1.02 of the needed": (partial(_short_sides, 1.02), 2),
    "three arms at 0, 0.22 and 1": (partial(_given, [0.0, 0.22, 1.0]), 1),
    "five arms at 0, 0.1, 0.2 and 1": (partial(_given, [0.0, 0.0, 0.1, 0.2, 1.0]), 1),
}  # fmt: skip

QUESTIONS: dict[str, tuple[Callable[[int], Floats], int | None]] = {
    "upper, n = 20": (Cell("upper", 20, 2.5).means, None),
    "intermediate, n = 20": (Cell("intermediate", 20, 2.5).means, None),
    "mixed, n = 20": (Cell("mixed", 20, 2.5).means, None),
    "no group, uniform means": (_uniform, None),
    "gap 1.3 of the needed": (partial(_line, 1.3), 1),
    "gap 0.75 of the needed": (partial(_line, 0.75), 1),
    "three arms, gap 1.3 of the needed": (partial(_few, 2, 1.3), 1),
    "five arms, gap 1.3 of the needed, c = 2": (partial(_few, 4, 1.3), 2),
    "segments of c+1, gaps 1.3 of the needed": (partial(_short_sides, 1.3), 2),
    "segments of c+1, gaps 0.75 of the needed": (partial(_short_sides, 0.75), 2),
    "three arms at 0, 0.15 and 1": (partial(_given, [0.0, 0.15, 1.0]), 1),
}


def _aim(name: str, value: float, sign: str, bar: float) -> Line:
    """Return a figure beside its aim."""
    reached = value >= bar if sign == "≥" else value <= bar
    return Line(f"{name}: {value:.1f} (aim {sign} {bar:g}: {'reached' if reached else 'missed'})")


def _geometric(values: Iterable[float]) -> float:
    return math.exp(float(np.mean(np.log(list(values)))))


def _warm_up() -> None:
    """Load the compiled code, so that its loading is not in the times."""
    for strategy, bound in (GOLD_PAPER, GOLD_ANYTIME, ADAPTIVE):
        oddarm.simulate([0.1, 0.12, 0.14, 0.9], strategy, bound=bound, max_outliers=1)
