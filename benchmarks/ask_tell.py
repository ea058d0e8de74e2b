"""Ask and tell: one reward at a time beside river and MABWiser, whole arrays, and many arms.

The comparison with other packages has no bar: a real pull takes far longer than any of them.
"""

from __future__ import annotations

import random
import statistics
import time
from typing import Any

import numpy as np

import oddarm
from benchmarks.report import Report
from benchmarks.rivals import rival
from oddarm.strategies import Gold, Strategy

ARMS = 50
OPTIONS: dict[str, Any] = {"max_outliers": 2, "delta": 0.1, "until": "ranked"}


def one_by_one(strategy: str | Strategy, pulls: int) -> float:
    """Return the seconds per pull of the loop that a user writes."""
    search = oddarm.Search(ARMS, strategy, **OPTIONS)
    rng = random.Random(1)
    means = [0.4 + 0.2 * i / ARMS for i in range(ARMS)]
    start = time.process_time()
    for _ in range(pulls):
        (arm,) = search.ask(1)
        search.tell(arm, 1 if rng.random() < means[arm] else 0)
    return (time.process_time() - start) / pulls


def arrays(strategy: str | Strategy, n: int, rewards: int) -> float:
    """Return the rewards per second that are asked for and told, without drawing them."""
    search = oddarm.Search(n, strategy, **OPTIONS)
    rng, means = np.random.default_rng(1), np.linspace(0.4, 0.6, n)
    spent = 0.0
    while search.pulls < rewards:
        start = time.process_time()
        arms = search.ask_indices(max(n, 200_000))
        spent += time.process_time() - start
        drawn = rng.random(len(arms)) < means[arms]
        start = time.process_time()
        search.tell_indices(arms, drawn)
        spent += time.process_time() - start
    return search.pulls / spent


def waits(n: int, pulls: int, **options: Any) -> tuple[list[float], list[float]]:
    """Return the seconds of each ask for 100 pulls and of each tell, of the adaptive strategy.

    A fiftieth of the arms are outliers, and as many may be. The search goes on for so many pulls of
    each arm, or to its end.
    """
    rng = np.random.default_rng(1)
    means, outliers = rng.uniform(0.2, 0.4, n), max(1, n // 50)
    means[:outliers] = rng.uniform(0.85, 0.95, outliers)
    search = oddarm.Search(n, oddarm.strategies.Adaptive(), max_outliers=outliers, **options)
    asks, tells = [], []
    while not search.done and search.pulls < pulls * n:
        start = time.process_time()
        arms = search.ask_indices(100)
        asks.append(time.process_time() - start)
        drawn = rng.random(len(arms)) < means[arms]
        start = time.process_time()
        search.tell_indices(arms, drawn)
        tells.append(time.process_time() - start)
    return asks, tells


def many_arms(report: Report) -> None:
    """Measure how long an ask and a tell wait with many arms."""
    rules: dict[str, dict[str, Any]] = {
        "ranked": {"until": "ranked"},
        "found": {"until": "found"},
        "absolute": {"min_gap": 0.25},
    }
    for name, options in rules.items():
        few, _ = waits(50, 200, **options)
        many, _ = waits(5_000, 60, **options)
        late, usual = (float(np.percentile(times, 99)) for times in (many, few))
        report.add(
            f"adaptive, {name}, ask of 100: 99th of 100 at 5,000 arms / at 50",
            late / usual,
            most=100,
            note=f"{late * 1e3:.0f} against {usual * 1e3:.0f} ms",
        )
        report.add(f"adaptive, {name}, 5,000 arms: longest ask, seconds", max(many), most=0.5)
    for name, options in rules.items():
        asks, tells = waits(500, 200, **options)
        report.add(f"adaptive, {name}, 500 arms: longest ask, ms", 1e3 * max(asks), most=100)
        report.add(f"adaptive, {name}, 500 arms: longest tell, ms", 1e3 * max(tells), most=100)


def run(report: Report) -> None:
    """Measure in turn, three times, and take medians."""
    many_arms(report)
    intervals = Gold(form="intervals")
    for name, strategy, pulls in (
        ("gold", Gold(), 100_000),
        ("gold, intervals", intervals, 100_000),
        ("adaptive", "adaptive", 10_000),
    ):
        one_by_one(strategy, 2000)
        for other, script, which, count in (
            ("river UCB", "river_loop", 0, 20_000),
            ("river Thompson", "river_loop", 1, 5_000),
            ("river ε-greedy", "river_loop", 2, 50_000),
            ("MABWiser UCB1", "mabwiser_loop", 0, 500),
            ("MABWiser ε-greedy", "mabwiser_loop", 1, 500),
        ):
            times = [
                (rival(script, which, ARMS, count), one_by_one(strategy, pulls)) for _ in range(3)
            ]
            report.add(
                f"{ARMS} arms, one by one: {other} / {name}",
                statistics.median(theirs / ours for theirs, ours in times),
                note=f"{min(t for t, _ in times) * 1e6:.1f} against "
                f"{min(t for _, t in times) * 1e6:.1f} µs",
            )
    for strategy, name, n in (
        (Gold(), "gold", ARMS),
        (intervals, "gold, intervals", ARMS),
        (intervals, "gold, intervals", 100_000),
        (intervals, "gold, intervals", 1_000_000),
    ):
        rate = statistics.median(arrays(strategy, n, 4_000_000) for _ in range(3))
        report.add(f"arrays, {name}, {n:,} arms: million rewards/s", rate / 1e6, least=5)
