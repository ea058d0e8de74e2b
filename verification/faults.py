"""Does a study lose or repeat a reward if its server is killed, or its database full or cut off?

Eight workers keep a server busy. They ask for up to forty pulls at a time, repeat each tell until
it is acknowledged, and begin another study when one is done, so that the load never ends. At the
end every reward that was acknowledged must be there exactly once, and each study must have the
answer of a search in memory that was asked and told the same.

The same must hold for a study that several processes write to without a server, of which one is
killed now and then. They plan outside the database's lock, where the others come in between, or
within.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
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
from pathlib import Path
from typing import Any

import oddarm
from oddarm.errors import ServiceError
from oddarm.service import Client
from oddarm.store.database.base import open_database
from verification.report import Check

WORKERS = 8
MEANS = [*(0.40 + 0.01 * i for i in range(19)), 0.75]
ARMS = [f"arm-{i}" for i in range(len(MEANS))]
OPTIONS: dict[str, Any] = {"max_outliers": 1, "delta": 0.1, "until": "ranked"}
"""Of each study: one that only ranks is soon over, and the next one begins."""
SETTLED = 20.0
"""Seconds within which a server must acknowledge something again after a fault."""

Strike = Callable[["Load"], None]

WRITERS = 3
WRITER = """
import json, sys
from oddarm import open_study
from oddarm.errors import StoreBusyError
from oddarm.store import study as module
from verification.faults import reward

def insist(call):
    while True:
        try:
            return call()
        except StoreBusyError:
            pass

url, name, many_arms = sys.argv[1:]
module.MANY_ARMS = int(many_arms)
with open_study(url, name) as study:
    while not study.done:
        pulls = insist(lambda: study.ask(40, lease_seconds=2))
        rewards = {pull.id: reward(pull.id, pull.arm) for pull in pulls}
        insist(lambda: study.tell_many(rewards))
        print(json.dumps(rewards), flush=True)
