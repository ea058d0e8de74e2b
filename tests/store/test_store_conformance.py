"""What a study promises, on every database."""

import itertools
import json
import threading
from contextlib import closing

import numpy as np
import pytest

import oddarm
from oddarm import OddarmError, Search, create_study, list_studies, open_study
from oddarm.errors import (
    KeyReusedError,
    ParameterError,
    RewardError,
    StateError,
    StudyExistsError,
    UnknownArmError,
    UnknownPullError,
    UnknownStudyError,
)
from oddarm.rewards import Bernoulli
from oddarm.sources import SimulatedArms
from oddarm.store import StudyTransaction, forget_pulls, live_search
from oddarm.store.catalog import create_in
from oddarm.store.database.base import open_database
from oddarm.store.study import Study
from oddarm.strategies import STRATEGIES
from oddarm.testing import EASY, NAMES


def started(storage, clock=None, **options):
    """Return a new study of ten arms, one of which lies far above the others."""
    options = {"strategy": "gold", "max_outliers": 1, **options}
    if clock is None:
        return create_study(storage, "demo", NAMES, **options)
    return create_in(
        open_database(storage, create=True), "demo", Search(NAMES, **options), clock=clock
    )


def rewards_of(pulls, arms):
    """Return a reward for each pull, by its id."""
    return {pull.id: float(arms.draw(NAMES.index(pull.arm))[0]) for pull in pulls}


def state(study):
    """Return the state of a study, as it would be written."""
    return json.loads(json.dumps(study.search().to_dict()))


def run_to_the_end(study, arms, limit=7):
    """Ask and tell until the study is done."""
    while not study.done:
        study.tell_many(rewards_of(study.ask(limit), arms))


def test_a_study_runs_to_its_end(storage):
    """Asked and told in batches, a study finds the outlier, and says so in the list."""
    with started(storage) as study:
        run_to_the_end(study, SimulatedArms(EASY))
        result = study.result()
        assert result.candidates == ["arm-5"]
        assert study.ask() == []
        (info,) = list_studies(storage)
        assert (info.name, info.status, info.verdict) == ("demo", "done", "ranked")
        assert (info.arms, info.pulls, info.strategy) == (10, result.pulls, "gold")


def test_one_at_a_time_is_the_sequential_algorithm(storage):
    """Asked for one pull at a time, a study does what a search in memory does."""
    memory, arms = Search(NAMES, "rr", max_outliers=1, max_pulls=150), SimulatedArms(EASY)
    while not memory.done:
        (arm,) = memory.ask(1)
        memory.tell(arm, arms.draw(NAMES.index(arm)))
    with started(storage, strategy="rr", max_pulls=150) as study:
        run_to_the_end(study, SimulatedArms(EASY), limit=1)
        assert study.search().to_dict() == memory.to_dict()


@pytest.mark.parametrize(("events", "seconds"), [(7, 1e9), (10**9, 0.0), (10**9, 1e9)])
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_opening_replays_to_exactly_the_last_state(storage, strategy, events, seconds, monkeypatch):
    """At any moment, opening a study gives exactly its state, with or without a snapshot."""
    monkeypatch.setattr(live_search, "SNAPSHOT_AFTER", events)
    monkeypatch.setattr(live_search, "SNAPSHOT_SECONDS", seconds)
    rng, arms = np.random.default_rng(1), SimulatedArms(EASY)
    with started(storage, strategy=strategy, max_pulls=3000) as study:
        late = []
        for step in range(14):
            pulls = study.ask([1, 5, None, 12][step % 4])
            rng.shuffle(pulls)
            study.tell_many(rewards_of([*late, *pulls[2:]], arms))
            late = pulls[:2]
            if step % 5 == 1:
                study.tell_arm("arm-3", arms.draw(3, 4), key=f"own {step}")
            with open_study(storage, "demo") as other:
                assert state(other) == state(study)


def test_a_stale_handle_catches_up(storage):
    """Two who have a study open see each other's asks and tells, and never get the same pull."""
    arms = SimulatedArms(EASY)
    with started(storage) as one, open_study(storage, "demo") as two:
        ids = set()
        for _ in range(10):
            for study in (one, two):
                pulls = study.ask(3)
                assert not ids & {pull.id for pull in pulls}
                ids |= {pull.id for pull in pulls}
                study.tell_many(rewards_of(pulls, arms))
        assert state(one) == state(two)
        assert one.result().pulls == len(ids) == 60


def test_many_threads(storage):
    """Eight threads with handles of their own lose nothing and count nothing twice."""
    started(storage).close()
    told = [0] * 8

    def work(k):
        rng = np.random.default_rng(k)
        with open_study(storage, "demo") as study:
            for _ in range(12):
                pulls = study.ask(4)
                told[k] += study.tell_many({p.id: float(rng.integers(2)) for p in pulls})

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_study(storage, "demo") as study:
        exported = [json.loads(line) for line in study.export()]
        assert sum(told) == len(exported) == study.result().pulls == 8 * 12 * 4
        assert len({tell["pull"] for tell in exported}) == len(exported)


