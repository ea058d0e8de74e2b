"""Rewards that a function gives."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from oddarm._checks import is_number
from oddarm.errors import ParameterError
from oddarm.rewards import Rewards, as_rewards
from oddarm.sources.base import CallSource, Job

__all__ = ["FunctionSource"]


class FunctionSource(CallSource):
    """One call, one reward: a probe, a request, a judgement.

    Args:
        pull: Returns a reward of the arm that it is given (or an array of several); a function or
            a coroutine function.
        arms: The names of the arms, or their number.
        rewards: What a reward may be, as for `Search`.

    Examples:
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
        names = range(arms) if is_number(arms) else list(arms)  # type: ignore[arg-type]
        super().__init__(names, as_rewards(rewards), pull)
        self.pull = pull

    def job(self, arm: Any, count: int = 1) -> Job:
        """Return a call that calls `pull` `count` times."""
        self.position(arm)
        return partial(_await_each if self._async else _call_each, self.pull, arm, count)


def _call_each(pull: Callable[[Any], Any], arm: Any, count: int) -> Any:
    if count == 1:
        return pull(arm)
    return np.concatenate([np.atleast_1d(pull(arm)) for _ in range(count)])


async def _await_each(pull: Callable[[Any], Any], arm: Any, count: int) -> Any:
    if count == 1:
        return await pull(arm)
    return np.concatenate([np.atleast_1d(await pull(arm)) for _ in range(count)])
