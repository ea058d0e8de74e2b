"""A pull of GOLD: against drawing its reward, and against Algorithm 1 in plain Python."""

from __future__ import annotations

import numpy as np

import oddarm
from benchmarks.loops import draw_only
from benchmarks.report import Report, median_ratio, processor_seconds
from benchmarks.rivals import rival
from oddarm.sources import SimulatedArms
from oddarm.strategies import Gold


def hard(n: int) -> np.ndarray:
    """Return means without an outlier, so that the budget ends the run."""
    return np.append(np.linspace(0.4, 0.6, n - 1), 0.6)


def run(report: Report) -> None:
    """Measure both forms, as proved and as printed, over 4 million pulls and more."""
    for strategy, bound, bar in (
        (Gold(), "anytime", 3.0),
        (Gold(), "paper", None),
        (Gold(form="intervals"), "anytime", None),
    ):
        for n in (20, 100, 400):
            means = hard(n)
            arms = SimulatedArms(means)
            sweeps = 200_000 // n if n < 100 else 10_000
            pulls = n * max(sweeps, 4_000_000 // n)

            def ours() -> None:
                oddarm.simulate(means, strategy, max_outliers=2, bound=bound, max_pulls=pulls)  # noqa: B023

            def drawing() -> None:
                draw_only(arms, pulls // n)  # noqa: B023

            ours()
            drawing()
            ratio, least = median_ratio(ours, drawing)
            name = f"GOLD, {strategy.form}, {bound}, n = {n}: pull / draw"
            report.add(name, ratio, most=bar, note=f"{least / pulls * 1e9:.1f} ns a pull")
    whole(report)
    plain(report)


def whole(report: Report) -> None:
    """Measure whole searches on the paper's kind of means, including making the result."""
    for n in (100, 400):
        means = oddarm.datasets.synthetic("upper", n, 2.5, seed=1).means
        arms = SimulatedArms(means)
        pulls = oddarm.simulate(means, "gold", epsilon=2.5, delta=0.1).pulls
        ratio, least = median_ratio(
            lambda: oddarm.simulate(means, "gold", epsilon=2.5, delta=0.1),  # noqa: B023
            lambda: draw_only(arms, pulls // n),  # noqa: B023
        )
        name = f"GOLD, edges, anytime, upper-{n}-2.5 to its end: pull / draw"
        report.add(name, ratio, note=f"{least / pulls * 1e9:.1f} ns a pull, {pulls:,} pulls")


def plain(report: Report) -> None:
    """Compare with Algorithm 1 written in plain Python with networkx, on the same means."""
    n, pulls = 100, 4_000_000

    def ours() -> None:
        oddarm.simulate(hard(n), "gold", max_outliers=2, max_pulls=pulls)

    ours()
    theirs = rival("networkx_gold", n, 20_000)
    least = min(processor_seconds(ours) for _ in range(3)) / pulls
    report.add(
        "GOLD, n = 100: plain Python with networkx / ours, a pull",
        theirs / least,
        least=1000,
        note=f"{theirs * 1e6:.0f} µs against {least * 1e9:.1f} ns",
    )
