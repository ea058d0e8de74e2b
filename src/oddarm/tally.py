"""Per-arm sufficient statistics, as arrays: O(1) numbers an arm, whatever the number of pulls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddarm.errors import RewardError, StateError
from oddarm.rewards import Bounded, Rewards

__all__ = ["Tally"]

Floats = NDArray[np.float64]


class Tally:
    """What has been seen of each arm.

    Attributes:
        counts: Pulls of each arm.
        totals: Sum of its rewards, added one by one in the order told.
        scatter: For endless bounded rewards only, the sum of squared deviations from the mean,
            kept by Chan's update, so that it stays accurate when the variance is tiny.
        pulls: T, the pulls of all arms together.
        pools: Size of each arm's finite pool, or None.
        drawn: For bounded finite pools only, the sums that the without-replacement interval needs;
            see `bounds.pool_bernstein`.
        plain: Whether counts and totals are all there is.
        cells: Views of counts and totals in which one number is read and written in half the time.
    """

    def __init__(self, n: int, rewards: Rewards) -> None:
        self.counts: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self.totals: Floats = np.zeros(n)
        self.pulls = 0
        self.scatter: Floats | None = None
        self.pools: NDArray[np.int64] | None = None
        self.drawn: Floats | None = None
        if rewards.pools is not None:
            self.pools = np.array(rewards.pools, dtype=np.int64)
        if isinstance(rewards, Bounded):
            if self.pools is None:
                self.scatter = np.zeros(n)
            else:
                self.drawn = np.zeros((5, n))

        self.plain = self.pools is None and self.scatter is None
        self._view()

    def _view(self) -> None:
        self.cells: tuple[Any, Any] = self.counts.data, self.totals.data

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "cells"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # a view cannot be copied, so that of a copy is made anew
        self._view()

    @property
    def means(self) -> Floats:
        """Sample means; nan for an arm that was never pulled."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.totals / self.counts)

    def add(self, arm: int, rewards: Floats) -> None:
        """Count checked rewards of one arm."""
        before = int(self.counts[arm])
        self._check_pool(arm, len(rewards))
        if self.drawn is not None:
            self._add_drawn(arm, rewards, before)
        if self.scatter is not None:
            self._add_scatter(arm, rewards, before)
        if len(rewards) == 1:
            self.totals[arm] += rewards[0]
        else:
            # accumulate adds in sequence, so a batch gives the same bits as single tells
            self.totals[arm] = np.add.accumulate(np.append(self.totals[arm], rewards))[-1]
        self.counts[arm] = before + len(rewards)
        self.pulls += len(rewards)

    def add_one(self, arm: int, reward: float) -> None:
        """Count one checked reward; quicker than `add`."""
        if not self.plain:
            self.add(arm, np.array([reward], dtype=np.float64))
            return
        counts, totals = self.cells
        counts[arm] += 1
        totals[arm] += reward
        self.pulls += 1

    def add_many(self, arms: NDArray[np.intp], rewards: Floats) -> None:
        """Count checked rewards of many arms; those of one arm in the order given."""
        if self.plain:
            np.add.at(self.totals, arms, rewards)
            self.counts += np.bincount(arms, minlength=len(self.counts))
            self.pulls += len(arms)
            return
        order = np.argsort(arms, kind="stable")
        named, first = np.unique(arms[order], return_index=True)
        groups = np.split(rewards[order], first[1:])
        if self.pools is not None:  # refused whole, before anything is counted
            over = self.counts[named] + [len(group) for group in groups] > self.pools[named]
            if over.any():
                at = int(np.argmax(over))
                self._check_pool(int(named[at]), len(groups[at]))
        for arm, group in zip(named.tolist(), groups, strict=True):
            self.add(arm, group)

    def at(self, arm: int) -> Tally:
        """Return a view of one arm alone, with the pulls of all."""
        return self._part(slice(arm, arm + 1), self.pulls)

    def take(self, arms: Sequence[int]) -> Tally:
        """Return a copy of some arms alone, with their pulls."""
        index = np.array(arms, dtype=np.intp)
        return self._part(index, int(self.counts[index].sum()))

    def _part(self, index: slice | NDArray[np.intp], pulls: int) -> Tally:
        part = object.__new__(Tally)
        part.counts = self.counts[index]
        part.totals = self.totals[index]
        part.pulls = pulls
        part.scatter = None if self.scatter is None else self.scatter[index]
        part.pools = None if self.pools is None else self.pools[index]
        part.drawn = None if self.drawn is None else self.drawn[:, index]
        part.plain = self.plain
        part._view()
        return part

    def _check_pool(self, arm: int, rewards: int) -> None:
        """Refuse more rewards than a finite pool has left."""
        if self.pools is None:
            return
        left = int(self.pools[arm] - self.counts[arm])
        if rewards > left:
            raise RewardError(
                f"{rewards} more rewards for an arm with {left} of its pool of "
                f"{int(self.pools[arm])} left: each item may be told once."
            )

    def _add_scatter(self, arm: int, rewards: Floats, before: int) -> None:
        assert self.scatter is not None
        k = len(rewards)
        mean = rewards.mean()
        self.scatter[arm] += ((rewards - mean) ** 2).sum()
        if before:
            shift = mean - self.totals[arm] / before
            self.scatter[arm] += shift * shift * (before * k / (before + k))

    def _add_drawn(self, arm: int, rewards: Floats, before: int) -> None:
        """Sums of w, w², z, z², wz with w = N/(N-t+1) and z = x + (sum so far)/(N-t+1)."""
        assert self.pools is not None
        assert self.drawn is not None
        size = float(self.pools[arm])
        left = size - before - np.arange(len(rewards))
        so_far = float(self.totals[arm]) + np.concatenate([[0.0], np.cumsum(rewards)[:-1]])
        w = size / left
        z = rewards + so_far / left
        self.drawn[:, arm] += [w.sum(), (w * w).sum(), z.sum(), (z * z).sum(), (w * z).sum()]

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON values."""
        return {
            "counts": self.counts.tolist(),
            "totals": self.totals.tolist(),
            "scatter": None if self.scatter is None else self.scatter.tolist(),
            "drawn": None if self.drawn is None else self.drawn.tolist(),
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Take over what `to_dict` returned."""
        if len(values["counts"]) != len(self.counts):
            raise StateError("the saved tally does not fit the saved arms.")
        self.counts[:] = values["counts"]
        self.totals[:] = values["totals"]
        self.pulls = int(self.counts.sum())
        if self.scatter is not None:
            self.scatter[:] = values["scatter"]
        if self.drawn is not None:
            self.drawn[:] = values["drawn"]
