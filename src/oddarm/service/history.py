"""The history of studies: now and then somebody looks how sure a search is, and notes it.

To look takes as long as a view: milliseconds for few arms, seconds for thousands. So a request
never waits for it. One study at a time is looked at, in a thread of its own on a copy of the
search, and then none for a while: all of it takes a twentieth of a processor.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from oddarm.errors import OddarmError
from oddarm.search import Search
from oddarm.store.history import Moment

__all__ = ["HistoryKeeper", "moment_of"]

LOG = logging.getLogger("oddarm.service")

REST = 19.0
"""How many times as long as a look took of a processor nothing is looked at afterwards."""
LEAST_REST = 0.1
"""The least seconds between two looks; each is written to the database."""


def moment_of(search: Search) -> tuple[Moment | None, float]:
    """Return how sure a search is, None if its strategy does not say; and how long this took.

    The time is in seconds of a processor.
    """
    began = time.thread_time()
    result, moment = search.result(), None
    if result.evidence is not None:
        moment = Moment(result.pulls, time.time(), result.evidence, result.forecast)
    return moment, time.thread_time() - began


class HistoryKeeper:
    """Has a moment of each study noted that has many more pulls than at its last one.

    Args:
        note: Looks at the study of a name, and notes the moment if one is due. Returns how many
            seconds of a processor this took.
    """

    def __init__(self, note: Callable[[str], Awaitable[float]]) -> None:
        self._note = note
        self._due: dict[str, None] = {}  # in the order in which they are looked at
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def want(self, name: str) -> None:
        """Have a study looked at, when it is its turn."""
        self._due[name] = None
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """Look at no more studies."""
        self._closed = True
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _keep(self) -> None:
        try:
            while self._due:
                name = next(iter(self._due))
                del self._due[name]
                seconds = 0.0
                try:
                    seconds = await self._note(name)
                except OddarmError as error:  # the next write of the study brings it here again
                    LOG.warning("history", extra={"fields": {"study": name, "error": str(error)}})
                await asyncio.sleep(max(LEAST_REST, REST * seconds))
        finally:
            self._task = None
