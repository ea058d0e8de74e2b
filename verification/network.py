"""Does a study lose or repeat a reward if the network is slow, lossy or cut?

Workers, server and PostgreSQL are three machines (network namespaces) on two cables. The workers
are those of `Client.work`: they ask, pull and tell, and begin another study when one is done. At
the end every reward that was acknowledged must be there exactly once, each study must have the
answer of a search in memory that was asked and told the same, and no worker may have given up.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oddarm
from oddarm.errors import ServiceError
from oddarm.service import Client
from oddarm.store.info import Pull
from verification.cables import Cable, inside, namespaces, why_not
from verification.faults import ARMS, OPTIONS, Server, differences, reward, study_name
from verification.report import Check

WORKERS = 16
LIMIT = 10
SETTLED = 90.0
"""Seconds within which something must be acknowledged again after a partition."""
STRATEGY = "adaptive"

WORKER_SIDE = ("198.18.0.1", "198.18.0.2")
DATABASE_SIDE = ("198.18.1.1", "198.18.1.2")


def checks(
    partition: float = 30.0, times: int = 2, lossy: float = 60.0, crowd: int = 1000
) -> Iterator[Check]:
    """Yield how often slow, lossy and cut cables did harm.

    Args:
        partition: Seconds that a cable is cut.
        times: How often it is cut.
        lossy: Seconds of load on slow and lossy cables.
        crowd: How many workers a cable that is cut has at most.
    """
    reason = why_not() or no_postgres()
    if reason is not None:
        print(f"skipped: {reason}")
        return
    with site() as machines:

        def spoil(load: Workers) -> list[str]:
            for cable in (machines.to_server, machines.to_database):
                cable.delay, cable.loss = (0.01, 0.03), 0.02
            before = len(load.acknowledged)
            time.sleep(lossy)
            for cable in (machines.to_server, machines.to_database):
                cable.delay, cable.loss = (0.0, 0.0), 0.0
            return [] if len(load.acknowledged) > before else ["nothing was acknowledged"]

        yield machines.check("10 to 30 ms and 2 % lost on both cables", spoil)
        for place, cable in (
            ("workers and server", machines.to_server),
            ("server and PostgreSQL", machines.to_database),
        ):
            cut = Partition(cable, partition)
            name = f"{partition:g} s partition, {place}"
            yield machines.check(name, cut, times, cut.recovered)
        cut = Partition(machines.to_server, partition)
        name = f"{partition:g} s partition, {crowd:,} workers and server"
        yield machines.check(name, cut, 1, cut.recovered, workers=crowd)


def no_postgres() -> str | None:
    """Return why there can be no PostgreSQL on this machine; None if there can."""
    from tests.support.postgres_server import PostgresMissingError, find_programs

    try:
        find_programs()
    except PostgresMissingError as error:
        return str(error)
    return None


class Partition:
    """Cuts a cable for a while; notes how long it then takes until something is acknowledged."""

    def __init__(self, cable: Cable, seconds: float) -> None:
        self.recovered: list[float] = []
        self._cable = cable
        self._seconds = seconds

    def __call__(self, load: Workers) -> list[str]:
        """Cut the cable under load; return what went wrong."""
        self._cable.cut = True
        time.sleep(min(2.0, self._seconds / 2))  # for what had arrived
        before = len(load.acknowledged)
        time.sleep(self._seconds - min(2.0, self._seconds / 2))
        leaked = len(load.acknowledged) - before
        began = time.monotonic()
        self._cable.cut = False
        if not load.wait_for_more(SETTLED):
            return [f"nothing is acknowledged {SETTLED:g} s after the partition"]
        self.recovered.append(time.monotonic() - began)
        return [f"{leaked} rewards were acknowledged across the partition"] if leaked else []


@dataclass
class Site:
    """The three machines."""

    worker: str
    server: str
    storage: str
    token_file: Path
    to_server: Cable
    to_database: Cable
    runs: int = 0

    def check(
        self,
        name: str,
        strike: Callable[[Workers], list[str]],
        times: int = 1,
        recovered: list[float] | None = None,
        workers: int = WORKERS,
    ) -> Check:
        """Strike under load; compare all studies with what was acknowledged."""
        self.runs += 1
        with inside(self.server):
            server = Server(self.storage, WORKER_SIDE[1], self.token_file)
        with inside(self.worker):
            load = Workers(server.url, server.token, workers, f"run-{self.runs}")
        problems: list[str] = []
        try:
            for _ in range(times):
                if not load.wait_for_more(SETTLED, 2 * LIMIT * workers):
                    problems.append("too little is acknowledged before a strike, or after one")
                    break
                problems += strike(load)
            load.wait_for_more(SETTLED, 2 * LIMIT * workers)
        finally:
            load.end()
            code = server.stop()
        problems += load.problems
        if code != 0:
            problems.append(f"the server ended with exit code {code}")
        with inside(self.server):
            problems += load.differences(self.storage)
        note = load.note
        if recovered:
            note += f", goes on after {max(recovered):.1f} s"
        if problems:
            note += f"; {len(problems)} problems: {problems[0]}"
        return Check(name, min(len(problems), times), times, 0.0, note)


@contextlib.contextmanager
def site() -> Iterator[Site]:
    """Make three machines, with PostgreSQL on one of them."""
    from tests.support.postgres_server import postgres_server

    os.environ["no_proxy"] = "*"  # the machines can reach no proxy
    with contextlib.ExitStack() as stack:
        token = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(16))
        worker, server, database = stack.enter_context(namespaces("worker", "server", "database"))
        to_server = Cable((worker, WORKER_SIDE[0]), (server, WORKER_SIDE[1]))
        stack.callback(to_server.close)
        to_database = Cable((server, DATABASE_SIDE[0]), (database, DATABASE_SIDE[1]))
        stack.callback(to_database.close)
        with inside(database):
            servers = stack.enter_context(contextlib.closing(postgres_server(DATABASE_SIDE[1])))
            storage = next(servers)
        yield Site(worker, server, storage, token, to_server, to_database)


class _OverError(Exception):
    """The load is to end."""


class Workers:
    """Many workers, and the rewards that were acknowledged to them.

    Args:
        url: The server that they work for.
        token: The token of that server, if it needs one.
        count: How many they are.
        prefix: What the names of their studies begin with.

    Attributes:
        acknowledged: The rewards acknowledged, by study and pull.
        problems: The errors by which workers ended.
        over: Whether the load is to end.
    """

    def __init__(self, url: str, token: str | None, count: int, prefix: str) -> None:
        self.url = url
        self.token = token
        self.acknowledged: dict[tuple[str, str], float] = {}
        self.problems: list[str] = []
        self.over = False
        self._prefix = prefix
        self._threads = [threading.Thread(target=self._work) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def differences(self, storage: str) -> Iterator[str]:
        """Compare the studies with what was acknowledged, and with runs in memory."""
        for info in oddarm.list_studies(storage):
            if info.name.startswith(f"{self._prefix}-"):
                told = {p: x for (study, p), x in self.acknowledged.items() if study == info.name}
                yield from differences(storage, info.name, STRATEGY, told)

    @property
    def note(self) -> str:
        """How much was acknowledged."""
        studies = {study for study, _ in self.acknowledged}
        return f"{len(self.acknowledged):,} rewards acknowledged, studies: {len(studies)}"

    def wait_for_more(self, seconds: float, count: int = 1) -> bool:
        """Wait until so many more rewards are acknowledged; return whether they were in time."""
        wanted, end = len(self.acknowledged) + count, time.monotonic() + seconds
        while len(self.acknowledged) < wanted:
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def end(self) -> None:
        """End the workers."""
        self.over = True
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        client = NotingClient(self)
        number = 0
        while True:
            study = f"{self._prefix}-{study_name(STRATEGY, number)}"
            try:
                client.work(study, client.pull, limit=LIMIT, lease_seconds=20)
                number += 1
            except _OverError:
                return
            except ServiceError as error:
                if error.status != 404:
                    self.problems.append(f"a worker gave up: {error}")
                    return
                with contextlib.suppress(ServiceError):  # another worker may have made it
                    client.create(study, ARMS, STRATEGY, **OPTIONS)


class NotingClient(Client):
    """A client of one worker, which notes the rewards that were acknowledged to it."""

    def __init__(self, load: Workers) -> None:
        super().__init__(load.url, load.token)
        self._load = load
        self._pulls: Iterator[Pull] = iter(())

    def ask(self, name: str, *arguments: Any, **options: Any) -> tuple[list[Pull], str]:
        """Ask, unless the load is to end."""
        if self._load.over:
            raise _OverError
        pulls, status = super().ask(name, *arguments, **options)
        self._pulls = iter(pulls)
        return pulls, status

    def pull(self, arm: str) -> float:
        """Return the reward of the next pull, which depends only on its id and its arm."""
        pull = next(self._pulls)
        return reward(pull.id, arm)

    def tell(self, name: str, rewards: Any) -> int:
        """Tell, and note what was acknowledged."""
        told = super().tell(name, rewards)
        self._load.acknowledged.update({(name, pull): x for pull, x in rewards.items()})
        return told
