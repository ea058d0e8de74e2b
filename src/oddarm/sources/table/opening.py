"""Opening a table of any kind: a file, a frame, a DuckDB file or a PostgreSQL database."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from typing import Any, Literal, NoReturn, TypeVar

from oddarm._checks import whole_number
from oddarm._extras import DATA_FRAME, POSTGRES, TABLE, Need, require
from oddarm._postgres_url import is_postgres
from oddarm.errors import ParameterError, SourceError
from oddarm.rewards import Clipped, Rewards, RowsKind
from oddarm.sources.table.duckdb import (
    DuckColumns,
    DuckRows,
    open_database,
    open_files,
    open_frame,
)
from oddarm.sources.table.files import FileOptions, are_files, files_of, on_disk
from oddarm.sources.table.frames import as_arrow
from oddarm.sources.table.postgres import PostgresColumns, PostgresRows, open_postgres
from oddarm.sources.table.rows import Pick, missing_columns
from oddarm.sources.table.source import TableSource
from oddarm.sources.table.sqlite import open_sqlite

__all__ = [
    "clip_of",
    "columns_of",
    "need_of",
    "open_rows",
    "open_table",
    "picked",
    "refuse_missing",
    "warn_caller",
]

D = TypeVar("D", bound=DuckRows)
P = TypeVar("P", bound=PostgresRows)


def open_table(
    data: Any,
    arm: str | Sequence[str] | None = None,
    reward: str | None = None,
    *,
    where: str | None = None,
    table: str | None = None,
    query: str | None = None,
    rewards: str | Sequence[float] | Rewards | None = None,
    rows: RowsKind = "sample",
    min_rows: int | None = None,
    bad_rows: Literal["error", "skip"] = "error",
    encoding: str | None = None,
    format: str | None = None,  # noqa: A002
    replace: bool = False,
    seed: int = 0,
) -> TableSource:
    """Open a table as a source, its rows in a random order per arm.

    Args:
        data: A path to a CSV, TSV, JSON, JSON lines, Parquet, SQLite or DuckDB file (text may be
            compressed by gzip); a pattern such as "logs/*.csv", or a list of paths, for files of
            one kind that are read as one table; an open file; a frame of pandas, polars or pyarrow;
            or a postgresql:// URL.
        arm: The column that names the arm, or an SQL expression such as "lower(trim(host))"; or
            several of them, then names are tuples.
        reward: The column of the reward, or an SQL expression such as "delay > 15".
        where: An SQL condition on the rows.
        table: The table of a SQLite or DuckDB file or a PostgreSQL database, in a schema as
            schema.table.
        query: An SQL query on such a database, in place of a table.
        rewards: "bernoulli", a range (low, high) or a model; default 0/1 if all rewards are, else
            the range of the rewards in the table.
        rows: "sample" if the rows of an arm are a sample of what it does, so that the answer is
            about the arms; "all" if they are all that there is, so that it is about these rows.
        min_rows: The fewest rows of an arm; arms with fewer are left out and counted.
        bad_rows: "error" for an error that names the first row whose arm or reward is missing or
            whose reward is not a finite number; "skip" to leave such rows out and count them.
        encoding: How a CSV or TSV file is encoded: "utf-8", the default, "latin-1" or "utf-16".
        format: What a file is if its name does not say so: "csv", "tsv", "json", "jsonl",
            "parquet", "sqlite" or "duckdb".
        replace: Draw with replacement, endlessly; otherwise each row comes once.
        seed: Decides the random order.

    Examples:
        >>> import pyarrow as pa
        >>> hosts = pa.table({"host": list("abc") * 4, "slow": [0, 0, 1] * 4})
        >>> with open_table(hosts, arm="host", reward="slow") as source:
        ...     source.arms, source.rewards.rows, source.draw("c", 3)
        (['a', 'b', 'c'], (4, 4, 4), array([1., 1., 1.]))
    """
    options = FileOptions(encoding, format)
    if arm is None or reward is None:
        refuse_missing(data, arm, reward, options, "open_table", table=table, query=query)
    pick = picked(
        arm, reward, where=where, table=table, query=query, rewards=rewards, min_rows=min_rows,
        bad_rows=bad_rows, seed=seed,
    )  # fmt: skip
    shuffled = open_rows(data, pick, options, (DuckRows, PostgresRows))
    try:
        source = TableSource(shuffled, rewards, replace=replace, seed=pick.seed, kind=rows)
    except BaseException:
        shuffled.close()
        raise
    if source.warning:
        warn_caller(source.warning)
    return source


def warn_caller(message: str) -> None:
    """Warn at the line that called oddarm, however deep the call is here."""
    frame, level = sys._getframe(1), 3
    while frame.f_back is not None and _is_inside(frame.f_back.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _is_inside(module: str) -> bool:
    return module.split(".")[0] == "oddarm" or module == "contextlib"


def picked(
    arm: str | Sequence[str],
    reward: str,
    *,
    where: str | None,
    table: str | None,
    query: str | None,
    rewards: Any,
    min_rows: int | None,
    bad_rows: str,
    seed: int = 0,
) -> Pick:
    """Return which columns and rows are wanted, or raise ParameterError."""
    if bad_rows not in ("error", "skip"):
        raise ParameterError(f"bad_rows == {bad_rows!r}, must be 'error' or 'skip'.")
    columns = (arm,) if isinstance(arm, str) else tuple(arm)
    if not columns:
        raise ParameterError("arm names no column, must name one or more.")
    if "" in columns or len(set(columns)) < len(columns):
        raise ParameterError(f"arm == {arm!r}, must name columns, each once: drop the others.")
    seed = whole_number("seed", seed, least=0)
    return Pick(
        arm=columns,
        reward=reward,
        where=where,
        skip=bad_rows == "skip",
        seed=seed,
        table=table,
        query=query,
        clip=clip_of(rewards),
        min_rows=1 if min_rows is None else whole_number("min_rows", min_rows, least=1),
    )


def clip_of(rewards: Any) -> tuple[float, float] | None:
    """Return the range that rewards are clipped to; None if they are not."""
    return (rewards.low, rewards.high) if isinstance(rewards, Clipped) else None


def need_of(data: Any) -> Need:
    """Return what it takes to open data: the packages for a file, a frame or a database."""
    if isinstance(data, str) and is_postgres(data):
        return POSTGRES
    return TABLE if are_files(data) else DATA_FRAME


def columns_of(
    data: Any, options: FileOptions, table: str | None = None, query: str | None = None
) -> tuple[str, list[tuple[str, str]]]:
    """Return what data is called, and its columns with their types, by a glance at it."""
    pick = Pick(arm=(), reward="", table=table, query=query)
    glance = changed(options, glance=True)
    described = open_rows(data, pick, glance, (DuckColumns, PostgresColumns))
    described.close()
    return described.name, described.columns


def refuse_missing(
    data: Any, arm: object, reward: object, options: FileOptions, caller: str, **names: str | None
) -> NoReturn:
    """Raise the error about a missing arm or reward, with the columns that the data has."""
    name, columns = columns_of(data, options, **names)
    raise missing_columns(name, columns, arm, reward, caller)


def open_rows(
    data: Any, pick: Pick, options: FileOptions, kinds: tuple[Callable[..., D], Callable[..., P]]
) -> D | P:
    """Open data of any kind.

    Args:
        data: As for `open_table`.
        pick: Which columns and rows to take.
        options: How to read files.
        kinds: What to make of rows that DuckDB reads, and of those that PostgreSQL reads.
    """
    require(need_of(data))
    duck, postgres = kinds
    options.check()
    if pick.table is not None and pick.query is not None:
        raise ParameterError("table and query are both given, must be one of them: drop the other.")
    address = data if isinstance(data, str) and ("://" in data or is_postgres(data)) else None
    if address is None and are_files(data):
        return _open_paths(data, pick, options, duck)
    if options.encoding is not None:
        raise ParameterError("encoding with data that is not a CSV or TSV file: drop it.")
    if options.format is not None:
        raise ParameterError("format with data that is not a file: drop it.")
    if address is None:
        _refuse_database_options(pick)
        return open_frame(as_arrow(data), pick, duck)
    if not is_postgres(address):
        scheme = address.split("://")[0]
        raise SourceError(
            f"data is a {scheme}:// address, must be a file or a postgresql:// URL: "
            "fetch or export it to a file first."
        )
    return open_postgres(address, pick, postgres)


def _open_paths(data: Any, pick: Pick, options: FileOptions, kind: Callable[..., D]) -> D:
    """Open files, or a stream."""
    with on_disk(data) as (paths, stream):
        files = files_of(paths, options, stream)
        if files[0].reader == "duckdb":
            return open_database(files[0], pick, kind)
        if files[0].reader == "sqlite":
            return open_sqlite(files[0], pick, kind)
        _refuse_database_options(pick)
        return open_files(files, pick, options, kind)


def _refuse_database_options(pick: Pick) -> None:
    """Refuse a table or a query of data that is not a database."""
    if pick.table is not None or pick.query is not None:
        given = "table" if pick.query is None else "query"
        raise ParameterError(
            f"{given} with data that is neither a SQLite or DuckDB file nor a postgresql:// URL: "
            "drop it, and choose rows with where."
        )
