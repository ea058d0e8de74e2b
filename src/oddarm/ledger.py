"""Which pulls a search may still ask for: its budget, its finite arms, and the pulls in flight."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from oddarm.tally import Tally

__all__ = ["Ledger"]


class Ledger:
    """Allows no more pulls than the budget and the arms have left, counting those in flight.

    A search owns the ledger. The runner and studies follow every pull, and say which pulls are in
    flight. Other callers do not say it: for them, only the rewards told count.

    Args:
        tally: The rewards told so far.
        max_pulls: The budget; None for no limit.

    Attributes:
        given_back: The arms of the pulls that the next asks return first, in order.
        in_flight: How many pulls are in flight.
    """

    def __init__(self, tally: Tally, max_pulls: int | None) -> None:
        self.max_pulls = max_pulls
        self.given_back: deque[int] = deque()
        self.in_flight = 0
        self._tally = tally
        self._in_flight_of: Counter[int] = Counter()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy of the search keeps: nobody tells it of the pulls in flight."""
        return {**self.__dict__, "in_flight": 0, "_in_flight_of": Counter()}

    @property
    def unspent(self) -> int | None:
        """How many rewards may be told until the budget is spent; None for no limit."""
        return None if self.max_pulls is None else max(self.max_pulls - self._tally.pulls, 0)

    @property
    def room(self) -> int | None:
        """How many pulls the budget allows beside those in flight; None for no limit."""
        if self.max_pulls is None:
            return None
        return max(self.max_pulls - self._tally.pulls - self.in_flight, 0)

    def room_of(self, arm: int) -> float:
        """Return how many pulls an arm has left beside those in flight; inf if it has no end."""
        limits = self._tally.limits
        if limits is None:
            return math.inf
        return int(limits[arm] - self._tally.counts[arm]) - self._in_flight_of[arm]

    def in_flight_of(self, arm: int) -> int:
        """Return how many pulls of an arm are in flight."""
        return self._in_flight_of[arm]

    def admit(self, arms: Any) -> Any:
        """Return the arms that may be pulled, of a list or array of those that are wanted.

        Pulls beyond the budget are given back, for a larger budget or for when a pull in flight is
        lost. Pulls that a finite arm does not have are dropped: no budget brings them back.
        """
        room = self.room
        if room is not None and len(arms) > room:
            self.give_back(list(map(int, arms[room:])))
            arms = arms[:room]
        if self._tally.limits is None:
            return arms
        admitted: Counter[int] = Counter()
        allowed = []
        for arm in map(int, arms):
            if admitted[arm] < self.room_of(arm):
                admitted[arm] += 1
                allowed.append(arm)
        return allowed

    def send(self, arms: Sequence[int]) -> None:
        """Note that a pull of each of the arms is in flight; an arm may occur more than once."""
        self._in_flight_of.update(arms)
        self.in_flight += len(arms)

    def settle(self, arms: Sequence[int]) -> None:
        """Note that a pull of each of the arms is not in flight any more: it was told, or is lost.

        The pulls of an arm that was dropped are forgotten already.
        """
        for arm, count in Counter(arms).items():
            settled = min(count, self._in_flight_of[arm])
            self._in_flight_of[arm] -= settled
            self.in_flight -= settled

    def settle_all(self) -> None:
        """Note that no pull is in flight any more."""
        self._in_flight_of.clear()
        self.in_flight = 0

    def give_back(self, arms: Sequence[int]) -> None:
        """Let the next asks return these pulls first."""
        self.given_back.extendleft(reversed(arms))

    def take_back(self, limit: int | None) -> list[int]:
        """Return up to `limit` of the pulls given back; None for all."""
        count = min(limit or len(self.given_back), len(self.given_back))
        return [self.given_back.popleft() for _ in range(count)]

    def drop(self, arm: int) -> None:
        """Forget the pulls of an arm that failed."""
        self.in_flight -= self._in_flight_of.pop(arm, 0)
        self.given_back = deque(other for other in self.given_back if other != arm)
