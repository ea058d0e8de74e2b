"""A thousand workers on one server, against thirty-two.

A worker is a coroutine with a connection of its own. It asks for ten pulls, waits for them at the
server, takes 50 ms for each, tells the rewards, and begins again. Thirty-two such workers cannot
keep a server busy, so the thirty-two take no time for a pull. Then the server is the bottleneck for
both, and the ratio says what the crowd itself costs.

Both are measured in turn on one study. At the end the study must have every reward that was
acknowledged, once. Before that, a thousand asks wait for a study that has nothing to pull.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.service import Connection, memory, ours, processor_seconds
from oddarm.service import Client

MANY = 1000
FEW = 32
LIMIT = 10
PULL_SECONDS = 0.05
WAIT_SECONDS = 20
ARMS = 200
STUDY: dict[str, Any] = {"max_outliers": 10, "min_gap": 0.01}
"""All arms are alike and `min_gap` is small, so that the study goes on for long."""


class Crowd:
    """Workers, and what was acknowledged to them.

    Args:
        url: The server.
        count: How many workers there are.
        pull_seconds: How long a pull takes.

    Attributes:
        acknowledged: The ids of the pulls whose rewards were acknowledged.
    """

    def __init__(self, url: str, count: int, pull_seconds: float) -> None:
        self.acknowledged: list[str] = []
        self._over = False
        self._pull_seconds = pull_seconds
        self._connections = [Connection(url) for _ in range(count)]

    async def rate(self, seconds: float) -> float:
        """Return the rewards a second that are acknowledged; an error of a worker is raised."""
        await asyncio.gather(*(connection.open() for connection in self._connections))
        workers = asyncio.gather(*map(self._work, self._connections))
        await asyncio.sleep(seconds / 2)  # until all have begun, and the first ones are told
        before, start = len(self.acknowledged), time.perf_counter()
        await asyncio.sleep(seconds)
        rate = (len(self.acknowledged) - before) / (time.perf_counter() - start)
        self._over = True
        await workers
        return rate

    async def _work(self, connection: Connection) -> None:
        rng = random.Random()
        while not self._over:
            body = {"limit": LIMIT, "wait_seconds": WAIT_SECONDS}
            asked = json.loads(await connection.post("/studies/load/ask", body))
            pulls = [pull["id"] for pull in asked["pulls"]]
            await asyncio.sleep(self._pull_seconds * len(pulls))
            tells = [{"pull": pull, "reward": rng.randrange(2)} for pull in pulls]
            if pulls:
                await connection.post("/studies/load/tell", {"tells": tells})
                self.acknowledged += pulls
        connection.close()


def working(url: str, pid: int, rounds: int, seconds: float) -> None:
    """Compare a thousand workers with thirty-two, and look for every reward acknowledged."""
    client = Client(url)
    client.create("load", ARMS, **STUDY)
    rates: dict[int, list[float]] = {FEW: [], MANY: []}
    costs: dict[int, list[float]] = {FEW: [], MANY: []}
    acknowledged: list[str] = []
    for _ in range(rounds):
        for count, pull_seconds in ((FEW, 0.0), (MANY, PULL_SECONDS)):
            crowd, before = Crowd(url, count, pull_seconds), processor_seconds(pid)
            rates[count].append(asyncio.run(crowd.rate(seconds)))
            taken = processor_seconds(pid) - before
            costs[count].append(taken / len(crowd.acknowledged))
            acknowledged += crowd.acknowledged
    told = Counter(json.loads(line)["pull"] for line in client.export("load"))
    lost = sum(pull not in told for pull in acknowledged)
    doubled = sum(told.values()) - len(told)
    for what, sides, bar, unit, scale in (
        ("pulls a second", rates, "at least 0.7", "pulls/s", 1),
        ("processor time of a reward", costs, "no bar", "µs", 1e6),
    ):
        ratio = statistics.median(m / f for m, f in zip(sides[MANY], sides[FEW], strict=True))
        many, few = (statistics.median(sides[count]) * scale for count in (MANY, FEW))
        label = f"1,000 workers, 50 ms a pull / 32, 0 ms: {what}"
        print(f"{label:<68}{ratio:8.2f}   ({bar}; {many:,.0f} and {few:,.0f} {unit})")
    print(f"of {len(acknowledged):,} rewards acknowledged: lost {lost}, doubled {doubled}")


async def waiting(url: str, pid: int, seconds: float = 10.0) -> None:
    """Print what a thousand asks take while they wait, and how soon they are answered."""
    client = Client(url)
    client.create("idle", 4, "rr", max_outliers=1, max_pulls=4)
    pulls, _ = client.ask("idle", 4)
    before = memory(pid)
    connections = [Connection(url) for _ in range(MANY)]
    await asyncio.gather(*(connection.open() for connection in connections))
    body = {"limit": LIMIT, "wait_seconds": 60}
    asks = [asyncio.create_task(c.post("/studies/idle/ask", body)) for c in connections]
    await asyncio.sleep(seconds)
    began = processor_seconds(pid)
    await asyncio.sleep(seconds)
    share = (processor_seconds(pid) - began) / seconds
    threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    grown = (memory(pid) - before) / MANY * 1e3
    start = time.perf_counter()
    await asyncio.to_thread(client.tell, "idle", {pull.id: 1 for pull in pulls})
    answers = await asyncio.gather(*asks)
    taken = time.perf_counter() - start
    assert {json.loads(answer)["status"] for answer in answers} == {"done"}
    print(
        f"1,000 asks that wait: {share:.1%} of a core, {threads} threads, {grown:.0f} kB each; "
        f"all answered {taken:.2f} s after the tell"
    )


def run(rounds: int = 5, seconds: float = 6.0) -> None:
    """Print the ratios, what became of the rewards, and what it takes to wait."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * MANY)), hard))
    with tempfile.TemporaryDirectory() as folder, ours(Path(folder) / "s.db") as (url, pid):
        asyncio.run(waiting(url, pid))
        working(url, pid, rounds, seconds)


if __name__ == "__main__":
    run()
