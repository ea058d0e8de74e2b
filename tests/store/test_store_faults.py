"""Databases that are locked, full, gone, torn, cut off, old or too new."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from oddarm import create_study, list_studies, open_study
from oddarm.errors import (
    ParameterError,
    StateError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
)
from oddarm.rewards import Bernoulli
from oddarm.store.database import schema, sqlite
from oddarm.store.database.base import open_database
from oddarm.store.draws import ids_of
from oddarm.store.study import TABLES
from oddarm.strategies.adaptive.constants import OLD_PLANNER
from oddarm.testing import NAMES


def state(study):
    """Return the state of a study, as it would be written."""
    return json.loads(json.dumps(study.search().to_dict()))


@pytest.fixture
def path(tmp_path):
    """A SQLite file with a study in it that has had five rewards."""
    path = tmp_path / "s.db"
    with create_study(path, "demo", NAMES, strategy="gold", max_outliers=1) as study:
        study.tell_many({pull.id: 1 for pull in study.ask(5)})
    return path


def test_locked(path, monkeypatch):
    """A database that another process keeps locked is an error to be tried again after."""
    monkeypatch.setattr(sqlite, "WAIT_SECONDS", 0.05)
    with open_study(path, "demo") as study:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        before = state(study)  # a reader is not in the way, and nothing is in its way
        with pytest.raises(StoreBusyError, match="locked by another process"):
            study.ask(1)
        other.execute("ROLLBACK")
        other.close()
        assert state(study) == before
        assert len(study.ask(1)) == 1


DAMAGES = {
    "short": lambda state: state["search"]["run"]["stage"]["data"].pop(),
    "no search": lambda state: state.pop("search"),
    "draws": lambda state: state.update(draws={"0": 1}),
    "a draw": lambda state: state.update(draws=[[1, 0, 0, 1e300, 60.0]]),
    "an arm": lambda state: state.update(draws=[[1, 0, 10, 1e9, 60.0, None]]),
    "twice": lambda state: state.update(draws=[[1, 0, 0, 1e9, 60.0, None]] * 2),
    "a version": lambda state: state.update(version=99),
    "a time": lambda state: state.update(draws=[[1, 0, 0, "soon", 60.0, None]]),
    "a reward": lambda state: state.update(expired_reward=0.5),
    "a waiting reward": lambda state: state.update(draws=[[1, 0, 0, 1e9, 60.0, 77.0]]),
    "a counter": lambda state: state.update(again=-1),
}


@pytest.mark.parametrize("damage", ["cut", *DAMAGES])
def test_damaged_snapshot(path, damage):
    """A snapshot that is cut off, or has values that it cannot have, is refused."""
    connection = sqlite3.connect(path)
    (text,) = connection.execute("SELECT state FROM oddarm_snapshots").fetchone()
    if damage == "cut":
        text = text[:-1]
    else:
        snapshot = json.loads(text)
        DAMAGES[damage](snapshot)
        text = json.dumps(snapshot)
    connection.execute("UPDATE oddarm_snapshots SET state = ?", (text,))
    connection.commit()
    connection.close()
    with pytest.raises((StateError, StoreDamagedError), match=r"damaged|does not have"):
        open_study(path, "demo").search()


def test_full(path):
    """On a full disk nothing that was acknowledged is lost, and with room again it goes on."""
    with open_study(path, "demo") as study:
        connection = study._database._idle[-1]
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        told, out = [5], []

        def fill():
            while True:
                out[:] = study.ask(50)
                told.append(study.tell_many({pull.id: 1 for pull in out}))
                out.clear()

        with pytest.raises(StoreFullError, match="the disk is full"):
            fill()
        assert len(told) > 1
        assert study.result().pulls == sum(told)
        with open_study(path, "demo") as other:
            assert state(other) == state(study)
        more = study.tell_many({pull.id: 1 for pull in [*out, *study.ask(50)]})
        assert study.result().pulls == sum(told) + more


def test_removed(path):
    """A file that was removed takes no more rewards, and is not made anew behind one's back."""
    with open_study(path, "demo") as study:
        pulls = study.ask(2)
        path.rename(path.with_name("away.db"))
        for action in (lambda: study.tell(pulls[0].id, 1), study.result, lambda: study.ask(1)):
            with pytest.raises(StoreError, match="was removed or replaced"):
                action()
        assert not path.exists()
        path.with_name("away.db").rename(path)
        assert study.tell(pulls[0].id, 1)
    with pytest.raises(StoreError, match="is not there: create a study"):
        open_study(path.with_name("nowhere.db"), "demo")
    with pytest.raises(StoreError, match="cannot be used"):
        create_study(path.parent / "no" / "folder.db", "demo", 5, max_outliers=1)


