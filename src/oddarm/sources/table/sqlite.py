"""SQLite files, read by the standard library and copied to DuckDB in blocks.

A query of the caller runs in SQLite, in a read-only connection whose authorizer allows nothing but
reading the tables of this file. All other SQL of the caller then runs in DuckDB, as for every file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any, TypeVar

from oddarm._extras import SQLITE, require
from oddarm.errors import SourceError
from oddarm.sources.table.duckdb import Connection, DuckRows, chosen_table
from oddarm.sources.table.files import DataFile
from oddarm.sources.table.rows import Pick, identifier, refuse_query, sentence

__all__ = ["open_sqlite"]

BLOCK = 50_000
"""Rows that are copied at a time."""
_STEPS = 100_000
"""Steps of SQLite between two looks for Ctrl-C."""
_READS = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)
_TYPES = {"BIGINT": "int64", "DOUBLE": "float64", "VARCHAR": "string"}
"""The types of columns in DuckDB, and in Arrow."""

R = TypeVar("R", bound=DuckRows)


def open_sqlite(file: DataFile, pick: Pick, kind: Callable[..., R]) -> R:
    """Return the rows of a table or query of a SQLite file, which is only read."""
    connection = Connection(file.name, file.path.stat().st_size)
    try:
        name = _copied(file, pick, connection)
    except BaseException:
        connection.close()
        raise
    return kind(name, pick, connection, "temp.data")


def _copied(file: DataFile, pick: Pick, connection: Connection) -> str:
    """Copy the rows to the temporary table `data`; return what they are called."""
    with closing(_opened(file)) as database, _explained(file, pick.query):
        database.execute("BEGIN")  # all of it is read as it is now
        # A SQLite table has no rule that its columns must keep; a view is a table, too.
        tables = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name"
        )
        names = [row[0] for row in tables]
        database.set_authorizer(_only_reads)
        if pick.query is not None:
            data, name = f"({_checked(database, pick.query)}\n)", f"the query on {file.name}"
        else:
            table = chosen_table(file.name, names, pick.table).removeprefix("main.")
            data, name = identifier(table), f"table {table!r} of {file.name}"
        _copy(database, data, connection)
    return name


def _opened(file: DataFile) -> sqlite3.Connection:
    """Return a connection that can only read."""
    address = f"{file.path.absolute().as_uri()}?mode=ro"
    with _explained(file):
        database = sqlite3.connect(address, uri=True, isolation_level=None)
        database.set_progress_handler(lambda: 0, _STEPS)  # Python sees Ctrl-C there
        return database


def _only_reads(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Allow a statement to read tables, and to call functions that do not load code."""
    loads = action == sqlite3.SQLITE_FUNCTION and "load_extension" in (first, second)
    return sqlite3.SQLITE_OK if action in _READS and not loads else sqlite3.SQLITE_DENY


@contextmanager
def _explained(file: DataFile, query: str | None = None) -> Iterator[None]:
    """Turn an error of SQLite into a sentence."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        what = "the file" if query is None else "the file and the query"
        raise SourceError(
            f"{file.name} cannot be read ({sentence(error)}): check {what}, and close the file "
            "where it is open for writing."
        ) from None


def _checked(database: sqlite3.Connection, query: str) -> str:
    """Return a query without its semicolon; refuse one that is not one SELECT."""
    query = query.strip().rstrip(";")
    try:
        database.execute(f"EXPLAIN {query}\n")
        database.execute(f"SELECT 1 FROM ({query}\n) LIMIT 0")
    except (sqlite3.Error, sqlite3.Warning) as error:
        refuse_query(query, error)
    return query


def _copy(database: sqlite3.Connection, data: str, connection: Connection) -> None:
    """Copy rows in blocks, each column with a type that holds all of its values."""
    require(SQLITE)
    arrow: Any = import_module("pyarrow")
    described = database.execute(f"SELECT * FROM {data} LIMIT 0").description
    columns = [column[0] for column in described]
    rows, types = _types(database, data, columns)
    schema = arrow.schema(
        [
            (name, getattr(arrow, _TYPES[type_])())
            for name, type_ in zip(columns, types, strict=True)
        ]
    )
    declared = ", ".join(
        f"{identifier(name)} {type_}" for name, type_ in zip(columns, types, strict=True)
    )
    connection.fetch(f"CREATE TEMP TABLE data ({declared})")
    selected = ", ".join(map(_value, columns, types))
    cursor = database.execute(f"SELECT {selected} FROM {data}")
    copied = 0
    while block := cursor.fetchmany(BLOCK):
        arrays = [arrow.array(values, type_) for values, type_ in zip(zip(*block), schema.types)]  # noqa: B905
        connection.connection.register("block", arrow.table(arrays, schema=schema))
        connection.fetch("INSERT INTO temp.data FROM block")
        connection.connection.unregister("block")
        copied += len(block)
        connection.report(copied / rows if rows else None)


def _types(
    database: sqlite3.Connection, data: str, columns: Sequence[str]
) -> tuple[int, list[str]]:
    """Return how many rows there are, and the type of each column by the values that it has."""
    if len(set(map(str.lower, columns))) < len(columns):
        raise SourceError(
            "the SQLite data has two columns of the same name: name each differently in a query."
        )
    asked = ["count(*)"]
    for column in map(identifier, columns):
        kind = f"typeof({column})"
        asked += [f"max({kind} IN ('text', 'blob'))", f"max({kind} = 'real')"]
    rows, *found = database.execute(f"SELECT {', '.join(asked)} FROM {data}").fetchone()
    pairs = zip(found[::2], found[1::2], strict=True)
    return rows, ["VARCHAR" if text else "DOUBLE" if real else "BIGINT" for text, real in pairs]


def _value(column: str, type_: str) -> str:
    """Return a column as SQL of SQLite, in its type; bytes as hexadecimal digits."""
    name = identifier(column)
    if type_ == "DOUBLE":
        return f"CAST({name} AS REAL)"
    if type_ == "VARCHAR":
        return f"CASE typeof({name}) WHEN 'blob' THEN hex({name}) ELSE CAST({name} AS TEXT) END"
    return name
