"""What the runner costs: pulls per second on a source that costs nothing, in batches."""

from __future__ import annotations

import time

import numpy as np

import oddarm
from oddarm.sources import SimulatedArms

ARMS = 50
PULLS = 2_000_000
MEANS = np.linspace(0.4, 0.6, ARMS)  # without an outlier, so that the budget ends the search


def draw_only(batch: int) -> None:
    """Draw the same rewards in the same batches and add them up, nothing else."""
    source = SimulatedArms(MEANS)
    totals = np.zeros(ARMS)
    each = batch // ARMS
    for _ in range(PULLS // batch):
        for arm in range(ARMS):
            totals[arm] += source.draw(arm, each).sum()


def run() -> None:
    """Measure serial pulls, in batches of a given size and of the size that `find` chooses."""
    for batch in (2_000, 5_000, None):
        start = time.perf_counter()
        result = oddarm.find(SimulatedArms(MEANS), batch=batch, max_pulls=PULLS)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        draw_only(batch or 5_000)
        bare = time.perf_counter() - start
        name = f"find, batches of {batch:,}" if batch else "find, batches of its own"
        print(
            f"{name + ' / drawing alone':<54}{ours / bare:8.2f}   "
            f"({result.pulls / ours:,.0f} pulls/s at {ARMS} arms, at least 200,000)"
        )
