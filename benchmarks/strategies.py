"""How the cost of a pull grows with the number of arms, for every strategy."""

from __future__ import annotations

import math
import time

import numpy as np

import oddarm
from oddarm.strategies import STRATEGIES

COMPILED = ("gold", "rr", "wrr")


def seconds(name: str, n: int) -> float:
    """Return the least seconds of three that a pull takes."""
    means = np.append(np.linspace(0.4, 0.6, n - 1), 0.6)
    most = 1_000_000 if name in COMPILED else 3000

    def run() -> float:
        start = time.perf_counter()
        result = oddarm.simulate(means, name, max_outliers=2, max_pulls=most)
        return (time.perf_counter() - start) / result.pulls

    run()  # compiles what is compiled
    return min(run() for _ in range(3))


def run() -> None:
    """Print the cost at 100 and 400 arms and the power of n between them; 2 would be quadratic."""
    for name in STRATEGIES:
        small, large = seconds(name, 100), seconds(name, 400)
        power = math.log(large / small) / math.log(4)
        print(
            f"{name:<12} cost of a pull from n = 100 to 400 grows as n^    {power:8.2f}   "
            f"({small * 1e6:,.1f} to {large * 1e6:,.1f} µs)"
        )
