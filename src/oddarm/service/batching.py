"""The studies that a service has open, and how requests take turns on them.

Requests for one study that come while its last transaction is written wait together, and then share
one transaction: however many they are, they wait for the disk once.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from oddarm.errors import OddarmError, StoreBusyError, UnknownStudyError
from oddarm.search import Search
from oddarm.service.limit import LimitQuestion, StudyLimit, limit_question
from oddarm.service.view import view_json
from oddarm.store import Study, StudyInfo, StudyTransaction
from oddarm.store.catalog import create_in, list_in
from oddarm.store.database.base import Database
from oddarm.store.study import study_result

__all__ = ["StudyPool"]

MOST_OPEN = 32
"""Studies kept in memory; any other is opened when it is next used."""
MOST_GATHERING = 0.005
"""Seconds that a request may wait for others, to share a transaction with them."""
MOST_WAITING = 25.0
"""Seconds that a request may wait for the database."""

T = TypeVar("T")
Action = Callable[[StudyTransaction], Any]


class StudyPool:
    """All studies of one database, for use from an event loop.

    Attributes:
        on_change: Called with the name of a study after a write that may make pulls available.
    """

    def __init__(self, database: Database) -> None:
        self.on_change: Callable[[str], None] = lambda _: None
        self._database = database
        self._threads = ThreadPoolExecutor(16, thread_name_prefix="oddarm-store")
        self._committers: OrderedDict[str, GroupCommitter] = OrderedDict()
        self._opening: dict[str, asyncio.Task[GroupCommitter]] = {}
        self._limit_turn = asyncio.Semaphore(1)

    async def thread(self, call: Callable[..., T], *arguments: Any) -> T:
        """Run a call that may block in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def infos(self) -> list[StudyInfo]:
        """Return what is known of every study."""
        return await _in_time(self.thread(list_in, self._database))

    async def create(self, name: str, arms: Any, options: dict[str, Any]) -> StudyInfo:
        """Make a study."""

        def make() -> StudyInfo:
            expired_reward = options.pop("expired_reward", None)
            search = Search(arms, **options)
            return create_in(self._database, name, search, expired_reward=expired_reward).info()

        return await _in_time(self.thread(make))

    async def read(self, name: str, call: Callable[[Study], T]) -> T:
        """Return what `call` reads of a study, in a thread; `call` must not change the study."""
        return await self._on(name, lambda committer: self.thread(call, committer.study))

    async def write(self, name: str, action: Action, *, asks: bool = False) -> Any:
        """Return what `action` returns for a transaction, once that is on disk."""
        outcome = await self._on(name, lambda committer: committer.submit(action, asks))
        if not asks:
            self.on_change(name)
        return outcome

    async def set_paused(self, name: str, paused: bool) -> StudyInfo:
        """Pause a study, or let it go on; return how far it is."""

        def change(study: Study) -> StudyInfo:
            (study.pause if paused else study.resume)()
            return study.info()

        info = await self._on(name, lambda committer: self.thread(change, committer.study))
        self.on_change(name)
        return info

    async def delete(self, name: str) -> None:
        """Delete a study with all its rewards, for good."""
        await self._on(name, lambda committer: self.thread(committer.study.delete))
        await self._drop(name)
        self.on_change(name)

    async def view(self, name: str) -> bytes:
        """Return the study as a page draws it."""
        return await self._on(name, GroupCommitter.view)

    async def _on(self, name: str, use: Callable[[GroupCommitter], Awaitable[T]]) -> T:
        return await _in_time(self._use(name, use))

    async def _use(self, name: str, use: Callable[[GroupCommitter], Awaitable[T]]) -> T:
        """Return what `use` returns for a study, which is opened if it is not.

        Another process may have deleted the study that is open here, and made a new one of that
        name. Then the stale one is dropped, and `use` is tried once more.
        """
        known, opening = self._committers.get(name), self._opening.get(name)
        try:
            if known is not None:
                self._committers.move_to_end(name)
                return await use(known)
            if opening is not None:
                return await use(await asyncio.shield(opening))
        except UnknownStudyError:
            await self._drop(name)
        opening = self._opening[name] = asyncio.create_task(self._open(name))
        opening.add_done_callback(lambda _: self._opening.pop(name, None))
        # Shielded: a request that is cancelled leaves the study to the others that wait for it.
        return await use(await asyncio.shield(opening))

    async def _open(self, name: str) -> GroupCommitter:
        """Read a study from the database, for all requests that wait for it."""
        try:
            study = await self.thread(Study, self._database, name)
        except UnknownStudyError:  # whose message says where the database is
            raise UnknownStudyError(
                f"study {name!r} is not there, or was deleted: create it, or list what is there."
            ) from None
        committer = self._committers.setdefault(
            name, GroupCommitter(study, self.thread, StudyLimit(self._limit_turn))
        )
        if len(self._committers) > MOST_OPEN:
            await self._drop(next(iter(self._committers)))
        return committer

    async def _drop(self, name: str) -> None:
        """Keep a study in memory no longer."""
        committer = self._committers.pop(name, None)
        if committer is not None:
            await committer.limit.give_up()

    async def close(self) -> None:
        """Finish what was begun, except for limits, and close the database."""
        for name in list(self._committers):
            await self._drop(name)
        self._threads.shutdown()
        self._database.close()


