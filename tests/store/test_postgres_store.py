"""PostgreSQL that stops answering, and studies that vanish while they are read."""

import os
import secrets
import signal
import threading
import time
import traceback
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import unquote

import pytest

from oddarm import create_study, list_studies, open_study
from oddarm.errors import ParameterError, StoreBusyError, StoreError, UnknownStudyError
from oddarm.store.database import postgres
from oddarm.store.database.base import open_database
from oddarm.testing import NAMES


@pytest.fixture
def study(postgres_database):
    """A study with pulls in flight."""
    with create_study(postgres_database, "demo", NAMES, strategy="gold", max_outliers=1) as study:
        study.tell_many({pull.id: 1 for pull in study.ask(5)})
        yield study


@contextmanager
def frozen(*pids):
    """Stop processes, and let them go on at the end."""
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def backend_of(connection):
    """Return the process that serves a connection."""
    return connection._connection.info.backend_pid


def parent_of(pid):
    """Return the process that started another one."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:")))


def test_a_backend_that_is_frozen_in_a_batch(study, monkeypatch):
    """A statement that gets no answer ends in a stated time, and the batch is undone."""
    monkeypatch.setattr(postgres, "SILENT_SECONDS", 0.5)
    study.close()  # so that the next connection has the limit
    pulls = study.ask(2)
    revision = study.info().revision

    def freeze_in_a_batch():
        with study.batch() as batch:
            batch.tell_many({pulls[0].id: 1})
            with batch._read() as connection:
                stack.enter_context(frozen(backend_of(connection)))

    with (
        ExitStack() as stack,
        pytest.raises(StoreBusyError, match=r"has not answered for 0\.5 s: check that the"),
    ):
        freeze_in_a_batch()
    assert study.info().revision == revision
    assert study.tell_many({pull.id: 1 for pull in pulls}) == 2


def test_a_backend_that_is_frozen_while_idle(study, monkeypatch):
    """An idle connection whose process was stopped is replaced, and all others with it."""
    monkeypatch.setattr(postgres, "SILENT_SECONDS", 0.5)
    study.close()
    with study._database.transaction(), study._database.transaction():
        pass
    idle = [backend_of(connection) for connection in study._database._idle]
    assert len(idle) == 2
    with frozen(*idle):
        assert study.info().pulls == 5
    assert len(study._database._idle) == 1


def test_a_server_that_is_frozen(study, monkeypatch):
    """A server that was stopped whole is an error after two limits: of an answer, of connecting."""
    monkeypatch.setattr(postgres, "SILENT_SECONDS", 0.5)
    monkeypatch.setitem(postgres.LOST, "connect_timeout", 2)
    study.close()
    study.ask(1)
    backend = backend_of(study._database._idle[-1])
    with (
        frozen(backend, parent_of(backend)),
        pytest.raises(StoreError, match="check that the server runs"),
    ):
        study.ask(1)
    assert len(study.ask(1)) == 1


def test_the_limits_of_the_server(postgres_database):
    """The server limits statements, idle transactions and silence; a URL may say otherwise."""

    def limits(query):
        database = open_database(postgres_database + query)
        with database.transaction() as connection:
            names = ["statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"]
            names += ["tcp_keepalives_idle", "tcp_user_timeout"]
            found = [connection.execute(f"SHOW {name}").fetchone()[0] for name in names]
        database.close()
        return found

    assert limits("") == ["10s", "1min", "5s", "5", "15000"]
    assert limits("?options=-c%20statement_timeout%3D90s") == ["90s", "1min", "5s", "5", "15000"]
    assert limits("?options=-c%20tcp_user_timeout%3D0")[4] == "0"


def test_a_statement_that_takes_too_long(study, monkeypatch):
    """A statement that the server cannot finish in time is an error to be tried again after."""
    monkeypatch.setattr(postgres, "STATEMENT_SECONDS", 1)
    study.close()

    def sleep():
        with study._database.transaction() as connection:
            connection.execute("SELECT pg_sleep(30)")

    with pytest.raises(StoreBusyError, match="worked on one statement for 1 s: try again"):
        sleep()
    assert study.info().pulls == 5


def test_deleted_while_read(study, postgres_database, monkeypatch):
    """A study that is deleted between two statements of a reader is read whole, and then gone."""
    real = postgres._PostgresConnection.execute
    deleted = []

    def execute(self, sql, parameters=()):
        if "oddarm_snapshots" in sql and not deleted:
            deleted.append(1)
            study.delete()
        return real(self, sql, parameters)

    monkeypatch.setattr(postgres._PostgresConnection, "execute", execute)
    with open_study(postgres_database, "demo") as reader:
        assert deleted
        for use in (reader.result, reader.info, reader.export, lambda: reader.ask(1)):
            with pytest.raises(UnknownStudyError, match="was deleted"):
                use()


def test_an_export_of_a_study_that_is_deleted(study, postgres_database):
    """An export ends with an error, not short, if the study is deleted while it is read."""
    tells = study.tells(page=1)
    next(tells)
    while not study.done:
        study.tell_many({pull.id: 1 for pull in study.ask(50)})
        if study.info().revision > 8:
            break
    with open_study(postgres_database, "demo") as other:
        other.delete()
    with pytest.raises(UnknownStudyError, match="was deleted"):
        list(tells)


def test_deleted_and_made_anew_under_load(postgres_database):
    """Readers and writers of a study that comes and goes get answers, or that it is not there."""
    over = threading.Event()
    wrong, right = [], []

    def use():
        while not over.is_set():
            try:
                with open_study(postgres_database, "demo") as study:
                    study.tell_many({pull.id: 1 for pull in study.ask(3)})
                    right.append(len(list(study.export())) + study.result().pulls)
            except UnknownStudyError:
                pass
            except Exception as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 60
    for _ in range(15):
        known = len(right)
        with create_study(postgres_database, "demo", NAMES, max_outliers=1) as study:
            while len(right) == known and not wrong and time.monotonic() < end:
                time.sleep(0.001)
            study.delete()
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert right


@pytest.mark.parametrize("password", ["pa%ss", "sec/ret", "p@ss", "p@s@s"])
def test_a_password_that_makes_an_address_ambiguous(password):
    """An address that could be read in two ways is refused, and not quoted."""
    with pytest.raises(ParameterError, match="write special characters in it") as caught:
        list_studies(f"postgresql://me:{password}@127.0.0.1:1/none")
    assert "pa%" not in str(caught.value)
    assert "sec" not in str(caught.value)
    assert "ss@" not in str(caught.value)


@pytest.mark.parametrize("password", ["p[ass", "p:ss", "p#ss?x", "pa%25ss%2F%40"])
def test_a_password_is_never_told(password, capfd):
    """Whatever is in a password, an error and its traceback do not have it."""
    other = secrets.token_hex(8)
    address = f"postgresql://me:{password}@127.0.0.1:1/none?sslpassword={other}"
    with pytest.raises(StoreError, match="cannot be used") as caught:
        list_studies(address)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "postgresql://me@127.0.0.1:1/none cannot be used" in told
    for secret in (password, unquote(password), other):
        assert secret not in told
    assert capfd.readouterr() == ("", "")
