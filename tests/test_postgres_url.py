"""Addresses of PostgreSQL databases: what is shown of them, and what is refused."""

import pytest

from oddarm._postgres_url import PostgresURL, without_password
from oddarm.errors import ParameterError

GOOD = [
    ("postgresql://", "postgresql://"),
    ("postgresql://host", "postgresql://host"),
    ("postgres://me@host/db", "postgres://me@host/db"),
    ("postgresql://me:hush@host:5432/db", "postgresql://me@host:5432/db"),
    ("postgresql://me:@host/db", "postgresql://me@host/db"),
    ("postgresql://me:hu:sh@host/db", "postgresql://me@host/db"),
    ("postgresql://me:hu[sh@host/db", "postgresql://me@host/db"),
    ("postgresql://me:hu#sh?x@host/db", "postgresql://me@host/db"),
    ("postgresql://me:hush%40%2f@[::1]:5432/db", "postgresql://me@[::1]:5432/db"),
    ("postgresql://me:hush@one:1,two:2/db", "postgresql://me@one:1,two:2/db"),
    ("postgresql:///db?host=/run&password=hush", "postgresql:///db"),
    ("postgresql://%2Frun/db?user=me&sslpassword=hush", "postgresql://%2Frun/db"),
]
BAD = [
    "postgresql://me:hu@sh@host/db",
    "postgresql://me:hu/sh@host/db",
    "postgresql://me:hu%sh@host/db",
    "postgresql://me:hush",
    "postgresql:/me:hush@host/db",
    "postgresql:me:hush@host/db",
    "PostgreSQL://me:hush@host/db",
    "postgresql://host/db?password=hu@sh",
    "postgresql://[hush/db",
]


@pytest.mark.parametrize(("text", "shown"), GOOD)
def test_good_addresses(text, shown):
    """What is shown has user, hosts and database, and neither password nor options."""
    address = PostgresURL.parse(text)
    assert (address.text, address.shown) == (text, shown)
    assert without_password(text) == shown
    assert "hu" not in repr(address)


@pytest.mark.parametrize("text", BAD)
def test_bad_addresses(text):
    """An address that could be read in two ways is refused, and nothing of it is told."""
    with pytest.raises(ParameterError, match="as %40 for @") as caught:
        PostgresURL.parse(text)
    assert "hu" not in str(caught.value)
    assert without_password(text) == "postgresql://…"


@pytest.mark.parametrize(("text", "_"), GOOD)
def test_the_driver_reads_the_same(text, _):
    """Psycopg finds the password, and the user, where they are left out of what is shown."""
    conninfo = pytest.importorskip("psycopg").conninfo
    found = conninfo.conninfo_to_dict(text)
    address = PostgresURL.parse(text)
    for secret in (found.get("password"), found.get("sslpassword")):
        assert not secret or address.holds_secret(f"… {secret} …")
    assert found.get("user") in (None, "me")


def test_what_the_driver_says():
    """A message of the driver is passed on in one line, unless it holds the password."""
    address = PostgresURL.parse("postgresql://me:hu%40sh@host/db?sslpassword=key")
    assert address.reason(OSError("no route\n to host ")) == "no route to host"
    for secret in ("hu%40sh", "hu@sh", "key"):
        assert address.reason(OSError(f"what is {secret}?")) == "OSError"
    assert address.reason(OSError()) == "OSError"


def test_other_storages():
    """Files are shown as they are, and other addresses without what may be a password."""
    assert without_password("studies.db") == "studies.db"
    assert without_password("sqlite:///a@b/studies.db") == "sqlite://…"
    assert without_password("sqlite:///studies.db") == "sqlite:///studies.db"
    assert without_password("mysql://me:hush@host/db") == "mysql://…"
