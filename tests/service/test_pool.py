"""The studies of a service: whose turn it is, and which of them are in memory."""

import asyncio
import logging
import sqlite3
import threading

import pytest

from oddarm import create_study, open_study
from oddarm.errors import StoreBusyError, StoreFullError
from oddarm.service import batching
from oddarm.service.batching import MOST_PLANNING, StudyPool
from oddarm.store import Study
from oddarm.store.database.base import open_database
from oddarm.store.live_search import LiveSearch

LARGE = 1000
"""Arms of a study that is thought to take long."""


def in_pool(storage, use, **options):
    """Return what a coroutine returns for the studies of a database, none of which is looked at.

    A look, for the history of a study, uses the study at a moment of its own.
    """

    async def run():
        pool = StudyPool(open_database(storage), **options)
        await pool._history.close()
        try:
            return await use(pool)
        finally:
            await pool.close()

    return asyncio.run(run())


async def until(condition):
    """Wait until a condition holds."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


class Plan:
    """An ask that takes until it is let go on."""

    def __init__(self):
        self.begun = 0
        self.going = threading.Event()

    def __call__(self, batch):
        """Ask for two pulls, and wait."""
        self.begun += 1
        pulls = batch.ask(2)
        self.going.wait()
        return pulls


@pytest.fixture
def plan():
    """A plan that ends with the test."""
    plan = Plan()
    yield plan
    plan.going.set()


def ask(batch):
    """Ask for one pull."""
    return batch.ask(1)


@pytest.fixture
def studies(storage):
    """The names of large studies, more than may plan at a time; beside them is one called small."""
    names = [f"large-{k}" for k in range(MOST_PLANNING + 20)]
    for name in names:
        create_study(storage, name, LARGE, strategy="rr", max_outliers=3).close()
    create_study(storage, "small", 5, max_outliers=1).close()
    return names


def test_a_slow_study_slows_no_other(storage, studies, plan):
    """While large studies plan or wait for it, a small one is asked, told and read, as are they."""

    async def use(pool):
        known = {name: await pool.write(name, ask, asks=True) for name in (*studies, "small")}
        slow = [asyncio.create_task(pool.write(name, plan, asks=True)) for name in studies]
        await until(lambda: plan.begun == MOST_PLANNING)
        waiting = studies[-1]
        for name in ("small", waiting):
            rewards = {pull.id: 1 for pull in known[name]}
            assert await pool.write(name, lambda batch, r=rewards: batch.tell_many(r)) == 1
            assert (await pool.read_search(name, Study.result)).pulls == 1
        assert len(await pool.write("small", ask, asks=True)) == 1
        assert plan.begun == MOST_PLANNING
        plan.going.set()
        return await asyncio.gather(*slow)

    pulls = in_pool(storage, use)
    assert [len(each) for each in pulls] == [2] * len(studies)


def test_a_study_that_took_long_plans_apart(storage, monkeypatch, plan):
    """A study of few arms whose transactions take long waits for its turn to plan as well."""
    create_study(storage, "small", 5, max_outliers=1).close()
    create_study(storage, "other", 5, max_outliers=1).close()
    monkeypatch.setattr(batching, "LONG_SECONDS", 1e9)

    async def use(pool):
        for name in ("small", "other"):
            await pool.write(name, ask, asks=True)
        committer = pool._committers["small"]
        assert 0 < committer._seconds < 1e9
        committer._seconds = 2e9
        slow = asyncio.create_task(pool.write("small", plan, asks=True))
        await until(lambda: plan.begun)
        assert "plan" in committer._tasks
        assert "drain" not in committer._tasks
        assert committer._turn.locked()
        plan.going.set()
        await slow
        assert 1e9 < committer._seconds < 2e9, "a quick transaction is forgotten slowly"

    in_pool(storage, use)


def test_an_ask_that_waits_too_long_to_plan(storage, studies, plan, monkeypatch):
    """An ask whose turn to plan does not come is answered without pulls, and leases none."""
    monkeypatch.setattr(batching, "MOST_QUEUED", 0.05)

    async def use(pool):
        for name in studies:
            await pool.read(name, Study.info)
        monkeypatch.setattr(batching, "MOST_QUEUED", 30)
        slow = [
            asyncio.create_task(pool.write(name, plan, asks=True))
            for name in studies[:MOST_PLANNING]
        ]
        await until(lambda: plan.begun == MOST_PLANNING)
        monkeypatch.setattr(batching, "MOST_QUEUED", 0.05)
        last = studies[-1]
        answer = await pool.write(last, lambda batch: (batch.ask(1), batch.status), asks=True)
        assert answer == ([], "running")
        assert (await pool.read(last, Study.info)).revision == 0
        plan.going.set()
        await asyncio.gather(*slow)
        monkeypatch.setattr(batching, "MOST_QUEUED", 30)
        assert len(await pool.write(last, ask, asks=True)) == 1

    in_pool(storage, use)


def test_what_nobody_waits_for_is_not_begun(storage, studies, plan, monkeypatch):
    """A request that was given up while it waited leases no pulls."""

    async def use(pool):
        for name in studies[: MOST_PLANNING + 1]:
            await pool.read(name, Study.info)
        slow = [
            asyncio.create_task(pool.write(name, plan, asks=True))
            for name in studies[:MOST_PLANNING]
        ]
        await until(lambda: plan.begun == MOST_PLANNING)
        monkeypatch.setattr(batching, "MOST_WAITING", 0.05)
        last = studies[MOST_PLANNING]
        with pytest.raises(StoreBusyError):
            await pool.write(last, ask, asks=True)
        monkeypatch.setattr(batching, "MOST_WAITING", 30)
        plan.going.set()
        await asyncio.gather(*slow)
        await until(lambda: pool._committers[last].is_idle)
        assert (await pool.read(last, Study.info)).revision == 0

    in_pool(storage, use)


def test_health_waits_for_nobody(storage, studies, plan):
    """The service is healthy while all threads plan or write, and another process writes."""
    names = [f"quick-{k}" for k in range(20)]
    for name in names:
        create_study(storage, name, 5, max_outliers=1).close()

    async def use(pool):
        busy = [
            asyncio.create_task(pool.write(name, plan, asks=True)) for name in (*studies, *names)
        ]
        await until(lambda: plan.begun >= MOST_PLANNING + 16)
        other = sqlite3.connect(storage, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await asyncio.gather(*(pool.health() for _ in range(5)))
        assert not any(task.done() for task in busy)
        other.execute("ROLLBACK")
        other.close()
        plan.going.set()
        await asyncio.gather(*busy)

    in_pool(storage, use)


def test_studies_stay_in_memory_while_there_is_room(storage):
    """Far more small studies than before stay open, and each is read once."""
    names = [f"s-{k}" for k in range(60)]
    for name in names:
        create_study(storage, name, 5, max_outliers=1).close()

    async def use(pool):
        for _ in range(2):
            for name in names:
                await pool.write(name, ask, asks=True)
        held = sum(each.held_bytes for each in pool._committers.values())
        assert pool._held_bytes == held < batching.STUDY_MEMORY
        return list(pool._committers)

    assert in_pool(storage, use) == names


def test_closed_for_others_and_opened_without_a_replay(storage, monkeypatch):
    """Beyond the limit, the study unused for the longest time is closed, and replays nothing."""
    names = ["a", "b", "c"]
    for name in names:
        create_study(storage, name, 5, max_outliers=1).close()
    replayed = []
    apply = LiveSearch._apply
    monkeypatch.setattr(
        LiveSearch, "_apply", lambda live, *event: replayed.append(live.name) or apply(live, *event)
    )

    async def use(pool):
        out = {}
        for name in names:
            out[name] = await pool.write(name, ask, asks=True)
            room = pool._most_bytes = max(pool._most_bytes, 2 * pool._held_bytes + 1000)
        assert list(pool._committers) == names
        pool._most_bytes = pool._held_bytes - 1
        await pool.write("c", ask, asks=True)
        await until(lambda: not pool._closing)
        assert list(pool._committers) == ["b", "c"]
        pool._most_bytes = room
        rewards = {pull.id: 1 for pull in out["a"]}
        assert await pool.write("a", lambda batch: batch.tell_many(rewards)) == 1
        assert pool._held_bytes == sum(each.held_bytes for each in pool._committers.values())

    in_pool(storage, use, most_bytes=1)
    assert replayed == []
    with open_study(storage, "a") as study:
        assert study.result().pulls == 1


def test_a_study_in_use_stays_open(storage, plan):
    """However little memory there is, a study is not closed while a request uses it."""
    for name in ("a", "b"):
        create_study(storage, name, 5, max_outliers=1).close()

    async def use(pool):
        slow = asyncio.create_task(pool.write("a", plan, asks=True))
        await until(lambda: plan.begun)
        await pool.write("b", ask, asks=True)
        assert list(pool._committers) == ["a", "b"]
        plan.going.set()
        assert len(await slow) == 2
        await until(lambda: not pool._closing)
        assert list(pool._committers) == ["a"]

    in_pool(storage, use, most_bytes=1)


def test_a_snapshot_that_cannot_be_written(storage, monkeypatch, caplog):
    """A study whose state cannot be saved is closed all the same; nothing is lost."""
    for name in ("a", "b"):
        create_study(storage, name, 5, max_outliers=1).close()

    def full(study):
        raise StoreFullError(f"{study.name}: the disk is full", "full")

    monkeypatch.setattr(Study, "save_snapshot", full)

    async def use(pool):
        for name in ("a", "b", "a"):
            assert len(await pool.write(name, ask, asks=True)) == 1

    with caplog.at_level(logging.WARNING):
        in_pool(storage, use, most_bytes=1)
    assert [record.fields["study"] for record in caplog.records] == ["a", "b"]
    with open_study(storage, "a") as study:
        assert study.info().revision == 2
