"""Uniform, written out plainly: sweeps, each told at once to a search that nobody asks."""

import numpy as np

import oddarm


def uniform(means, rewards, seed, **options):
    """Return an adaptive search that was told all arms equally often until it was over."""
    n = len(means)
    search = oddarm.Search(n, "adaptive", rewards=rewards, seed=seed, **options)
    arms = oddarm.sources.SimulatedArms(means, rewards, seed=seed)
    level = 0
    while not search.done:
        before, level = level, max(level + 1, int(level * 1.02))
        told = [(arm, reward) for arm in range(n) for reward in arms.draw(arm, level - before)]
        search.tell_indices(np.array([a for a, _ in told]), np.array([r for _, r in told]))
    return search
