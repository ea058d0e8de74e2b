"""The service, in this process."""

from __future__ import annotations

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
