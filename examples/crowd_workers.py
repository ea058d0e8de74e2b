"""Which crowd workers are unlike the rest? Checking a label by an expert costs money.

Thirty workers have labelled 400 pictures each. An expert checks some of the labels, where
they tell most, until it is clear who the outliers are. Labels and expert are made up here.
"""

import random

import oddarm

COST = 0.40  # of one check, in euros
LABELS = 400

rng = random.Random(5)
error_rate = {f"worker-{number:02}": rng.uniform(0.04, 0.12) for number in range(1, 31)}
error_rate |= {"worker-11": 0.55, "worker-23": 0.62}

# What an expert would find, if asked: whether each label is wrong.
wrong = {
    worker: [rng.random() < rate for _ in range(LABELS)] for worker, rate in error_rate.items()
}


def check(label: tuple[str, int]) -> bool:
    """Ask the expert about one label; each label is asked about once."""
    worker, number = label
    return wrong[worker][number]


def main() -> None:
    """Have labels checked until the answer is sure, and say what that cost."""
    labels = {worker: [(worker, number) for number in range(LABELS)] for worker in error_rate}
    pool = oddarm.sources.PoolSource(labels, check)
    result = oddarm.find(pool, max_outliers=3)
    result = result.with_nouns("workers", "checks")
    everything = len(error_rate) * LABELS
    print(result.summary)
    print(f"The checks cost €{result.pulls * COST:,.2f}; all of them, €{everything * COST:,.2f}.")
    print()
    print(result.table(5))


if __name__ == "__main__":
    main()
