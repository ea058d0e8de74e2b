"""The bets against a truth by the absolute rule, written down one by one (kernels/pieces.c)."""

from itertools import pairwise

from tests.reference.bets import capital

SHARES = (0.45, 0.2, 0.2, 0.15)
"""What is staked on each way to bet on the arms beside the end of a piece."""
ZONE_STARTS = (0.0, 0.25, 0.6, 1.2)
"""How far beyond its edge an arm is, in parts of the gap."""
STAKED = ((0, 0, 0, 0), (0.1, 0.07, 0.04, 0.5), (0.9, 0.5, 0.2, 0.5), (0.6, 0.3, 0.1, 0.5))
"""What each way stakes on an arm being elsewhere, by zone; the last is divided by the arms."""
STAKED_WITHIN = (0, 0.5, 0.9, 0.6)
"""What each way stakes on an arm of the piece being elsewhere."""
BET_STEPS = (0.12, 0.3, 0.6, 1.2)
DIVIDED = ((0, 0, 0, 0), (0, 1 / 3, 1 / 3, 1 / 3), (1, 0, 0, 0), (0, 1, 0, 0))
"""How far off, in parts of the gap, and how each way divides its stake."""
OWN_STEPS = (0.45, 0.95, -0.6)
OWN_STAKED = (0.4, 0.3, 0.2)
"""How far off the arm at the end of a piece is taken to be, away from the piece or into it."""


def pieces(truth, gap):
    """Return the sets of arms between gaps wider than `gap`."""
    order = sorted(range(len(truth)), key=truth.__getitem__)
    found = [[order[0]]]
    for before, arm in pairwise(order):
        if truth[arm] - truth[before] > gap:
            found.append([])
        found[-1].append(arm)
    return [set(piece) for piece in found]


def capital_against(data, truth, gap, max_members):
    """Return what bets against a truth have become; they begin at 1. None if nobody is apart.

    `data` has the rewards of each arm, as `bets.capital` takes them.
    """
    small = [piece for piece in pieces(truth, gap) if len(piece) <= max_members]
    if not small:
        return None
    total = sum(
        len(piece) / 2 * from_end(data, truth, gap, piece, way)
        for piece in small
        for way in (-1, 1)
    )
    return total / sum(len(piece) for piece in small)


def from_end(data, truth, gap, piece, way):
    """Return the capital of bets from the lower end of a piece (way -1) or from the upper one."""
    low, high = min(truth[i] for i in piece), max(truth[i] for i in piece)
    end = next(i for i in sorted(piece) if truth[i] == (low if way < 0 else high))

    def bets_on(i, steps, parts, side):
        return sum(
            part * capital(data[i], truth[i], step * gap, side)
            for part, step in zip(parts, steps, strict=True)
            if part
        )

    own = 1 - sum(OWN_STAKED)
    for step, staked in zip(OWN_STEPS, OWN_STAKED, strict=True):
        own += bets_on(end, [abs(step)], [staked], way if step > 0 else -way)
    others = 0.0
    ways = zip(SHARES, STAKED, STAKED_WITHIN, DIVIDED, strict=True)
    for share, staked, staked_within, divided in ways:
        product = share
        for i in set(range(len(truth))) - {end}:
            if i in piece:
                stake = staked_within
                bets = sum(bets_on(i, BET_STEPS, divided, side) for side in (-1, 1)) / 2
            else:
                side = 1 if truth[i] < low else -1
                beyond = (low - truth[i] if side > 0 else truth[i] - high) / gap - 1
                zone = max(z for z in range(len(ZONE_STARTS)) if ZONE_STARTS[z] <= max(beyond, 0.0))
                stake = staked[zone] / (len(truth) if zone == len(ZONE_STARTS) - 1 else 1)
                bets = bets_on(i, BET_STEPS, divided, side)
            product *= 1 - stake + stake * bets
        others += product
    return own * others
