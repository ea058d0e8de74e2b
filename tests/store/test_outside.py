"""Transactions that are planned outside the database's lock, while others write."""

import json
from contextlib import contextmanager

import pytest

from oddarm import Search, create_study, open_study
from oddarm.errors import KeyReusedError, UnknownStudyError
from oddarm.store import study as study_module
from oddarm.store.catalog import create_in
from oddarm.store.database.base import open_database
from oddarm.store.study import TRIES, Study
from oddarm.testing import NAMES


def state(study):
    """Return the state of a study, as it would be written."""
    return json.loads(json.dumps(study.search().to_dict()))


def handles(storage, **options):
    """Return a new study of ten arms, open twice."""
    options = {"strategy": "gold", "max_outliers": 1, **options}
    return create_study(storage, "demo", NAMES, **options), open_study(storage, "demo")


def meanwhile(action, *writes):
    """Return an action that lets others write each time that it runs, and how often it ran."""
    ran = []

    def run(batch):
        outcome = action(batch)
        ran.append(1)
        if len(ran) <= len(writes):
            writes[len(ran) - 1]()
        return outcome

    return run, ran


@pytest.fixture
def inside(monkeypatch):
    """The studies that planned within the lock."""
    entered = []
    real = Study._inside

    @contextmanager
    def counting(study, plan=True):
        entered.append(study)
        with real(study, plan) as batch:
            yield batch

    monkeypatch.setattr(Study, "_inside", counting)
    return entered


def test_a_plan_keeps_nobody_from_the_database(storage, inside):
    """While one study plans, others are written, and its own plan is not disturbed."""
    with (
        create_study(storage, "slow", NAMES, max_outliers=1) as slow,
        create_study(storage, "quick", NAMES, max_outliers=1) as quick,
    ):
        told = []

        def write():
            told.append(quick.tell_many({pull.id: 1 for pull in quick.ask(5)}))

        action, ran = meanwhile(lambda batch: batch.ask(3), write)
        (pulls,) = slow.transact([action])
        assert (len(pulls), told, len(ran), inside) == (3, [5], 1, [])


@pytest.mark.parametrize(("many_arms", "times", "within"), [(1, 2, 0), (500, 2, 1)])
def test_a_writer_in_between(storage, inside, monkeypatch, many_arms, times, within):
    """If others write to the study meanwhile, it plans anew: outside again only for many arms."""
    monkeypatch.setattr(study_module, "MANY_ARMS", many_arms)
    one, two = handles(storage)
    with one, two:
        theirs = []
        first = one.ask(2)
        action, ran = meanwhile(
            lambda batch: (batch.tell_many({first[0].id: 1}), batch.ask(3)),
            lambda: theirs.extend(two.ask(4)),
        )
        ((told, pulls),) = one.transact([action])
        assert (told, len(ran), inside.count(one)) == (1, times, within)
        ids = [pull.id for pull in (*first, *theirs, *pulls)]
        assert len(set(ids)) == 9
        assert state(one) == state(two)
        assert one.tell_many(dict.fromkeys(ids, 1)) == 8
        with open_study(storage, "demo") as three:
            assert state(one) == state(two) == state(three)
        assert [tell["pull"] for tell in one.tells()].count(first[0].id) == 1


def test_others_who_write_all_the_time(storage, inside, monkeypatch):
    """After a few tries the study plans while all others wait, and comes to an end."""
    monkeypatch.setattr(study_module, "MANY_ARMS", 1)
    one, two = handles(storage)
    with one, two:
        write = lambda: two.tell_many({pull.id: 0 for pull in two.ask(1)})  # noqa: E731
        action, ran = meanwhile(lambda batch: batch.ask(3), *[write] * TRIES)
        (pulls,) = one.transact([action])
        assert (len(pulls), len(ran), inside) == (3, TRIES + 1, [one])
        assert state(one) == state(two)
        assert one.info().pulls == TRIES


def test_an_answer_counts_only_if_nothing_changed(storage):
    """Pulls that another process handed out or took are no error, and count once."""
    one, two = handles(storage)
    with one, two:
        pulls = two.ask(4)
        assert one.tell(pulls[0].id, 1), "handed out by others after it was read here"
    one, two = open_study(storage, "demo"), open_study(storage, "demo")
    with one, two:
        assert two.tell(pulls[1].id, 1)
        assert not one.tell(pulls[1].id, 0), "told by others after it was read here"
        assert one.result().pulls == 2


