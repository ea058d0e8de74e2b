"""Studies and their service, as ratios of two sides measured in one run.

`python -m benchmarks.service --soak` also tells several million rewards over HTTP and looks at the
memory of the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import oddarm
from oddarm.service import Client
from oddarm.service.metrics import Metrics

BATCH = 100
ARMS = 20
WORKERS = 8
ECHO = """
import sys
import uvicorn
from fastapi import FastAPI
from oddarm.service.models import TellBody

app = FastAPI()

@app.post("/studies/{name}/tell")
async def echo(name: str, body: TellBody) -> TellBody:
    return body

@app.get("/studies")
async def studies() -> list[str]:
    return []

uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="error")
"""


UNMEASURED = """
import sys
from oddarm.service import app, serve

class Still:
    def inc(self, amount=1):
        pass

    def labels(self, *values):
        return self

class Unmeasured(app.Metrics):
    def __init__(self):
        super().__init__()
        self.leased = self.told = self.given_up = self.failed = Still()

    def note(self, method, path, status, seconds):
        pass

app.Metrics = Unmeasured
serve(sys.argv[2], port=int(sys.argv[1]))
"""
"""The service, which counts and measures nothing."""


def bare(path: Path) -> Callable[[], None]:
    """Return a call that inserts a batch into SQLite: a row per reward, a transaction per batch."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE rewards (id INTEGER PRIMARY KEY, pull TEXT, arm INTEGER, reward REAL)"
    )
    numbers = iter(range(10**9))

    def insert() -> None:
        rows = [(f"pull-{next(numbers)}", k % ARMS, 1.0) for k in range(BATCH)]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO rewards (pull, arm, reward) VALUES (?, ?, ?)", rows)
        connection.execute("COMMIT")

    return insert


def exactly(count: int, ask: Callable[[int], list[Any]]) -> list[Any]:
    """Return `count` pulls, of several asks if one gives fewer."""
    pulls: list[Any] = []
    while len(pulls) < count:
        more = ask(count - len(pulls))
        assert more, "the study is done"
        pulls += more
    return pulls


def tell_one_arm(path: Path) -> Callable[[], None]:
    """Return a call that tells a batch of rewards of one arm under a key."""
    study = oddarm.create_study(path, "one", ARMS, strategy="gold", max_outliers=2)
    rng, numbers = random.Random(1), iter(range(10**9))

    def tell() -> None:
        number = next(numbers)
        rewards = [float(rng.random() < 0.5) for _ in range(BATCH)]
        study.tell_arm(number % ARMS, rewards, key=f"batch {number}")

    return tell


def tell_all_arms(path: Path, strategy: str) -> Callable[[], float]:
    """Return a call that asks for a batch and tells it, and returns the seconds of the tell."""
    study = oddarm.create_study(path, "all", ARMS, strategy=strategy, max_outliers=2)
    rng = random.Random(1)

    def tell() -> float:
        pulls = exactly(BATCH, study.ask)
        rewards = {pull.id: float(rng.random() < 0.5) for pull in pulls}
        start = time.perf_counter()
        study.tell_many(rewards)
        return time.perf_counter() - start

    return tell


def seconds(call: Callable[[], Any], times: int) -> float:
    """Return the mean seconds of a call; if the call returns seconds, the mean of those."""
    start = time.perf_counter()
    returned = [call() for _ in range(times)]
    if returned[0] is not None:
        return statistics.fmean(returned)
    return (time.perf_counter() - start) / times


