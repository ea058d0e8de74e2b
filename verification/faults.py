"""Does a study lose or repeat a reward when its server is killed, or its database cut off?"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator

import oddarm
from oddarm.errors import ServiceError
from oddarm.service import Client
from verification.report import Check

WORKERS = 8
STUDY = "faults"
MEANS = [*(0.40 + 0.01 * i for i in range(19)), 0.75]
OPTIONS = {"strategy": "gold", "max_outliers": 1, "epsilon": 2.5}
ARMS = [f"arm-{i}" for i in range(len(MEANS))]


def checks(kills: int = 50, cuts: int = 50) -> Iterator[Check]:
    """Yield how many of so many kills, and of so many cuts, did harm."""
    from tests.postgres_server import postgres_server

    with tempfile.TemporaryDirectory() as folder:
        problems, note = killed(f"sqlite:///{folder}/s.db", kills)
        yield Check("server killed with SIGKILL, SQLite", len(problems), kills, 0.0, note)
    servers = postgres_server()
    try:
        url = next(servers)
        problems, note = cut_off(url, cuts)
        yield Check("connections cut, PostgreSQL", len(problems), cuts, 0.0, note)
        oddarm.open_study(url, STUDY).delete()
        problems, note = killed(url, kills)
        yield Check("server killed with SIGKILL, PostgreSQL", len(problems), kills, 0.0, note)
    finally:
        servers.close()  # type: ignore[attr-defined]


def killed(storage: str, kills: int, seed: int = 0) -> tuple[list[str], str]:
    """Kill the server at random moments under load; return what went wrong, and a note."""

    def kill(server: Server) -> None:
        server.kill()
        server.start()

    return _trouble(storage, kills, seed, kill)


def cut_off(url: str, cuts: int, seed: int = 0) -> tuple[list[str], str]:
    """End all connections of the server to PostgreSQL at random moments under load."""
    import psycopg

    def cut(server: Server) -> None:
        del server
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    return _trouble(url, cuts, seed, cut)


class Server:
    """`oddarm serve` in a process of its own, on a port that stays the same."""

    def __init__(self, storage: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._command = [
            *(sys.executable, "-m", "oddarm", "serve"),
            *("--storage", storage, "--port", str(self.port)),
        ]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while True:
            try:
                Client(self.url).studies()
            except ServiceError:
                if self.process.poll() is not None:
                    raise RuntimeError("the server has ended by itself") from None
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """End it without a chance to put anything in order."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end; return its exit code."""
        os.kill(self.process.pid, signal.SIGTERM)
        return self.process.wait()


def reward(pull: str, arm: str) -> float:
    """Return the reward of a pull, which depends on nothing but its id and its arm."""
    return float(zlib.crc32(pull.encode()) / 2**32 < MEANS[ARMS.index(arm)])


def _trouble(
    storage: str, times: int, seed: int, strike: Callable[[Server], None]
) -> tuple[list[str], str]:
    rng = random.Random(seed)
    oddarm.create_study(storage, STUDY, ARMS, **OPTIONS).close()
    server = Server(storage)
    acknowledged: list[dict[str, float]] = [{} for _ in range(WORKERS)]
    over = threading.Event()
    workers = [
        threading.Thread(target=_work, args=(server.url, k, acknowledged[k], over))
        for k in range(WORKERS)
    ]
    try:
        for worker in workers:
            worker.start()
        for _ in range(times):
            time.sleep(rng.uniform(0.01, 0.5))
            strike(server)
    finally:
        over.set()
        for worker in workers:
            worker.join()
        code = server.stop()
    told = {pull: value for mine in acknowledged for pull, value in mine.items()}
    problems = list(_problems(storage, told))
    if code != 0:
        problems.append(f"the server ended with exit code {code}")
    return problems, f"{len(told):,} rewards acknowledged under load"


def _work(url: str, number: int, told: dict[str, float], over: threading.Event) -> None:
    """Ask and tell; repeat a tell until it is acknowledged."""
    rng = random.Random(number)
    client = Client(url)
    while not over.is_set():
        try:
            pulls, _ = client.ask(STUDY, rng.randint(1, 8), lease_seconds=2)
        except ServiceError:
            time.sleep(0.02)
            continue
        rewards = {pull.id: reward(pull.id, pull.arm) for pull in pulls}
        while rewards:
            with contextlib.suppress(ServiceError):
                client.tell(STUDY, rewards)
                told.update(rewards)
                break
            if over.is_set():
                break
            time.sleep(0.02)


def _problems(storage: str, told: dict[str, float]) -> Iterator[str]:
    """Compare the study with what was acknowledged, and with a run that nothing interrupted."""
    with oddarm.open_study(storage, STUDY) as study:
        stored = Counter(tell["pull"] for tell in study.tells())
        values = {tell["pull"]: tell["reward"] for tell in study.tells()}
        yield from (f"{pull} is there {n} times" for pull, n in stored.items() if n > 1)
        yield from (f"{pull} was acknowledged and is lost" for pull in told if pull not in stored)
        yield from (
            f"{pull} has another reward"
            for pull, value in told.items()
            if values.get(pull, value) != value
        )
        while not study.done:
            pulls = study.ask(200)
            study.tell_many({pull.id: reward(pull.id, pull.arm) for pull in pulls})
        if study.result().to_dict() != _uninterrupted(study).to_dict():
            yield "the answer is not that of an uninterrupted run on the same rewards"
        if study.result().ranking[0] != ARMS[-1]:
            yield "the outlier is not ranked first"


def _uninterrupted(study: oddarm.Study) -> oddarm.Result:
    search = oddarm.Search(ARMS, **OPTIONS)  # type: ignore[arg-type]
    for _, batch in itertools.groupby(study.tells(), lambda tell: tell["seq"]):
        told = [(ARMS.index(tell["arm"]), tell["reward"]) for tell in batch]
        search.tell_indices(*zip(*told, strict=True))
    return search.result()
