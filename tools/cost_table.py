"""What each choice of the question costs: the tables of docs/choosing.md.

Run as `python tools/cost_table.py`; it takes some minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import oddarm

RUNS = 40
HOSTS = [0.02 + 0.08 * k / 17 for k in range(18)] + [0.35, 0.40]
NOBODY = [0.05 + 0.005 * k for k in range(20)]
USUAL = {"min_gap": 0.1, "max_outliers": 2}
CHOICES: dict[str, dict[str, Any]] = {
    "`min_gap=0.1`": {},
    "`min_gap=0.05`": {"min_gap": 0.05},
    "`min_gap=0.2`": {"min_gap": 0.2},
    "`max_outliers=4`": {"max_outliers": 4},
    "`delta=0.01`": {"delta": 0.01},
    "`delta=0.2`": {"delta": 0.2},
    "`slack=0.1`": {"slack": 0.1},
    "`slack=0.4`": {"slack": 0.4},
    "`epsilon=2.5` too": {"epsilon": 2.5},
    "`epsilon=1` too": {"epsilon": 1.0},
    "`epsilon=2.5` alone": {"epsilon": 2.5, "min_gap": None},
}
CAP = 200_000


def cell(means: list[float], choice: dict[str, Any]) -> str:
    """Return the mean pulls of the runs that end, or how many do."""
    options = {**USUAL, **choice}
    runs = [oddarm.simulate(means, seed=seed, max_pulls=CAP, **options) for seed in range(RUNS)]
    pulls = [run.pulls for run in runs if run.verdict != "budget"]
    if len(pulls) < RUNS:
        return f"{len(pulls)} of {RUNS} end below {CAP:,}"
    return f"{round(float(np.mean(pulls)), -2):,.0f}"


def main() -> None:
    """Print both tables."""
    print("| choice | two of 20 hosts are odd | nobody is |\n|---|---|---|")
    for words, choice in CHOICES.items():
        print(f"| {words} | {cell(HOSTS, choice)} | {cell(NOBODY, choice)} |", flush=True)
    print("\n| | two of 20 hosts are odd | nobody is |\n|---|---|---|")
    plans = [
        oddarm.plan(means, ["adaptive", "fixed"], runs=RUNS, **USUAL) for means in (HOSTS, NOBODY)
    ]
    for row in zip(*(plan.costs for plan in plans), strict=True):
        print(f"| {row[0].strategy} | {' | '.join(f'{cost.median:,}' for cost in row)} |")


if __name__ == "__main__":
    main()
