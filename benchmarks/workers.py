"""A thousand workers on one server, against thirty-two.

A worker is a coroutine with a connection of its own. It asks for ten pulls, waits for them at the
server, takes 50 ms for each, tells the rewards, and begins again. Thirty-two such workers cannot
keep a server busy, so the thirty-two take no time for a pull. Then the server is the bottleneck for
both, and the ratio says what the crowd itself costs.

Both are measured in turn on one study. At the end the study must have every reward that was
acknowledged, once.
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

from benchmarks.service import Connection, memory, ours
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
        empty: How many asks came back without pulls.
    """

    def __init__(self, url: str, count: int, pull_seconds: float) -> None:
        self.acknowledged: list[str] = []
        self.empty = 0
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
            self.empty += not pulls
            await asyncio.sleep(self._pull_seconds * len(pulls))
            tells = [{"pull": pull, "reward": rng.randrange(2)} for pull in pulls]
            if pulls:
                await connection.post("/studies/load/tell", {"tells": tells})
                self.acknowledged += pulls
        connection.close()


def run(rounds: int = 5, seconds: float = 6.0) -> None:
    """Print the ratio, and what became of the rewards."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder, ours(Path(folder) / "s.db") as (url, pid):
        client = Client(url)
        client.create("load", ARMS, **STUDY)
        before = memory(pid)
        rates: dict[int, list[float]] = {FEW: [], MANY: []}
        acknowledged: list[str] = []
        empty = 0
        for _ in range(rounds):
            for count, pull_seconds in ((FEW, 0.0), (MANY, PULL_SECONDS)):
                crowd = Crowd(url, count, pull_seconds)
                rates[count].append(asyncio.run(crowd.rate(seconds)))
                acknowledged += crowd.acknowledged
                empty += crowd.empty
        ratios = [many / few for many, few in zip(rates[MANY], rates[FEW], strict=True)]
        told = Counter(json.loads(line)["pull"] for line in client.export("load"))
        lost = sum(pull not in told for pull in acknowledged)
        doubled = sum(told.values()) - len(told)
        few, many = (statistics.median(rates[count]) for count in (FEW, MANY))
        print(
            f"1,000 workers, 50 ms a pull / 32 workers, 0 ms  {statistics.median(ratios):8.2f}   "
            f"(at least 0.7; {many:,.0f} and {few:,.0f} pulls/s)\n"
            f"of {len(acknowledged):,} rewards acknowledged: lost {lost}, doubled {doubled}; "
            f"asks without pulls {empty}; server {before:.0f} MB before, {memory(pid):.0f} MB after"
        )


if __name__ == "__main__":
    run()
