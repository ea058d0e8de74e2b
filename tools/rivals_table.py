"""Print our side of the table of docs/strategies.md: rivals on their authors' instances."""

from __future__ import annotations

from itertools import chain

import numpy as np

import oddarm
from oddarm.rewards import SubGaussian
from oddarm.strategies import ROAILUCB, MaxGap, MaxGapTop2, ROAIElim, Strategy
from oddarm.strategies.robust.rule import robust_threshold

SEEDS = 20
STEPS = np.arange(0, 0.11, 0.02)


def maxgap_instance(gap: float) -> list[float]:
    """Return 18 arms in three clusters: the lower gap is `gap`, the upper one 0.4."""
    upper = STEPS[-1] + gap + np.concatenate([STEPS, 0.5 + STEPS])
    return [*STEPS.tolist(), *upper.tolist()]


def roai_instance(beyond: float) -> list[float]:
    """Return 15 arms from 0 to 2, and two of which the lower is `beyond` above the threshold."""
    normal = np.linspace(0, 2, 15)
    first = robust_threshold(np.append(normal, [4, 4.2]), 2.0) + beyond
    return [*normal.tolist(), first, first + 0.2]


def row(strategy: Strategy, means: list[float], scale: float, delta: float) -> str:
    """Return mean pulls, and how many runs declare all arms above the upper gap."""
    results = oddarm.simulate(
        means,
        strategy,
        runs=SEEDS,
        max_outliers=8,
        bound="paper",
        delta=delta,
        rewards=SubGaussian(scale=scale),
        max_pulls=1_000_000,
    )
    upper = set(range(int(np.argmax(np.diff(means))) + 1, len(means)))
    right = sum(set(r.outliers) == upper for r in results)
    return f"{np.mean([r.pulls for r in results]):,.0f} | {right} of {SEEDS}"


def main() -> None:
    """Print rows in Markdown, without the authors' pulls."""
    rivals: list[Strategy] = [MaxGap(), MaxGapTop2(border=True), MaxGapTop2()]
    gaps = ((s, g, maxgap_instance(g), 0.05, 0.1) for g in (0.36, 0.38, 0.39) for s in rivals)
    robust: list[Strategy] = [ROAILUCB(), ROAIElim()]
    beyond = ((s, b, roai_instance(b), 0.5, 0.05) for b in (0.6, 0.4) for s in robust)
    for strategy, distance, means, scale, delta in chain(gaps, beyond):
        print(f"| {strategy} | {distance} | {row(strategy, means, scale, delta)} |", flush=True)


if __name__ == "__main__":
    main()
