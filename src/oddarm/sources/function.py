"""Rewards that a function gives."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from oddarm._typing import Floats
from oddarm.errors import ParameterError
from oddarm.rewards import Rewards, as_rewards
from oddarm.sources.base import Job, Source, position

__all__ = ["FunctionSource", "is_async"]


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether the function is defined so that a call returns a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


class FunctionSource(Source):
    """One call, one reward: a probe, a request, a judgement.

    Args:
        pull: Returns a reward of the arm that it is given (or an array of several); a function or
            a coroutine function.
        arms: The names of the arms, or their number.
        rewards: What a reward may be, as for `Search`.

    Example:
        >>> source = FunctionSource(len, ["a", "bb", "ccc"], rewards=(0, 10))
        >>> source.draw("bb", count=3)
        array([2., 2., 2.])
    """

    def __init__(
        self,
        pull: Callable[[Any], Any],
        arms: Sequence[Hashable] | int,
        rewards: str | Sequence[float] | Rewards = "bernoulli",
    ) -> None:
        if not callable(pull):
            raise ParameterError(
                f"pull == {pull!r}, must be a function that returns a reward of an arm, "
                "or a source of oddarm.sources."
            )
        self.pull = pull
        self._rewards = as_rewards(rewards)
        self._arms = range(arms) if isinstance(arms, int) else list(arms)
        self._positions = {arm: i for i, arm in enumerate(self._arms)}
        self._async = is_async(pull)

    @property
    def arms(self) -> Sequence[Hashable]:
        """The names of the arms."""
        return self._arms

    @property
    def rewards(self) -> Rewards:
        """What a reward may be."""
        return self._rewards

    @property
    def asynchronous(self) -> bool:
        """Whether `pull` is a coroutine function."""
        return self._async

    def draw(self, arm: Any, count: int = 1) -> Floats:
        """Call `pull` `count` times; a coroutine function in an event loop of its own."""
        drawn = self.job(arm, count)()
        return np.asarray(asyncio.run(drawn) if self._async else drawn, dtype=np.float64)

    def job(self, arm: Any, count: int = 1) -> Job:
        """Return a call that calls `pull` `count` times."""
        position(self._positions, arm)
        return partial(_await_each if self._async else _call_each, self.pull, arm, count)


def _call_each(pull: Callable[[Any], Any], arm: Any, count: int) -> Any:
    if count == 1:
        return pull(arm)
    return np.concatenate([np.atleast_1d(pull(arm)) for _ in range(count)])


async def _await_each(pull: Callable[[Any], Any], arm: Any, count: int) -> Any:
    if count == 1:
        return await pull(arm)
    return np.concatenate([np.atleast_1d(await pull(arm)) for _ in range(count)])
