"""Driving a search from a source of rewards."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from oddarm.result import Result
from oddarm.search import Search
from oddarm.strategies import Strategy

__all__ = ["find"]


def find(
    pull: Callable[[Any], ArrayLike],
    arms: Sequence[Hashable] | int,
    strategy: str | Strategy = "gold",
    **options: Any,
) -> Result:
    """Find the outlying arms by calling `pull(arm)` for each reward, one at a time.

    Args:
        pull: Returns a reward of the arm (or an array of several).
        arms: The names of the arms, or their number.
        strategy: As for `Search`.
        options: All else that `Search` takes: epsilon, rho, delta, rewards, bound, max_pulls, …

    Example:
        >>> import random
        >>> rng = random.Random(1)
        >>> rate = {"ord": 0.20, "jfk": 0.23, "sfo": 0.26, "lhr": 0.24, "odd": 0.85}
        >>> find(lambda arm: rng.random() < rate[arm], list(rate), max_outliers=1).outliers
        ['odd']
    """
    search = Search(arms, strategy, **options)
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, pull(arm))
    return search.result()