"""
"""A process that asks and tells a study to its end, and prints what was acknowledged."""


def checks(kills: int = 50, cuts: int = 50, fills: int = 10) -> Iterator[Check]:
    """Yield how many of the kills, cuts and full disks did harm."""
    from tests.support.postgres_server import postgres_server

    for strategy in ("adaptive", "gold"):
        with tempfile.TemporaryDirectory() as folder:
            problems, note = killed(f"sqlite:///{folder}/s.db", kills, strategy)
            yield Check(f"SIGKILL, SQLite, {strategy}", len(problems), kills, 0.0, note)
    with tempfile.TemporaryDirectory() as folder:
        problems, note = torn(Path(folder), kills)
        yield Check("SIGKILL and a torn last write, SQLite", len(problems), kills, 0.0, note)
    with tempfile.TemporaryDirectory() as folder:
        yield from _several(f"sqlite:///{folder}/s.db", "SQLite", kills)
    if os.geteuid() == 0:
        with small_disk(64_000_000) as disk:
            problems, note = filled(disk, fills)
            yield Check("disk full, SQLite", len(problems), fills, 0.0, note)
    servers = postgres_server()
    try:
        url = next(servers)
        for strategy in ("adaptive", "gold"):
            problems, note = cut_off(url, cuts, strategy)
            yield Check(f"connections cut, PostgreSQL, {strategy}", len(problems), cuts, 0.0, note)
            problems, note = killed(url, kills, strategy)
            yield Check(f"SIGKILL, PostgreSQL, {strategy}", len(problems), kills, 0.0, note)
        yield from _several(url, "PostgreSQL", kills)
    finally:
        servers.close()


def killed(storage: str, kills: int, strategy: str = "adaptive") -> tuple[list[str], str]:
    """Kill the server at random moments under load; return what went wrong, and a note."""

    def kill(load: Load) -> None:
        load.server.kill()
        load.server.start()

    return _trouble(storage, kills, strategy, kill)


def cut_off(url: str, cuts: int, strategy: str = "adaptive") -> tuple[list[str], str]:
    """End all connections of the server to PostgreSQL at random moments under load."""
    import psycopg

    def cut(load: Load) -> None:
        del load
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    return _trouble(url, cuts, strategy, cut)


def _several(storage: str, database: str, kills: int) -> Iterator[Check]:
    for where, many_arms in (("outside", 1), ("within", 10**9)):
        study = f"adaptive-several-{where}"
        problems, times, note = several(storage, study, many_arms, kills)
        name = f"{WRITERS} processes, planned {where} the lock, {database}"
        yield Check(name, len(problems), times, 0.0, note)


def several(storage: str, name: str, many_arms: int, kills: int) -> tuple[list[str], int, str]:
    """Let several processes write to one study, and kill one of them again and again.

    Args:
        storage: Where the study is to be.
        name: What it is to be called.
        many_arms: From how many arms on the processes plan outside the lock again and again.
        kills: How often to kill a process, if the study goes on for as long.

    Returns:
        What went wrong, how often a process was killed, and a note.
    """
    oddarm.create_study(storage, name, ARMS, "adaptive", **OPTIONS).close()
    rng = random.Random(0)
    times = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        said = [
            stack.enter_context((Path(folder) / f"{k}.jsonl").open("ab+")) for k in range(WRITERS)
        ]

        def start(k: int) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-c", WRITER, storage, name, str(many_arms)]
            return subprocess.Popen(command, stdout=said[k])

        writers = [start(k) for k in range(WRITERS)]
        with oddarm.open_study(storage, name) as study:
            while times < kills and not study.done:
                began, enough = study.info().revision, rng.randint(1, 60)
                while study.info().revision < began + enough and not study.done:
                    time.sleep(0.005)
                victim = rng.randrange(WRITERS)
                writers[victim].kill()
                writers[victim].wait()
                said[victim].write(b"\n")  # it may have been killed in the middle of a line
                said[victim].flush()
                times += 1
                writers[victim] = start(victim)
        codes = [writer.wait() for writer in writers]
        told: dict[str, float] = {}
        for file in said:
            file.seek(0)
            for line in file.read().decode().splitlines():
                with contextlib.suppress(ValueError):
                    told.update(json.loads(line))
    problems = [f"a process ended with exit code {code}" for code in codes if code]
    problems += differences(storage, name, "adaptive", told)
    return problems, times, f"{len(told):,} rewards acknowledged"


def torn(folder: Path, kills: int) -> tuple[list[str], str]:
    """Kill the server, and leave half a write at the end of its log."""
    rng = random.Random(0)
    log = folder / "s.db-wal"

    def tear(load: Load) -> None:
        load.server.kill()
        whole = log.read_bytes()
        frames = whole[32:]
        tail = frames[-4120 * rng.randint(1, 3) :] if frames else b""
        with log.open("ab") as file:  # an unfinished write, or what the disk held before
            file.write(rng.choice([tail[: rng.randint(0, len(tail))], rng.randbytes(5000)]))
        load.server.start()

    return _trouble(f"sqlite:///{folder}/s.db", kills, "adaptive", tear)


def filled(disk: Path, fills: int) -> tuple[list[str], str]:
    """Let the disk be full for a while, again and again, under load."""
    ballast = disk / "ballast"
    refused = []

    def fill(load: Load) -> None:
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        refused.append(load.wait_for(507))
        ballast.unlink()

    problems, note = _trouble(f"sqlite:///{disk}/s.db", fills, "gold", fill, most_rewards=8)
    problems += ["no request was refused because the disk is full" for said in refused if not said]
    return problems, note


@contextlib.contextmanager
def small_disk(size: int) -> Iterator[Path]:
    """Mount a file system of `size` bytes; only root may."""
    folder = tempfile.mkdtemp(prefix="oddarm-disk-")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    try:
        subprocess.run(mount, check=True, capture_output=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)
    finally:
        shutil.rmtree(folder)


class Server:
    """`oddarm serve` in a process of its own, on a port that stays the same.

    Args:
        storage: Where its studies are.
        host: The address to listen on.
        token_file: A file with the token, which any address but a loopback one needs.
    """

    def __init__(
        self, storage: str, host: str = "127.0.0.1", token_file: Path | None = None
    ) -> None:
        with socket.socket() as probe:
            probe.bind((host, 0))
            self.port = int(probe.getsockname()[1])
        self._command = [
            *(sys.executable, "-m", "oddarm", "serve"),
            *("--storage", storage, "--host", host, "--port", str(self.port)),
        ]
        self.token: str | None = None
        if token_file is not None:
            self._command += ["--token-file", str(token_file)]
            self.token = token_file.read_text()
        self.url = f"http://{host}:{self.port}"
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while True:
            try:
                Client(self.url, self.token).studies()
            except ServiceError:
                if self.process.poll() is not None:
                    raise RuntimeError("the server has ended by itself") from None
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Kill the server, without a chance to clean up."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask the server to end; return its exit code."""
        os.kill(self.process.pid, signal.SIGTERM)
        return self.process.wait()