async def _in_time(work: Awaitable[T]) -> T:
    """Return what `work` returns, or raise StoreBusyError in time; the work may still be done."""
    try:
        async with asyncio.timeout(MOST_WAITING):
            return await work
    except TimeoutError:
        words = f"the database has not done this for {MOST_WAITING:g} s: try again."
        raise StoreBusyError(words, words) from None


class GroupCommitter:
    """Runs the actions on one study: those that have gathered share a transaction."""

    def __init__(self, study: Study, thread: Callable[..., Any], limit: StudyLimit) -> None:
        self.study = study
        self.limit = limit
        self._thread = thread
        self._waiting: list[tuple[bool, Action, asyncio.Future[Any]]] = []
        self._task: asyncio.Task[None] | None = None
        self._viewing = asyncio.Lock()
        self._viewed: _View | None = None
        self._viewed_at = -math.inf
        self._expected = 0  # requests to wait for before the next transaction
        self._gathered = asyncio.Event()
        self._last = (0, 0.0)  # requests of the last transaction, and how long it took

    async def submit(self, action: Action, asks: bool) -> Any:
        """Return what the action returned, once it is on disk."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((asks, action, future))
        if self._task is None:
            self._task = asyncio.create_task(self._drain())
        if len(self._waiting) >= self._expected:
            self._gathered.set()
        return await future

    async def view(self) -> bytes:
        """Return the study as a page draws it; all who wait while it is made get the same one.

        It is made anew only if the study has changed, and has what is known of its limit by now.
        """
        asked = time.monotonic()
        async with self._viewing:
            if self._viewed_at < asked:
                now = time.monotonic()
                self._viewed = await self._thread(_look, self.study, self._viewed)
                self._viewed_at = now
            assert self._viewed is not None
            limit = self.limit.look(self._viewed.question)
            return self._viewed.text[:-1] + b',"limit":%s}' % json.dumps(asdict(limit)).encode()

    async def _drain(self) -> None:
        while self._waiting:
            await self._gather()
            batch = sorted(self._waiting, key=lambda entry: entry[0])  # tells before asks
            self._waiting = []
            began = time.perf_counter()
            try:
                outcomes = await self._thread(self._run, [action for _, action, _ in batch])
            except Exception as error:  # every request of the batch fails with it
                outcomes = [error] * len(batch)
            self._last = len(batch), time.perf_counter() - began
            for (_, _, future), outcome in zip(batch, outcomes, strict=True):
                if future.done():
                    continue
                if isinstance(outcome, Exception):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)
        self._task = None

    async def _gather(self) -> None:
        """Wait for as many requests as the last time, at most half as long as that took."""
        self._expected, seconds = self._last
        if len(self._waiting) >= self._expected:
            return
        self._gathered.clear()
        timer = asyncio.get_running_loop().call_later(
            min(seconds / 2, MOST_GATHERING), self._gathered.set
        )
        await self._gathered.wait()
        timer.cancel()

    def _run(self, actions: list[Action]) -> list[Any]:
        """Return what each action returned, or the error by which it was refused."""
        outcomes: list[Any] = []
        with self.study.batch() as batch:
            for action in actions:
                try:
                    outcomes.append(action(batch))
                except OddarmError as refused:
                    outcomes.append(refused)
        return outcomes


@dataclass(frozen=True)
class _View:
    """A view without the limit, the row it was made from, and what the limit is computed from."""

    info: StudyInfo
    text: bytes
    question: LimitQuestion | str


def _look(study: Study, known: _View | None) -> _View:
    """Return the view of a study, the known one if the study has not changed."""
    info = study.info()
    if known is not None and known.info == info:
        return known
    search = study.search()
    result = study_result(search)
    return _View(info, view_json(info, search, result).encode(), limit_question(search, result))
