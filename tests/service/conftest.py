"""The service in this process, and a database of its own in PostgreSQL."""

from __future__ import annotations

import secrets

import pytest
from fastapi.testclient import TestClient

from oddarm.service import create_app


@pytest.fixture
def storage(tmp_path):
    """The path of a database that is not there yet."""
    return tmp_path / "studies.db"


@pytest.fixture
def http(storage):
    """A client of a service without a token."""
    with TestClient(
        create_app(storage), base_url="http://127.0.0.1:8321", raise_server_exceptions=False
    ) as client:
        yield client


@pytest.fixture
def postgres_database(postgres):
    """The URL of an empty PostgreSQL database."""
    import psycopg

    name = f"service_{secrets.token_hex(8)}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield postgres.rsplit("/", 1)[0] + f"/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")
