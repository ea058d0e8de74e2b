"""Asks that wait until there is something to pull."""

import asyncio
import contextlib
import http.client
import json
import signal
import threading

import pytest

from oddarm import create_study, open_study
from oddarm.errors import UnknownStudyError
from oddarm.service import Client, long_polling
from oddarm.service.batching import StudyPool
from oddarm.service.long_polling import LongPolling
from oddarm.service.models import AskBody
from oddarm.store.database.base import open_database
from support.serving import serving

ARMS = ["ams", "fra", "lhr", "gru"]
LONG = 60.0


@contextlib.asynccontextmanager
async def polling(storage, most=10_000, **options):
    """Give a study all of whose four pulls are in flight, those pulls, and asks that wait."""
    create_study(storage, "demo", ARMS, "rr", max_outliers=1, max_pulls=4, **options).close()
    studies = StudyPool(open_database(storage))
    pulls = await studies.write("demo", lambda batch: batch.ask(4), asks=True)
    try:
        async with asyncio.timeout(LONG):  # an answer that never comes is a failure
            yield studies, pulls, LongPolling(studies, most, lambda: False)
    finally:
        await studies.close()


def waiting(asks, count=1, *, gone=None, **options):
    """Start asks that wait; without `gone` their callers stay."""
    body = AskBody(**{"wait_seconds": LONG, **options})
    stays = asyncio.Event()
    return [asyncio.create_task(asks.ask("demo", body, (gone or stays).wait)) for _ in range(count)]


async def until(condition):
    """Wait until a condition holds."""
    while not condition():
        await asyncio.sleep(0.001)


async def standing(asks, tasks):
    """Wait until all asks stand in the line and were served once, to no avail."""
    await until(lambda: "demo" in asks._lines and len(asks._lines["demo"].entries) == len(tasks))
    await until(lambda: not asks._lines["demo"].changed.is_set())
    await asks._studies.write("demo", lambda batch: batch.status, asks=True)
    assert not any(task.done() for task in tasks)


@pytest.fixture
def no_rechecks(monkeypatch):
    """A line is served only if something is known to have changed."""
    monkeypatch.setattr(long_polling, "RECHECK_SECONDS", 1e6)


@pytest.mark.usefixtures("no_rechecks")
def test_answered_when_there_are_pulls(storage):
    """Those that have waited longest get the pulls that become free; the others go on waiting."""

    async def run():
        async with polling(storage) as (studies, pulls, asks):
            tasks = waiting(asks, 3)
            await standing(asks, tasks)
            lost = [pull.id for pull in pulls[:2]]
            await studies.write("demo", lambda batch: batch.give_up(lost))
            first, second = await asyncio.gather(*tasks[:2])
            assert [len(asked.pulls) for asked in (first, second)] == [1, 1]
            assert not tasks[2].done()
            rest = {pull.id: 1 for pull in pulls[2:]}
            rest |= {asked.pulls[0].id: 1 for asked in (first, second)}
            await studies.write("demo", lambda batch: batch.tell_many(rest))
            assert (await tasks[2]).model_dump() == {"pulls": [], "status": "done"}
            assert not asks._lines

    asyncio.run(run())


@pytest.mark.usefixtures("no_rechecks")
def test_paused_and_deleted(storage):
    """Who waits for a study hears at once that it was paused or deleted."""

    async def run():
        async with polling(storage) as (studies, _, asks):
            (task,) = tasks = waiting(asks)
            await standing(asks, tasks)
            await studies.set_paused("demo", True)
            assert (await task).status == "paused"
            await studies.set_paused("demo", False)
            (task,) = tasks = waiting(asks)
            await standing(asks, tasks)
            await studies.delete("demo")
            with pytest.raises(UnknownStudyError):
                await task

    asyncio.run(run())


@pytest.mark.usefixtures("no_rechecks")
def test_many_wait_for_little(storage, monkeypatch):
    """A thousand asks that wait take no threads, and few transactions between them."""

    async def run():
        async with polling(storage) as (studies, pulls, asks):
            writes = []
            write = studies.write

            async def counted(*arguments, **options):
                writes.append(arguments)
                return await write(*arguments, **options)

            monkeypatch.setattr(studies, "write", counted)
            before = threading.active_count()
            tasks = waiting(asks, 1000, limit=3)
            await standing(asks, tasks)
            assert threading.active_count() <= before + 1
            told = {pull.id: 1 for pull in pulls}
            await studies.write("demo", lambda batch: batch.tell_many(told))
            assert {asked.status for asked in await asyncio.gather(*tasks)} == {"done"}
            assert len(writes) <= 6

    asyncio.run(run())


@pytest.mark.usefixtures("no_rechecks")
def test_nothing_comes(storage):
    """After its time an ask is answered without pulls, and asks above the limit at once."""

    async def run():
        async with polling(storage, most=1) as (_, _, asks):
            (short,) = waiting(asks, wait_seconds=0.05)
            assert (await short).model_dump() == {"pulls": [], "status": "running"}
            tasks = waiting(asks)
            await standing(asks, tasks)
            (above,) = waiting(asks)
            assert (await above).pulls == []
            assert not tasks[0].done()
            tasks[0].cancel()

    asyncio.run(run())