def test_a_second_tell_changes_nothing(storage):
    """A pull told again is acknowledged and not counted, also after the study is opened anew."""
    with started(storage) as study:
        pulls = study.ask(3)
        assert study.tell(pulls[0].id, 1) is True
        before = state(study)
        assert study.tell(pulls[0].id, 0) is False
        assert state(study) == before
        assert study.tell_many({pulls[0].id: 1, pulls[1].id: 1, pulls[2].id: 0}) == 2
    with open_study(storage, "demo") as study:
        assert study.tell_many({pull.id: 1 for pull in pulls}) == 0
        assert study.result().pulls == 3


def test_own_rewards_under_a_key(storage):
    """Rewards that nobody asked for are data, once a key."""
    with started(storage) as study:
        assert study.tell_arm("arm-2", [1, 0, 1], key="yesterday") is True
        assert study.tell_arm("arm-2", [1, 0, 1], key="yesterday") is False
        assert study.tell_arm("arm-2", [], key="none") is False
        for other in (("arm-2", [1, 0, 0]), ("arm-3", [1, 0, 1])):
            with pytest.raises(KeyReusedError, match="key 'yesterday' was used for other rewards"):
                study.tell_arm(*other, key="yesterday")
        with study.batch() as batch:
            assert batch.tell_arm("arm-3", 1, key="today")
            assert not batch.tell_arm("arm-3", True, key="today")
            with pytest.raises(KeyReusedError, match="tell these under a key of their own"):
                batch.tell_arm("arm-3", 0, key="today")
        assert study.result().counts.tolist() == [0, 0, 3, 1, 0, 0, 0, 0, 0, 0]
        for key in ("", "x" * 201, 5, "a\0b"):
            with pytest.raises(ParameterError, match="key =="):
                study.tell_arm("arm-2", 1, key=key)


def test_when_it_was_last_asked_or_told(storage, clock):
    """A study says when it last changed; before that, when it was made."""
    with started(storage, clock) as study:
        assert study.info().updated == study.info().created == clock.now
        clock.now += 5
        (pull,) = study.ask(1)
        clock.now += 5
        study.tell(pull.id, 1)
        info = study.info()
        assert (info.created, info.updated) == (clock.now - 10, clock.now)
        assert list_studies(storage) == [info]


def test_an_expired_pull_is_handed_out_again(storage, clock):
    """A pull that was not told in time goes to the next who asks; its first reward counts."""
    with started(storage, clock) as study:
        lost = study.ask(3, lease_seconds=10)
        assert study.tell(lost[1].id, 1)
        clock.now += 5
        assert [pull.arm for pull in study.ask(2)] == ["arm-3", "arm-4"]
        clock.now += 6
        again = study.ask(1)
        assert [pull.arm for pull in again] == ["arm-0"]
        assert [pull.arm for pull in study.ask(2)] == ["arm-2", "arm-5"]
        assert again[0].id == lost[0].id, "it is the same draw"
        assert study.tell(again[0].id, 1)
        assert not study.tell(lost[0].id, 0)
        result = study.result()
        assert (result.counts[0], result.means[0]) == (1, 1.0)
        (sentence,) = result.provenance["delta_supposes"]
        assert sentence.startswith("2 pulls were not told in time and drawn again; that supposes")
        assert result.summary.endswith(sentence)
        with open_study(storage, "demo") as other:
            assert state(other) == state(study)


def test_rewards_count_in_the_order_asked_for(storage):
    """A reward that comes early waits for the earlier pulls of its arm, on disk."""
    with started(storage, strategy="rr") as study:
        rounds = [study.ask(10) for _ in range(3)]
        first, second, third = ({pull.arm: pull.id for pull in pulls} for pulls in rounds)
        assert study.tell_many({second["arm-1"]: 0, third["arm-1"]: 1, first["arm-2"]: 1}) == 3
        assert study.tell(second["arm-1"], 1) is False, "it was told before"
        assert study.result().counts[:3].tolist() == [0, 0, 1]
        assert study.info().waiting == 2
    with open_study(storage, "demo") as study:
        assert study.result().counts[:3].tolist() == [0, 0, 1]
        assert study.tell_arm("arm-1", [1, 1], key="k"), "data without a pull counts at once"
        assert study.result().counts[1] == 2
        assert study.tell(first["arm-1"], 1)
        result = study.result()
        assert (result.counts[1], result.means[1]) == (5, 0.8)
        assert result.provenance["delta_supposes"] == []
        assert (study.info().waiting, len(list(study.tells()))) == (0, 6)


