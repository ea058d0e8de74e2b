"""The service over a database that is damaged, frozen or deleted from."""

import contextlib
import json
import os
import secrets
import signal
import sqlite3
import threading
import time

import pytest
from fastapi.testclient import TestClient

from oddarm import create_study, open_study
from oddarm.errors import StoreBusyError
from oddarm.service import batching, create_app
from oddarm.service.logs import JSONFormatter
from oddarm.store.database import postgres

ARMS = ["ams", "fra", "lhr", "gru"]
PATHS = ("", "/result", "/view", "/export", "/events")


@pytest.fixture
def study(storage):
    """A study that has had three rewards."""
    with create_study(storage, "demo", ARMS, strategy="gold", max_outliers=1) as study:
        study.tell_many({pull.id: 1 for pull in study.ask(3)})
    return storage


@contextlib.contextmanager
def client_of(storage):
    """Give a client of a service."""
    app = create_app(storage)
    with TestClient(app, "http://127.0.0.1:8321", raise_server_exceptions=False) as http:
        yield http


def change(path, sql, *values):
    """Write to a database behind the back of the service."""
    connection = sqlite3.connect(path)
    connection.execute(sql, values)
    connection.commit()
    connection.close()


def logged(caplog):
    """Return what was logged, as JSON, and check that there is no traceback in it."""
    lines = [json.loads(JSONFormatter().format(record)) for record in caplog.records]
    assert not [line for line in lines if "traceback" in line]
    return lines


@pytest.mark.parametrize("state", ['{"half": ', "{}", "[]"])
def test_a_damaged_study(study, caplog, state):
    """A study that does not load is a 500 that names the remedy; the log says more."""
    change(study, "UPDATE oddarm_snapshots SET state = ?", state)
    with client_of(study) as http:
        for path in ("/result", "/view", ""):
            answer = http.get(f"/studies/demo{path}")
            assert answer.status_code == 500
            assert "retry-after" not in answer.headers
            assert str(study) not in answer.text
        errors = [line["error"] for line in logged(caplog) if "error" in line]
        assert len(errors) == 3
        assert http.get("/studies").status_code == 200


def test_damaged_pages(study, caplog):
    """A damaged file is a 500 with one sentence that does not say where the file is."""
    content = bytearray(study.read_bytes())
    with client_of(study) as http:
        for start in range(4096, len(content), 4096):
            content[start : start + 200] = b"\xff" * 200
        with study.open("r+b") as file:
            file.write(content)
        answer = http.get("/studies/demo")
        assert answer.status_code == 500
        assert answer.json()["error"] == (
            "the database is damaged, or not a database of SQLite: "
            "stop what uses it and restore it from a backup."
        )
        (line,) = [line for line in logged(caplog) if "error" in line]
        assert "malformed" in line["error"]
        assert str(study) in line["error"]


@pytest.mark.parametrize(("before", "status"), [(10, 500), (2000, 200)])
def test_a_study_damaged_within(study, caplog, before, status):
    """An export with a damaged row is refused or, after its first lines, broken off.

    The log has a sentence in both cases.
    """
    with open_study(study, "demo") as opened:
        opened.tell_arm("ams", [1] * before, key="before")
        opened.tell_arm("ams", [1] * 10, key="after")
    with client_of(study) as http:
        assert len(http.get("/studies/demo/export").text.splitlines()) == before + 13
        change(study, "UPDATE oddarm_events SET body = '[[' WHERE seq = 4")
        caplog.clear()
        answer = http.get("/studies/demo/export")
        assert answer.status_code == status
        if status == 500:
            assert "restore it from a backup" in answer.json()["error"]
        (line,) = [line for line in logged(caplog) if "error" in line]
        assert line["status"] == 500
        assert "is damaged in the database" in line["error"]


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_nobody_is_told_where_the_database_is(study, caplog, end):
    """Answers name neither path nor URL of the database; the log does."""
    with client_of(study) as http:
        assert http.get("/studies/other").status_code == 404
        assert str(study.parent) not in http.get("/studies/other").text
        study.with_name(f"{study.name}{end}").rename(study.with_name("away"))
        for path in ("/health", "/studies", *(f"/studies/demo{path}" for path in PATHS)):
            answer = http.get(path)
            assert answer.status_code == 503
            assert "was removed or replaced while in use" in answer.json()["error"]
            assert str(study.parent) not in answer.text
        study.with_name("away").rename(study.with_name(f"{study.name}{end}"))
        assert any(str(study) in line.get("error", "") for line in logged(caplog))


