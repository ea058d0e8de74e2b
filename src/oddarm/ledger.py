"""Which pulls a search may still ask for: its budgets, its finite arms, and pulls in flight."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from oddarm._typing import Floats
from oddarm.state import EXACT
from oddarm.tally import Tally

__all__ = ["Ledger"]

ROUNDING = 1e-12
"""By what share of `max_cost` a sum of costs may exceed it: ten times 0.1 is not 1 in floats."""


class Ledger:
    """Allows no more pulls than the budgets and the arms have left, counting those in flight.

    A search owns the ledger. The runner and studies follow every pull, and say which pulls are in
    flight. Other callers do not say it: for them, only the rewards told count.

    Args:
        tally: The rewards told so far.
        max_pulls: The most pulls; None for no limit.
        costs: What a pull of each arm costs; None if each costs 1.
        max_cost: The most that all pulls may cost; None for no limit.

    Attributes:
        given_back: The arms of the pulls that the next asks return first, in order.
        refused: How many pulls of each arm were asked for and cost more than is left.
        in_flight: How many pulls are in flight.
        ended_at: The `max_cost` with which the run asked only for pulls that cost more than was
            left; None if it did not. The budget is spent until `max_cost` is raised.
    """

    def __init__(
        self,
        tally: Tally,
        max_pulls: int | None,
        costs: Floats | None = None,
        max_cost: float | None = None,
    ) -> None:
        self.max_pulls = max_pulls
        self.max_cost = max_cost
        self.given_back: deque[int] = deque()
        self.refused: Counter[int] = Counter()
        self.in_flight = 0
        self.ended_at: float | None = None
        self._tally = tally
        self._costs = costs
        self._cheapest = 1.0 if costs is None else float(costs.min())
        self._dearest = 1.0 if costs is None else float(costs.max())
        self._in_flight_of: Counter[int] = Counter()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy of the search keeps: nobody tells it of the pulls in flight."""
        return {**self.__dict__, "in_flight": 0, "_in_flight_of": Counter()}

    @property
    def unspent(self) -> int | None:
        """How many rewards may be told until the budgets are spent, at most; None for no limit."""
        return self._pulls_left(0, 0.0)

    @property
    def room(self) -> int | None:
        """How many pulls the budgets allow beside those in flight, at most; None for no limit."""
        return self._pulls_left(self.in_flight, self._cost_in_flight())

    @property
    def sure(self) -> int:
        """How many pulls can be made beside those in flight, whichever arms they are of."""
        by_cost = int(min(max(self.cost_room / self._dearest, 0.0), EXACT))
        room = self.room
        return by_cost if room is None else min(by_cost, room)

    def _pulls_left(self, in_flight: int, cost_in_flight: float) -> int | None:
        left = None
        if self.max_pulls is not None:
            left = max(self.max_pulls - self._tally.pulls - in_flight, 0)
        if self.max_cost is not None:
            if self.ended_at is not None and self.max_cost <= self.ended_at:
                return 0
            by_cost = (self._unspent_cost(self.max_cost) - cost_in_flight) / self._cheapest
            affordable = int(min(max(by_cost, 0.0), EXACT))
            left = affordable if left is None else min(left, affordable)
        return left

    @property
    def cost(self) -> float:
        """What all rewards told cost."""
        return float(self._tally.pulls if self._costs is None else self._tally.counts @ self._costs)

    @property
    def cost_room(self) -> float:
        """What further pulls may cost beside those in flight; inf for no limit."""
        if self.max_cost is None:
            return math.inf
        return self._unspent_cost(self.max_cost) - self._cost_in_flight()

    def _unspent_cost(self, max_cost: float) -> float:
        return max_cost * (1 + ROUNDING) - self.cost

    def _cost_in_flight(self) -> float:
        if self._costs is None or self.max_cost is None:
            return float(self.in_flight)
        return sum(self.cost_of(arm) * count for arm, count in self._in_flight_of.items())

    def cost_of(self, arm: int) -> float:
        """Return what a pull of an arm costs."""
        return 1.0 if self._costs is None else self._costs.item(arm)

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

        Pulls beyond the budgets are given back, or noted as refused if cheaper ones fit: for a
        larger budget, or for when a pull in flight is lost. Pulls that a finite arm does not have
        are dropped: no budget brings them back.
        """
        room = self.room
        if room is not None and len(arms) > room:
            self.give_back(list(map(int, arms[room:])))
            arms = arms[:room]
        return self._admit_by_cost(self._admit_by_limits(arms))

    def _admit_by_limits(self, arms: Any) -> Any:
        """Return the arms that have a reward left."""
        if self._tally.limits is None or len(arms) == 0:
            return arms
        if len(arms) == 1:  # the usual case, made fast
            return arms if self.room_of(int(arms[0])) > 0 else []
        index = np.asarray(arms, dtype=np.intp)
        order = np.argsort(index, kind="stable")
        named, first, times = np.unique(index[order], return_index=True, return_counts=True)
        room = self._tally.limits[named] - self._tally.counts[named]
        if self._in_flight_of:
            room -= np.array([self._in_flight_of[arm] for arm in named.tolist()])
        if (times <= room).all():
            return arms
        nth = np.empty(len(index), dtype=np.int64)  # which of the pulls of its arm each is
        nth[order] = np.arange(len(index)) - np.repeat(first, times)
        room_of = np.empty(len(index), dtype=np.int64)
        room_of[order] = np.repeat(room, times)
        return index[nth < room_of].tolist()

    def _admit_by_cost(self, arms: Any) -> Any:
        """Return the arms that can be afforded, in order; note the others as refused."""
        if self.max_cost is None or self._costs is None or len(arms) == 0:
            return arms
        index = np.asarray(arms, dtype=np.intp)
        left = self.cost_room
        if self._costs[index].sum() <= left:
            return arms
        allowed = []
        for arm, cost in zip(index.tolist(), self._costs[index].tolist(), strict=True):
            if cost <= left:
                left -= cost
                allowed.append(arm)
            else:
                self.refused[arm] += 1
        return allowed

    def reconsider(self) -> None:
        """Give back the refused pulls if one of them can be afforded by now."""
        if self.refused and min(map(self.cost_of, self.refused)) <= self.cost_room:
            self.give_back(list(self.refused.elements()))
            self.refused.clear()

    def end(self) -> None:
        """Note that the run asks only for pulls that cost more than is left."""
        self.ended_at = self.max_cost

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
            if not self._in_flight_of[arm]:
                del self._in_flight_of[arm]
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
        self.refused.pop(arm, None)
        self.given_back = deque(other for other in self.given_back if other != arm)