def test_what_is_given_up_is_waited_for_no_longer(storage):
    """Rewards that waited for it count; the search asks anew; the result says what it supposes."""
    with started(storage, strategy="rr") as study:
        rounds = [study.ask(10) for _ in range(2)]
        lost = rounds[0][4].id
        study.tell_many({pull.id: 1 for pull in [*rounds[0], *rounds[1]] if pull.id != lost})
        assert (study.result().counts[4], study.info().waiting) == (0, 1)
        assert study.give_up([lost]) == 1
        assert study.give_up([lost, rounds[0][0].id]) == 0
        assert study.tell(lost, 1) is False
        result = study.result()
        assert (result.counts[4], study.info().waiting) == (1, 0)
        assert "1 pull was given up; that supposes" in result.summary
        assert study.ask(1)[0].arm == "arm-4"
        with pytest.raises(UnknownPullError, match="never handed out"):
            study.give_up(["nonsense"])
        with pytest.raises(ParameterError, match="must be a list of the ids"):
            study.give_up(lost)
        with open_study(storage, "demo") as other:
            assert state(other) == state(study)
            assert other.result().summary == result.summary


@pytest.mark.parametrize("expired_reward", [None, 1])
def test_after_a_restore(storage, clock, expired_reward):
    """What was handed out before is given up and refused, whatever its lease; the rest stays."""
    database = open_database(storage, create=True)
    search = Search(NAMES, "rr", max_outliers=1)
    with (
        create_in(database, "demo", search, expired_reward=expired_reward, clock=clock) as study,
        open_study(storage, "demo") as stale,
    ):
        pulls = [*study.ask(10, lease_seconds=10), *study.ask(10, lease_seconds=10)]
        told = pulls[5:]  # five of them wait for the first five, which are lost
        study.tell_many({pull.id: 1 for pull in told})
        study.tell_arm("arm-3", 1, key="own")
        clock.now += 11
        assert study.forget_pulls() == 5
        with open_study(storage, "demo") as other:
            for handle in (study, other):
                result = handle.result()
                assert (result.pulls, handle.info().waiting) == (16, 0)
                (supposes,) = result.provenance["delta_supposes"]
                assert supposes.startswith("5 pulls were given up")
                for pull in (pulls[0], told[0]):
                    with pytest.raises(UnknownPullError, match="never handed out"):
                        handle.tell(pull.id, 0)
                assert handle.tell_arm("arm-3", 1, key="own") is False
        with pytest.raises(UnknownStudyError):
            stale.ask(1)
        more = study.ask(5)
        assert {pull.arm for pull in more} == set(NAMES[:5]), "they are asked for anew"
        assert study.tell_many({pull.id: 1 for pull in more}) == 5


def test_after_a_restore_with_a_study_that_cannot_be_opened(storage):
    """The others are ready to go on, and the error is raised after that."""
    for name in ("first", "last"):
        create_study(storage, name, NAMES, "rr", max_outliers=1).close()
    with open_study(storage, "last") as study:
        (pull,) = study.ask(1)
    with (
        closing(open_database(storage)) as database,
        database.transaction(write=True) as connection,
    ):
        connection.execute(
            "UPDATE oddarm_snapshots SET state = '' WHERE study = "
            "(SELECT id FROM oddarm_studies WHERE name = 'first')"
        )
    with pytest.raises(StateError):
        forget_pulls(storage)
    with open_study(storage, "last") as study, pytest.raises(UnknownPullError):
        study.tell(pull.id, 1)


def test_what_an_expired_pull_counts_as(storage, clock):
    """With an expired reward, a late pull counts as that, whatever is told of it afterwards."""
    database = open_database(storage, create=True)
    search = Search(NAMES, "rr", max_outliers=1)
    with create_in(database, "demo", search, expired_reward=1, clock=clock) as study:
        one, two = study.ask(10, lease_seconds=10), study.ask(10, lease_seconds=30)
        study.tell_many({pull.id: 0 for pull in [*one[1:], *two]})
        assert (study.result().counts[0], study.info().waiting) == (0, 1)
        clock.now += 11
        assert study.tell(one[0].id, 0) is False
        result = study.result()
        assert (result.counts[0], result.means[0]) == (2, 0.5)
        sentence = "1 pull was not told in time and counted as 1."
        assert result.provenance["delta_supposes"] == [sentence]
        assert {pull.arm for pull in study.ask(10)} == set(NAMES), "none is handed out again"
        exported = {tell["pull"]: tell["reward"] for tell in study.tells()}
        assert exported[one[0].id] == 1
        with open_study(storage, "demo") as other:
            assert state(other) == state(study)
    for bad in (0.5, [0, 1], "x"):
        with pytest.raises(OddarmError, match="must be"):
            create_study(storage, "bad", NAMES, max_outliers=1, expired_reward=bad)


