"""How the work of a server grows with the number of its workers and of its studies.

What is measured is the processor time of the server for a reward that is asked for and told, and
for an ask. Other load on the machine hardly changes it.
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.growth import draw_fitted
from benchmarks.report import Report
from benchmarks.service import ours, processor_seconds
from benchmarks.studies import ask_in_turn, create
from benchmarks.workers import ARMS, MANY, PULL_SECONDS, STUDY, Crowd
from oddarm.service import Client

SIZES = (1, 3, 10, 32, 100, 316, 1000)
SECONDS = 4.0
ASKS = 2000
"""So many asks are measured at each number of studies, and at least one of each study."""


def of_workers(url: str, pid: int) -> list[float]:
    """Return the processor seconds of a reward for each number of workers, 50 ms a pull."""
    Client(url).create("load", ARMS, **STUDY)
    costs = []
    for count in SIZES:
        crowd, before = Crowd(url, count, PULL_SECONDS), processor_seconds(pid)
        asyncio.run(crowd.rate(SECONDS if count >= 32 else 4 * SECONDS))
        costs.append((processor_seconds(pid) - before) / len(crowd.acknowledged))
    return costs


def of_studies(url: str, pid: int) -> list[float]:
    """Return the processor seconds of an ask for each number of studies that are asked in turn."""
    names: list[str] = []
    costs = []
    for count in SIZES:
        for k in range(len(names), count):
            create(url, f"s-{k}")
            names.append(f"s-{k}")
        asyncio.run(ask_in_turn(url, names, 1))
        times, before = max(ASKS // count, 1), processor_seconds(pid)
        waits = asyncio.run(ask_in_turn(url, names, times))
        costs.append((processor_seconds(pid) - before) / len(waits))
    return costs


def run(report: Report, path: Path = Path("out/crowds.png")) -> None:
    """Measure, fit and plot."""
    from matplotlib.figure import Figure

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * MANY)), hard))
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for measure, name in (
        (of_workers, "a reward of one study, over its workers"),
        (of_studies, "an ask, over the studies asked in turn"),
    ):
        with tempfile.TemporaryDirectory() as folder, ours(Path(folder) / "s.db") as (url, pid):
            costs = np.array(measure(url, pid))
        power = draw_fitted(axes, SIZES, costs * 1e3, name)
        report.add(
            f"{name}, 1 to {SIZES[-1]:,}: the server's time grows as n to the",
            power,
            note=f"{costs[0] * 1e6:,.0f} to {costs[-1] * 1e6:,.0f} µs",
        )
    axes.set_xlabel("workers, or studies")
    axes.set_ylabel("milliseconds of processor time of the server")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
