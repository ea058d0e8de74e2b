"""Print a table of docs/strategies.md: what choosing arms is worth, and knowing more."""

from __future__ import annotations

import numpy as np

import oddarm
from oddarm.strategies import LUCBBOC, MaxGapTop2, Odd, Strategy, Threshold, Uniform

RUNS, CAP = 5, 200_000
BULK = [0.02 + 0.004 * k for k in range(18)]
# Means, min_gap, max_outliers, a level in the gap, clusters.
INSTANCES: dict[str, tuple[list[float], float, int, float | None, int]] = {
    "two of 20 hosts": ([*BULK, 0.35, 0.40], 0.1, 2, 0.22, 2),
    "three of 50 prompts, the others equal": ([0.2] * 47 + [0.5] * 3, 0.15, 5, 0.35, 2),
    "one of 20, the others equal": ([0.3] * 19 + [0.6], 0.2, 2, 0.45, 2),
    "one between two clusters": ([*np.linspace(0.1, 0.2, 6), 0.5, *np.linspace(0.8, 0.9, 6)],
                                 0.15, 1, None, 3),
}  # fmt: skip


def cell(means: list[float], strategy: Strategy | str, right: set[int], **options: object) -> str:
    """Return mean pulls, how many runs did not end, and how many were wrong."""
    results = oddarm.simulate(means, strategy, runs=RUNS, max_pulls=CAP, **options)  # type: ignore[call-overload]
    open_ = sum(result.verdict == "budget" for result in results)
    wrong = sum(result.verdict != "budget" and set(result.outliers) != right for result in results)
    text = f"{np.mean([result.pulls for result in results]):,.0f}"
    return text + f" ({open_})" * (open_ > 0) + f", {wrong} wrong" * (wrong > 0)


def main() -> None:
    """Print a row for each strategy."""
    columns: dict[str, list[str]] = {}
    for means, gap, most, level, clusters in INSTANCES.values():
        array = np.array(means)
        middle = float(np.median(array))
        right = set(np.flatnonzero(np.abs(array - middle) > 0.1).tolist()) if level else {6}
        asked = {"min_gap": gap, "max_outliers": most}
        ranks = {"max_outliers": most}
        equal = len({*means}) == 2 and len(right) == 1
        rows: dict[str, tuple[Strategy | str, dict[str, object]] | None] = {
            "adaptive": ("adaptive", {**asked}),
            "uniform": (Uniform(), {**asked}),
            "odd": (Odd(), {**ranks}) if equal else None,
            "threshold": (Threshold(level=level), {**ranks}) if level else None,
            "lucb-boc": (LUCBBOC(clusters=clusters), {**ranks}) if len(means) < 50 else None,
            "maxgap-top2": (MaxGapTop2(), {**ranks}) if clusters == 2 else None,
        }
        for name, row in rows.items():
            text = "-" if row is None else cell(means, row[0], right, **row[1])
            columns.setdefault(name, []).append(text)
            print(name, text, flush=True)
    print("| |" + "".join(f" {name} |" for name in INSTANCES))
    print("|---" * (1 + len(INSTANCES)) + "|")
    for name, cells in columns.items():
        print(f"| `{name}` |" + "".join(f" {text} |" for text in cells))


if __name__ == "__main__":
    main()
