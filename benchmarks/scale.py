"""A million arms, and as many as are planned for: memory and time per pull; many runs at once."""

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


def plan(n: int, pulls: int) -> dict[str, float]:
    """Pull so often for each arm, with plans of the adaptive strategy; return the same."""
    oddarm.simulate(np.linspace(0.2, 0.4, 100), max_outliers=2, max_pulls=20_000)
    before = memory("VmRSS")
    rng = np.random.default_rng(0)
    means = rng.uniform(0.2, 0.4, n)
    means[: n // 50] = rng.uniform(0.85, 0.95, n // 50)
    start = time.process_time()
    result = oddarm.simulate(means, max_outliers=n // 50, max_pulls=pulls * n)
    spent = time.process_time() - start
    made = result.pulls
    return {"seconds": spent / made, "bytes": (memory("VmHWM") - before) / n, "pulls": made}


def memory(kind: str) -> int:
    """Return the bytes of memory that this process has now (VmRSS) or had at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) * 1024


def in_process(call: str) -> dict[str, float]:
    """Return what a call of a function above returns, measured in a process of its own."""
    code = f"import json; from benchmarks import scale; print(json.dumps(scale.{call}))"
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    measured: dict[str, float] = json.loads(out)
    return measured


def run(report: Report) -> None:
    """Measure both sizes in turn, then many runs in turn and at once."""
    pairs = [(in_process("search(1_000_000)"), in_process("search(1000, 100)")) for _ in range(3)]
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
    planned = in_process("plan(100_000, 12)")
    report.add(
        "n = 100,000, adaptive: bytes per arm, peak",
        planned["bytes"],
        most=1000,
        note=f"{planned['pulls'] / 1e6:.1f} million pulls and a result, "
        f"{planned['seconds'] * 1e6:.1f} µs a pull",
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
