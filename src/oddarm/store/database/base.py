"""What a study needs of a database: transactions, one writer at a time, errors in our own words.

Statements are written once, with `?` for parameters, in SQL that SQLite and PostgreSQL both speak.
That is little enough to go without a layer such as SQLAlchemy: the embedded default needs nothing
beyond Python, and a statement costs microseconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from oddarm._postgres_url import PostgresURL, is_postgres
from oddarm.errors import (
    OddarmError,
    ParameterError,
    StateError,
    StoreDamagedError,
    StoreError,
    UnknownStudyError,
)

__all__ = ["Connection", "Database", "Rows", "closed_on_error", "open_database", "reading"]


class Rows(Protocol):
    """What a statement returned."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""


class Connection(Protocol):
    """One connection, which runs statements with `?` for parameters."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Run a statement."""

    def executemany(self, sql: str, parameters: Sequence[Sequence[Any]], /) -> object:
        """Run a statement for each row of parameters."""

    def close(self) -> None:
        """Close the connection."""


class Database(ABC):
    """A database of studies: a few connections, handed out one transaction at a time.

    Attributes:
        url: Where it is, without a password.
    """

    url: str
    row_lock: ClassVar[str] = ""
    """What a SELECT ends with that holds a row until the transaction ends."""

    def __init__(self) -> None:
        self._idle: deque[Connection] = deque()

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[Connection]:
        """Give a connection in a transaction, committed at the end and rolled back on an error.

        Errors of the database come out as StoreError. A COMMIT that fails, or whose answer never
        comes, may have happened or not: read before you write again.

        Args:
            write: Whether the transaction will write. With SQLite it then waits for its turn.
        """
        with self.turn(write), self.errors():
            connection = self._begin(write)
            try:
                yield connection
                connection.execute("COMMIT")
                if write:
                    self.acknowledge()
            except BaseException:
                self._abandon(connection)
                raise
            self._idle.append(connection)

    def _begin(self, write: bool) -> Connection:
        """Return a connection with a transaction begun; a connection cut while idle is replaced."""
        while self._idle:
            connection = self._idle.pop()
            try:
                self.begin(connection, write)
            except self.silent:
                connection.close()
                self.close()  # the others would be waited for as long
            except self.broken:
                connection.close()
            else:
                return connection
        connection = self.connect()
        with closed_on_error(connection):
            self.begin(connection, write)
        return connection

    def _abandon(self, connection: Connection) -> None:
        """Roll back, and keep the connection only if that worked."""
        try:
            connection.execute("ROLLBACK")
        except Exception:  # whatever went wrong with it, closing it rolls back
            connection.close()
        else:
            self._idle.append(connection)

    broken: ClassVar[tuple[type[Exception], ...]] = ()
    """The errors by which a connection shows that it was cut."""
    silent: ClassVar[tuple[type[Exception], ...]] = ()
    """The errors by which a connection shows that the database has stopped answering."""

    def error(
        self, kind: type[StoreError], rule: str, remedy: str, reason: object = ""
    ) -> StoreError:
        """Return an error that says where the database is, and why; in public, neither."""
        because = f" ({reason})" if reason else ""
        return kind(f"{self.url} {rule}{because}: {remedy}.", f"the database {rule}: {remedy}.")

    def acknowledge(self) -> None:  # noqa: B027 - most databases know for themselves
        """Raise StoreError if what was committed would be lost, before anybody is told of it."""

    @abstractmethod
    def connect(self) -> Connection:
        """Return a new connection."""

    @abstractmethod
    def begin(self, connection: Connection, write: bool) -> None:
        """Begin a transaction."""

    @abstractmethod
    @contextmanager
    def turn(self, write: bool) -> Iterator[None]:
        """Wait until the transaction may begin."""

    @abstractmethod
    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the errors of the driver into StoreError."""

    @abstractmethod
    def lock_schema(self, connection: Connection) -> None:
        """Keep others from changing tables until the transaction ends."""

    def close(self) -> None:
        """Close every connection that is not in use."""
        while self._idle:
            self._idle.pop().close()


@contextmanager
def closed_on_error(opened: Connection | Database) -> Iterator[None]:
    """Close what was opened if the block fails."""
    try:
        yield
    except BaseException:
        opened.close()
        raise


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever goes wrong while `what` is read into StoreDamagedError, which names it."""
    try:
        yield
    except (StateError, StoreError, UnknownStudyError):
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        rule, remedy = f"{what} is damaged in the database", "restore it from a backup"
        reason = str(error) if isinstance(error, OddarmError) else repr(error)
        raise StoreDamagedError(f"{rule} ({reason}): {remedy}.", f"{rule}: {remedy}.") from error


def open_database(url: str | Path, *, create: bool = False) -> Database:
    """Return the database at a URL, its tables brought up to date.

    Args:
        url: `sqlite:///path`, a bare path, or `postgresql://…`.
        create: Whether a SQLite file that is not there is made.
    """
    from oddarm.store.database.schema import migrate
    from oddarm.store.database.sqlite import SQLiteDatabase

    text = str(url)
    scheme, separator, rest = text.partition("://")
    database: Database
    if is_postgres(text):
        from oddarm.store.database.postgres import PostgresDatabase

        database = PostgresDatabase(PostgresURL.parse(text))
    elif separator and scheme != "sqlite":
        raise ParameterError(
            f"storage {scheme}://…, must be sqlite:///path, a path, or postgresql://…."
        )
    else:
        path = rest.removeprefix("/") if separator else text
        if not path:
            raise ParameterError(f"storage {text!r} names no file: pass sqlite:///path or a path.")
        database = SQLiteDatabase(Path(path), create=create)
    with closed_on_error(database):
        migrate(database)
    return database
