"""How the cost of a pull grows with the number of arms, fitted by a power of n and plotted."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np

import oddarm
from benchmarks.report import Report
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


def run(report: Report, path: Path = Path("out/bench.png")) -> None:
    """Measure, fit and plot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name, (strategy, sizes, each) in SUBJECTS.items():
        costs = [cost(strategy, n, each) for n in sizes]
        power, scale = np.polyfit(np.log(sizes), np.log(costs), 1)
        report.add(
            f"{name}: a pull from {sizes[0]:,} to {sizes[-1]:,} arms grows as n to the",
            power,
            most={"GOLD, edges": 1.0, "GOLD, intervals": 0.2}.get(name),
            note=f"{costs[0] * 1e9:,.1f} to {costs[-1] * 1e9:,.1f} ns",
        )
        (line,) = axes.loglog(sizes, np.array(costs) * 1e9, "o", label=f"{name}: n^{power:.2f}")
        fitted = np.exp(scale) * np.array(sizes, dtype=float) ** power
        axes.loglog(sizes, fitted * 1e9, color=line.get_color(), linewidth=1)
    axes.set_xlabel("arms")
    axes.set_ylabel("nanoseconds a pull")
    axes.set_title("Cost of a simulated pull")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