def test_a_lease_that_ends_during_an_ask_is_not_handed_out_again(storage, clock, monkeypatch):
    """With an expired reward no pull is drawn again, also if its lease ends while others count."""
    database = open_database(storage, create=True)
    search = Search(NAMES, "rr", max_outliers=1)
    with create_in(database, "demo", search, expired_reward=1, clock=clock) as study:
        first = study.ask(1, lease_seconds=10)
        count = StudyTransaction._count_expired

        def slowly(transaction):
            count(transaction)
            clock.now += 11

        monkeypatch.setattr(StudyTransaction, "_count_expired", slowly)
        assert first[0].id not in [pull.id for pull in study.ask(3)]
        monkeypatch.undo()
        study.ask(1)
        assert study.result().provenance["delta_supposes"] == [
            "1 pull was not told in time and counted as 1."
        ]


def test_given_back_items_of_a_used_up_pool_do_not_stall(storage):
    """A study whose pool was told as data after a pull was given up goes on with other arms."""
    with create_study(
        storage, "demo", list("abcd"), max_outliers=1, rewards=Bernoulli(pools=(2,) * 4)
    ) as study:
        (pull,) = study.ask(1)
        study.give_up([pull.id])
        study.tell_arm("a", [0, 1], key="k")
        assert [pull.arm for pull in study.ask(1)] == ["b"]


def test_a_clock_that_is_set_back(storage, clock):
    """A lease ends after its seconds, also if the clock on the wall is set back meanwhile."""
    with started(storage, clock) as study:
        pulls = study.ask(2, lease_seconds=10)
        clock.set_back = 3600.0
        clock.now += 11
        assert study.ask(2)[0].id == pulls[0].id
    clock.set_back += 3600.0
    with Study(open_database(storage), "demo", clock=clock) as study:
        clock.now += 61
        assert [pull.id for pull in study.ask(2)] == [pull.id for pull in pulls]


@pytest.mark.parametrize("strategy", ["adaptive", "wrr", "rr"])
@pytest.mark.parametrize("pools", [None, (30,) * 10])
def test_empty_polls_leave_the_log_alone(storage, strategy, pools):
    """Asks that give nothing are not logged again and again, whichever process asks."""
    options = {"rewards": oddarm.rewards.Bernoulli(pools=pools)}
    if pools is None:
        options["max_pulls"] = 50
    with started(storage, strategy=strategy, **options) as study:
        out = []
        while pulls := study.ask(20):
            out += pulls
        with open_study(storage, "demo") as other:
            for one in (study, other):
                one.ask(20)
            revision = study.info().revision
            for limit in (1, 20, 7):
                assert [study.ask(limit), other.ask(limit)] == [[], []]
            assert study.info().revision == revision
            for _ in range(5):
                assert [study.ask(), other.ask(3)] == [[], []]
            assert study.info().revision <= revision + 1
        study.tell_many({pull.id: 1 for pull in out})
        assert study.result().pulls == len(out)


def test_late_rewards_do_not_overspend(storage, clock):
    """Rewards told after pulls were handed out again never exceed a budget or a pool."""
    pools = oddarm.rewards.Bernoulli(pools=(5,) * 10)
    for name, options in (("budget", {"max_pulls": 30}), ("pools", {"rewards": pools})):
        search = Search(NAMES, "rr", max_outliers=1, **options)
        database = open_database(storage, create=True)
        with create_in(database, name, search, clock=clock) as study:
            late = study.ask(20, lease_seconds=1)
            clock.now += 2
            while not study.done:
                pulls = study.ask(7)
                study.tell_many({pull.id: int(pull.arm == "arm-5") for pull in [*late, *pulls]})
            most = 30 if name == "budget" else 50
            assert study.result().pulls == len(list(study.tells())) <= most


def test_pool_items_that_are_out_are_not_told_as_data(storage):
    """Data for a finite pool is refused for items that were handed out, so each counts once."""
    pools = oddarm.rewards.Bernoulli(pools=(3,) * 10)
    with started(storage, strategy="rr", rewards=pools) as study:
        pulls = [*study.ask(10), *study.ask(10)]
        with pytest.raises(RewardError, match=r"with 1 of its pool of 3 left and 2 handed out"):
            study.tell_arm("arm-1", [1, 0], key="k")
        assert study.tell_arm("arm-1", 1, key="k")
        assert study.tell_many({pull.id: 0 for pull in pulls}) == 20


def test_a_study_is_not_used_inside_its_batch(storage):
    """What would read the study anew under an open batch is refused, and the batch goes on."""
    with started(storage) as study:
        with study.batch() as batch:
            pulls = batch.ask(3)
            for action in (study.result, study.search, lambda: study.ask(1)):
                with pytest.raises(ParameterError, match="inside a batch of its own"):
                    action()
            assert batch.tell_many({pull.id: 1 for pull in pulls}) == 3
        assert study.result().pulls == 3


