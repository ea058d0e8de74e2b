"""Which epoch of which sample is the next pull of an arm, and who waits for it; without inspect_ai.

Epochs of one sample are numbered from 1. A pull that fails is tried again as another epoch: a
framework runs each epoch once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

__all__ = ["RunBook", "SampleId"]

SampleId = int | str


class RunBook:
    """Hands out epochs of samples as pulls of arms, and gives their outcomes to those who wait.

    An arm is a sample, or a group of samples. A pull of a group is an epoch of one of its samples,
    drawn at random with replacement: the mean of the arm is the mean of all its samples.

    Args:
        groups: The samples of each arm.
        start: Begins an epoch of a sample.
        read: Returns the reward of what came of it, or raises an error.
        done: How many epochs of an arm's samples were run before this book.
        seed: For the samples of groups.

    Attributes:
        epochs: The last epoch of each sample that was begun.
    """

    def __init__(
        self,
        groups: Mapping[Hashable, Sequence[SampleId]],
        start: Callable[[SampleId, int], object],
        read: Callable[[Any], float],
        *,
        done: Mapping[Hashable, int] | None = None,
        seed: int = 0,
    ) -> None:
        self._groups = groups
        self._start = start
        self._read = read
        self._done = done or {}
        self._rngs = {  # that of a search that goes on draws other samples
            arm: random.Random(f"{seed}/{k}/{self._done.get(arm, 0)}")
            for k, arm in enumerate(groups)
        }
        self._waiting: dict[tuple[str, int], asyncio.Future[Any]] = {}
        self.epochs: dict[SampleId, int] = {}

    async def run(self, arm: Any) -> float:
        """Run one epoch of a sample of an arm and return its reward."""
        samples = self._groups[arm]
        sample = samples[0] if len(samples) == 1 else self._rngs[arm].choice(samples)
        epoch = self.epochs.get(sample, self._done.get(arm, 0)) + 1
        self.epochs[sample] = epoch
        outcome = asyncio.get_running_loop().create_future()
        self._waiting[str(sample), epoch] = outcome
        self._start(sample, epoch)
        return self._read(await outcome)

    def ended(self, sample: SampleId, epoch: int, outcome: Any) -> None:
        """Take what came of an epoch: anything that `read` takes, or an error."""
        waits = self._waiting.pop((str(sample), epoch), None)
        if waits is None or waits.done():  # nobody waits: the search has its answer
            return
        if isinstance(outcome, Exception):
            waits.set_exception(outcome)
        else:
            waits.set_result(outcome)
