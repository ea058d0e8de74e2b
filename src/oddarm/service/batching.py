"""The studies that a service has open, and how requests take turns on them.

Requests for one study that come while its last transaction is written wait together, and then share
one transaction: however many they are, they wait for the disk once.

Some studies take seconds to plan what to ask for. Few of them plan at a time, in threads of their
own, so that there are threads and a processor for all others.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

from oddarm.errors import OddarmError, StoreBusyError, UnknownStudyError
from oddarm.search import Search
from oddarm.service.history import HistoryKeeper, moment_of
from oddarm.service.limit import LimitQuestion, StudyLimit, limit_question
from oddarm.service.server import STUDY_MEMORY
from oddarm.service.view import history_json, leases_json, view_json
from oddarm.store import Study, StudyInfo
from oddarm.store.catalog import arms_in, create_in, list_in
from oddarm.store.database.base import Database
from oddarm.store.history import due_after
from oddarm.store.study import Action, study_result

__all__ = ["StudyPool"]

LOG = logging.getLogger("oddarm.service")

OPEN_BYTES = 7_000
"""About how much memory an open study takes beside its search and its view."""
MOST_GATHERING = 0.005
"""Seconds that a request may wait for others, to share a transaction with them."""
MOST_WAITING = 25.0
"""Seconds that a request may wait for the database."""
MOST_QUEUED = 10.0
"""Seconds that an ask may wait for its study's turn to plan; then it gets what needs no plan."""
MOST_PLANNING = max(1, (os.cpu_count() or 1) - 1)
"""How many studies that take long may plan at a time: the service needs a processor, too."""
LONG_SECONDS = 0.05
"""Of a processor: a study takes long if it needs more for a transaction."""
GUESSED_SECONDS = 1e-4
"""What a study that was just opened is thought to need for each arm."""
FORGETTING, FORGETTING_FEW = 0.99, 0.9
"""What is left of the time that a transaction took after the next one: of hundreds, one may plan.

With few arms a transaction that takes long is more likely to be the first one of the service.
"""

T = TypeVar("T")


