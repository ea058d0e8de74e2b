"""Studies in a SQLite file: embedded, in WAL mode, so that readers never block the writer."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oddarm.errors import StoreBusyError, StoreError, StoreFullError
from oddarm.store.database import Connection, Database

__all__ = ["SQLiteDatabase"]

WAIT_SECONDS = 5.0
"""How long a transaction waits for other processes."""


class SQLiteDatabase(Database):
    """A SQLite file with `synchronous=FULL`: what was committed survives a loss of power.

    Args:
        path: The file.
        create: Whether to make it if it is not there.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        super().__init__()
        self.path = path.absolute()
        self.url = f"sqlite:///{self.path}"
        self._writing = threading.Lock()
        if not create and not path.exists():
            raise StoreError(
                f"{path} is not there: create a study in it first, or check the storage."
            )
        with self.errors():
            self._idle.append(self.connect(create=create))
        self._file = self._identity()

    def connect(self, *, create: bool = False) -> sqlite3.Connection:
        """Return a new connection; a file that has gone is not made again."""
        mode = "rwc" if create else "rw"
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def begin(self, connection: Connection, write: bool) -> None:
        """Begin; a writer takes its turn at once, so that what it reads stays true."""
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    @contextmanager
    def turn(self, write: bool) -> Iterator[None]:
        """Let the threads of this process write one after the other, without polling the file.

        What is written to a file that was removed would be lost without a word.
        """
        if self._identity() != self._file:
            raise StoreError(
                f"{self.path} was removed or replaced while in use: "
                "put the file back, or start again."
            )
        if not write:
            yield
            return
        if not self._writing.acquire(timeout=WAIT_SECONDS):  # else waits would add up
            raise self._busy()
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise self._busy() from error
            if code == sqlite3.SQLITE_FULL:
                raise StoreFullError(
                    f"{self.path} cannot grow, the disk is full: free some space and try again."
                ) from error
            raise StoreError(
                f"{self.path} cannot be used ({error}): check the file and its folder."
            ) from error

    def lock_schema(self, connection: Connection) -> None:
        """Do nothing: a write transaction keeps all others out."""

    def _busy(self) -> StoreBusyError:
        return StoreBusyError(
            f"{self.path} has been locked by another process for {WAIT_SECONDS:g} s: try again."
        )

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