def store(rounds: int = 42, times: int = 20, before: int = 600) -> None:
    """Compare acknowledged rewards a second with bare inserts at the same durability.

    SQLite's log grows up to its first checkpoint, after 1000 pages, and is then overwritten, which
    takes half the time: both sides are measured after that.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        insert = bare(folder / "bare.db")
        sides: dict[str, Callable[[], Any]] = {
            "of one arm": tell_one_arm(folder / "one.db"),
            "of 20 arms (adaptive)": tell_all_arms(folder / "adaptive.db", "adaptive"),
            "of 20 arms (gold)": tell_all_arms(folder / "gold.db", "gold"),
            "of 20 arms (rr)": tell_all_arms(folder / "rr.db", "rr"),
        }
        for call in (insert, *sides.values()):
            seconds(call, before)
        for label, tell in sides.items():
            ratios, rates = [], []
            for _ in range(rounds):  # side by side, so that a busy disk is busy for both
                inserted, told = seconds(insert, times), seconds(tell, times)
                ratios.append(inserted / told)
                rates.append(BATCH / told)
            print(
                f"tells a second / bare inserts, 100 {label:<22} {statistics.median(ratios):8.2f}"
                f"   (at least 0.5; {statistics.median(rates):,.0f} rewards/s)"
            )


def space(batches: int = 500) -> None:
    """Print what SQLite takes for a reward told in batches of 100."""
    for label, shuffled in (("in the order asked for", False), ("in any order", True)):
        with tempfile.TemporaryDirectory() as name:
            path, rng = Path(name) / "space.db", random.Random(1)
            with oddarm.create_study(path, "space", ARMS, strategy="rr", max_outliers=2) as study:
                for _ in range(batches):
                    pulls = study.ask(BATCH)
                    if shuffled:
                        rng.shuffle(pulls)
                    study.tell_many({pull.id: float(rng.random() < 0.5) for pull in pulls})
                told = study.info().pulls
            print(f"bytes a reward, told {label:<38} {path.stat().st_size / told:8.0f}")


@contextmanager
def process(*command: str) -> Iterator[tuple[str, int]]:
    """Run a server on a free port; give its URL and process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    line = [sys.executable, *(part.replace("PORT", str(port)) for part in command)]
    server = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                Client(url).studies()
                break
            except oddarm.OddarmError:
                time.sleep(0.05)
        yield url, server.pid
    finally:
        server.terminate()
        server.wait()


def ours(path: Path) -> Any:
    """Run `oddarm serve`."""
    return process("-m", "oddarm", "serve", "--port", "PORT", "--storage", str(path))


