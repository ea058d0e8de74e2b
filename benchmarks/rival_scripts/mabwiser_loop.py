"""A policy of MABWiser: predict and partial_fit, one reward at a time."""

from __future__ import annotations

import random
import sys
import time

from mabwiser.mab import MAB, LearningPolicy

POLICIES = (LearningPolicy.UCB1(1), LearningPolicy.EpsilonGreedy(0.1))


def main(which: int, n: int, pulls: int) -> float:
    """Return the seconds per pull."""
    mab, rng = MAB(list(range(n)), POLICIES[which], seed=1), random.Random(1)
    means = [0.4 + 0.2 * i / n for i in range(n)]
    mab.fit(list(range(n)), [0] * n)
    start = time.process_time()
    for _ in range(pulls):
        arm = mab.predict()
        mab.partial_fit([arm], [1 if rng.random() < means[arm] else 0])
    return (time.process_time() - start) / pulls


if __name__ == "__main__":
    print(main(*map(int, sys.argv[1:])))