def test_a_key_that_others_use_meanwhile(storage):
    """Rewards under one key count once, also if two tell them at the same time."""
    one, two = handles(storage)
    with one, two:
        action, _ = meanwhile(
            lambda batch: [batch.tell_arm("arm-1", [0, 0], key=key) for key in ("k", "k", "other")],
            lambda: two.tell_arm("arm-1", [0, 0], key="k"),
        )
        assert one.transact([action]) == [[False, False, True]]
        assert one.result().pulls == 4


def test_a_key_that_others_use_for_other_rewards_meanwhile(storage):
    """The first rewards under a key count, and who tells others under it is refused."""
    one, two = handles(storage)
    with one, two:
        action, _ = meanwhile(
            lambda batch: batch.tell_arm("arm-1", 1, key="k"),
            lambda: two.tell_arm("arm-1", 0, key="k"),
        )
        (refused,) = one.transact([action])
        assert isinstance(refused, KeyReusedError)
        assert one.result().means[1] == 0


@pytest.mark.parametrize("by", [0, 1])
def test_paused_meanwhile(storage, inside, by):
    """No pull is handed out after the study was paused, even if it was planned before."""
    one, two = both = handles(storage)
    with one, two:
        action, ran = meanwhile(lambda batch: (batch.ask(3), batch.status), both[by].pause)
        assert one.transact([action]) == [([], "paused")]
        assert (len(ran), one.info().revision) == (2, 0)
        both[by].resume()
        assert len(one.ask(3)) == 3
        assert inside == [], "a pause does not mean that others ask and tell"


def test_deleted_meanwhile(storage):
    """Nothing is written for a study that was deleted while it planned."""
    one, two = handles(storage)
    with one, two:
        action, _ = meanwhile(lambda batch: batch.ask(3), two.delete)
        with pytest.raises(UnknownStudyError, match="was deleted"):
            one.transact([action])
        with one._database.transaction() as connection:
            row = connection.execute("SELECT COUNT(*) FROM oddarm_events").fetchone()
        assert row[0] == 0


def test_a_budget_holds_with_a_writer_in_between(storage):
    """Two who plan at the same time do not hand out more pulls than the budget has."""
    one, two = handles(storage, max_pulls=10)
    with one, two:
        theirs = []
        action, _ = meanwhile(lambda batch: batch.ask(8), lambda: theirs.extend(two.ask(7)))
        (pulls,) = one.transact([action])
        assert (len(theirs), len(pulls)) == (7, 3)
        assert one.ask(1) == two.ask(1) == []


def test_an_ask_that_may_not_plan(storage, clock):
    """Without a plan, an ask hands out expired pulls, and leaves the rest as it is."""
    database = open_database(storage, create=True)
    search = Search(NAMES, "adaptive", max_outliers=1)
    with create_in(database, "demo", search, clock=clock) as study:

        def ask(batch):
            return batch.ask(5, lease_seconds=10), batch.status

        assert study.transact([ask], plan=False) == [([], "running")]
        assert study.info().revision == 0
        first = study.ask(2, lease_seconds=10)
        assert study.transact([ask], plan=False) == [([], "running")]
        clock.now += 11
        ((again, _),) = study.transact([ask], plan=False)
        assert [pull.id for pull in again] == [pull.id for pull in first]
        assert len(study.ask(5)) == 5


def test_an_error_undoes_all_actions(storage):
    """What goes wrong in an action undoes those before it, in memory too."""
    one, two = handles(storage)
    with one, two:
        before = state(one)

        def fail(batch):
            batch.ask(3)
            raise RuntimeError

        with pytest.raises(RuntimeError):
            one.transact([lambda batch: batch.ask(2), fail])
        assert (state(one), one.info().revision) == (before, 0)
        assert len(one.ask(2)) == 2


def test_a_snapshot_by_hand(storage, monkeypatch):
    """A saved snapshot leaves nothing to replay; an older one does not replace a newer one."""
    one, two = handles(storage)
    with one, two:
        pulls = one.ask(4)
        two.tell_many({pull.id: 1 for pull in pulls})
        one.save_snapshot()
        assert snapshot(one) == 1
        two.save_snapshot()
        assert snapshot(one) == 2
        one._live._events = 1  # as if it had not saved its state yet
        one.save_snapshot()
        assert snapshot(one) == 2
        replayed = []
        monkeypatch.setattr(
            "oddarm.store.live_search.LiveSearch._apply", lambda *_: replayed.append(1)
        )
        with open_study(storage, "demo") as three:
            assert state(three) == state(two)
        assert replayed == []


def snapshot(study):
    """Return the revision of a study's snapshot."""
    with study._database.transaction() as connection:
        return connection.execute("SELECT revision FROM oddarm_snapshots").fetchone()[0]
