"""Print the tables of docs/choosing.md: how often a bulk has an outlier group by chance."""

from __future__ import annotations

import oddarm

SIZES = (10, 20, 50, 100, 200, 500, 1_000)
SHAPES = ("uniform", "normal", "exponential")
RULES = {"epsilon": (1, 2.5, 5, 10), "min_gap": (0.5, 1, 2, 3), "neighbours": (1, 2, 3, 5)}
RUNS = 10_000


def main() -> None:
    """Print a table in Markdown for each rule: a row for each shape and n."""
    for name, values in RULES.items():
        print("| shape | n |" + "".join(f" {name}={value} |" for value in values))
        print("|---" * (2 + len(values)) + "|")
        for shape in SHAPES:
            for n in SIZES:
                shares = (
                    oddarm.chance(n, shape=shape, runs=RUNS, **{name: value}).share
                    for value in values
                )
                print(f"| {shape} | {n:,} |" + "".join(f" {100 * s:.1f} % |" for s in shares))
        print()


if __name__ == "__main__":
    main()
