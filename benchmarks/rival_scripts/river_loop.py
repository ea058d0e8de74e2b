"""A policy of river: pull and update, one reward at a time."""

from __future__ import annotations

import random
import sys
import time

from river import bandit, proba

POLICIES = (
    lambda: bandit.UCB(delta=1, seed=1),
    lambda: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1),
    lambda: bandit.EpsilonGreedy(epsilon=0.1, seed=1),
)


def main(which: int, n: int, pulls: int) -> float:
    """Return the seconds per pull."""
    policy, arms, rng = POLICIES[which](), list(range(n)), random.Random(1)
    means = [0.4 + 0.2 * i / n for i in range(n)]
    start = time.process_time()
    for _ in range(pulls):
        arm = policy.pull(arms)
        policy.update(arm, 1 if rng.random() < means[arm] else 0)
    return (time.process_time() - start) / pulls


if __name__ == "__main__":
    print(main(*map(int, sys.argv[1:])))
