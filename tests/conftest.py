"""Shared fixtures: where the real data lies, if it is there, and a PostgreSQL server."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from support.postgres_server import PostgresMissingError, postgres_server

pytest_plugins = "pytester"  # tests/integrations runs pytest in pytest

# A shell starts background jobs with Ctrl-C ignored, and programs that tests start inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout; tests skip without it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder ../shared/data with real data beside this checkout")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Generator[str]:
    """The URL of a real PostgreSQL server, started for these tests; they skip without one."""
    server = postgres_server()
    try:
        url = next(server)
    except PostgresMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield url
    server.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts a server, a browser or a cluster: `make quick` leaves it out."""
    for item in items:
        if "/service/" in str(item.path) or "postgres" in item.nodeid or "dask" in item.nodeid:
            item.add_marker(pytest.mark.server)