class Load:
    """Eight workers, and the rewards that were acknowledged to them.

    Attributes:
        server: The server that they keep busy.
        busy: Requests in flight.
        acknowledged: The rewards acknowledged, by study and pull.
    """

    def __init__(self, server: Server, strategy: str, most_rewards: int) -> None:
        self.server = server
        self.busy = 0
        self.acknowledged: dict[tuple[str, str], float] = {}
        self._strategy = strategy
        self._most_rewards = most_rewards
        self._lock = threading.Lock()
        self._refusals: Counter[int | None] = Counter()
        self._over = threading.Event()
        self._workers = [
            threading.Thread(target=self._work, args=(random.Random(k),)) for k in range(WORKERS)
        ]
        for worker in self._workers:
            worker.start()

    def end(self) -> None:
        """End the workers."""
        self._over.set()
        for worker in self._workers:
            worker.join()

    def wait_for_more(self) -> bool:
        """Wait until something more is acknowledged; return whether it was."""
        before = len(self.acknowledged)
        return self._until(lambda: len(self.acknowledged) > before)

    def wait_for(self, status: int) -> bool:
        """Wait until a request is refused with a status; return whether one was."""
        before = self._refusals[status]
        return self._until(lambda: self._refusals[status] > before)

    def _until(self, condition: Callable[[], bool]) -> bool:
        end = time.monotonic() + SETTLED
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True

    def _work(self, rng: random.Random) -> None:
        client = Client(self.server.url)
        number = 0
        while not self._over.is_set():
            study = study_name(self._strategy, number)
            limit = rng.randint(1, self._most_rewards)
            asked = self._try(lambda: client.ask(study, limit, lease_seconds=2))  # noqa: B023
            if asked is None:
                self._try(lambda: client.create(study, ARMS, self._strategy, **OPTIONS))  # noqa: B023
                continue
            pulls, status = asked
            rewards = {pull.id: reward(pull.id, pull.arm) for pull in pulls}
            while rewards and not self._over.is_set():
                if self._try(lambda: client.tell(study, rewards)) is not None:  # noqa: B023
                    self.acknowledged.update({(study, p): x for p, x in rewards.items()})
                    break
            number += status == "done"

    def _try(self, call: Callable[[], Any]) -> Any:
        """Return what a request returned, None if it was refused or got no answer."""
        with self._lock:
            self.busy += 1
        try:
            return call()
        except ServiceError as error:
            self._refusals[error.status] += 1
        finally:
            with self._lock:
                self.busy -= 1
        time.sleep(0.02)
        return None


def study_name(strategy: str, number: int) -> str:
    """Return the name of one study of the load."""
    return f"{strategy}-{number}"


