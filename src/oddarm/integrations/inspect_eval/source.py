"""inspect_ai asks for samples and says how they ended: the two ends of a search's pulls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from inspect_ai import SampleSource, enqueue_sample
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample

from oddarm.errors import OddarmError
from oddarm.integrations.inspect_eval.runs import RunBook, SampleId

__all__ = ["SearchSource"]


class SearchSource(SampleSource):
    """Runs the samples that a search asks for while inspect_ai runs the task.

    The search runs as an asyncio task beside the samples. inspect_ai waits for it when nothing
    is in flight, and ends the task when the search has ended.

    Args:
        samples: The samples of the dataset by their ids.
        drive: Drives the search until it is done.

    Attributes:
        book: Hands out epochs; it is set after this object is made.
        driver: The asyncio task of the search; None before inspect_ai has asked.
    """

    book: RunBook

    def __init__(
        self,
        samples: Mapping[SampleId, Sample],
        drive: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._samples = samples
        self._drive = drive
        self._changed = asyncio.Event()
        self.driver: asyncio.Task[None] | None = None

    def start(self, sample: SampleId, epoch: int) -> None:
        """Let inspect_ai run an epoch of a sample."""
        enqueue_sample(self._samples[sample], epoch=epoch)
        self._changed.set()

    async def next_samples(self) -> list[Sample] | None:
        """Return when the search has started an epoch, and None when it has ended."""
        if self.driver is None:
            # Made here, so that `enqueue_sample` knows the task of inspect_ai.
            self.driver = asyncio.create_task(self._drive())
            self.driver.add_done_callback(lambda _: self._changed.set())
        if not self.driver.done():
            await self._changed.wait()
            self._changed.clear()
        return None if self.driver.done() else []

    async def sample_complete(self, sample: EvalSample) -> None:
        """Hand a sample that ended to the pull that waits for it."""
        self.book.ended(sample.id, sample.epoch, sample)

    async def sample_abandoned(self, sample: Sample, epoch: int) -> None:
        """Tell the pull that waits for a sample that it will not be run."""
        assert sample.id is not None
        self.book.ended(sample.id, epoch, OddarmError("the sample was cancelled in the queue."))