def test_no_database(tmp_path):
    """A file that is something else, and a URL that is none, are refused in a sentence."""
    path = tmp_path / "text.db"
    path.write_text("this is no database, " * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        list_studies(path)
    with pytest.raises(ParameterError, match="storage mysql://…, must be"):
        list_studies("mysql://user:secret@host/x")
    with pytest.raises(ParameterError, match="names no file"):
        list_studies("sqlite://")


def test_urls(path, monkeypatch):
    """A path, a relative URL and an absolute one name the same file."""
    monkeypatch.chdir(path.parent)
    for url in (path, str(path), "s.db", "sqlite:///s.db", f"sqlite:///{path}"):
        assert [info.name for info in list_studies(url)] == ["demo"]


DIE = """
import os, signal, sys, oddarm
with oddarm.open_study(sys.argv[1], "demo") as study:
    for _ in range(3):
        pulls = study.ask(4)
        study.tell_many({pull.id: 1 for pull in pulls})
    print(study.result().pulls, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_and_torn(path):
    """What was told before a SIGKILL is there, and half a write after it is as if never begun."""
    died = subprocess.run([sys.executable, "-c", DIE, path], capture_output=True, check=False)
    assert died.stdout.split() == [b"17"], died.stderr.decode()
    log = path.with_name("s.db-wal")
    whole = log.read_bytes()
    for cut in range(0, 6000, 997):
        copy = path.with_name(f"torn-{cut}.db")
        shutil.copy(path, copy)
        # a write that was under way: the last frames, or a part of them, once more
        torn = whole + whole[-6000:][: cut or None]
        copy.with_name(f"torn-{cut}.db-wal").write_bytes(torn)
        with open_study(copy, "demo") as study:
            assert study.result().pulls == 17
            assert study.tell_many({pull.id: 1 for pull in study.ask(3)}) == 3
    for cut in (1, 100, 5000, 20000):
        copy = path.with_name(f"short-{cut}.db")
        shutil.copy(path, copy)
        copy.with_name(f"short-{cut}.db-wal").write_bytes(whole[:-cut])
        with open_study(copy, "demo") as study:  # an older moment, whole in itself
            assert study.result().pulls == len(list(study.tells())) <= 17
            assert study.tell_many({pull.id: 1 for pull in study.ask(3)}) == 3


FIXTURES = Path(__file__).parent.parent / "fixtures"
BEGUN = "The search was begun by oddarm 0.1.0: it has no slack and no min_gap."


def version_1(path):
    """Turn a database of version 3 into one of version 1, whose log has the pulls in full."""
    connection = sqlite3.connect(path)
    connection.execute("DROP INDEX oddarm_leases_expires")
    connection.execute("UPDATE oddarm_schema_version SET version = 1")
    tells = connection.execute("SELECT study, seq, body FROM oddarm_events WHERE kind = 'tell'")
    for study, seq, text in tells.fetchall():
        tag = f"{study & 0xFFFFFF:06x}"
        body = [
            [arms, rewards, pulls if isinstance(pulls, str) else ids_of(tag, pulls)]
            for arms, rewards, pulls in json.loads(text)
        ]
        connection.execute(
            "UPDATE oddarm_events SET body = ? WHERE study = ? AND seq = ?",
            (json.dumps(body), study, seq),
        )
    connection.commit()
    connection.close()


@pytest.mark.parametrize("old", [1, 3])
def test_migration(tmp_path, old, caplog):
    """A database of an older version is brought up to date with its studies as they were."""
    path = tmp_path / "s.db"
    shutil.copy(FIXTURES / "studies-v3.db", path)
    if old == 1:
        version_1(path)
    expected = json.loads((FIXTURES / "studies-v3.json").read_text())
    for name, before in expected.items():
        with open_study(path, name) as study:
            search = study.search()
            assert search.tally.counts.tolist() == before["counts"]
            assert search.tally.totals.tolist() == before["totals"]
            assert search.run.to_dict().keys() <= before["run"].keys()
            assert [json.loads(line) for line in study.export()] == before["exported"]
            lost = [pull for pull, arm in before["lost"] if arm != "arm-9"]
            assert study.tell_many(dict.fromkeys(lost, 1)) == 0, "they were handed out anew"
            told = [pull for pull, _ in before["out"]]
            assert study.tell_many(dict.fromkeys(told, 1)) == len(told)
            counted = sum(before["counts"]) + sum(arm != "arm-9" for _, arm in before["out"])
            assert (study.result().pulls, study.info().waiting) == (counted, 0)
            with open_study(path, name) as other:
                assert state(other) == state(study)
                assert len(other.ask(1)) == 1
    assert caplog.text == ""  # every replay asked for the arms in the log
    assert version(path) == len(schema.MIGRATIONS)
    made = sqlite3.connect(":memory:")
    for statement in (statement for step in schema.MIGRATIONS for statement in step):
        made.execute(statement)
    assert tables(sqlite3.connect(path)) == tables(made)


@pytest.mark.parametrize(("tables", "begun"), [("v4", [BEGUN]), ("v5", [])])
def test_databases_of_each_version(tmp_path, caplog, tables, begun):
    """A database that a version wrote opens as it was left; later versions keep this test."""
    path = tmp_path / "s.db"
    shutil.copy(FIXTURES / f"studies-{tables}.db", path)
    for name, left in json.loads((FIXTURES / f"studies-{tables}.json").read_text()).items():
        with open_study(path, name) as study:
            now, then = state(study), left["state"]
            del now["run"], then["run"]  # whose last bits depend on the processor
            del now["oddarm"], then["oddarm"]  # the version that wrote the state
            assert now.pop("supposes") == [*begun, *then.pop("supposes")]
            assert now["problem"].items() >= then.pop("problem").items()
            assert now.items() >= then.items()
            if begun:  # by 0.1
                assert (now["problem"]["slack"], now["problem"]["min_gap"]) == (0.0, None)
            assert study.info().waiting == left["waiting"]
            assert [json.loads(line) for line in study.export()] == left["exported"]
            told = {tell["pull"] for tell in left["exported"]}
            late = set() if name == "expired" else {*left["out"]} - told  # the others have expired
            assert study.tell_many(dict.fromkeys(left["out"], 1)) == len(late)
            assert study.info().waiting == 0
            assert len(study.ask(1)) == 1
    assert caplog.text == ""  # every replay asked for the arms in the log


def test_a_study_of_pools_that_0_1_began(tmp_path, caplog):
    """Its log replays to the end with the planner of 0.1, even after an arm has failed."""
    path, means = tmp_path / "s.db", (0.30, 0.32, 0.34, 0.36, 0.38, 0.40, 0.42, 0.90)
    rewards = Bernoulli(pools=(300,) * 8)
    create_study(path, "demo", 8, rewards=rewards, max_outliers=1, slack=0, until="found").close()
    connection = sqlite3.connect(path)
    ((text,),) = connection.execute("SELECT state FROM oddarm_snapshots").fetchall()
    saved = json.loads(text)
    del saved["search"]["run"]["planner"], saved["search"]["run"]["joint"]
    connection.execute("UPDATE oddarm_snapshots SET state = ?", (json.dumps(saved),))
    connection.commit()
    connection.close()
    rng = np.random.default_rng(3)
    for pulls in (600, 1200):
        with open_study(path, "demo") as study:
            while study.result().pulls < pulls and not study.done:
                asked = study.ask(7)
                study.tell_many({pull.id: int(rng.random() < means[pull.arm]) for pull in asked})
            assert study.search().run.planner == OLD_PLANNER
            with open_study(path, "demo") as other:
                assert state(other) == state(study)
            study.set_aside(3, "it broke")
    assert caplog.text == ""


@pytest.mark.parametrize("version", ["v3", "v4"])
def test_studies_of_0_1_end(tmp_path, version):
    """A study that 0.1 began goes on without slack to its end, and its result says so."""
    path = tmp_path / "s.db"
    shutil.copy(FIXTURES / f"studies-{version}.db", path)
    for info in list_studies(path):
        with open_study(path, info.name) as study:
            while not study.done:
                pulls = study.ask(200, lease_seconds=1e6)
                study.tell_many({pull.id: int(pull.arm == "arm-5") for pull in pulls})
            result = study.result()
            assert result.verdict in ("ranked", "none")
            assert BEGUN in result.summary
            assert result.problem.slack == 0.0
        with open_study(path, info.name) as study:
            assert study.result().summary == result.summary


def version(path):
    """Return the version of a database's tables."""
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT version FROM oddarm_schema_version").fetchone()[0]
    connection.close()
    return found


def tables(connection):
    """Return the tables and indices of a database, and close it."""
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE name <> 'oddarm_schema_version' ORDER BY name"
    ).fetchall()
    connection.close()
    return rows


