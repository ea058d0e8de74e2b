"""The evidence of pairs of neighbours, written down as docs/adaptive.md defines it."""

import math
from itertools import pairwise

BY_WIDTH, EVENLY, ANY_SCALE = 0.5, 0.2, 0.15
RATIOS = [0.225, 0.4, 0.75, 1.35, 2.4, 4.5, 8.0]
ALL_STEPS = [2.0**-k for k in range(1, 11)]


def capital(successes, failures, value, way, steps):
    """Return what one's worth of bets against a mean has become; way is -1 below, 1 above."""
    total = 0.0
    for step in steps:
        if way < 0:
            other = max(value - step, value / 16)
        else:
            other = 1 - max(1 - value - step, (1 - value) / 16)
        log = successes * math.log(other / value)
        log += failures * math.log((1 - other) / (1 - value))
        total += math.exp(log) / len(steps)
    return total


def steps_of(width):
    """Return how far off the bets on the scale of a gap take a mean to be."""
    octave = 2.0 ** -math.floor(-math.log2(width))
    return [ratio * octave for ratio in RATIOS]


def product(data, one, two, means, ways, steps):
    """Return the capital of bets against two means at once."""
    both = zip((one, two), ways, strict=True)
    return math.prod(capital(*data[arm], means[arm], way, steps) for arm, way in both)


def on_its_scale(data, one, two, means):
    """Return the capital against neighbours of bets on the scale of their gap, with its stake."""
    width = means[two] - means[one]
    stake = BY_WIDTH * width + EVENLY / (len(means) - 1)
    return stake * product(data, one, two, means, (-1, 1), steps_of(width)) if width > 0 else 0.0


def on_all_scales(data, one, two, means, ways):
    """Return the capital against neighbours of bets on all scales, with its stake."""
    return ANY_SCALE / (len(means) - 1) * product(data, one, two, means, ways, ALL_STEPS)


def capital_of_pair(data, one, two, means):
    """Return the capital against neighbours `one` (below) and `two`, with its share of the stake.

    `data` has successes and failures per arm, `means` the values that are tested.
    """
    pair = data, one, two, means
    return on_its_scale(*pair) + on_all_scales(*pair, (-1, 1)) + on_all_scales(*pair, (1, -1))


def neighbours(means):
    """Return the pairs of neighbours, the lower one first."""
    order = sorted(range(len(means)), key=lambda arm: (means[arm], arm))
    return list(pairwise(order))


def total_capital(data, means):
    """Return what 1 staked against these means has become."""
    return sum(capital_of_pair(data, one, two, means) for one, two in neighbours(means))