class Connection:
    """A keep-alive connection that costs the client as little as possible."""

    def __init__(self, url: str) -> None:
        self._port = int(url.rsplit(":", 1)[1])

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def post(self, path: str, body: Any) -> bytes:
        """Return the body of the answer, which must be 200."""
        status, answer = await self.send(path, body)
        assert status == 200, answer
        return answer

    async def send(self, path: str, body: Any) -> tuple[int, bytes]:
        """Return the status and the body of the answer."""
        content = json.dumps(body).encode()
        self._writer.write(
            b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (path.encode(), len(content), content)
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        return int(head[9:12]), await self._reader.readexactly(int(length[1]))

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


async def tell_load(url: str, bodies: list[Any]) -> float:
    """Return the requests a second that eight connections complete."""
    connections = [Connection(url) for _ in range(WORKERS)]
    for connection in connections:
        await connection.open()

    async def work(connection: Connection, share: list[Any]) -> None:
        for body in share:
            await connection.post("/studies/load/tell", body)

    start = time.perf_counter()
    await asyncio.gather(*(work(c, bodies[k::WORKERS]) for k, c in enumerate(connections)))
    return len(bodies) / (time.perf_counter() - start)


async def ask_load(url: str, times: int) -> list[float]:
    """Return how long each ask took while eight workers asked and told."""
    waits: list[float] = []

    async def work() -> None:
        connection = Connection(url)
        await connection.open()
        for _ in range(times):
            start = time.perf_counter()
            answer = json.loads(await connection.post("/studies/load/ask", {"limit": 1}))
            waits.append(time.perf_counter() - start)
            tells = [{"pull": pull["id"], "reward": 0} for pull in answer["pulls"]]
            await connection.post("/studies/load/tell", {"tells": tells})

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return waits


def bodies(client: Client, requests: int, rewards: int) -> list[Any]:
    """Return bodies of tells, each with `rewards` rewards, of one ask if that gives as many."""
    rng = random.Random(1)
    asks = [exactly(rewards, lambda limit: client.ask("load", limit)[0]) for _ in range(requests)]
    return [{"tells": [{"pull": p.id, "reward": rng.randrange(2)} for p in ask]} for ask in asks]


def service(rounds: int = 15) -> None:
    """Compare tells with an endpoint that echoes them, and report how long an ask takes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        process("-c", ECHO, "PORT") as (echo, _),
        ours(Path(folder) / "s.db") as (url, _),
    ):
        client = Client(url)
        for strategy in ("adaptive", "gold"):
            client.create("load", ARMS, strategy=strategy, max_outliers=2)
            for rewards, requests in ((1, 800), (100, 160)):
                ratios, rates = [], []
                for _ in range(rounds):
                    load = bodies(client, requests, rewards)
                    echoed = asyncio.run(tell_load(echo, load))
                    told = asyncio.run(tell_load(url, load))
                    ratios.append(told / echoed)
                    rates.append(told)
                print(
                    f"service tells / echoes, {rewards:>3} a request, {strategy:<8}          "
                    f"{statistics.median(ratios):8.2f}   "
                    f"(at least 0.5; {statistics.median(rates):,.0f} requests/s)"
                )
            client.delete("load")
        client.create("load", ARMS, max_outliers=2)
        waits = sorted(asyncio.run(ask_load(url, 150)))
        print(
            f"ask under 8 workers: median {waits[len(waits) // 2] * 1e3:.1f} ms, "
            f"p99 {waits[int(len(waits) * 0.99)] * 1e3:.1f} ms"
        )


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def metrics(rounds: int = 24, requests: int = 800) -> None:
    """Compare the processor time of a request with that of a service that measures nothing."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ours(Path(folder) / "measured.db") as measured,
        process("-c", UNMEASURED, "PORT", f"{folder}/unmeasured.db") as unmeasured,
    ):
        sides = (measured, unmeasured)
        for url, _ in sides:
            Client(url).create("load", ARMS, strategy="gold", max_outliers=2)
        ratios, taken = [], [0.0, 0.0]
        counted = Metrics()

        def count() -> None:
            counted.note("POST", "/studies/load/tell", 200, 0.003)
            counted.told.labels("yes").inc(1)

        alone = min(timeit.repeat(count, time.process_time, repeat=9, number=5_000)) / 5_000
        print(f"counting and measuring a tell, alone: {alone * 1e6:.1f} µs")
        for number in range(rounds + 1):
            costs = []
            for url, pid in sides:
                load = bodies(Client(url), requests, 1)
                before = processor_seconds(pid)
                asyncio.run(tell_load(url, load))
                costs.append((processor_seconds(pid) - before) / requests)
            if number:  # the first round warms up
                ratios.append(costs[0] / costs[1])
                taken = [total + cost / rounds for total, cost in zip(taken, costs, strict=True)]
        low, median, high = statistics.quantiles(ratios)
        print(
            f"processor time of a tell, measured / not measured {median:8.2f}   "
            f"(quartiles {low:.2f}, {high:.2f}; {taken[0] * 1e6:.0f} and {taken[1] * 1e6:.0f} µs)"
        )


def memory(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def soak(millions: int = 3) -> None:
    """Tell millions of rewards over HTTP, and print the server's memory meanwhile."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ours(Path(folder) / "s.db") as (url, pid),
    ):
        client, rng = Client(url), random.Random(1)
        client.create("load", ARMS, strategy="gold", max_outliers=2)
        told, shown = 0, 0
        while told < millions * 1_000_000:
            pulls, _ = client.ask("load", 5000)
            told += client.tell("load", {pull.id: rng.randrange(2) for pull in pulls})
            if told // 500_000 > shown:
                shown = told // 500_000
                print(f"{told:>10,} rewards: {memory(pid):6.1f} MB", flush=True)


def run() -> None:
    """Print the ratios."""
    store()
    space()
    service()
    metrics()


if __name__ == "__main__":
    run()
    if "--soak" in sys.argv[1:]:
        soak()
