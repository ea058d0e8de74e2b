"""What is left of a round: pulls that were planned together, asked for and told one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Flags, Indices, Wholes

__all__ = ["Round"]


class Round:
    """Pulls that were planned together.

    Attributes:
        quota: How often each arm is still to be asked for.
        goal: The pulls of each arm at which the round is complete; 0 once they are reached.
        waiting: How many arms are short of their goal.
    """

    def __init__(self, n: int) -> None:
        self.quota: Wholes = np.zeros(n, dtype=np.int64)
        self.goal: Wholes = np.zeros(n, dtype=np.int64)
        self.waiting = 0
        self._next = 0  # no arm before it has quota left

    def fill(self, quota: NDArray[Any]) -> None:
        """Set how often each arm is to be asked for."""
        self.quota[:] = quota
        self._next = 0

    def begin(self, asked: Wholes, counts: Wholes) -> None:
        """Set the goal of each arm: the pulls asked for so far, plus its quota."""
        self.goal[:] = np.where(self.quota > 0, asked + self.quota, 0)
        self.waiting = int((counts < self.goal).sum())

    def next_arm(self) -> int | None:
        """Take one arm of the quota; None if it is used up."""
        for arm in range(self._next, len(self.quota)):
            left = self.quota.item(arm)
            if left:
                self._next = arm
                self.quota[arm] = left - 1
                return arm
        self._next = len(self.quota)
        return None

    def next_arms(self, limit: int) -> tuple[NDArray[np.intp], Wholes]:
        """Take at most `limit` pulls of the quota; return the arms, and how often each."""
        arms = np.flatnonzero(self.quota)[:limit]  # no more arms than can be asked for
        times = np.minimum(self.quota[arms], limit)
        before = np.cumsum(times) - times
        times = np.clip(limit - before, 0, times)
        self.quota[arms] -= times
        return arms, times

    def reached(self, arms: Indices, counts: Wholes) -> Flags:
        """Return which of the arms reach their goal with so many rewards told."""
        goal = self.goal[arms]
        return (goal > 0) & (goal <= counts)

    def note(self, arm: int, count: int) -> None:
        """Take note of how many rewards of an arm were told."""
        if 0 < self.goal.item(arm) <= count:
            self.goal[arm] = 0
            self.waiting -= 1

    def note_all(self, counts: Wholes) -> None:
        """Take note of how many rewards of each arm were told."""
        self.goal[self.goal <= counts] = 0
        self.waiting = int(np.count_nonzero(self.goal))
