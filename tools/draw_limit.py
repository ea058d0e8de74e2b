"""Measure the adaptive strategy against the limit: the table and the figure of docs/limit.md.

Run as `python -m tools.draw_limit [RUNS]` in a checkout; 20 runs of each instance by default. It
takes about an hour on two cores, prints the table in Markdown and draws docs/images/limit.png.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from verification.limit import (
    KINDS,
    SIZES,
    Measured,
    absolute_instances,
    measured,
    synthetic_instances,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

OUT = Path(__file__).parent.parent / "docs" / "images" / "limit.png"
SEEDS = 3
STYLES = {"upper": ("-", "o"), "intermediate": ("--", "s")}
COLOURS = {"ranked": "#0072B2", "found": "#D55E00"}


def mean(some: Sequence[Measured], value: Callable[[Measured], float]) -> float:
    """Return the geometric mean over instances."""
    return math.exp(float(np.mean([math.log(value(one)) for one in some])))


def row(name: str, some: Sequence[Measured]) -> str:
    """Return a line of the table."""
    cells = [
        f"{mean(some, lambda one: one.limit.time):,.0f}",
        f"{mean(some, lambda one: one.limit.pulls):,.0f}",
        f"{mean(some, lambda one: float(one.pulls.mean())):,.0f}",
        f"{mean(some, lambda one: one.over_bound):.1f}",
        f"{mean(some, lambda one: one.ratio):.0f}",
        f"{max(one.tail for one in some):.1f}",
    ]
    return f"| {' | '.join([' '.join(name.split()), *cells])} |"


def draw(ratios: dict[tuple[Any, str], list[float]]) -> None:
    """Draw pulls ÷ T* over the number of arms."""
    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for (until, kind), values in ratios.items():
        line, marker = STYLES[kind]
        axes.plot(
            SIZES,
            values,
            line,
            marker=marker,
            color=COLOURS[until],
            label=f"{until}, {kind}",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(SIZES, [str(n) for n in SIZES])
    ticks = (20, 30, 40, 60, 80, 120)
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    axes.set_ylim(20, None)
    axes.minorticks_off()
    axes.set_xlabel("arms")
    axes.set_ylabel("mean pulls of the adaptive strategy ÷ T*")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(OUT, dpi=130)


def main(runs: int) -> None:
    """Measure, print and draw."""
    print("| | T* | bound | adaptive | ÷ bound | ÷ T* | longest run ÷ median |")
    print("|---|---|---|---|---|---|---|")
    ratios: dict[tuple[Any, str], list[float]] = {}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for until in COLOURS:
            for n in SIZES:
                for kind in KINDS:
                    instances = synthetic_instances(until, n, kind, SEEDS)
                    some = list(measured(pool, instances, runs))
                    print(row(some[0].instance.cell, some), flush=True)
                    ratio = mean(some, lambda one: one.ratio)
                    ratios.setdefault((until, kind), []).append(ratio)
        for one in measured(pool, absolute_instances(), runs):
            print(row(one.instance.cell, [one]), flush=True)
    draw(ratios)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
