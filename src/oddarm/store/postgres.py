"""Studies in PostgreSQL, through psycopg 3 (extra `postgres`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from oddarm.errors import MissingExtraError, StoreBusyError, StoreError, StoreFullError
from oddarm.store.database import Connection, Database

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresDatabase"]

WAIT_SECONDS = 5
"""How long a transaction waits for others, and how long to try to connect."""

LOST: dict[str, Any] = {
    "connect_timeout": WAIT_SECONDS,
    "keepalives_idle": WAIT_SECONDS,
    "keepalives_interval": WAIT_SECONDS,
    "keepalives_count": 2,
    "tcp_user_timeout": 3 * WAIT_SECONDS * 1000,
}
"""So that a server that went away without a word is noticed; a URL may say otherwise."""

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
        """Let go of the database."""
        self._connection.close()


class PostgresDatabase(Database):
    """A PostgreSQL database. A study's row is locked while the study is written.

    Args:
        url: `postgresql://user:password@host/database`, as libpq takes it.
    """

    row_lock: ClassVar[str] = " FOR UPDATE"

    def __init__(self, url: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres", "a study in PostgreSQL") from None
        self._dsn = url
        self.url = _without_password(url)
        self.broken: tuple[type[Exception], ...] = (psycopg.OperationalError,)  # type: ignore[misc]

    def connect(self) -> _PostgresConnection:
        """Return a new connection."""
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        given = conninfo_to_dict(self._dsn)
        options = f"-c lock_timeout={WAIT_SECONDS}s -c synchronous_commit=on"
        wanted: dict[str, Any] = {
            **LOST,
            **given,
            "options": f"{given.get('options', '')} {options}",
        }
        return _PostgresConnection(psycopg.connect(**wanted, autocommit=True))

    def begin(self, connection: Connection, write: bool) -> None:
        """Begin; whoever writes a study then locks its row."""
        del write
        connection.execute("BEGIN")

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
            raise StoreBusyError(
                f"{self.url} has been locked by others for {WAIT_SECONDS} s: try again."
            ) from error
        except psycopg.errors.DiskFull as error:
            raise StoreFullError(
                f"{self.url} has no room left: free some space there and try again."
            ) from error
        except psycopg.Error as error:
            words = " ".join(str(error).split()) or type(error).__name__
            raise StoreError(
                f"{self.url} cannot be used ({words}): check that the server runs and the URL."
            ) from error

    def lock_schema(self, connection: Connection) -> None:
        """Let one process at a time change tables."""
        connection.execute("SELECT pg_advisory_xact_lock(?)", (SCHEMA_LOCK,))


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query=""))
