"""What a study keeps for who looks at it: moments of the past, and who holds its pulls."""

import itertools
import random

import pytest

from oddarm import Search, create_study, open_study
from oddarm.errors import ParameterError, UnknownStudyError
from oddarm.store import live_search
from oddarm.store.catalog import create_in
from oddarm.store.database.base import open_database
from oddarm.store.history import Moment, due_after, kept
from oddarm.store.info import Worker
from oddarm.store.study import Study

ARMS = ["ams", "fra", "lhr", "gru"]


def moment(pulls):
    """Return a moment that says something."""
    return Moment(pulls, 1e9 + pulls, 1.5, None if pulls % 2 else 10)


def test_a_history_stays_short_and_even():
    """However a study grows, a few hundred moments are kept, the last one, and none far apart."""
    rng = random.Random(1)
    history, pulls = [], 0
    while pulls < 3_000_000:
        pulls = due_after(pulls) + rng.randrange(1 + pulls // 1000)
        history = kept([*history, moment(pulls)])
        assert len(history) <= 257
        assert history[-1].pulls == pulls
        places = [0, *(each.pulls for each in history)]
        widest = max(b - a for a, b in itertools.pairwise(places))
        assert widest <= 2 + pulls / 50
    assert len(history) > 100


def test_a_history_is_in_the_database(storage):
    """What was noted is there after the study was opened again, and goes with the study."""
    with create_study(storage, "demo", 4, max_outliers=1) as study:
        for pulls in (300, 1, 2, 3):  # the order in which servers write does not matter
            study.note(moment(pulls))
        assert study.history() == [moment(pulls) for pulls in (1, 2, 300)]
    with open_study(storage, "demo") as study:
        study.note(moment(301))
        assert [each.pulls for each in study.history()] == [1, 2, 300, 301]
        assert study.result().history == ((1, 1.5), (2, 1.5), (300, 1.5), (301, 1.5))
        study.delete()
        assert study.history() == []
        with pytest.raises(UnknownStudyError):
            study.note(moment(400))


def test_who_holds_pulls(storage, clock):
    """A study says who holds its pulls, whose leases have ended, and what became of pulls."""
    database = open_database(storage, create=True)
    study = create_in(database, "demo", Search(ARMS, "rr", max_outliers=1), clock=clock)
    first = study.ask(3, lease_seconds=10, worker="probe-1")
    clock.now += 5
    study.ask(1, lease_seconds=60, worker="probe-2")
    study.ask(1, lease_seconds=60)
    asked = {"probe-1": 1_000_000.0, "probe-2": 1_000_005.0}
    found = study.leases()
    assert (found.out, found.late, found.ends_in) == (5, 0, 5.0)
    assert found.workers == (
        Worker("probe-2", 1, 0, asked["probe-2"]),
        Worker("probe-1", 3, 0, asked["probe-1"]),
        Worker(None, 1, 0, None),
    )
    study.tell(first[0].id, 1)
    study.give_up([first[1].id])
    clock.now += 5
    assert study.leases().workers[1] == Worker("probe-1", 1, 1, asked["probe-1"])
    study.save_snapshot()
    study = Study(database, "demo", clock=clock)  # from the snapshot
    found = study.leases()
    assert found.workers[1] == Worker("probe-1", 1, 1, asked["probe-1"])
    assert (found.out, found.late, found.ends_in, found.given_up) == (3, 1, 55.0, 1)
    assert [pull.id for pull in study.ask(1, worker="probe-3")] == [first[2].id]
    other = Study(database, "demo", clock=clock)  # from the snapshot and the log
    assert other.leases() == study.leases()
    assert other.leases().workers[0] == Worker("probe-3", 1, 0, 1_000_010.0)
    assert (other.leases().again, other.leases().late) == (1, 0)
    database.close()


def test_workers_without_number(tmp_path, monkeypatch):
    """A study remembers a bounded number of workers that hold nothing, the latest ones."""
    monkeypatch.setattr(live_search, "MOST_WORKERS", 3)
    with create_study(tmp_path / "s.db", "demo", 4, max_outliers=1) as study:
        for k in (1, 2, 3, 4, 2):
            (pull,) = study.ask(1, worker=f"w{k}")
            study.tell(pull.id, 0)
        assert {worker.name for worker in study.leases().workers} == {"w2", "w3", "w4"}
        for name in ("", "a\nb", "x" * 251, 5):
            with pytest.raises(ParameterError, match="must be a text of 1 to 250 printable"):
                study.ask(1, worker=name)
