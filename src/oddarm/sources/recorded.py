"""Recorded rewards, drawn again: to replay a log, or to try out a strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oddarm._checks import whole_number
from oddarm._streams import streams, uniforms
from oddarm._typing import Flags, Floats, Wholes
from oddarm.errors import ParameterError, RewardError
from oddarm.rewards import Bernoulli, Rewards, RowsKind, as_rewards
from oddarm.sources.base import ListedSource
from oddarm.sources.fingerprint import CONTENT, Fingerprint, digest

__all__ = ["RecordedSource"]


class RecordedSource(ListedSource):
    """Recorded rewards of each arm, in a random order per arm, or as recorded.

    Without replacement, each reward is drawn once, and an arm is a finite pool, or a sample if
    `rows` says so. With replacement, it is endless and its mean is that of the recorded rewards.

    Args:
        recorded: For each arm, its rewards.
        replace: Whether to draw with replacement.
        rewards: What a reward may be, as for `Search`; the sizes of finite arms are added.
        seed: Seed of the random orders; a whole number ≥ 0.
        shuffle: Whether to put the rewards in a random order; False if they are in one already.
        rows: "all" if the recorded rewards are all that there is, so that they are what the answer
            is about; "sample" if they are a sample of what the arms do, as for `open_table`.

    Examples:
        >>> log = RecordedSource({"a": [0, 1, 1], "b": [0, 0, 1], "c": [1, 0, 0]})
        >>> sorted(log.draw("a", count=5).tolist())
        [0.0, 1.0, 1.0]
        >>> RecordedSource({"a": [0, 1, 1]}, replace=True).draw("a", count=5).size
        5
    """

    local: ClassVar[bool] = True

    def __init__(
        self,
        recorded: Mapping[Any, ArrayLike],
        replace: bool = False,
        rewards: str | Sequence[float] | Rewards = "bernoulli",
        seed: int = 0,
        shuffle: bool = True,
        rows: RowsKind = "all",
    ) -> None:
        model = as_rewards(rewards)
        pools: dict[Any, _Rewards] = {}
        for arm, values in recorded.items():
            try:
                pools[arm] = _Rewards(model.check(values).copy())
            except RewardError as error:
                raise RewardError(f"arm {arm!r}: {error}") from None
        self._set_up(pools, replace, model, seed, shuffle, rows)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[Any, tuple[int, int]],
        replace: bool = False,
        seed: int = 0,
        rows: RowsKind = "all",
    ) -> Self:
        """Return a source of 0/1 rewards from their number and their sum.

        Args:
            counts: For each arm, how many rewards were recorded and how many of them were 1.
            replace: Whether to draw with replacement.
            seed: Seed of the random orders.
            rows: As for the class.

        Examples:
            >>> clicks = RecordedSource.from_counts({"ad-1": (20_000, 35), "ad-2": (9_000, 410)})
            >>> int(clicks.draw("ad-2", count=9_000).sum())
            410
        """
        pools: dict[Any, _Counted] = {}
        for arm, (size, ones) in counts.items():
            if not 0 <= whole_number("ones", ones, 0) <= whole_number("size", size, 0):
                raise ParameterError(
                    f"arm {arm!r} has {ones} ones among {size} rewards, must have at most {size}."
                )
            pools[arm] = _Counted(int(size), int(ones))
        source = cls.__new__(cls)
        source._set_up(pools, replace, Bernoulli(), seed, shuffle=True, rows=rows)
        return source

    def _set_up(
        self,
        pools: Mapping[Any, _Rewards | _Counted],
        replace: bool,
        model: Rewards,
        seed: int,
        shuffle: bool,
        rows: RowsKind,
    ) -> None:
        for arm, pool in pools.items():
            if pool.size == 0:
                raise ParameterError(f"arm {arm!r} has no rewards, must have >= 1: leave it out.")
        self.replace = replace
        self.seed = whole_number("seed", seed, 0)
        self._shuffle = shuffle
        self._pools = list(pools.values())
        sizes = None if replace else tuple(pool.size for pool in self._pools)
        super().__init__(list(pools), model.of_sizes(sizes, rows))
        self._ordered: dict[int, NDArray[Any]] = {}
        self._starts, self._increments = streams(seed, len(pools))
        self._drawn = [0] * len(pools)

    def draw(self, arm: Any, count: int = 1) -> Floats:
        """Return the next `count` rewards of an arm; without replacement, as many as are left."""
        i = self.position(arm)
        pool, first = self._pools[i], self._drawn[i]
        if self.replace:
            u = uniforms(self._starts[i], self._increments[i], first, count)
            values = pool.at((u * pool.size).astype(np.int64))
        else:
            if i not in self._ordered:
                rng = np.random.default_rng([self.seed, i])
                whole = np.arange(pool.size)
                self._ordered[i] = pool.shuffled(rng) if self._shuffle else pool.at(whole)
            values = self._ordered[i][first : first + count]
        self._drawn[i] += len(values)
        return values.astype(np.float64)

    def seek(self, arm: Any, drawn: int) -> None:
        """Continue with reward number `drawn` of the arm's order."""
        self._drawn[self.position(arm)] = drawn

    def fingerprint(self) -> Fingerprint:
        """Return the seed, how rewards are drawn, and what was recorded of each arm."""
        return {
            "recorded": sum(pool.size for pool in self._pools),
            "seed": self.seed,
            "replace": self.replace,
            "shuffle": self._shuffle,
            CONTENT: digest(
                (arm, pool.digest) for arm, pool in zip(self._arms, self._pools, strict=True)
            ),
        }


class _Rewards:
    """The recorded rewards of an arm."""

    def __init__(self, values: Floats) -> None:
        self.values = values
        self.size = len(values)

    def at(self, index: Wholes) -> Floats:
        return self.values[index]

    @cached_property
    def digest(self) -> str:
        """What tells these rewards, in the order in which they were recorded, from others."""
        return digest([self.values.tobytes()])

    def shuffled(self, rng: np.random.Generator) -> Floats:
        _ = self.digest  # of the recorded order, which is lost now
        rng.shuffle(self.values)  # a copy
        return self.values


class _Counted:
    """The 0/1 rewards of an arm by number and sum; shuffled, each takes a byte."""

    def __init__(self, size: int, ones: int) -> None:
        self.size = size
        self.ones = ones

    @property
    def digest(self) -> str:
        """What tells these rewards from others."""
        return f"{self.ones} of {self.size}"

    def at(self, index: Wholes) -> Flags:
        return index < self.ones

    def shuffled(self, rng: np.random.Generator) -> Flags:
        values = np.zeros(self.size, dtype=bool)
        values[: self.ones] = True
        rng.shuffle(values)
        return values