class StudyPool:
    """All studies of one database, for use from an event loop.

    Args:
        database: The database.
        most_bytes: What the studies in memory may hold. Beyond it those that were not used for the
            longest time are closed, but never one that is in use.

    Attributes:
        on_change: Called with the name of a study after a write that may make pulls available.
    """

    def __init__(self, database: Database, most_bytes: int = STUDY_MEMORY) -> None:
        self.on_change: Callable[[str], None] = lambda _: None
        self._database = database
        self._most_bytes = most_bytes
        self._held_bytes = 0  # by the studies that are open
        self._store = Threads("oddarm-store", 16)
        self._plans = Threads("oddarm-plans", MOST_PLANNING)
        self._health = Threads("oddarm-health", 1)
        self._looks = Threads("oddarm-history", 1)
        self._history = HistoryKeeper(self._note_moment)
        self._plan_turn = asyncio.Semaphore(MOST_PLANNING)
        self._committers: OrderedDict[str, GroupCommitter] = OrderedDict()
        self._opening: dict[str, asyncio.Task[GroupCommitter]] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._limit_turn = asyncio.Semaphore(1)
        self._answering: asyncio.Task[None] | None = None

    async def health(self) -> None:
        """Raise StoreError if the database does not answer; all who ask meanwhile wait together.

        It waits neither for a plan nor for a writer: it has a thread of its own, and it reads.
        """
        if self._answering is None or self._answering.done():
            self._answering = asyncio.create_task(self._health.run(_answers, self._database))
        await _in_time(asyncio.shield(self._answering))

    async def infos(self) -> list[StudyInfo]:
        """Return what is known of every study."""
        return await _in_time(self._store.run(list_in, self._database))

    def gauges(self) -> dict[str, tuple[str, float]]:
        """Return what is known of the studies that are open here: what each number is, and it."""
        out = sum(committer.study.pulls_out for committer in self._committers.values())
        return {
            "oddarm_pulls_out": ("Pulls leased and not told, of studies open here.", out),
            "oddarm_open_studies": ("Studies in memory.", len(self._committers)),
            "oddarm_open_study_bytes": ("What they hold, about.", self._held_bytes),
        }

    async def create(self, name: str, arms: Any, options: dict[str, Any]) -> StudyInfo:
        """Make a study."""

        def make() -> StudyInfo:
            expired_reward = options.pop("expired_reward", None)
            search = Search(arms, **options)
            return create_in(self._database, name, search, expired_reward=expired_reward).info()

        return await _in_time(self._store.run(make))

    async def read(self, name: str, call: Callable[[Study], T]) -> T:
        """Return what `call` reads of a study's rows, in a thread; it must not need the search."""
        return await self._on(name, lambda committer: self._store.run(call, committer.study))

    async def read_search(self, name: str, call: Callable[[Study], T]) -> T:
        """Return what `call` reads of a study and its search, in a thread."""
        return await self._on(name, lambda committer: committer.read(call))

    async def write(self, name: str, action: Action, *, asks: bool = False) -> Any:
        """Return what `action` returns for a transaction, once that is on disk."""

        async def submit(committer: GroupCommitter) -> Any:
            outcome = await committer.submit(action, asks)
            if committer.moment_is_due:
                self._history.want(name)
            return outcome

        outcome = await self._on(name, submit)
        if not asks:
            self.on_change(name)
        return outcome

    async def _note_moment(self, name: str) -> float:
        """Add to the history of a study, if it is open and a moment is due; return the cost."""
        committer = self._committers.get(name)
        if committer is None:
            return 0.0
        return await self._used(committer, lambda it: it.note_moment(self._looks))

    async def set_paused(self, name: str, paused: bool) -> StudyInfo:
        """Pause a study, or let it go on; return how far it is."""

        def change(study: Study) -> StudyInfo:
            (study.pause if paused else study.resume)()
            return study.info()

        info = await self._on(name, lambda committer: self._store.run(change, committer.study))
        self.on_change(name)
        return info

    async def delete(self, name: str) -> None:
        """Delete a study with all its rewards, for good."""
        await self._on(name, lambda committer: self._store.run(committer.study.delete))
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
                return await self._used(known, use)
            if opening is not None:
                return await self._used(await asyncio.shield(opening), use)
        except UnknownStudyError:
            await self._drop(name)
        opening = self._opening[name] = asyncio.create_task(self._open(name))
        opening.add_done_callback(lambda _: self._opening.pop(name, None))
        # Shielded: a request that is cancelled leaves the study to the others that wait for it.
        return await self._used(await asyncio.shield(opening), use)

    async def _used(
        self, committer: GroupCommitter, use: Callable[[GroupCommitter], Awaitable[T]]
    ) -> T:
        """Return what `use` returns; the study stays open meanwhile."""
        committer.users += 1
        try:
            return await use(committer)
        finally:
            committer.users -= 1
            self._weigh(committer)

    def _weigh(self, committer: GroupCommitter) -> None:
        """Take note of what a study holds now; close others that nobody uses if it is too much."""
        if self._committers.get(committer.study.name) is not committer:
            return
        self._held_bytes += committer.held_bytes - committer.weighed
        committer.weighed = committer.held_bytes
        excess = self._held_bytes - self._most_bytes
        if excess <= 0:
            return
        for name, other in list(self._committers.items()):  # unused for the longest time first
            if other.is_idle and other is not committer:
                excess -= other.weighed
                self._close_study(name)
            if excess <= 0:
                return

    async def _open(self, name: str) -> GroupCommitter:
        """Read a study from the database, for all requests that wait for it."""
        if name in self._closing:  # whose snapshot spares us its log
            await asyncio.wait([self._closing[name]])
        try:
            arms = await self._store.run(arms_in, self._database, name)
            if _takes_long(arms * GUESSED_SECONDS):
                async with self._plan_turn:
                    study, held = await self._plans.run(_opened, self._database, name)
            else:
                study, held = await self._store.run(_opened, self._database, name)
        except UnknownStudyError:  # whose message says where the database is
            raise UnknownStudyError(
                f"study {name!r} is not there, or was deleted: create it, or list what is there."
            ) from None
        limit = StudyLimit(self._limit_turn)
        committer = GroupCommitter(study, held, self._store, self._plans, self._plan_turn, limit)
        return self._committers.setdefault(name, committer)

    def _close_study(self, name: str) -> None:
        """Keep a study in memory no longer, and save its state so that it is soon open again."""
        committer = self._take_out(name)
        assert committer is not None

        async def save() -> None:
            try:
                await committer.limit.give_up()
                await self._store.run(committer.study.save_snapshot)
            except OddarmError as error:  # the log has all that the snapshot would have had
                LOG.warning("close", extra={"fields": {"study": name, "error": str(error)}})
            finally:
                del self._closing[name]

        self._closing[name] = asyncio.create_task(save())

    async def _drop(self, name: str) -> None:
        """Keep a study in memory no longer."""
        committer = self._take_out(name)
        if committer is not None:
            await committer.limit.give_up()

    def _take_out(self, name: str) -> GroupCommitter | None:
        """Take a study out of those that are open, and return it."""
        committer = self._committers.pop(name, None)
        self._held_bytes -= 0 if committer is None else committer.weighed
        return committer

    async def close(self) -> None:
        """Finish what was begun, except for limits and history, and close the database."""
        await self._history.close()
        for name in list(self._committers):
            await self._drop(name)
        while self._closing:
            await asyncio.wait(list(self._closing.values()))
        for threads in (self._plans, self._store, self._health, self._looks):
            threads.close()
        self._database.close()


