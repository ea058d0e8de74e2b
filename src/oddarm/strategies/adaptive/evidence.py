"""How sure a run is of its answer or best guess at this moment, as odds.

At any moment, take the least error probability at which the present intervals and the evidence of
pairs, not those of all times together, make a claim certain. Its inverse is at most the capital of
bets against the truth, whatever the truth is in which the claim is false. So it is an e-value: its
expectation is at most 1 for a false claim, at any time at which one may stop and look.
docs/guarantees.md, "Evidence".
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["MOST_ODDS", "odds_for"]

MOST_ODDS = 1e12
"""More is not looked for."""
STEPS = 11
"""Halvings of the range of log odds: the odds are found to 1.4 %."""


def odds_for(certain: Callable[[float], bool]) -> float:
    """Return the largest odds found at which a claim is certain; 1 if there are none.

    Args:
        certain: Whether the claim is certain at an error probability.

    Examples:
        >>> round(odds_for(lambda delta: delta >= 0.05), 1)
        20.0
    """
    low, high = 0.0, math.log(MOST_ODDS)
    if not certain(math.exp(-high / 2**STEPS)):  # mostly so at first, and then nothing else is
        return 1.0
    if certain(1 / MOST_ODDS):
        return MOST_ODDS
    for _ in range(STEPS):
        middle = (low + high) / 2
        if certain(math.exp(-middle)):
            low = middle
        else:
            high = middle
    return math.exp(low)
