"""Every test of the store runs on each database."""

from __future__ import annotations

import secrets

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request, tmp_path):
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'studies.db'}"
    return request.getfixturevalue("postgres_database")


class Clock:
    """Time that passes when told."""

    def __init__(self):
        self.now = 1_000_000.0
        self.set_back = 0.0

    def wall(self):
        """Return the time of the calendar, which may have been set back."""
        return self.now - self.set_back

    def steady(self):
        """Return the time that only grows."""
        return self.now


@pytest.fixture
def clock():
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def postgres_database(postgres):
    """The URL of an empty PostgreSQL database."""
    import psycopg

    name = f"studies_{secrets.token_hex(8)}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield postgres.rsplit("/", 1)[0] + f"/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")