def test_the_wait_for_the_database_ends(study, monkeypatch):
    """A request that waits for the database too long is a 503, whatever holds it."""
    monkeypatch.setattr(batching, "MOST_WAITING", 0.2)
    going = threading.Event()
    with client_of(study) as http:
        studies = http.app.state.studies
        monkeypatch.setattr(batching, "list_in", lambda _: going.wait())
        try:
            answer = http.get("/studies")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "has not done this for 0.2 s: try again" in answer.json()["error"]

            async def stuck():
                with pytest.raises(StoreBusyError):
                    await studies.write("demo", lambda _: going.wait())

            http.portal.call(stuck)
        finally:
            going.set()


@pytest.fixture
def postgres_database(postgres):
    """The URL of an empty PostgreSQL database."""
    import psycopg

    name = f"service_{secrets.token_hex(8)}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield postgres.rsplit("/", 1)[0] + f"/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_frozen_postgres(postgres_database, monkeypatch):
    """A process of PostgreSQL that is stopped in the middle is a 503 that names neither host."""
    monkeypatch.setattr(postgres, "SILENT_SECONDS", 0.5)
    create_study(postgres_database, "demo", ARMS, max_outliers=1).close()
    with client_of(postgres_database) as http, contextlib.ExitStack() as stack:
        real = postgres._PostgresConnection.execute

        def execute(self, sql, parameters=()):
            if "oddarm_studies" in sql:
                pid = self._connection.info.backend_pid
                os.kill(pid, signal.SIGSTOP)
                stack.callback(os.kill, pid, signal.SIGCONT)
            return real(self, sql, parameters)

        monkeypatch.setattr(postgres._PostgresConnection, "execute", execute)
        answer = http.post("/studies/demo/ask", json={})
        assert answer.status_code == 503
        assert answer.json()["error"].startswith("the database has not answered for 0.5 s")
        monkeypatch.setattr(postgres._PostgresConnection, "execute", real)
        assert http.post("/studies/demo/ask", json={}).status_code == 200


def test_deleted_under_load(postgres_database):
    """While a study comes and goes, requests for it are answered, or it is not there: 404."""
    over, seen = threading.Event(), []
    body = {"name": "demo", "arms": ARMS, "max_outliers": 1}
    with client_of(postgres_database) as http:

        def use(path):
            while not over.is_set():
                answer = (
                    http.post("/studies/demo/ask", json={"limit": 3})
                    if path == "/ask"
                    else http.get(f"/studies/demo{path}")
                )
                seen.append((path, answer.status_code, answer.text))

        paths = ("/ask", "", "/result", "/view", "/export")
        threads = [threading.Thread(target=use, args=(path,)) for path in paths]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 60
        for _ in range(12):
            assert http.post("/studies", json=body).status_code == 201
            known = len(seen)
            while len(seen) < known + 10 and time.monotonic() < end:
                time.sleep(0.001)
            assert http.delete("/studies/demo").status_code == 204
        over.set()
        for thread in threads:
            thread.join()
    assert {status for _, status, _ in seen} == {200, 404}
    assert all("deleted" in text for _, status, text in seen if status == 404)


def test_a_study_deleted_elsewhere(study):
    """A study that another process deletes is a 404 for everything that was asked of it."""
    with client_of(study) as http:
        assert http.get("/studies/demo").status_code == 200
        with open_study(study, "demo") as other:
            other.delete()
        for path in PATHS:
            answer = http.get(f"/studies/demo{path}")
            assert answer.status_code == 404
            assert "was deleted" in answer.json()["error"]