def test_a_newer_database_is_refused(path):
    """Tables of a version that this oddarm does not know are left alone."""
    connection = sqlite3.connect(path)
    connection.execute("UPDATE oddarm_schema_version SET version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=r"tables of version 99.*install a newer oddarm"):
        open_study(path, "demo")


def cut(url):
    """End all connections to a PostgreSQL database."""
    import psycopg

    server, name = url.rsplit("/", 1)
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )


def test_connection_cut(postgres_database):
    """A connection cut while idle is not noticed; one cut in a batch undoes the batch."""
    url = postgres_database
    with create_study(url, "demo", NAMES, strategy="gold", max_outliers=1) as study:
        pulls = study.ask(6)
        study.tell_many({pull.id: 1 for pull in pulls[:3]})
        cut(url)
        assert study.tell(pulls[3].id, 1)
        before = state(study)

        def cut_in_a_batch():
            with study.batch() as batch:
                batch.tell_many({pulls[4].id: 1})
                cut(url)

        with pytest.raises(StoreError, match="cannot be used"):
            cut_in_a_batch()
        assert state(study) == before
        assert study.tell_many({pull.id: 1 for pull in pulls}) == 2
        with open_study(url, "demo") as other:
            assert state(other) == state(study)


def test_postgres_that_is_not_there():
    """A server that does not answer is named without its password."""
    with pytest.raises(StoreError, match="cannot be used") as caught:
        list_studies("postgresql://me:secret@127.0.0.1:1/none")
    assert "postgresql://me@127.0.0.1:1/none" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_postgres_migration(postgres_database):
    """PostgreSQL is brought up to date as well, by the first process that opens it."""
    import psycopg

    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE oddarm_schema_version (version BIGINT NOT NULL)")
        connection.execute("INSERT INTO oddarm_schema_version VALUES (1)")
        for statement in schema.MIGRATIONS[0]:
            connection.execute(statement)
    assert list_studies(postgres_database) == []
    with create_study(postgres_database, "demo", NAMES, max_outliers=1) as study:
        assert study.tell_many({pull.id: 1 for pull in study.ask(3)}) == 3
    with psycopg.connect(postgres_database) as connection:
        row = connection.execute("SELECT version FROM oddarm_schema_version").fetchone()
    assert row[0] == len(schema.MIGRATIONS)


