"""Evidence against a whole truth, written down as docs/adaptive.md defines it."""

import math
from itertools import pairwise

from tests.reference.bets import capital as bet

ZONES = {0.0: 0.4, 1 / 32: 0.2, 4 / 32: 0.1, 12 / 32: 0.03}
"""What is bet on an arm that begins so far from the stretch, in parts of its width."""
INNER = {0.05: 0.25, 0.1: 0.25, 0.2: 0.25, 0.4: 0.25}
"""Stakes by how far inside the stretch a bet takes an arm to be."""
OUTER = {0.03: 0.15, 0.07: 0.15, 0.15: 0.2, 0.4: 0.2, 1.0: 0.2, 2.5: 0.1}
"""Stakes by how much further out a bet takes an arm of the pair to be."""
FURTHER = 0.75
WIDER = 0.85


def rank_stake(rank):
    """Return what is staked on the stretch being the gap of this rank, the widest first."""
    if rank <= 3:
        return (0.05, 0.35, 0.3)[rank - 1]
    return 0.3 / ((rank - 3) * (rank - 2))


def stake(rank, pair_rank, n):
    """Return what is staked on a stretch and a pair, by their ranks among the gaps."""
    if pair_rank < rank:
        return rank_stake(rank) * WIDER / (rank - 1)
    return rank_stake(rank) * (1 - WIDER if rank > 1 else 1) / (n - 1)


def capital(told, value, way, scale, bets):
    """Return what bets against a mean have become; way is -1 if it is lower, 1 if higher."""
    return sum(part * bet(told, value, step * scale, way) for step, part in bets.items())


def partly(p, value):
    """Return what 1 becomes if the part p of it is multiplied by a value."""
    return (1 - p) + p * value


def against(data, means, order, stretch, pair):
    """Return the capital of bets on a stretch and a pair: places of gaps in the order."""
    x, end = (means[order[stretch + k]] for k in (0, 1))
    scale = 2.0 ** (math.ceil(5 * math.log2(end - x)) / 5)
    product = 1.0
    for place, arm in enumerate(order):
        told, mean = data[arm], means[arm]
        if place in (pair, pair + 1):
            way = -1 if place == pair else 1
            product *= partly(FURTHER, capital(told, mean, way, scale, OUTER))
            continue
        way = 1 if place <= stretch else -1
        distance = (x - mean if way > 0 else mean - end) / scale
        part = [p for begin, p in ZONES.items() if begin <= distance][-1]
        product *= partly(part, capital(told, mean, way, scale, INNER))
    return product


def evidence(data, means):
    """Return what 1 staked against these means has become.

    `data` has the rewards of each arm, as `bets.capital` takes them, `means` the values that are
    tested.
    """
    n = len(means)
    order = sorted(range(n), key=lambda arm: (means[arm], arm))
    gaps = [means[b] - means[a] for a, b in pairwise(order)]
    widest = sorted(range(n - 1), key=lambda place: (-gaps[place], place))
    rank = {place: k for k, place in enumerate(widest, start=1)}
    return sum(
        stake(rank[stretch], rank[pair], n) * against(data, means, order, stretch, pair)
        for stretch in range(n - 1)
        for pair in range(n - 1)
        if gaps[stretch] > 0 and pair != stretch
    )


def is_group(means, members, factor):
    """Whether members are further from the others than factor times the gaps in segments."""
    order = sorted(range(len(means)), key=lambda arm: means[arm])
    apart, inside = math.inf, 0.0
    for a, b in pairwise(order):
        gap = means[b] - means[a]
        if (a in members) != (b in members):
            apart = min(apart, gap)
        elif a not in members:
            inside = max(inside, gap)
    return apart > factor * inside