def test_giving_up_after_the_end_supposes_nothing(storage):
    """Pulls that are given up when the study is done had no part in its answer."""
    with started(storage, strategy="rr") as study:
        study.tell_many({pull.id: int(pull.arm == "arm-5") for pull in study.ask(10)})
        out = study.ask(10)
        key = 0
        while not study.done:
            key += 1
            for name in NAMES:
                study.tell_arm(name, [int(name == "arm-5")] * 10, key=f"{name} {key}")
        assert study.give_up([pull.id for pull in out]) == 10
        assert study.result().provenance["delta_supposes"] == []


def asked_other_arms(storage, arms):
    """Let the log say that the last ask was for other arms, as another version may have."""
    database = open_database(storage)
    with database.transaction(write=True) as connection:
        seq, text = connection.execute(
            "SELECT seq, body FROM oddarm_events WHERE kind = 'ask' ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        body = {**json.loads(text), "arms": arms}
        connection.execute(
            "UPDATE oddarm_events SET body = ? WHERE seq = ?", (json.dumps(body), seq)
        )
    database.close()


@pytest.mark.parametrize("strategy", ["adaptive", "gold", "rr"])
def test_a_replay_that_asks_for_other_arms(storage, strategy, caplog):
    """Where a replay differs from the log, the run starts over, and a line says so."""
    arms = SimulatedArms(EASY)
    with started(storage, strategy=strategy) as study:
        for _ in range(5):
            study.tell_many(rewards_of(study.ask(20), arms))
        tally = study.search().tally
        out = [pull.id for pull in study.ask(3)]
    asked_other_arms(storage, [7, 7, 7])
    with open_study(storage, "demo") as study:
        assert "event 11 asked for other arms" in caplog.text
        search = study.search()
        assert search.tally.to_dict() == tally.to_dict()
        assert study.tell_many(dict.fromkeys(out, 0.0)) == 3
        assert study.result().counts[7] == tally.counts[7] + 3
        caplog.clear()
        with open_study(storage, "demo") as other:  # from a snapshot, taken with that tell
            assert state(other) == state(study)
        assert caplog.text == ""
        run_to_the_end(study, arms, limit=40)
        assert study.result().ranking[0] == "arm-5"


def test_a_log_that_does_not_lead_to_its_study(storage):
    """A study that counts other rewards, or another verdict, than its log gives is refused."""
    for column, value, words in (("pulls", 4, "counts 5 rewards"), ("verdict", "none", "'none'")):
        name = f"by-{column}"
        with create_study(storage, name, NAMES, strategy="gold", max_outliers=1) as study:
            study.tell_many({pull.id: 1 for pull in study.ask(5)})
        database = open_database(storage)
        with database.transaction(write=True) as connection:
            connection.execute(
                f"UPDATE oddarm_studies SET {column} = ? WHERE name = ?", (value, name)
            )
        database.close()
        with pytest.raises(StateError, match=words):
            open_study(storage, name)


def test_another_version_takes_a_snapshot(storage, monkeypatch):
    """The first write of another version of oddarm saves the state, so that it replays no more."""
    with started(storage) as study:
        study.tell_many({pull.id: 1 for pull in study.ask(5)})
    assert snapshot(storage) == (0, oddarm.__version__)
    other = f"{oddarm.__version__}.post1"
    monkeypatch.setattr(live_search, "__version__", other)
    with open_study(storage, "demo") as study:
        assert snapshot(storage) == (0, oddarm.__version__)
        study.ask(1)
        assert snapshot(storage) == (3, other)
        study.ask(1)
        assert snapshot(storage) == (3, other)


def snapshot(storage):
    """Return the revision and the version of the only snapshot."""
    database = open_database(storage)
    with database.transaction() as connection:
        revision, text = connection.execute(
            "SELECT revision, state FROM oddarm_snapshots"
        ).fetchone()
    database.close()
    return revision, json.loads(text)["oddarm"]


def test_a_budget_is_not_overspent(storage, clock):
    """Pulls in flight count against the budget until they expire."""
    with started(storage, clock, max_pulls=12) as study:
        first, second = study.ask(8, lease_seconds=5), study.ask(8, lease_seconds=60)
        assert (len(first), len(second)) == (8, 4)
        assert study.ask(8) == study.ask() == []
        clock.now += 6
        third = study.ask()
        assert [pull.id for pull in third] == [pull.id for pull in first]
        study.tell_many({pull.id: 0 for pull in [*second, *third]})
        assert study.result().verdict == "budget"
        assert study.result().pulls == 12


def test_max_cost_is_not_overspent(storage, clock):
    """Pulls in flight count with their price; a study that can pay for no more is done."""
    prices = [1.0] * 9 + [6.0]
    with started(storage, clock, strategy="rr", costs=prices, max_cost=20) as study:
        first = study.ask(10, lease_seconds=5)
        assert len(first) == 10  # they cost 15
        second = study.ask(10)
        assert [pull.arm for pull in second] == NAMES[:5]
        assert study.ask(10) == study.ask() == []
        clock.now += 6
        assert [pull.id for pull in study.ask()] == [pull.id for pull in first]
        with Study(open_database(storage), "demo", clock=clock) as other:
            assert other.ask(3) == []
            assert (state(other)["costs"], state(other)["max_cost"]) == (prices, 20)
        study.give_up([first[-1].id])
        third = study.ask(3)
        assert [pull.arm for pull in third] == [NAMES[9]]
        study.tell_many({pull.id: 0 for pull in [*first[:-1], *second, *third]})
        result = study.result()
        assert (result.verdict, result.cost, study.done) == ("budget", 20, True)


@pytest.mark.parametrize("strategy", ["adaptive", "rr"])
def test_a_study_that_wants_only_what_it_cannot_pay_is_done(storage, strategy):
    """Cheap arms do not keep it open, and every process sees that it is done."""
    with started(storage, strategy=strategy, costs=[1.0] * 9 + [50.0], max_cost=55) as study:
        while pulls := study.ask(1):
            study.tell_many({pull.id: 1 for pull in pulls if pull.arm != NAMES[9]})
            study.give_up([pull.id for pull in pulls if pull.arm == NAMES[9]])
            if study.result().pulls == 7:
                study.tell_arm(NAMES[0], 1, key="not asked for")
        result = study.result()
        assert result.cost == result.pulls <= 55
        assert study.done
        with open_study(storage, "demo") as other:
            assert (other.result().verdict, other.ask()) == ("budget", [])


def test_finite_pools_are_not_overdrawn(storage):
    """No more pulls of an arm are handed out, and no more rewards taken, than its pool has."""
    pools = oddarm.rewards.Bernoulli(pools=(3,) * 10)
    with started(storage, strategy="rr", rewards=pools) as study:
        pulls = []
        while more := study.ask(7):
            pulls += more
        assert sorted(pull.arm for pull in pulls) == sorted(NAMES * 3)
        study.tell_many({pull.id: int(pull.arm == "arm-5") for pull in pulls})
        assert study.result().outliers == ["arm-5"]
        with pytest.raises(RewardError, match="1 more rewards for arm 'arm-1' with 0 of its pool"):
            study.tell_arm("arm-1", 1, key="more")


def test_what_is_refused_leaves_no_trace(storage):
    """A bad reward, arm or pull id, alone or in a batch, changes nothing."""
    with started(storage) as study:
        pulls = study.ask(4)
        study.tell(pulls[0].id, 1)
        before, revision = state(study), study.info().revision
        tag = pulls[0].id.split(".")[0]
        good = pulls[1].id
        for rewards, error, words in [
            ({good: 0.5}, RewardError, "reward 0.5, must be 0 or 1"),
            ({good: 1, pulls[2].id: 7}, RewardError, "reward 7.0 at position 1 of 2"),
            ({good: "x"}, RewardError, "must be a number"),
            ({good: [1, 0]}, RewardError, "2 rewards for 1 pulls"),
            ({good: 1, "nonsense": 1}, UnknownPullError, "pull 'nonsense' was never handed out"),
            ({good: 1, f"{tag}.1.4": 1}, UnknownPullError, "was never handed out"),
            ({good: 1, f"{tag}.2.0": 1}, UnknownPullError, "was never handed out"),
            ({good: 1, f"{tag}.99.0": 1}, UnknownPullError, "was never handed out"),
            ({"000000" + good[6:] + "0": 1}, UnknownPullError, "was never handed out"),
        ]:
            with pytest.raises(error, match=words):
                study.tell_many(rewards)
        with pytest.raises(UnknownArmError, match="arm 'nobody' is not one of the 10 arms"):
            study.tell_arm("nobody", 1, key="k")
        with pytest.raises(RewardError, match="reward nan"):
            study.tell_arm("arm-1", [1, float("nan")], key="k")
        for limit, seconds in ((0, 1), (1, 0), (1, float("nan"))):
            with pytest.raises(ParameterError, match="must be"):
                study.ask(limit, lease_seconds=seconds)
        assert (state(study), study.info().revision) == (before, revision)
        assert study.tell_many({pull.id: 1 for pull in pulls[1:]}) == 3
        assert study.tell_arm("arm-1", 1, key="k")


def test_an_error_undoes_a_batch(storage):
    """What goes wrong in the middle of a batch undoes all of it, in memory too."""
    with started(storage) as study:
        pulls = study.ask(2)
        before = state(study)

        def fail_in_a_batch():
            with study.batch() as batch:
                batch.tell_many({pull.id: 1 for pull in pulls})
                batch.ask(3)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail_in_a_batch()
        assert state(study) == before
        with study.batch() as batch:
            assert batch.tell_many({pulls[0].id: 1}) == 1
            assert batch.tell_many({pulls[0].id: 1, pulls[1].id: 0}) == 1
            assert len(batch.ask(3)) == 3
        with open_study(storage, "demo") as other:
            assert state(other) == state(study) != before


@pytest.mark.parametrize("strategy", ["adaptive", "gold", "rr"])
def test_set_aside(storage, clock, strategy):
    """A study goes on without a failed arm, as a search does, also after it is opened anew."""
    arms = SimulatedArms(EASY)
    with started(storage, clock, strategy=strategy) as study:
        pulls = study.ask(10, lease_seconds=5)
        study.tell_many(rewards_of(pulls[:8], arms))
        assert study.set_aside("arm-9", "no answer") is True
        assert study.set_aside("arm-9", "no answer") is False
        clock.now += 6
        more = study.ask(30)
        assert {pull.arm for pull in more}.isdisjoint({"arm-9"})
        study.tell_many(rewards_of(more, arms))
        assert study.tell(pulls[9].id, 1), "a late reward is acknowledged"
        with open_study(storage, "demo") as other:
            assert state(other) == state(study)
            assert other.result().errors == {"arm-9": "no answer"}
        run_to_the_end(study, arms, limit=40)
        result = study.result()
        assert (result.ranking[0], result.ranking[-1]) == ("arm-5", "arm-9")
        assert result.counts[9] == 0
        assert study.set_aside("arm-8", "too late") is False


def test_set_aside_is_refused(storage):
    """An unknown arm, no reason, and too few arms left are refused and change nothing."""
    with started(storage, max_outliers=4) as study:
        before = state(study)
        with pytest.raises(UnknownArmError, match="arm 'nobody'"):
            study.set_aside("nobody", "gone")
        with pytest.raises(ParameterError, match="reason == ''"):
            study.set_aside("arm-1", "")
        assert study.set_aside("arm-0", "gone")
        once = state(study)
        with pytest.raises(ParameterError, match="8 of 10 arms would be left"):
            study.set_aside("arm-1", "gone")
        assert state(study) == once != before


def test_pause_and_resume(storage):
    """A paused study hands out nothing and takes the rewards of pulls in flight."""
    with started(storage) as study:
        pulls = study.ask(3)
        study.pause()
        assert study.info().status == "paused"
        assert study.ask(3) == []
        assert study.tell(pulls[0].id, 1)
        with open_study(storage, "demo") as other:
            other.resume()
        assert len(study.ask(3)) == 3


def test_delete(storage):
    """A deleted study is gone for all who have it open; its name is free, its pulls are void."""
    with started(storage) as study, open_study(storage, "demo") as other:
        old = study.ask(1)
        study.delete()
        assert list_studies(storage) == []
        for action in (other.ask, other.result, other.pause, other.delete, other.info):
            with pytest.raises(UnknownStudyError, match="study 'demo' was deleted"):
                action()
        with started(storage) as new:
            assert new.result().pulls == 0
            new.ask(1)
            with pytest.raises(UnknownPullError, match="never handed out"):
                new.tell(old[0].id, 1)


def test_an_export_of_a_deleted_study_is_no_empty_one(storage):
    """Whoever exports is told that the study is gone, before or while lines are read."""
    with create_study(storage, "demo", NAMES, max_outliers=1) as study:
        for key in "abc":
            study.tell_arm(NAMES[0], [1, 0], key=key)
        lines = study.tells(page=1)
        next(lines)
        study.delete()
        with pytest.raises(UnknownStudyError, match="was deleted"):
            list(lines)
        with pytest.raises(UnknownStudyError, match="was deleted"):
            study.export()


def test_a_large_batch_told_again(storage):
    """The ask is read once, whatever the number of its pulls that were told before."""
    with create_study(storage, "demo", NAMES, strategy="gold", max_outliers=1) as study:
        rewards = {pull.id: 1 for pull in study.ask(500)}
        assert study.tell_many(rewards) == 500
        live, reads = study._live, []
        size = live.pulls_of
        live.pulls_of = lambda *arguments: reads.append(1) or size(*arguments)
        assert study.tell_many(rewards) == 0
        assert len(reads) == 1
        beyond = f"{next(iter(rewards)).rpartition('.')[0]}.500"
        with pytest.raises(UnknownPullError, match="never handed out"):
            study.tell_many({**rewards, beyond: 1})


def test_names_of_studies(storage):
    """A taken name, a name that is none, and a study that is not there are refused."""
    started(storage).close()
    with pytest.raises(StudyExistsError, match="study 'demo' is there already"):
        started(storage)
    for name in ("", "a/b", "ä", "-x", "x" * 101, 5):
        with pytest.raises(ParameterError, match="study name"):
            create_study(storage, name, 5, max_outliers=1)
    with pytest.raises(UnknownStudyError, match="study 'other' is not in"):
        open_study(storage, "other")


def test_names_of_arms(storage):
    """Numbers, texts and tuples come back as they were; what is no text is refused."""
    names = [("a", 1), ("b", (2, 3)), 5, "ü\n,x", None]
    with create_study(storage, "demo", names, strategy="gold", max_outliers=1) as study:
        pulls = study.ask(5)
        assert [pull.arm for pull in pulls] == names
        study.tell_many({pull.id: 1 for pull in pulls})
        assert study.tell_arm(("b", (2, 3)), 1, key="k")
    with open_study(storage, "demo") as study:
        assert [tell["arm"] for tell in study.tells()] == [*names, ("b", (2, 3))]
    for bad in ("a\0", "\ud800"):
        with pytest.raises(ParameterError, match="an arm's name has a character"):
            create_study(storage, "bad", ["x", "y", bad], max_outliers=1)
    with pytest.raises(StateError, match="cannot be written as JSON"):
        create_study(storage, "bad", [object(), "x", "y"], max_outliers=1)
    with pytest.raises(OddarmError, match="must be >= 3"):
        create_study(storage, "bad", ["x"], max_outliers=1)


def test_export(storage):
    """Every reward is exported once, in order; told again by batch, they give the same answer."""
    arms = SimulatedArms(EASY)
    with started(storage) as study:
        run_to_the_end(study, arms, limit=33)
        study.tell_arm("arm-1", [1, 0], key="k")
        tells = [json.loads(line) for line in study.export()]
        assert [tell["pull"] for tell in tells[-2:]] == ["k", "k"]
        again = Search(NAMES, "gold", max_outliers=1)
        for _, batch in itertools.groupby(tells, lambda tell: tell["seq"]):
            told = [(NAMES.index(tell["arm"]), tell["reward"]) for tell in batch]
            again.tell_indices(*zip(*told, strict=True))
        assert again.result().to_dict() == study.result().to_dict()
        lines = "".join(study.export("csv")).splitlines()
        assert lines[0] == "seq,at,pull,arm,reward"
        assert len(lines) == len(tells) + 1
        assert lines[-1].endswith(",k,arm-1,0.0")
        with pytest.raises(ParameterError, match="format == 'xml'"):
            study.export("xml")


def test_pulls_of_a_batch_in_any_order(storage):
    """Whether the log lists pulls one by one or in short, they are exported as they were told."""
    with started(storage) as study:
        one, two = study.ask(70), study.ask(12)
        batches = [
            one[:3],  # from the first on
            one[5:10],
            one[4:2:-1],  # backwards
            [*one[10:12], *two[:2]],  # of two asks
            [*two[2:4], *two[5:7]],  # with a gap between
            two[9:10],
            [one[12], *two[10:12]],
        ]
        for batch in batches:
            study.tell_many({pull.id: 1 for pull in batch})
        with study.batch() as together:
            together.tell_many({pull.id: 0 for pull in one[20:30]})
            together.tell_arm("arm-1", [1, 0], key="k")
            together.tell_many({pull.id: 1 for pull in [one[40], one[39]]})
            together.tell_many({pull.id: 1 for pull in one[28:38]})  # two were told before
        told = [(pull.id, pull.arm) for batch in batches for pull in batch]
        told += [("k", "arm-1")] * 2
        last = [*one[20:30], one[40], one[39], *one[30:38]]
        told += [(pull.id, pull.arm) for pull in last]
        assert [(tell["pull"], tell["arm"]) for tell in study.tells()] == told
        rewards = [tell["reward"] for tell in study.tells()]
        assert rewards == [1] * (len(told) - 22) + [1, 0] + [0] * 10 + [1] * 10


def test_aggregates_of_arms(storage):
    """The table of arms holds the pulls and the sum of rewards of each."""
    with started(storage) as study:
        arms = SimulatedArms(EASY)
        for _ in range(5):
            study.tell_many(rewards_of(study.ask(13), arms))
        tally = study.search().tally
        database = open_database(storage)
        with database.transaction() as connection:
            rows = connection.execute(
                "SELECT name, pulls, total FROM oddarm_arms ORDER BY arm"
            ).fetchall()
        database.close()
    assert [tuple(row) for row in rows] == list(
        zip(NAMES, tally.counts.tolist(), tally.totals.tolist(), strict=True)
    )


def test_readers_do_not_block_writers(storage):
    """While a reader's transaction is open, writers write; the reader still sees its moment."""
    with started(storage) as study:
        database = open_database(storage)
        with database.transaction() as connection:
            connection.execute("SELECT revision FROM oddarm_studies").fetchone()
            pulls = study.ask(5)
            study.tell_many({pull.id: 1 for pull in pulls})
        assert study.result().pulls == 5
        database.close()


def test_a_gap_in_the_log_is_noticed(storage):
    """A log with a missing event is refused, not replayed as if nothing were wrong."""
    with started(storage) as study:
        study.tell_many({pull.id: 1 for pull in study.ask(5)})
    database = open_database(storage)
    with database.transaction(write=True) as connection:
        connection.execute("DELETE FROM oddarm_events WHERE seq = 1")
    database.close()
    with pytest.raises(StateError, match="has no event 1 in its log"):
        open_study(storage, "demo")