def reward(pull: str, arm: str) -> float:
    """Return the reward of a pull, which depends only on its id and its arm."""
    return float(zlib.crc32(pull.encode()) / 2**32 < MEANS[ARMS.index(arm)])


def _trouble(
    storage: str, times: int, strategy: str, strike: Strike, most_rewards: int = 40
) -> tuple[list[str], str]:
    rng = random.Random(0)
    problems = []
    in_flight = 0
    server = Server(storage)
    load = Load(server, strategy, most_rewards)
    try:
        for number in range(times):
            if not load.wait_for_more():
                problems.append(f"nothing is acknowledged after {number} strikes")
                break
            time.sleep(rng.uniform(0, 0.4))
            in_flight += load.busy
            strike(load)
    finally:
        load.end()
        code = server.stop()
    if code != 0:
        problems.append(f"the server ended with exit code {code}")
    studies = [info for info in oddarm.list_studies(storage) if info.name.startswith(strategy)]
    for info in studies:
        told = {pull: x for (study, pull), x in load.acknowledged.items() if study == info.name}
        problems += differences(storage, info.name, strategy, told)
    note = (
        f"{len(load.acknowledged):,} rewards acknowledged, studies: {len(studies)}, "
        f"{in_flight / max(times, 1):.1f} of {WORKERS} requests in flight when struck"
    )
    return problems, note


def differences(storage: str, name: str, strategy: str, told: dict[str, float]) -> Iterator[str]:
    """Compare a study with what was acknowledged, and with a run that nothing interrupted."""
    with oddarm.open_study(storage, name) as study:
        tells = list(study.tells())
        stored = Counter(tell["pull"] for tell in tells)
        values = {tell["pull"]: tell["reward"] for tell in tells}
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
        result = study.result()
        if result.to_dict() != _uninterrupted(storage, name, strategy).to_dict():
            yield f"{name} does not have the answer of an uninterrupted run on the same rewards"
        if result.ranking[0] != ARMS[-1]:
            yield f"{name} does not rank the outlier first"


def _uninterrupted(storage: str, name: str, strategy: str) -> oddarm.Result:
    """Return the answer of a search in memory that is asked and told what the study was.

    The rewards of an arm count in the order asked for: each waits for those before it.
    """
    database = open_database(storage)
    with database.transaction() as connection:
        events = connection.execute(
            "SELECT seq, kind, body FROM oddarm_events WHERE study = "
            "(SELECT id FROM oddarm_studies WHERE name = ?) ORDER BY seq",
            (name,),
        ).fetchall()
    database.close()
    search = oddarm.Search(ARMS, strategy, **OPTIONS)
    uncounted: dict[int, list[tuple[int, int]]] = {arm: [] for arm in range(len(ARMS))}
    told: dict[tuple[int, int], float] = {}
    again = 0
    for seq, kind, text in events:
        body = json.loads(text)
        if kind == "ask":
            if body["limit"] != 0:
                search.ask(body["limit"])
            for position, arm in enumerate(body["arms"]):
                uncounted[arm].append((seq, position))
            again += len(_places(body.get("again", [])))
            continue
        counted: list[tuple[int, float]] = []
        for arms, rewards, pulls in body:
            for arm, x, place in zip(arms, rewards, _places(pulls), strict=True):
                told[place] = x
                while uncounted[arm] and uncounted[arm][0] in told:
                    counted.append((arm, told[uncounted[arm].pop(0)]))
        if counted:
            search.tell_indices(*zip(*counted, strict=True))
    if again:
        with oddarm.open_study(storage, name) as study:
            search.supposes = study.search().supposes
    return search.result()


def _places(pulls: list[list[Any]]) -> list[tuple[int, int]]:
    """Return the ask and the position of each pull that the log lists."""
    places = []
    for ask, *rest in pulls:
        positions = rest[0] if len(rest) == 1 else range(rest[0], rest[0] + rest[1])
        places += [(ask, position) for position in positions]
    return places
