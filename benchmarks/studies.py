"""Does one study slow another? Many studies of one service, as ratios measured in one run.

A *large* study has 5,000 arms, 100 of which may be outliers: a plan takes it seconds.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import oddarm
from benchmarks.report import Report
from benchmarks.service import Connection, ours

LARGE = 18
LARGE_ARMS = 5_000
ROUNDS = 3
SECONDS = 15.0
"""How often, and how long each time, tells are measured alone and beside large studies."""
FEW, MANY = 20, 200


def prepare(path: Path, name: str) -> None:
    """Make a large study with twenty rewards of each arm, so that its first ask has to plan."""
    rng = random.Random(name)
    with (
        oddarm.create_study(path, name, LARGE_ARMS, max_outliers=100, min_gap=0.1) as study,
        study.batch() as batch,
    ):
        for arm in range(LARGE_ARMS):
            mean = 0.9 if arm < 30 else rng.uniform(0.4, 0.6)
            rewards = [float(rng.random() < mean) for _ in range(20)]
            batch.tell_arm(arm, rewards, key=f"before {arm}")


class LargeLoad:
    """Workers that ask large studies for 100 pulls and tell them, while they are let.

    Attributes:
        answers: How many answers they got, by status.
        without_pulls: How many asks were to be asked again later.
    """

    def __init__(self, url: str) -> None:
        self.answers: Counter[int] = Counter()
        self.without_pulls = 0
        self._url = url
        self._going = asyncio.Event()
        self._busy = 0
        self._workers = [asyncio.create_task(self._work(f"large-{k}")) for k in range(LARGE)]

    async def begin(self) -> None:
        """Begin, or go on, and wait until all have sent a request."""
        self._going.set()
        while self._busy < LARGE:
            await asyncio.sleep(0.01)

    async def pause(self) -> None:
        """Send nothing more, and wait until all is answered."""
        self._going.clear()
        while self._busy:
            await asyncio.sleep(0.01)
            for worker in self._workers:
                assert not worker.done(), worker.exception()

    async def _work(self, name: str) -> None:
        connection, rng = Connection(self._url), random.Random(name)
        while True:
            if not self._going.is_set():
                await self._going.wait()
                await connection.open()  # the service has closed one that was idle
            self._busy += 1
            status, answer = await connection.send(f"/studies/{name}/ask", {"limit": 100})
            self.answers[status] += 1
            pulls = json.loads(answer)["pulls"] if status == 200 else []
            self.without_pulls += status == 200 and not pulls
            if pulls:
                tells = [{"pull": pull["id"], "reward": rng.randrange(2)} for pull in pulls]
                status, _ = await connection.send(f"/studies/{name}/tell", {"tells": tells})
                self.answers[status] += 1
            self._busy -= 1


async def tell_small(url: str, seconds: float) -> list[float]:
    """Return how long each tell of the small study took."""
    connection, waits = Connection(url), []
    await connection.open()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = await connection.post("/studies/small/ask", {"limit": 1})
        tells = [{"pull": pull["id"], "reward": 0} for pull in json.loads(answer)["pulls"]]
        start = time.perf_counter()
        await connection.post("/studies/small/tell", {"tells": tells})
        waits.append(time.perf_counter() - start)
    return waits


async def beside_large(url: str) -> tuple[list[float], list[float], LargeLoad]:
    """Return how long tells take alone and beside large studies, and the load of these."""
    load = LargeLoad(url)
    await tell_small(url, 1.0)
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(ROUNDS):  # in turn, so that other load is in both
        alone += await tell_small(url, SECONDS)
        await load.begin()
        beside += await tell_small(url, SECONDS)
        await load.pause()
    return alone, beside, load


async def ask_in_turn(url: str, names: list[str], times: int) -> list[float]:
    """Return how long each ask took, of one study after the other."""
    connection, waits = Connection(url), []
    await connection.open()
    for _ in range(times):
        for name in names:
            start = time.perf_counter()
            await connection.post(f"/studies/{name}/ask", {"limit": 1})
            waits.append(time.perf_counter() - start)
    return waits


@contextmanager
def served(prepared: list[str]) -> Iterator[str]:
    """Serve a new database with large studies of these names; give the address."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        for name in prepared:
            prepare(path, name)
        with ours(path) as (url, _):
            yield url


def create(url: str, name: str) -> None:
    """Make a study of 20 arms."""
    oddarm.service.Client(url).create(name, 20, max_outliers=2)


def quantile(waits: list[float], share: float) -> float:
    """Return the time that a share of the waits does not exceed."""
    return sorted(waits)[int(share * (len(waits) - 1))]


def run(report: Report) -> None:
    """Measure a tell beside large studies, and asks of many studies against few."""
    with served([f"large-{k}" for k in range(LARGE)]) as url:
        create(url, "small")
        alone, beside, load = asyncio.run(beside_large(url))
    slow, quick = quantile(beside, 0.99), quantile(alone, 0.99)
    report.add(
        f"a tell beside {LARGE} studies of {LARGE_ARMS:,} arms / alone, p99",
        slow / quick,
        most=5,
        note=f"{slow * 1e3:.1f} ms, {quick * 1e3:.1f} ms; "
        f"p50 {quantile(beside, 0.5) * 1e3:.1f}, {quantile(alone, 0.5) * 1e3:.1f}; "
        f"{len(beside):,} and {len(alone):,} tells",
    )
    answers = load.answers
    report.add(
        "requests for the large studies refused meanwhile",
        answers.total() - answers[200],
        most=0,
        note=f"of {answers.total():,}; {load.without_pulls} asks were told to ask again",
    )
    names = [f"s-{k}" for k in range(MANY)]
    with served([]) as url:
        for name in names:
            create(url, name)
        medians: dict[int, list[float]] = {FEW: [], MANY: []}
        for count in (FEW, MANY, FEW, MANY):  # in turn, so that other load is in both
            asyncio.run(ask_in_turn(url, names[:count], 1))
            waits = asyncio.run(ask_in_turn(url, names[:count], 600 // count))
            medians[count].append(quantile(waits, 0.5))
    few, many = (min(medians[count]) for count in (FEW, MANY))
    report.add(
        f"an ask of one of {MANY} studies in turn / of {FEW}, p50",
        many / few,
        most=3,
        note=f"{many * 1e3:.1f} ms, {few * 1e3:.1f} ms",
    )