class Threads:
    """Threads for calls that block."""

    def __init__(self, name: str, most: int) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=name)

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Return what a call returns, which one of the threads makes."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)

    def close(self) -> None:
        """Wait until all calls have ended."""
        self._pool.shutdown()


def _opened(database: Database, name: str) -> tuple[Study, int]:
    """Return a study, and about how much memory it holds."""
    study = Study(database, name)
    return study, study.held_bytes


def _answers(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("SELECT 1 FROM oddarm_studies LIMIT 1").fetchone()


def _takes_long(seconds: float) -> bool:
    return seconds >= LONG_SECONDS


async def _undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns, which goes on if the request that waits for it is cancelled.

    The thread goes on as well. The request keeps its turn until the thread has ended.
    """
    return await asyncio.shield(asyncio.create_task(work))


async def _in_time(work: Awaitable[T]) -> T:
    """Return what `work` returns, or raise StoreBusyError in time; the work may still be done."""
    try:
        async with asyncio.timeout(MOST_WAITING):
            return await work
    except TimeoutError:
        words = f"the database has not done this for {MOST_WAITING:g} s: try again."
        raise StoreBusyError(words, words) from None


class Request(NamedTuple):
    """What somebody wants of a transaction, and who waits for it."""

    asks: bool
    action: Action
    outcome: asyncio.Future[Any]


class GroupCommitter:
    """Runs the actions on one study: those that have gathered share a transaction.

    If the study takes long, its asks are a transaction of their own. They wait until it is their
    turn to plan, and the tells of the study do not wait with them.

    Args:
        study: The study.
        held: About how many bytes its search holds.
        store: Threads for what is quick.
        plans: Threads for what may take long.
        plan_turn: Whose turn it is to use them.
        limit: The limit of the study.

    Attributes:
        users: How many requests use the study.
        weighed: What it held when it was last weighed.
    """

    def __init__(
        self,
        study: Study,
        held: int,
        store: Threads,
        plans: Threads,
        plan_turn: asyncio.Semaphore,
        limit: StudyLimit,
    ) -> None:
        self.study = study
        self.limit = limit
        self.users = 0
        self.weighed = 0
        self._search_bytes = held
        self._store = store
        self._plans = plans
        self._plan_turn = plan_turn
        self._turn = asyncio.Lock()  # one thread at a time uses the search; no others wait for it
        self._seconds = study.arms * GUESSED_SECONDS  # that a transaction may take
        self._forgetting = FORGETTING if _takes_long(self._seconds) else FORGETTING_FEW
        self._waiting: list[Request] = []
        self._asks: list[Request] = []  # that wait for their turn to plan
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._due_at = 0  # pulls from which on the history wants another moment
        self._pulls = 0
        self._viewing = asyncio.Lock()
        self._viewed: _View | None = None
        self._around = b""
        self._viewed_at = -math.inf
        self._expected = 0  # requests to wait for before the next transaction
        self._gathered = asyncio.Event()
        self._last = (0, 0.0)  # requests of the last transaction, and how long it took

    @property
    def held_bytes(self) -> int:
        """About how much memory the open study holds."""
        view = 0 if self._viewed is None else len(self._viewed.text)
        return OPEN_BYTES + self._search_bytes + view + len(self._around)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is done for anybody, nor for somebody who has given up waiting."""
        return not (self.users or self._tasks or self._turn.locked() or self._viewing.locked())

    @property
    def moment_is_due(self) -> bool:
        """Whether the study has so many pulls that its history wants another moment."""
        return self._pulls >= self._due_at

    async def submit(self, action: Action, asks: bool) -> Any:
        """Return what the action returned, once it is on disk."""
        request = Request(asks, action, asyncio.get_running_loop().create_future())
        try:
            if asks and _takes_long(self._seconds):
                await self._queue(request)
            else:
                self._waiting.append(request)
                self._ensure("drain", self._drain)
                if len(self._waiting) >= self._expected:
                    self._gathered.set()
            return await request.outcome
        finally:
            request.outcome.cancel()  # so that it is not begun for somebody who has gone

    async def _queue(self, request: Request) -> None:
        """Let an ask wait for the study's turn to plan, but not for too long."""
        self._asks.append(request)
        self._ensure("plan", self._plan)
        await asyncio.wait([request.outcome], timeout=MOST_QUEUED)
        if request in self._asks:
            self._asks.remove(request)
            await _undisturbed(self._write([request], self._store, plan=False))

    def _ensure(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin a task, unless it is under way."""
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(work())

    async def read(self, call: Callable[[Study], T]) -> T:
        """Return what `call` reads of the study and its search."""

        async def take_turn() -> T:
            async with self._turn:
                return await self._store.run(call, self.study)

        return await _undisturbed(take_turn())

    async def view(self) -> bytes:
        """Return the study as a page draws it; all who wait while it is made get the same one.

        The part that draws the arms is made anew only if the study has changed. It is made from a
        copy of the search, so that tells of the study wait for no more than the copy.
        """
        asked = time.monotonic()
        await _undisturbed(self._look(asked))
        assert self._viewed is not None
        limit = self.limit.look(self._viewed.question)
        written = b',"limit":%s,%s}' % (json.dumps(asdict(limit)).encode(), self._around)
        return self._viewed.text[:-1] + written

    async def _look(self, asked: float) -> None:
        """Make the view, unless somebody else did since it was asked for."""
        async with self._viewing:
            if self._viewed_at >= asked:
                return
            now, known = time.monotonic(), self._viewed
            info, search = await self.read(lambda study: _copied(study, known))
            if search is not None:
                self._viewed = await self._store.run(_viewed, info, search)
            self._around = await self.read(_around)
            self._viewed_at = now

    async def note_moment(self, looks: Threads) -> float:
        """Note how sure the search is, in its history, if another moment is due.

        Args:
            looks: The threads that look at the search.

        Returns:
            How many seconds of a processor the look took.
        """
        noted = await self._store.run(Study.history, self.study)
        self._due_at = due_after(noted[-1].pulls) if noted else 1
        if not self.moment_is_due:
            return 0.0
        moment, seconds = await looks.run(moment_of, await self.read(Study.search))
        if moment is None:  # nor will there ever be one
            self._due_at = sys.maxsize
        else:
            await self._store.run(self.study.note, moment)
            self._due_at = due_after(moment.pulls)
        return seconds

    async def _drain(self) -> None:
        """Write what waits, until nothing does."""
        while self._waiting:
            await self._gather()
            batch = sorted(self._waiting, key=lambda request: request.asks)  # tells before asks
            self._waiting = []
            began = time.perf_counter()
            await self._write(batch, self._store)
            self._last = len(batch), time.perf_counter() - began
        del self._tasks["drain"]

    async def _plan(self) -> None:
        """Write the asks that wait, when it is their turn to plan."""
        while self._asks:
            async with self._plan_turn:
                batch, self._asks = self._asks, []
                await self._write(batch, self._plans)
        del self._tasks["plan"]

    async def _write(self, batch: list[Request], threads: Threads, *, plan: bool = True) -> None:
        """Carry out requests in one transaction, except for those given up by who waited."""
        outcomes: list[Any]
        async with self._turn:
            batch = [each for each in batch if not each.outcome.done()]
            if not batch:
                return
            try:
                outcomes = await threads.run(self._run, [each.action for each in batch], plan)
            except Exception as error:  # every request of the batch fails with it
                outcomes = [error] * len(batch)
        for request, outcome in zip(batch, outcomes, strict=True):
            if request.outcome.done():
                continue
            if isinstance(outcome, Exception):
                request.outcome.set_exception(outcome)
            else:
                request.outcome.set_result(outcome)

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

    def _run(self, actions: list[Action], plan: bool) -> list[Any]:
        """Return what each action returned, or the error by which it was refused."""
        began = time.thread_time()  # which other load does not change
        try:
            return self.study.transact(actions, plan=plan)
        finally:
            self._seconds = max(time.thread_time() - began, self._forgetting * self._seconds)
            self._search_bytes = self.study.held_bytes
            self._pulls = self.study.pulls


@dataclass(frozen=True)
class _View:
    """What of a view changes with the study alone, the row it was made from, and the question.

    The limit is computed from the question; the limit, the leases and the history are not in it.
    """

    info: StudyInfo
    text: bytes
    question: LimitQuestion | str


def _copied(study: Study, known: _View | None) -> tuple[StudyInfo, Search | None]:
    """Return a study's row, and a copy of its search unless the known view is of the same row."""
    info = study.info()
    return info, None if known is not None and known.info == info else study.search()


def _viewed(info: StudyInfo, search: Search) -> _View:
    result = study_result(search)
    return _View(info, view_json(info, search, result).encode(), limit_question(search, result))


def _around(study: Study) -> bytes:
    """Return as JSON what changes without the study: who holds leases, and what was noted."""
    return leases_json(study.leases()) + b"," + history_json(study.history())
