"""The tables, and the steps that bring an older database up to date.

    oddarm_studies     one row a study: how far its log goes, and what a list of studies shows
    oddarm_events      the log, append-only: every ask, batch of tells and so on, in order
    oddarm_snapshots   the search and the pulls that are out, at some point of the log
    oddarm_leases      the pulls that were out when a study was last written before version 4
    oddarm_keys        the keys of rewards told without a pull, each with a digest of what was told
    oddarm_arms        what has been seen of each arm, for readers with SQL of their own
    oddarm_history     how sure the search was at some numbers of pulls, for who looks at it

The state of a study is its snapshot and the events after it; the other tables follow from the log.
"""

from __future__ import annotations

from oddarm._version import __version__
from oddarm.errors import StoreError
from oddarm.store.database.base import Database

__all__ = ["MIGRATIONS", "migrate"]

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE oddarm_studies (
            id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, created DOUBLE PRECISION NOT NULL,
            strategy TEXT NOT NULL, arms BIGINT NOT NULL, paused BIGINT NOT NULL,
            revision BIGINT NOT NULL, pulls BIGINT NOT NULL, verdict TEXT NOT NULL)""",
        """CREATE TABLE oddarm_events (
            study BIGINT NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            kind TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (study, seq))""",
        """CREATE TABLE oddarm_snapshots (
            study BIGINT PRIMARY KEY, revision BIGINT NOT NULL, state TEXT NOT NULL)""",
        """CREATE TABLE oddarm_leases (
            study BIGINT NOT NULL, seq BIGINT NOT NULL, part BIGINT NOT NULL,
            expires DOUBLE PRECISION, waiting TEXT NOT NULL, lost TEXT NOT NULL,
            PRIMARY KEY (study, seq, part))""",
        """CREATE TABLE oddarm_keys (
            study BIGINT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (study, key))""",
        """CREATE TABLE oddarm_arms (
            study BIGINT NOT NULL, arm BIGINT NOT NULL, name TEXT NOT NULL,
            pulls BIGINT NOT NULL, total DOUBLE PRECISION NOT NULL, PRIMARY KEY (study, arm))""",
    ),
    ("CREATE INDEX oddarm_leases_expires ON oddarm_leases (study, expires)",),
    (),  # the log lists pulls in short, which older versions cannot read
    # Snapshots hold the pulls that are out, and rewards count in the order asked for.
    ("ALTER TABLE oddarm_studies ADD COLUMN waiting BIGINT NOT NULL DEFAULT 0",),
    (
        "ALTER TABLE oddarm_keys ADD COLUMN digest TEXT",  # NULL: told to an older version
        """CREATE TABLE oddarm_history (
            study BIGINT NOT NULL, pulls BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            evidence DOUBLE PRECISION NOT NULL, forecast BIGINT, PRIMARY KEY (study, pulls))""",
    ),
)
"""Step k brings a database of version k-1 to version k; steps are added, never changed."""


def migrate(database: Database) -> None:
    """Bring the tables to the current version, in one transaction; others wait or see it done."""
    wanted = len(MIGRATIONS)
    if _version(database) == wanted:
        return
    with database.transaction(write=True) as connection:
        database.lock_schema(connection)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS oddarm_schema_version (version BIGINT NOT NULL)"
        )
        row = connection.execute("SELECT version FROM oddarm_schema_version").fetchone()
        version = 0 if row is None else int(row[0])
        if version > wanted:
            raise StoreError(
                f"{database.url} has tables of version {version}, this is oddarm {__version__}, "
                f"which knows up to {wanted}: install a newer oddarm."
            )
        for step in MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        if row is None:
            connection.execute("INSERT INTO oddarm_schema_version VALUES (?)", (wanted,))
        else:
            connection.execute("UPDATE oddarm_schema_version SET version = ?", (wanted,))


def _version(database: Database) -> int | None:
    """Return the version without waiting for writers; None if it cannot be read."""
    try:
        with database.transaction() as connection:
            row = connection.execute("SELECT version FROM oddarm_schema_version").fetchone()
    except StoreError:
        return None
    return None if row is None else int(row[0])