def test_locked_in_postgres(postgres_database, monkeypatch):
    """A study that another transaction keeps locked is an error to be tried again after."""
    from oddarm.store.database import postgres

    create_study(postgres_database, "demo", NAMES, strategy="gold", max_outliers=1).close()
    monkeypatch.setattr(postgres, "WAIT_SECONDS", 1)
    with open_study(postgres_database, "demo") as one, open_study(postgres_database, "demo") as two:
        with one.batch(), pytest.raises(StoreBusyError, match="locked by others"):
            two.ask(1)
        assert len(two.ask(1)) == 1


def test_options_in_a_postgres_url(postgres_database):
    """Options of a URL are kept beside ours."""
    database = open_database(f"{postgres_database}?options=-c%20application_name%3Dmine")
    with database.transaction() as connection:
        shown = [
            connection.execute(f"SHOW {name}").fetchone()[0]
            for name in ("application_name", "lock_timeout", "synchronous_commit")
        ]
    assert shown == ["mine", "5s", "on"]
    database.close()


@pytest.mark.skipif(
    not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system sets no limit to unanswered data"
)
@pytest.mark.parametrize(
    ("query", "idle", "unanswered"),
    [("", 5, 15_000), ("?keepalives_idle=60&tcp_user_timeout=90000", 60, 90_000)],
)
def test_postgres_that_went_away_without_a_word(postgres_database, query, idle, unanswered):
    """The system looks after every connection, as often as the URL says or every five seconds."""
    database = open_database(postgres_database + query)
    for _ in range(2):
        with database.transaction() as connection, socket_of(connection) as found:
            level = socket.IPPROTO_TCP
            assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert found.getsockopt(level, socket.TCP_KEEPIDLE) == idle
            assert found.getsockopt(level, socket.TCP_KEEPINTVL) == 5
            assert found.getsockopt(level, socket.TCP_KEEPCNT) == 2
            assert found.getsockopt(level, socket.TCP_USER_TIMEOUT) == unanswered
        cut(postgres_database)  # so that the next connection is a new one
    database.close()


