"""Write a database of studies as this version leaves them, for the tests of later versions.

Usage: python tools/make_study_fixture.py FOLDER

Each study has events after its snapshot, pulls in flight, rewards that wait, and a failed arm. A
JSON file beside the database holds what a reader must find in it.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import oddarm
from oddarm import Search
from oddarm.sources import SimulatedArms
from oddarm.store.catalog import create_in
from oddarm.store.clock import Clock
from oddarm.store.database.base import open_database
from oddarm.store.database.schema import MIGRATIONS
from oddarm.testing import EASY, NAMES


class Stepped(Clock):
    """A clock whose time passes only when `now` is set."""

    now = 1_000_000.0

    def wall(self) -> float:
        """Return the time."""
        return self.now

    def steady(self) -> float:
        """Return the time."""
        return self.now


STUDIES: dict[str, dict[str, Any]] = {
    "adaptive": {"strategy": "adaptive"},
    "gold": {"strategy": "gold"},
    "rr": {"strategy": "rr"},
    "bounded": {"strategy": "adaptive", "rewards": (-1, 2)},
    "pools": {"strategy": "rr", "rewards": oddarm.rewards.Bernoulli(pools=(40,) * 10)},
    "expired": {"strategy": "rr"},
}


def main(folder: Path) -> None:
    """Write the database, and the JSON file of what is in it."""
    path = folder / f"studies-v{len(MIGRATIONS)}.db"
    path.unlink(missing_ok=True)
    database, clock = open_database(path, create=True), Stepped()
    expected = {}
    for name, options in STUDIES.items():
        arms = SimulatedArms(EASY, seed=1)
        search = Search(NAMES, max_outliers=1, **options)
        reward = 1.0 if name == "expired" else None
        study = create_in(database, name, search, expired_reward=reward, clock=clock)
        late: list[Any] = study.ask(3, lease_seconds=5)
        for step in range(6):
            clock.now += 2
            pulls = study.ask(9, lease_seconds=1000)
            told = [*pulls[3:], *late[: step % 3]]
            study.tell_many({pull.id: float(arms.draw(NAMES.index(pull.arm))[0]) for pull in told})
            late = [*late[step % 3 :], *pulls[:3]]
        study.tell_arm("arm-3", [1, 0], key="own")
        study.give_up([late[-1].id])
        study.set_aside("arm-9", "gone")
        state = json.loads(json.dumps(study.search().to_dict()))
        expected[name] = {
            "state": state,
            "waiting": study.info().waiting,
            "out": [pull.id for pull in late[:-1]],
            "exported": [json.loads(line) for line in study.export()],
        }
    database.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    path.chmod(0o644)
    text = json.dumps(expected, separators=(",", ":"))
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
