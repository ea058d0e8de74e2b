"""Run the benchmarks and print a table of ratios."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from numba import njit

import oddarm
from benchmarks import runner, service, strategies, tables, yahoo
from oddarm.kernels.streams import draw
from oddarm.sources import SimulatedArms


def best(action: Callable[[], object], repeats: int = 5) -> float:
    """Return the least seconds that an action takes."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def python(code: str) -> Callable[[], object]:
    """Return an action that runs code in a fresh interpreter."""
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


@njit
def draw_only(means, starts, increments, pulls):  # type: ignore[no-untyped-def]
    """Draw the same Bernoulli rewards in turn and add them up, nothing else."""
    n = len(means)
    totals = np.zeros(n)
    for t in range(pulls):
        i = t % n
        if draw(starts[i], increments[i], t // n + 1, means[i]):
            totals[i] += 1.0
    return totals


def imports() -> None:
    """Compare imports, with the start of the interpreter taken off both."""
    nothing = best(python("pass"), 9)
    numpy = best(python("import numpy"), 9) - nothing
    ours = best(python("import oddarm"), 9) - nothing
    used = best(python("import oddarm; oddarm.Search, oddarm.simulate, oddarm.find"), 9) - nothing
    print(
        f"import oddarm / import numpy                          {ours / numpy:8.2f}   (at most 2)"
    )
    print(f"import oddarm, all of the core loaded / import numpy  {used / numpy:8.2f}")


def gold() -> None:
    """Compare a pull of GOLD with drawing its reward."""
    for bound in ("anytime", "paper"):
        for n in (20, 100, 400):
            means = np.append(np.linspace(0.4, 0.6, n - 1), 0.6)
            arms = SimulatedArms(means)
            pulls = 2_000_000 if n < 400 else 1_000_000
            draw_only(means, arms.starts, arms.increments, 10)
            drawn = best(lambda: draw_only(means, arms.starts, arms.increments, pulls), 3)  # noqa: B023
            run = lambda: oddarm.simulate(means, max_outliers=2, bound=bound, max_pulls=pulls)  # noqa: B023, E731
            run()
            ours = best(run, 3)
            print(
                f"GOLD {bound:<8} n = {n:<4} pull / draw of a reward         {ours / drawn:8.1f}   "
                f"({ours / pulls * 1e9:,.0f} ns a pull)"
            )


if __name__ == "__main__":
    imports()
    gold()
    runner.run()
    strategies.run()
    yahoo.run()
    tables.run()
    service.run()