def socket_of(connection):
    """Return the socket of a connection to PostgreSQL, to be closed on its own."""
    return socket.socket(fileno=os.dup(connection._connection.fileno()))


def test_a_connection_that_the_system_gives_up(postgres_database):
    """A connection given up while idle is replaced; given up in a batch, it undoes the batch."""
    url = postgres_database
    with create_study(url, "demo", NAMES, strategy="gold", max_outliers=1) as study:
        pulls = study.ask(3)
        with socket_of(study._database._idle[-1]) as given_up:
            given_up.shutdown(socket.SHUT_RDWR)
        assert study.tell(pulls[0].id, 1)
        before = state(study)

        def give_up_in_a_batch():
            with study.batch() as batch:
                batch.tell_many({pulls[1].id: 1})
                with batch._read() as connection, socket_of(connection) as given_up:
                    given_up.shutdown(socket.SHUT_RDWR)

        with pytest.raises(StoreError, match="cannot be used"):
            give_up_in_a_batch()
        assert state(study) == before
        assert study.tell_many({pull.id: 1 for pull in pulls}) == 2


def test_deleted_while_written_in_postgres(postgres_database):
    """A study that is deleted while somebody writes it leaves nothing behind."""
    create_study(postgres_database, "demo", NAMES, max_outliers=1).close()
    with open_study(postgres_database, "demo") as one, open_study(postgres_database, "demo") as two:
        with one.batch() as batch:
            batch.ask(4)
            deleting = threading.Thread(target=two.delete)
            deleting.start()
            deleting.join(0.5)
            assert deleting.is_alive()
        deleting.join()
        with one._database.transaction() as connection:
            for table in ("studies", "events", "snapshots", "leases", "keys", "arms"):
                row = connection.execute(f"SELECT COUNT(*) FROM oddarm_{table}").fetchone()
                assert row[0] == 0, table


def test_waits_do_not_add_up(path, monkeypatch):
    """Threads of one process that wait for a locked file give up together."""
    with open_study(path, "demo") as one, one.batch():
        monkeypatch.setattr(sqlite, "WAIT_SECONDS", 0.05)
        seen = []

        def write():
            with (
                pytest.raises(StoreBusyError, match="locked"),
                one._database.transaction(write=True),
            ):
                pass
            seen.append(1)

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == 4


def test_nothing_is_left_beside(path):
    """A closed study leaves the one file."""
    assert sorted(Path(path).parent.iterdir()) == [path]


def test_every_table_that_holds_studies_is_known(tmp_path):
    """What deletes a study, or gives it another number, reaches all of its rows."""
    made = sqlite3.connect(tmp_path / "s.db")
    for statement in (statement for step in schema.MIGRATIONS for statement in step):
        made.execute(statement)
    named = made.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    of_studies = {
        name
        for (name,) in named
        if "study" in {column[1] for column in made.execute(f"PRAGMA table_info({name})")}
    }
    made.close()
    assert of_studies == set(TABLES)
