"""The bets against a truth by the absolute rule, written down one by one (kernels/pieces.c)."""

import math
from itertools import pairwise

SHARES = (0.45, 0.2, 0.2, 0.15)
"""What is staked on each way to bet on the other arms."""
ZONE_STARTS = (0.0, 0.25, 0.6, 1.2)
"""How far beyond the edge an arm is, in parts of the gap."""
INSIDE = ((0, 0, 0, 0), (0.1, 0.07, 0.04, 0.5), (0.9, 0.5, 0.2, 0.5), (0.6, 0.3, 0.1, 0.5))
"""What each way stakes on an arm being inside, by zone; the last is divided by the arms."""
INNER_STEPS = (0.12, 0.3, 0.6, 1.2)
DIVIDED = ((0, 0, 0, 0), (0, 1 / 3, 1 / 3, 1 / 3), (1, 0, 0, 0), (0, 1, 0, 0))
"""How far inside, in parts of the gap, and how each way divides its stake."""
OWN_STEPS = (0.45, 0.95)


def ratio(successes, pulls, value, step, way):
    """Return the likelihood ratio of rewards if their rate is a step away from a value."""
    value = min(max(value, 1e-12), 1 - 1e-12)
    if way < 0:
        other = max(value - step, value / 16)
    else:
        other = 1 - max(1 - value - step, (1 - value) / 16)
    log = successes * math.log(other / value)
    log += (pulls - successes) * math.log((1 - other) / (1 - value))
    return math.exp(min(log, 200.0))  # so much is beyond any doubt


def pieces(truth, gap):
    """Return the sets of arms between gaps wider than `gap`."""
    order = sorted(range(len(truth)), key=truth.__getitem__)
    found = [[order[0]]]
    for before, arm in pairwise(order):
        if truth[arm] - truth[before] > gap:
            found.append([])
        found[-1].append(arm)
    return [set(piece) for piece in found]


def capital_against(totals, counts, truth, gap, max_members):
    """Return what bets against a truth have become; they begin at 1. None if nobody is apart."""
    small = [piece for piece in pieces(truth, gap) if len(piece) <= max_members]
    apart = [(k, piece) for piece in small for k in piece]
    if not apart:
        return None
    return sum(_one(totals, counts, truth, gap, k, piece) for k, piece in apart) / len(apart)


def _one(totals, counts, truth, gap, k, piece):
    """Return the capital of bets that k is not where it is, with its piece."""
    n = len(truth)
    own = sum(
        ratio(totals[k], counts[k], truth[k], step * gap, way)
        for step in OWN_STEPS
        for way in (-1, 1)
    ) / (2 * len(OWN_STEPS))
    others = 0.0
    for share, inside, divided in zip(SHARES, INSIDE, DIVIDED, strict=True):
        product = share
        for i in set(range(n)) - piece:
            way = 1 if truth[i] < truth[k] else -1
            beyond = (abs(truth[i] - truth[k]) - gap) / gap
            zone = max(z for z in range(len(ZONE_STARTS)) if ZONE_STARTS[z] <= beyond)
            stake = inside[zone] / (n if zone == len(ZONE_STARTS) - 1 else 1)
            bets = sum(
                part * ratio(totals[i], counts[i], truth[i], step * gap, way)
                for part, step in zip(divided, INNER_STEPS, strict=True)
                if part
            )
            product *= 1 - stake + stake * bets
        others += product
    return own * others
