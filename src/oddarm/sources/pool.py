"""Items that are expensive to score: drawn without replacement, each at most once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from oddarm._checks import whole_number
from oddarm._typing import Wholes
from oddarm.errors import ParameterError
from oddarm.rewards import Rewards, as_rewards
from oddarm.sources.base import CallSource, Job
from oddarm.sources.fingerprint import CONTENT, Fingerprint, digest

__all__ = ["PoolSource"]

_PLAIN = (str, bytes, int, float, type(None))
"""Types of items whose repr tells one value from another."""


class PoolSource(CallSource):
    """A finite pool of items for each arm, and a function that scores one item.

    Items are drawn without replacement, each arm in its own random order. An item is scored
    again only if scoring it failed. A search on pools always ends: an arm whose items have all
    been scored is known exactly.

    Args:
        items: For each arm, its items.
        score: Returns the reward of an item; a function or a coroutine function.
        rewards: What a reward may be, as for `Search`; the sizes of the pools are added.
        seed: Seed of the random orders; a whole number ≥ 0.

    Examples:
        >>> answers = {"terse": ["ok", "no"], "wordy": ["well, yes", "it depends", "perhaps so"]}
        >>> pool = PoolSource(answers, score=len, rewards=(0, 20))
        >>> sorted(pool.draw("wordy", count=3).tolist()), pool.draw("wordy")
        ([9.0, 10.0, 10.0], array([], dtype=float64))
    """

    def __init__(
        self,
        items: Mapping[Any, Sequence[Any]],
        score: Callable[[Any], Any],
        rewards: str | Sequence[float] | Rewards = "bernoulli",
        seed: int = 0,
    ) -> None:
        if not callable(score):
            raise ParameterError(f"score == {score!r}, must be a function that scores an item.")
        self.score = score
        self.seed = whole_number("seed", seed, 0)
        self._items = list(items.values())
        for arm, pool in items.items():
            if len(pool) == 0:
                raise ParameterError(f"arm {arm!r} has no items, must have >= 1: leave it out.")
        model = replace(as_rewards(rewards), pools=tuple(map(len, self._items)))
        super().__init__(list(items), model, score)
        self._orders: dict[int, Wholes] = {}
        self._drawn = [0] * len(self._arms)

    def job(self, arm: Any, count: int = 1) -> Job:
        """Pick the next `count` items and return a call that scores them."""
        i = self.position(arm)
        pool = self._items[i]
        if i not in self._orders:
            self._orders[i] = np.random.default_rng([self.seed, i]).permutation(len(pool))
        first = self._drawn[i]
        chosen = [pool[k] for k in self._orders[i][first : first + count].tolist()]
        self._drawn[i] += len(chosen)
        return partial(_await_scores if self._async else _scores, self.score, chosen)

    def seek(self, arm: Any, drawn: int) -> None:
        """Continue with item number `drawn` of the arm's order."""
        self._drawn[self.position(arm)] = drawn

    def fingerprint(self) -> Fingerprint:
        """Return the seed, and what the items are if they are text or numbers."""
        parts: Fingerprint = {"items": sum(map(len, self._items)), "seed": self.seed}
        if all(isinstance(item, _PLAIN) for pool in self._items for item in pool):
            parts[CONTENT] = digest(
                (arm, list(pool)) for arm, pool in zip(self._arms, self._items, strict=True)
            )
        return parts


def _scores(score: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    return [score(item) for item in items]


async def _await_scores(score: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    return [await score(item) for item in items]
