"""A source whose k-th reward depends on the arm and k alone, wherever and whenever it is drawn."""

from __future__ import annotations

from functools import partial

import numpy as np

from oddarm.rewards import Bernoulli
from oddarm.sources import Source
from oddarm.sources.simulated import streams, uniforms

NAMES = list("abcdefghij")
MEANS = [0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.32, 0.34, 0.36, 0.95]
STARTS, INCREMENTS = streams(5, len(NAMES))


def rewards_of(arm, first, count):
    """Return rewards number `first` and on of an arm."""
    i = NAMES.index(arm)
    return (uniforms(STARTS[i], INCREMENTS[i], first, count) < MEANS[i]).astype(float)


async def rewards_later(arm, first, count):
    """Return the same as a coroutine."""
    return rewards_of(arm, first, count)


def score(item):
    """Return the reward of an item that is its arm and number."""
    return rewards_of(item[0], item[1], 1)[0]


def pools(size):
    """Return items for `score`."""
    return {arm: [(arm, k) for k in range(size)] for arm in NAMES}


def pool_totals(size):
    """Return the sum of the rewards of each pool."""
    return [rewards_of(arm, 0, size).sum() for arm in NAMES]


class Indexed(Source):
    """Ten arms, the last of which stands apart."""

    arms = NAMES
    rewards = Bernoulli()

    def __init__(self, function=rewards_of):
        self.function = function
        self.drawn = dict.fromkeys(NAMES, 0)

    @property
    def asynchronous(self):
        """Whether the rewards come by a coroutine function."""
        return self.function is rewards_later

    def draw(self, arm, count=1):
        """Return the next rewards of an arm."""
        return self.job(arm, count)()

    def job(self, arm, count=1):
        """Pick the next rewards of an arm."""
        first = self.drawn[arm]
        self.drawn[arm] += count
        return partial(self.function, arm, first, count)

    def seek(self, arm, drawn):
        """Let the next reward be number `drawn`."""
        self.drawn[arm] = drawn


def told_in_order(search):
    """Return whether each arm's tally is that of its first rewards, none missing or doubled."""
    counts, totals = search.tally.counts.tolist(), search.tally.totals.tolist()
    return all(
        np.isclose(rewards_of(arm, 0, count).sum(), total)
        for arm, count, total in zip(NAMES, counts, totals, strict=True)
    )
