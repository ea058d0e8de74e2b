"""Asks that wait until there is something to pull.

While pulls are in flight, a search often has nothing more to ask for. An ask that may wait stands
in the line of its study, and holds neither a thread nor a transaction meanwhile. One task serves
the whole line in one transaction: when an ask joins, when a write of this process may have made
pulls available, and now and then, since a lease may have ended or another process may have written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from oddarm.service.batching import StudyPool
from oddarm.service.models import AskBody, Asked, PullRow
from oddarm.store import StudyTransaction

__all__ = ["LongPolling"]

RECHECK_SECONDS = 0.5
"""How often a line is served if nothing is known to have changed."""


class LongPolling:
    """The asks that wait, a line for each study.

    Args:
        studies: The studies of the service.
        most: How many asks may wait at a time; any more are answered at once.
        stopping: Returns whether the service is about to stop: then nobody waits any longer.

    Attributes:
        count: How many asks wait.
    """

    def __init__(self, studies: StudyPool, most: int, stopping: Callable[[], bool]) -> None:
        self._studies = studies
        self._most = most
        self._stopping = stopping
        self.count = 0
        self._lines: dict[str, _Line] = {}
        studies.on_change = self._note_change

    async def ask(
        self,
        name: str,
        body: AskBody,
        gone: Callable[[], Awaitable[Any]],
        worker: str | None = None,
    ) -> Asked:
        """Lease pulls of a study; wait for them as long as the ask says.

        Args:
            name: The study.
            body: The ask.
            gone: Returns when nobody is there any more to take the answer.
            worker: Who asks.
        """
        if body.wait_seconds == 0 or self.count >= self._most:
            asked: Asked = await self._studies.write(name, partial(_lease, body, worker), asks=True)
            return asked
        line = self._lines.setdefault(name, _Line())
        entry = _Entry(body, worker, asyncio.get_running_loop().create_future())
        timer = asyncio.get_running_loop().call_later(body.wait_seconds, line.end, entry)
        watch = asyncio.ensure_future(gone())
        watch.add_done_callback(lambda _: entry.finish(_nothing()))
        line.join(entry)
        self.count += 1
        if line.task is None:
            line.task = asyncio.create_task(self._serve(name, line))
        try:
            return await entry.answer
        finally:
            self.count -= 1
            line.entries.pop(entry, None)
            timer.cancel()
            watch.cancel()

    def waiting(self, name: str) -> int:
        """Return how many asks of a study wait."""
        line = self._lines.get(name)
        return 0 if line is None else len(line.entries)

    def _note_change(self, name: str) -> None:
        line = self._lines.get(name)
        if line is not None:
            line.changed.set()

    async def _serve(self, name: str, line: _Line) -> None:
        """Serve a line until it is empty."""
        while True:
            line.changed.clear()
            entries = list(line.entries)
            try:
                answers = await self._answers(name, entries)
            except Exception as error:  # every ask of the line fails with it
                for entry in entries:
                    entry.fail(error)
            else:
                for entry, answer in zip(entries, answers, strict=True):
                    if answer.pulls or answer.status != "running" or entry.is_last:
                        entry.finish(answer)
            line.forget_finished()
            if not line.entries:
                del self._lines[name]
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(RECHECK_SECONDS):
                    await line.changed.wait()

    async def _answers(self, name: str, entries: list[_Entry]) -> list[Asked]:
        if self._stopping():
            for entry in entries:
                entry.is_last = True
            return [_nothing() for _ in entries]
        answers: list[Asked] = await self._studies.write(
            name, partial(_lease_all, entries), asks=True
        )
        return answers


@dataclass(eq=False)
class _Entry:
    """An ask that waits; if `is_last`, its time is over and the next answer is sent."""

    body: AskBody
    worker: str | None
    answer: asyncio.Future[Asked]
    is_last: bool = False

    def finish(self, answer: Asked) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class _Line:
    """The asks that wait for one study, the one that has waited longest first."""

    def __init__(self) -> None:
        self.entries: dict[_Entry, None] = {}
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def join(self, entry: _Entry) -> None:
        self.entries[entry] = None
        self.changed.set()

    def end(self, entry: _Entry) -> None:
        """Let the next answer be the last: the task that serves the line alone sends answers."""
        entry.is_last = True
        self.changed.set()

    def forget_finished(self) -> None:
        for entry in [entry for entry in self.entries if entry.answer.done()]:
            del self.entries[entry]


def _nothing() -> Asked:
    return Asked(pulls=[], status="running")


def _lease(body: AskBody, worker: str | None, batch: StudyTransaction) -> Asked:
    """Lease pulls in a transaction."""
    pulls = batch.ask(body.limit, lease_seconds=body.lease_seconds, worker=worker)
    return Asked(pulls=[PullRow(**vars(pull)) for pull in pulls], status=batch.status)


def _lease_all(entries: list[_Entry], batch: StudyTransaction) -> list[Asked]:
    """Lease pulls to those who wait, one after the other, until there are none left."""
    answers: list[Asked] = []
    empty = 0  # the largest ask that got nothing: one for no more gets nothing either
    for entry in entries:
        if entry.body.limit <= empty or entry.answer.done():  # done: nobody is there any more
            answers.append(Asked(pulls=[], status=batch.status))
            continue
        answers.append(_lease(entry.body, entry.worker, batch))
        if not answers[-1].pulls:
            empty = entry.body.limit
    return answers
