"""Studies in a SQLite file: embedded, in WAL mode, so that readers never block the writer."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from oddarm.errors import StoreBusyError, StoreDamagedError, StoreError, StoreFullError
from oddarm.store.database.base import Connection, Database, closed_on_error

__all__ = ["SQLiteDatabase"]

WAIT_SECONDS = 5.0
"""How long a transaction waits for other processes."""

DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
SHORT_READ = sqlite3.SQLITE_IOERR | (2 << 8)  # the file ends before the page does
UNREADABLE = "Could not decode to UTF-8"  # Python's words for damaged text, without a code
LOG_BEGINS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""The first bytes of SQLite's log, once there is something in it."""

FILES = {
    "": "was removed or replaced while in use",
    "-wal": "has a log (-wal) that was removed or replaced while in use",
    "-shm": "has an index (-shm) that was removed or replaced while in use",
}
"""How the names of the files end, and what is said of one that is not the one that was opened."""


class SQLiteDatabase(Database):
    """A SQLite file with `synchronous=FULL`: what was committed survives a loss of power.

    SQLite writes on to files that were removed, and what it writes there is lost. So the file, its
    log (-wal) and their index (-shm) have to be those that were opened, before each transaction and
    before a write is acknowledged. They stay the same while one connection is open, the anchor.

    Args:
        path: The file.
        create: Whether to make it if it is not there; it is for its owner alone.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        super().__init__()
        self.path = path.absolute()
        self.url = f"sqlite:///{self.path}"
        self._writing = threading.Lock()
        if create:
            self._create()
        elif not self.path.exists():
            raise StoreError(
                f"{path} is not there: create a study in it first, or check the storage."
            )
        self._check_content(create)
        self._anchor: sqlite3.Connection | None = None
        self._anchoring = threading.Lock()
        self._hold()
        with closed_on_error(self):
            self._idle.append(self.connect())

    def connect(self) -> sqlite3.Connection:
        """Return a new connection; a file that has gone is not made again."""
        with self.errors():
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=rw",
                uri=True,
                timeout=WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            with closed_on_error(connection):
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
        return connection

    def begin(self, connection: Connection, write: bool) -> None:
        """Begin; a writer takes its turn at once, so that what it reads stays true."""
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    @contextmanager
    def turn(self, write: bool) -> Iterator[None]:
        """Let the threads of this process write one after the other, without polling the file."""
        self._hold()
        self._check_files()
        if not write:
            yield
            return
        if not self._writing.acquire(timeout=WAIT_SECONDS):  # else waits would add up
            raise self._busy()
        try:
            yield
        finally:
            self._writing.release()

    def acknowledge(self) -> None:
        """Check that what was committed is in the files that are there."""
        self._check_files()
        self._log.seek(0)
        begins = self._log.read(4)
        if begins and begins not in LOG_BEGINS:
            raise self.error(
                StoreDamagedError,
                "has lost the content of its log (-wal) while in use",
                "stop what uses it, and restore it from a backup if rewards are missing",
            )

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise self._busy() from error
            if code & 0xFF == sqlite3.SQLITE_FULL:
                raise self.error(
                    StoreFullError, "cannot grow, the disk is full", "free some space and try again"
                ) from error
            unreadable = str(error).startswith(UNREADABLE)
            if unreadable or code & 0xFF in DAMAGED or code == SHORT_READ:
                raise self.error(
                    StoreDamagedError,
                    "is damaged, or not a database of SQLite",
                    "stop what uses it and restore it from a backup",
                    "text that cannot be read" if unreadable else error,
                ) from error
            raise self.error(
                StoreError, "cannot be used", "check the file and its folder", error
            ) from error

    def lock_schema(self, connection: Connection) -> None:
        """Do nothing: a write transaction keeps all others out."""

    def close(self) -> None:
        """Close every connection that is not in use."""
        with self._anchoring:
            if self._anchor is not None:
                self._log.close()
                self._anchor.close()
                self._anchor = None
        super().close()

    def _create(self) -> None:
        """Make the file if it is not there; SQLite gives its other files the same permissions."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise self.error(
                StoreError, "cannot be used", "check the file and its folder", error.strerror
            ) from error

    def _check_content(self, create: bool) -> None:
        """Refuse to take a file that lost its content for a new one.

        SQLite would remove the log of an empty file.
        """
        sizes = [None if found is None else found.st_size for found in self._found()]
        left = bool(sizes[1])
        if sizes[0] == 0 and (left or not create):
            raise self.error(
                StoreDamagedError,
                "is empty" + (", but has a log (-wal) beside it" if left else ""),
                "restore it from a backup, or remove it to begin anew",
            )

    def _hold(self) -> None:
        """Open the anchor, unless it is open."""
        if self._anchor is not None:
            return
        with self._anchoring:
            if self._anchor is not None:
                return
            anchor = self.connect()
            with closed_on_error(anchor), self.errors():
                anchor.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()  # opens the log
                try:
                    self._log: BinaryIO = Path(f"{self.path}-wal").open("rb", buffering=0)  # noqa: SIM115
                except OSError as error:
                    raise self.error(
                        StoreError,
                        "has no log (-wal)",
                        "keep it on a disk of this machine, where SQLite can share memory",
                        error.strerror,
                    ) from error
                self._opened = [_identity(found) for found in self._found()]
            self._anchor = anchor

    def _check_files(self) -> None:
        """Raise StoreError unless the files are those that were opened."""
        files = self._found()
        for found, opened, rule in zip(files, self._opened, FILES.values(), strict=True):
            if _identity(found) != opened:
                raise self.error(
                    StoreError, rule, "put it back, or stop what uses it and start again"
                )
        if files[0] is not None and files[0].st_size == 0:
            raise self.error(
                StoreDamagedError,
                "lost its content while in use",
                "stop what uses it and restore it from a backup",
            )

    def _found(self) -> list[os.stat_result | None]:
        """Return what the system knows of each file; None of one that is not there."""
        found: list[os.stat_result | None] = []
        for end in FILES:
            try:
                found.append(os.stat(f"{self.path}{end}"))  # noqa: PTH116 - thrice as fast
            except OSError:
                found.append(None)
        return found

    def _busy(self) -> StoreError:
        return self.error(
            StoreBusyError,
            f"has been locked by another process for {WAIT_SECONDS:g} s",
            "try again",
        )


def _identity(found: os.stat_result | None) -> tuple[int, int] | None:
    return None if found is None else (found.st_dev, found.st_ino)
