"""A short form of `python -m verification faults`."""

import secrets

import pytest
from verification import faults


def test_killed(tmp_path):
    """Killed at random moments under load, the server loses and repeats nothing."""
    problems, _ = faults.killed(f"sqlite:///{tmp_path / 's.db'}", kills=3)
    assert problems == []


@pytest.fixture
def postgres_database(postgres):
    """The URL of an empty PostgreSQL database."""
    import psycopg

    name = f"service_{secrets.token_hex(8)}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield postgres.rsplit("/", 1)[0] + f"/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_cut_off(postgres_database):
    """With its connections to PostgreSQL cut under load, the server loses and repeats nothing."""
    problems, _ = faults.cut_off(postgres_database, cuts=5)
    assert problems == []
