"""A backup that is taken while workers work is restored and gone on with."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest

from oddarm.errors import ServiceError
from oddarm.service import Client
from support.postgres_server import find_programs
from support.serving import serving

ARMS = [f"arm-{k:02}" for k in range(20)]
STUDY = {"max_outliers": 2, "rewards": (0, 1), "min_gap": 0.0499, "slack": 0}
"""Neighbours are 0.05 apart, so that it goes on for longer than any test."""


class SQLite:
    """A file, backed up by SQLite itself."""

    def __init__(self, folder):
        self.storage = str(folder / "studies.db")
        self._backup = folder / "backup.db"

    def back_up(self):
        """Write a backup."""
        connection = sqlite3.connect(self.storage)
        connection.execute("VACUUM INTO ?", (str(self._backup),))
        connection.close()

    def restore(self):
        """Restore the backup in another place, and return that."""
        return str(self._backup.rename(self._backup.with_name("restored.db")))


class Postgres:
    """A database, backed up by pg_dump."""

    def __init__(self, folder, url):
        self.storage = url
        self._backup = folder / "backup.dump"

    def back_up(self):
        """Write a backup."""
        self._run("pg_dump", "--format=custom", f"--file={self._backup}", self.storage)

    def restore(self):
        """Restore the backup into a new database, and return its address."""
        name = f"{urlsplit(self.storage).path[1:]}_restored"
        new = self.storage.rsplit("/", 1)[0] + f"/{name}"
        self._run("psql", "--command", f"CREATE DATABASE {name}", self.storage)
        self._run("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={new}", self._backup)
        return new

    def _run(self, program, *words):
        folders = f"{find_programs()}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            [program, *words], env={**os.environ, "PATH": folders}, check=True, capture_output=True
        )


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    """A database that can be backed up and restored."""
    if request.param == "sqlite":
        return SQLite(tmp_path)
    return Postgres(tmp_path, request.getfixturevalue("postgres_database"))


class Workers:
    """Four workers that tell rewards by which one can see of which arm they are.

    Attributes:
        told: What was acknowledged, by pull.
    """

    def __init__(self, client):
        self.told = {}
        self._client = client
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(k,)) for k in range(4)]
        for thread in self._threads:
            thread.start()

    def _work(self, seed):
        rng = np.random.default_rng(seed)
        while not self._over.is_set():
            pulls, _ = self._client.ask("demo", 10, lease_seconds=600)
            rewards = {pull.id: (ARMS.index(pull.arm) + rng.random()) / 20 for pull in pulls}
            self._client.tell("demo", rewards)
            self.told |= rewards

    def wait_for(self, most):
        """Wait until a number of rewards is acknowledged."""
        while len(self.told) < most and any(thread.is_alive() for thread in self._threads):
            self._threads[0].join(0.01)

    def end(self):
        """Wait until all have ended."""
        self._over.set()
        for thread in self._threads:
            thread.join()


def test_a_study_goes_on_after_a_restore(database):
    """No reward from before the backup or after the restore is lost, doubled or of another arm.

    Pulls that were handed out before the restore are refused: their ids may belong to others now.
    """
    with serving("--storage", database.storage) as (_, url):
        client = Client(url)
        client.create("demo", ARMS, **STUDY)
        held, _ = client.ask("demo", 5, lease_seconds=600)
        workers = Workers(client)
        workers.wait_for(200)
        before = dict(workers.told)
        database.back_up()
        workers.wait_for(len(workers.told) + 200)
        held += client.ask("demo", 5, lease_seconds=600)[0]
        assert client.tell_arm("demo", ARMS[0], [0.01], key="later") == 1
        workers.end()
    storage = database.restore()
    command = [sys.executable, "-m", "oddarm", "restored", "--json", "--storage", storage]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert json.loads(said)["given_up"]["demo"] >= 5
    with serving("--storage", storage) as (_, url):
        client = Client(url)
        for pull in held:
            with pytest.raises(ServiceError, match="never handed out") as refused:
                client.tell("demo", {pull.id: 0.5})
            assert refused.value.status == 404
        assert [client.tell_arm("demo", ARMS[0], [0.01], key="later") for _ in range(2)] == [1, 0]
        workers_after = Workers(client)
        workers_after.wait_for(300)
        workers_after.end()
        rows = [json.loads(line) for line in client.export("demo")]
        info, result = client.info("demo"), client.result("demo")
    counted = {row["pull"]: row["reward"] for row in rows}
    assert len(counted) == len(rows), "each counts once"
    assert counted.items() >= workers_after.told.items()
    tag = next(iter(workers_after.told)).split(".")[0]  # ids of before begin with it now, too
    before, told = (
        {f"{tag}.{pull.split('.', 1)[1]}": reward for pull, reward in rewards.items()}
        for rewards in (before, workers.told)
    )
    assert counted.items() >= before.items()
    others = counted.keys() - workers_after.told.keys() - {"later"}
    assert {pull: counted[pull] for pull in others}.items() <= told.items()
    for row in rows:
        assert ARMS[int(row["reward"] * 20)] == row["arm"]
    assert info["pulls"] + info["waiting"] == len(rows)
    assert info["pulls"] == sum(row["pulls"] for row in result["arms"])
    assert "given up" in result["provenance"]["delta_supposes"][0]
