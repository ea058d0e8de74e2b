"""Studies in PostgreSQL, through psycopg 3 (extra `postgres`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from oddarm._extras import POSTGRES, require
from oddarm._postgres_url import PostgresURL
from oddarm.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
)
from oddarm.store.database.base import Connection, Database

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresDatabase"]

WAIT_SECONDS = 5
"""How long a transaction waits for others, and how long to try to connect."""
STATEMENT_SECONDS = 10
"""How long the server works on one statement."""
SILENT_SECONDS = 15
"""How long to wait for a server that sends nothing; it may not be able to keep its own limits."""
IDLE_SECONDS = 60
"""How long the server lets a transaction wait for its client, who keeps others from the study."""

LOST: dict[str, Any] = {
    "connect_timeout": WAIT_SECONDS,
    "keepalives_idle": WAIT_SECONDS,
    "keepalives_interval": WAIT_SECONDS,
    "keepalives_count": 2,
    "tcp_user_timeout": 3 * WAIT_SECONDS * 1000,
}
"""So that a server that went away without a word is noticed; a URL may say otherwise."""
CUT_OFF = (
    f"-c tcp_keepalives_idle={WAIT_SECONDS} -c tcp_keepalives_interval={WAIT_SECONDS} "
    f"-c tcp_keepalives_count=2 -c tcp_user_timeout={3 * WAIT_SECONDS}s"
)
"""So that the server, too, notices a client that is gone, and frees the study it had locked."""

SCHEMA_LOCK = 0x6F646461726D  # "oddarm"


class _PostgresConnection:
    """A psycopg connection that takes `?` for parameters."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._cursor = connection.cursor()

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """Run a statement."""
        return self._cursor.execute(sql.replace("?", "%s").encode(), parameters or None)

    def executemany(self, sql: str, parameters: Sequence[Sequence[Any]], /) -> None:
        """Run a statement for each row of parameters, in one round trip."""
        self._cursor.executemany(sql.replace("?", "%s").encode(), parameters)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class PostgresDatabase(Database):
    """A PostgreSQL database. A study's row is locked while the study is written.

    Args:
        url: `postgresql://user:password@host/database`, as libpq takes it.

    A study is read in one snapshot: what others delete meanwhile is there to its end.
    """

    row_lock: ClassVar[str] = " FOR UPDATE"

    def __init__(self, url: PostgresURL) -> None:
        super().__init__()
        require(POSTGRES)
        import psycopg

        from oddarm.store.database.postgres_connection import SilentServerError

        self._address = url
        self.url = url.shown
        self.broken: tuple[type[Exception], ...] = (psycopg.OperationalError,)  # type: ignore[misc]
        self.silent: tuple[type[Exception], ...] = (SilentServerError,)  # type: ignore[misc]

    def connect(self) -> _PostgresConnection:
        """Return a new connection."""
        from psycopg.conninfo import conninfo_to_dict

        from oddarm.store.database.postgres_connection import LimitedConnection

        given = conninfo_to_dict(self._address.text)
        options = (
            f"{CUT_OFF} -c statement_timeout={STATEMENT_SECONDS}s "
            f"-c idle_in_transaction_session_timeout={IDLE_SECONDS}s {given.get('options', '')} "
            f"-c lock_timeout={WAIT_SECONDS}s -c synchronous_commit=on"
        )
        wanted: dict[str, Any] = {**LOST, **given, "options": options}
        connection = LimitedConnection.connect(**wanted, autocommit=True)
        connection.patience = SILENT_SECONDS
        return _PostgresConnection(connection)

    def begin(self, connection: Connection, write: bool) -> None:
        """Begin; a writer then locks the row of its study, a reader sees all as it is now."""
        connection.execute("BEGIN" if write else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    @contextmanager
    def turn(self, write: bool) -> Iterator[None]:
        """Go ahead: PostgreSQL sees to it that writers of one study take turns."""
        del write
        yield

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn psycopg's errors into ours."""
        import psycopg

        try:
            yield
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
            rule = f"has been locked by others for {WAIT_SECONDS} s"
            raise self.error(StoreBusyError, rule, "try again") from error
        except psycopg.errors.QueryCanceled as error:
            rule = f"has worked on one statement for {STATEMENT_SECONDS} s"
            raise self.error(StoreBusyError, rule, "try again") from error
        except self.silent as error:
            rule = f"has not answered for {SILENT_SECONDS} s"
            remedy = "check that the server runs, and try again"
            raise self.error(StoreBusyError, rule, remedy) from error
        except psycopg.errors.DiskFull as error:
            remedy = "free some space there and try again"
            raise self.error(StoreFullError, "has no room left", remedy) from error
        except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
            remedy = "restore it from a backup"
            raise self.error(StoreDamagedError, "is damaged", remedy, error) from error
        except psycopg.Error as error:
            reason = self._address.reason(error)
            remedy = "check that the server runs and the address"
            # The driver's own message, which a traceback would show, may hold the password.
            cause = None if self._address.holds_secret(str(error)) else error
            raise self.error(StoreError, "cannot be used", remedy, reason) from cause

    def lock_schema(self, connection: Connection) -> None:
        """Let one process at a time change tables."""
        connection.execute("SELECT pg_advisory_xact_lock(?)", (SCHEMA_LOCK,))
