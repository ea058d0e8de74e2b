"""How the cost of a pull and of an ask grows with the number of arms, fitted by powers, plotted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import oddarm
from benchmarks.report import Report
from oddarm._typing import Floats
from oddarm.strategies import RR, WRR, Adaptive, Gold, Strategy

SUBJECTS: dict[str, tuple[Strategy, tuple[int, ...], tuple[int, int]]] = {
    "GOLD, edges": (Gold(), (25, 50, 100, 200, 400, 800, 1600), (1000, 6000)),
    "GOLD, intervals": (
        Gold(form="intervals"),
        (100, 400, 1600, 6400, 25_600, 102_400),
        (200, 1000),
    ),
    "RR": (RR(), (25, 50, 100, 200, 400), (100, 500)),
    "WRR": (WRR(), (25, 50, 100, 200, 400), (100, 500)),
    "adaptive": (Adaptive(), (25, 50, 100, 200), (100, 500)),
}
"""Strategy, numbers of arms, and pulls per arm of a shorter and a longer run."""
FIRST_PULLS = 5
"""The adaptive strategy pulls every arm this often before it plans."""


def cost(strategy: Strategy, n: int, each: tuple[int, int]) -> float:
    """Return the seconds that a pull of the longer run takes beyond those of the shorter."""
    means = np.append(np.linspace(0.4, 0.6, n - 1), 0.6)
    options = {"max_outliers": 2, "delta": 0.1, "until": "ranked"}
    oddarm.simulate(means, strategy, max_pulls=n * each[0], **options)
    runs = max(1, 1_000_000 // (n * each[1])) if strategy.name == "gold" else 1
    costs = []
    for _ in range(5):
        ends = []
        for pulls in each:
            start = time.process_time()
            made = sum(
                oddarm.simulate(means, strategy, max_pulls=n * pulls, seed=seed, **options).pulls
                for seed in range(runs)
            )
            ends.append((made, time.process_time() - start))
        (fewer, shorter), (more, longer) = ends
        costs.append((longer - shorter) / (more - fewer))
    return statistics.median(costs)


def waits(n: int) -> tuple[float, float]:
    """Return the seconds of a pull, and of an ask that plans, of the adaptive strategy.

    An ask is for as many pulls as there are arms. Asks before the first plan are not looked at.
    """
    rng = np.random.default_rng(1)
    means, outliers = rng.uniform(0.2, 0.4, n), n // 50
    means[:outliers] = rng.uniform(0.85, 0.95, outliers)
    search = oddarm.Search(n, Adaptive(), max_outliers=outliers, until="ranked")
    asks, spent = [], 0.0
    while not search.done and search.pulls < 12 * n:
        planned = search.pulls >= FIRST_PULLS * n
        start = time.process_time()
        arms = search.ask_indices(n)
        asked = time.process_time() - start
        drawn = rng.random(len(arms)) < means[arms]
        start = time.process_time()
        search.tell_indices(arms, drawn)
        spent += asked + time.process_time() - start
        if planned:
            asks.append(asked)
    return spent / search.pulls, statistics.median(asks)


def draw_fitted(axes: Any, sizes: Sequence[int], values: Floats, name: str) -> float:
    """Draw values over sizes with the power of the size that fits them best; return that power."""
    power, scale = np.polyfit(np.log(sizes), np.log(values), 1)
    (line,) = axes.loglog(sizes, values, "o", label=f"{name}: n^{power:.2f}")
    fitted = np.exp(scale) * np.array(sizes, dtype=float) ** power
    axes.loglog(sizes, fitted, color=line.get_color(), linewidth=1)
    return float(power)


def run(report: Report, folder: Path = Path("out")) -> None:
    """Measure, fit and plot."""
    folder.mkdir(exist_ok=True)
    pulls(report, folder / "bench.png")
    planning(report, folder / "planning.png")


def planning(report: Report, path: Path) -> None:
    """Measure, fit and plot what planning for many arms costs the adaptive strategy."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    sizes = (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
    measured = [waits(n) for n in sizes]
    for name, seconds in zip(("a pull", "an ask"), zip(*measured, strict=True), strict=True):
        power = draw_fitted(axes, sizes, np.array(seconds) * 1e3, name)
        report.add(
            f"adaptive, the first 12 pulls of each arm: {name} grows as n to the",
            power,
            note=f"{seconds[0] * 1e6:,.0f} to {seconds[-1] * 1e6:,.0f} µs",
        )
    axes.set_xlabel("arms")
    axes.set_ylabel("milliseconds")
    axes.set_title("Adaptive: the first 12 pulls of each arm, asks for n pulls")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def pulls(report: Report, path: Path) -> None:
    """Measure, fit and plot what a simulated pull costs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name, (strategy, sizes, each) in SUBJECTS.items():
        costs = [cost(strategy, n, each) for n in sizes]
        power = draw_fitted(axes, sizes, np.array(costs) * 1e9, name)
        report.add(
            f"{name}: a pull from {sizes[0]:,} to {sizes[-1]:,} arms grows as n to the",
            power,
            most={"GOLD, edges": 1.0, "GOLD, intervals": 0.2}.get(name),
            note=f"{costs[0] * 1e9:,.1f} to {costs[-1] * 1e9:,.1f} ns",
        )
    axes.set_xlabel("arms")
    axes.set_ylabel("nanoseconds a pull")
    axes.set_title("Cost of a simulated pull")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