def test_a_lease_that_ends(storage, monkeypatch):
    """A pull whose lease ends goes to the one that waits, though nobody has written."""
    monkeypatch.setattr(long_polling, "RECHECK_SECONDS", 0.01)

    async def run():
        async with polling(storage) as (studies, pulls, asks):
            await studies.write("demo", lambda batch: batch.give_up([pulls[0].id]))
            (late,) = await studies.write(
                "demo", lambda batch: batch.ask(1, lease_seconds=0.05), asks=True
            )
            (task,) = waiting(asks)
            assert [pull.id for pull in (await task).pulls] == [late.id]

    asyncio.run(run())


def test_another_process(storage, monkeypatch):
    """What another process does to the study is noticed, too."""
    monkeypatch.setattr(long_polling, "RECHECK_SECONDS", 0.01)

    async def run():
        async with polling(storage) as (_, pulls, asks):
            tasks = waiting(asks)
            await standing(asks, tasks)
            with open_study(storage, "demo") as other:
                other.give_up([pulls[0].id])
            assert len((await tasks[0]).pulls) == 1

    asyncio.run(run())


@pytest.mark.usefixtures("no_rechecks")
def test_callers_that_went_away(storage):
    """A caller that is gone gets no pulls, which would be lost until their lease ends."""

    async def run():
        async with polling(storage) as (studies, pulls, asks):
            gone = asyncio.Event()
            tasks = [*waiting(asks, gone=gone), *waiting(asks)]
            await standing(asks, tasks)
            gone.set()
            assert (await tasks[0]).pulls == []
            await studies.write("demo", lambda batch: batch.give_up([pulls[0].id]))
            assert len((await tasks[1]).pulls) == 1

    asyncio.run(run())


@pytest.mark.usefixtures("no_rechecks")
def test_a_caller_that_goes_away_while_the_line_is_served(storage):
    """A transaction that is under way leases nothing to a caller that has gone by then."""

    async def run():
        async with polling(storage) as (studies, pulls, asks):
            going, served = asyncio.Event(), threading.Event()
            tasks = [*waiting(asks, gone=going), *waiting(asks)]
            await standing(asks, tasks)
            held = asyncio.create_task(
                studies.write("demo", lambda _: served.wait(LONG), asks=True)
            )
            free = {pulls[0].id}
            freed = asyncio.create_task(studies.write("demo", lambda batch: batch.give_up(free)))
            asks._lines["demo"].changed.set()
            await until(lambda: not asks._lines["demo"].changed.is_set())  # its turn is next
            going.set()
            await tasks[0]
            served.set()
            await asyncio.gather(held, freed)
            assert len((await tasks[1]).pulls) == 1

    asyncio.run(run())


def test_a_service_that_stops(storage, monkeypatch):
    """A service that is about to stop answers all who wait, without the database."""
    monkeypatch.setattr(long_polling, "RECHECK_SECONDS", 0.01)

    async def run():
        async with polling(storage) as (studies, _, _):
            stopping = False
            asks = LongPolling(studies, 10, lambda: stopping)
            tasks = waiting(asks, 3)
            await standing(asks, tasks)
            stopping = True
            answers = await asyncio.gather(*tasks)
            assert [answer.status for answer in answers] == ["running"] * 3

    asyncio.run(run())


def sent(url, client):
    """Send an ask that waits; return its connection once the service has the ask."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=LONG)
    body = json.dumps({"wait_seconds": LONG})
    connection.request("POST", "/studies/demo/ask", body, {"Content-Type": "application/json"})
    client.info("demo")  # which came later, and is answered
    return connection


def answer(connection):
    """Return the answer to the ask of a connection."""
    with contextlib.closing(connection):
        return json.loads(connection.getresponse().read())


def test_over_http(storage):
    """A connection that ends gives its place up, and a service that stops answers who waits."""
    with serving("--storage", storage) as (process, url):
        client = Client(url)
        client.create("demo", ARMS, "rr", max_outliers=1, max_pulls=4)
        pulls, _ = client.ask("demo", 4)
        sent(url, client).close()
        second, third = sent(url, client), sent(url, client)
        assert client.give_up("demo", [pulls[0].id]) == 1
        assert [pull["arm"] for pull in answer(second)["pulls"]] == ["ams"]
        process.send_signal(signal.SIGTERM)
        assert answer(third) == {"pulls": [], "status": "running"}
        assert process.wait() == 0


@pytest.mark.parametrize("seconds", [-1, 61, "1", None])
def test_how_long_an_ask_may_wait(http, seconds):
    """An ask that would wait for less than no time, or for too long, is refused."""
    answer = http.post("/studies/demo/ask", json={"wait_seconds": seconds})
    assert answer.status_code == 422
    assert "wait_seconds" in answer.json()["error"]
