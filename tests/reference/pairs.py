"""The evidence of pairs of neighbours, written down as docs/adaptive.md defines it."""

import math
from itertools import pairwise

from tests.reference.bets import capital as bet

BY_WIDTH, EVENLY, ANY_SCALE = 0.5, 0.2, 0.15
BETS = {0.1: 0.05, 0.19: 0.1, 0.36: 0.15, 0.68: 0.17, 1.3: 0.17, 2.5: 0.15, 4.8: 0.12, 9.0: 0.09}
ALL_SCALES = {2.0**-k: 0.1 for k in range(1, 11)}


def capital(told, value, way, bets):
    """Return what bets against a mean have become; way is -1 below, 1 above.

    `bets` has the stake of each, by how far off it takes the mean to be.
    """
    return sum(stake * bet(told, value, step, way) for step, stake in bets.items())


def bets_of(width):
    """Return the bets on the scale of a gap: of the fifth of an octave that it is in."""
    scale = 2.0 ** (-math.floor(-5 * math.log2(width)) / 5)
    return {ratio * scale: stake for ratio, stake in BETS.items()}


def product(data, one, two, means, ways, bets):
    """Return the capital of bets against two means at once."""
    both = zip((one, two), ways, strict=True)
    return math.prod(capital(data[arm], means[arm], way, bets) for arm, way in both)


def on_its_scale(data, one, two, means):
    """Return the capital against neighbours of bets on the scale of their gap, with its stake."""
    width = means[two] - means[one]
    stake = BY_WIDTH * width + EVENLY / (len(means) - 1)
    return stake * product(data, one, two, means, (-1, 1), bets_of(width)) if width > 0 else 0.0


def on_all_scales(data, one, two, means, ways):
    """Return the capital against neighbours of bets on all scales, with its stake."""
    return ANY_SCALE / (len(means) - 1) * product(data, one, two, means, ways, ALL_SCALES)


def capital_of_pair(data, one, two, means):
    """Return the capital against neighbours `one` (below) and `two`, with its share of the stake.

    `data` has the rewards of each arm, as `bets.capital` takes them, `means` the values that are
    tested.
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
