"""What a source of rewards is: it draws rewards of an arm, may be finite, and may fail.

A source knows nothing of the algorithm: no ε, no δ, no verdicts.
"""

from __future__ import annotations

import asyncio
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from oddarm._typing import Floats
from oddarm.errors import SourceError, UnknownArmError
from oddarm.rewards import Rewards
from oddarm.sources.fingerprint import Fingerprint

__all__ = ["CallSource", "Job", "ListedSource", "Source"]

Job = Callable[[], Any]
"""Draws the rewards that were picked for it when called, or returns an awaitable of them."""


class Source(ABC):
    """Arms, what their rewards may be, and a way to draw them.

    A user's own source needs `arms`, `rewards` and `draw`. A source whose rewards are drawn
    elsewhere (in threads, processes or on a cluster) and which must not draw an item twice
    overrides `job` too: only the runner calls `job`, one call at a time, and `job` picks the items.
    The job that it returns may run anywhere, more than once if a worker dies, and gives the rewards
    of the same items. A source whose rewards have an order (a finite one, or one with a seed)
    overrides `seek`, so that searches can be resumed, and `fingerprint`, so that they are not
    resumed on other data. `oddarm.testing.check_source` checks all of this.

    Examples:
        >>> import random, oddarm
        >>> class Dice(oddarm.sources.Source):
        ...     arms = ("red", "blue", "green", "black")
        ...     rewards = oddarm.rewards.Bounded(minimum=1, maximum=6)
        ...     rng = random.Random(1)
        ...     def draw(self, arm, count=1):
        ...         faces = range(5, 7) if arm == "green" else range(1, 4)
        ...         return [self.rng.choice(faces) for _ in range(count)]
        >>> oddarm.find(Dice(), max_outliers=1).outliers
        ['green']
    """

    local: ClassVar[bool] = False
    """Whether drawing is so cheap that the runner draws in large batches, in its own thread."""
    blocks: ClassVar[bool] = False
    """Whether `draw_block` draws the rewards of many arms at once, for a local source."""

    @property
    def asynchronous(self) -> bool:
        """Whether jobs return awaitables, to be run by asyncio."""
        return False

    @property
    def supposes(self) -> Sequence[str]:
        """What the stated δ supposes of these rewards beyond their model, in sentences."""
        return ()

    @property
    @abstractmethod
    def arms(self) -> Sequence[Hashable]:
        """The names of the arms."""

    @property
    @abstractmethod
    def rewards(self) -> Rewards:
        """What a reward may be; its `pools` or `rows` are the arms' sizes if they are finite."""

    @abstractmethod
    def draw(self, arm: Any, count: int = 1) -> ArrayLike:
        """Return the next `count` rewards of an arm; fewer only if a finite arm has no more."""

    def job(self, arm: Any, count: int = 1) -> Job:
        """Return a call that draws the next `count` rewards of an arm."""
        return partial(self.draw, arm, count)

    def draw_block(self, arms: Sequence[Any], counts: Sequence[int]) -> Floats:
        """Return what `draw` would return for each of several distinct arms, in one array."""
        raise NotImplementedError

    def seek(self, arm: Any, drawn: int) -> None:
        """Go on with an arm as if exactly `drawn` of its rewards had been drawn.

        The default suits endless sources whose rewards have no order: there is nothing to do.
        """
        if self.rewards.limits is not None:
            raise SourceError(
                f"a search cannot be resumed on {type(self).__name__}, which cannot go to reward "
                f"{drawn} of arm {arm!r}: give it a method seek(arm, drawn)."
            )

    def fingerprint(self) -> Fingerprint | None:
        """Return named JSON values that tell these rewards from others; None if nothing does.

        A search keeps it, and goes on only with a source that has an equal one.
        """
        return None

    def close(self) -> None:  # noqa: B027 - many sources have nothing to close
        """Close files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ListedSource(Source):
    """A source that knows its arms, and what their rewards may be, when it is made.

    Args:
        arms: The names of the arms, or a range of numbers.
        rewards: What a reward may be, with the sizes of finite pools.
    """

    def __init__(self, arms: Sequence[Any], rewards: Rewards) -> None:
        self._arms = arms
        self._rewards = rewards
        self._positions = (
            None if isinstance(arms, range) else {arm: i for i, arm in enumerate(arms)}
        )

    @property
    def arms(self) -> Sequence[Any]:
        """The names of the arms."""
        return self._arms

    @property
    def rewards(self) -> Rewards:
        """What a reward may be; its `pools` or `rows` are the arms' sizes if they are finite."""
        return self._rewards

    def position(self, arm: Any) -> int:
        """Return the position of an arm, or raise UnknownArmError."""
        try:
            if self._positions is not None:
                return self._positions[arm]
            if 0 <= (number := operator.index(arm)) < len(self._arms):
                return number
        except (KeyError, TypeError):
            pass
        raise UnknownArmError(
            f"arm {arm!r}, must be a whole number from 0 to {len(self._arms) - 1}."
            if self._positions is None
            else f"arm {arm!r} is not one of the {len(self._arms)} arms of this source, "
            f"such as {next(iter(self._arms), None)!r}: name it as the source does."
        )


class CallSource(ListedSource):
    """A source whose jobs call a function, or a coroutine function, of the user.

    Args:
        arms: The names of the arms, or a range of numbers.
        rewards: What a reward may be.
        function: What jobs call.
    """

    def __init__(self, arms: Sequence[Any], rewards: Rewards, function: Callable[..., Any]) -> None:
        super().__init__(arms, rewards)
        # A call returns a coroutine; also that of an object with an async __call__.
        self._async = iscoroutinefunction(function) or iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004
        )

    @property
    def asynchronous(self) -> bool:
        """Whether the function is a coroutine function."""
        return self._async

    def draw(self, arm: Any, count: int = 1) -> Floats:
        """Call the function for `count` rewards; a coroutine function in a loop of its own."""
        drawn = self.job(arm, count)()
        return np.asarray(asyncio.run(drawn) if self._async else drawn, dtype=np.float64)
