"""Opening a table of any kind: a file, a frame, a DuckDB file or a PostgreSQL database."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from oddarm._checks import whole_number
from oddarm._extras import DATA_FRAME, POSTGRES, TABLE, Need, require
from oddarm._postgres_url import is_postgres
from oddarm.errors import ParameterError, SourceError
from oddarm.rewards import Clipped, Rewards, RowsKind
from oddarm.sources.table.duckdb import DuckRows, open_database, open_file, open_frame
from oddarm.sources.table.files import DATABASES, check_file, reader_of
from oddarm.sources.table.frames import as_arrow
from oddarm.sources.table.postgres import PostgresRows, open_postgres
from oddarm.sources.table.rows import Pick
from oddarm.sources.table.source import TableSource

__all__ = ["clip_of", "need_of", "open_rows", "open_table", "picked", "warn_caller"]

D = TypeVar("D", bound=DuckRows)
P = TypeVar("P", bound=PostgresRows)


def open_table(
    data: Any,
    arm: str | Sequence[str],
    reward: str,
    *,
    where: str | None = None,
    table: str | None = None,
    query: str | None = None,
    rewards: str | Sequence[float] | Rewards | None = None,
    rows: RowsKind = "sample",
    min_rows: int | None = None,
    bad_rows: Literal["error", "skip"] = "error",
    encoding: str | None = None,
    replace: bool = False,
    seed: int = 0,
) -> TableSource:
    """Open a table as a source, its rows in a random order per arm.

    Args:
        data: A path to a CSV, TSV, Parquet, JSON lines or DuckDB file (text may be .gz); a frame of
            pandas, polars or pyarrow; or a postgresql:// URL.
        arm: The column that names the arm, or an SQL expression such as "lower(trim(host))"; or
            several of them, then names are tuples.
        reward: The column of the reward, or an SQL expression such as "delay > 15".
        where: An SQL condition on the rows.
        table: The table of a DuckDB file or PostgreSQL database, in a schema as schema.table.
        query: An SQL query on a DuckDB file or PostgreSQL database, in place of a table.
        rewards: "bernoulli", a range (low, high) or a model; default 0/1 if all rewards are, else
            the range of the rewards in the table.
        rows: "sample" if the rows of an arm are a sample of what it does, so that the answer is
            about the arms; "all" if they are all that there is, so that it is about these rows.
        min_rows: The fewest rows of an arm; arms with fewer are left out and counted.
        bad_rows: "error" for an error that names the first row whose arm or reward is missing or
            whose reward is not a finite number; "skip" to leave such rows out and count them.
        encoding: How a CSV or TSV file is encoded: "utf-8", the default, "latin-1" or "utf-16".
        replace: Draw with replacement, endlessly; otherwise each row comes once.
        seed: Decides the random order.

    Example:
        >>> import pyarrow as pa
        >>> hosts = pa.table({"host": list("abc") * 4, "slow": [0, 0, 1] * 4})
        >>> with open_table(hosts, arm="host", reward="slow") as source:
        ...     source.arms, source.rewards.rows, source.draw("c", 3)
        (['a', 'b', 'c'], (4, 4, 4), array([1., 1., 1.]))
    """
    pick = picked(
        arm, reward, where=where, table=table, query=query, rewards=rewards, min_rows=min_rows,
        bad_rows=bad_rows, seed=seed,
    )  # fmt: skip
    shuffled = open_rows(data, pick, encoding, (DuckRows, PostgresRows))
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
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    return DATA_FRAME if path is None else TABLE


def open_rows(
    data: Any, pick: Pick, encoding: str | None, kinds: tuple[Callable[..., D], Callable[..., P]]
) -> D | P:
    """Open data of any kind.

    Args:
        data: As for `open_table`.
        pick: Which columns and rows to take.
        encoding: As for `open_table`.
        kinds: What to make of rows that DuckDB reads, and of those that PostgreSQL reads.
    """
    require(need_of(data))
    duck, postgres = kinds
    if pick.table is not None and pick.query is not None:
        raise ParameterError("table and query are both given, must be one of them: drop the other.")
    address = data if isinstance(data, str) and ("://" in data or is_postgres(data)) else None
    if encoding is not None and (address or not isinstance(data, str | os.PathLike)):
        raise ParameterError("encoding with data that is not a CSV or TSV file: drop it.")
    if address is not None:
        if not is_postgres(address):
            scheme = address.split("://")[0]
            raise SourceError(
                f"data is a {scheme}:// address, must be a file or a postgresql:// URL: "
                "fetch or export it to a file first."
            )
        return open_postgres(address, pick, postgres)
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    reader = None if path is None else reader_of(path)
    if path is not None and reader in DATABASES:
        check_file(path, reader, encoding)
        return open_database(path, pick, duck)
    if pick.table is not None or pick.query is not None:
        given = "table" if pick.query is None else "query"
        raise ParameterError(
            f"{given} with data that is neither a DuckDB file nor a postgresql:// URL: "
            "drop it, and choose rows with where."
        )
    if path is None or reader is None:
        return open_frame(as_arrow(data), pick, duck)
    check_file(path, reader, encoding)
    return open_file(path, reader, pick, encoding, duck)
