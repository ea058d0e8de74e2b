"""A million arms: memory, and time per pull against that at a thousand; many runs at once."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import oddarm
from benchmarks.loops import spin
from benchmarks.report import Report, median_ratio, seconds
from oddarm.strategies import Gold

FORM = Gold(form="intervals")


def search(n: int, runs: int = 1) -> dict[str, float]:
    """Run whole searches for one outlier; return seconds per pull and bytes per arm."""
    oddarm.simulate(np.linspace(0.2, 0.4, 100), FORM, max_outliers=1, max_pulls=20_000)
    before = memory("VmRSS")
    means = np.random.default_rng(0).uniform(0.2, 0.4, n)
    means[n // 3] = 0.97
    start = time.perf_counter()
    pulls = sum(oddarm.simulate(means, FORM, max_outliers=1, seed=k).pulls for k in range(runs))
    spent = time.perf_counter() - start
    return {"seconds": spent / pulls, "bytes": (memory("VmHWM") - before) / n, "pulls": pulls}


def memory(kind: str) -> int:
    """Return the bytes of memory that this process has now (VmRSS) or had at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) * 1024


def search_in_process(n: int, runs: int = 1) -> dict[str, float]:
    """Return what `search` returns, measured in a process of its own."""
    code = (
        f"import json; from benchmarks.scale import search; print(json.dumps(search({n}, {runs})))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    measured: dict[str, float] = json.loads(out)
    return measured


def run(report: Report) -> None:
    """Measure both sizes in turn, then many runs in turn and at once."""
    pairs = [(search_in_process(1_000_000), search_in_process(1000, 100)) for _ in range(3)]
    large, small = pairs[0]
    report.add(
        "n = 1,000,000, intervals: bytes per arm, peak",
        statistics.median(big["bytes"] for big, _ in pairs),
        most=200,
        note=f"a whole search of {large['pulls'] / 1e6:,.0f} million pulls",
    )
    report.add(
        "intervals: a pull at n = 1,000,000 / at n = 1,000",
        statistics.median(big["seconds"] / little["seconds"] for big, little in pairs),
        most=4,
        note=f"{large['seconds'] * 1e9:.1f} against {small['seconds'] * 1e9:.1f} ns",
    )
    at_once(report)


def at_once(report: Report) -> None:
    """Compare many runs in turn with all at once, beside a bare loop that does the same."""
    spin(1)

    def spin_at_once() -> None:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(spin, [50_000_000] * 4))

    ratio, _ = median_ratio(lambda: [spin(50_000_000) for _ in range(4)], spin_at_once, 3, seconds)
    report.add("a loop without the lock: in turn / at once", ratio, note="2 idle cores: 2")
    for strategy, n, runs in (("gold", 100, 1000), ("adaptive", 100, 24), ("adaptive", 20, 200)):
        means = oddarm.datasets.synthetic("upper", n, 2.5, seed=1).means
        options = {"epsilon": 2.5, "delta": 0.1, "until": "ranked"}
        options["bound"] = "paper" if strategy == "gold" else "anytime"
        oddarm.simulate(means, strategy, runs=runs, **options)  # starts the processes
        ratio, _ = median_ratio(
            lambda: [
                oddarm.simulate(means, strategy, seed=k, **options)  # noqa: B023
                for k in range(runs)  # noqa: B023
            ],
            lambda: oddarm.simulate(means, strategy, runs=runs, **options),  # noqa: B023
            3,
            seconds,
        )
        report.add(f"{runs} runs of {strategy} at n = {n}: in turn / at once", ratio)
