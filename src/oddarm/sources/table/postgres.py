"""Tables and queries of a PostgreSQL database, shuffled by the server into a temporary table.

The user of the database needs the right to SELECT the data and to make temporary tables. The data
is read in one read-only transaction, and only the rows that a search asks for leave the server. The
caller's SQL runs only in that transaction, each time as a part of one statement: the extended
protocol of PostgreSQL refuses a second statement.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from oddarm._postgres_url import PostgresURL
from oddarm._typing import Floats, Indices, Wholes
from oddarm.errors import ParameterError, SourceError
from oddarm.sources.table.rows import (
    SEVERAL,
    Pick,
    ShuffledRows,
    as_sql,
    identifier,
    refuse_query,
    sentence,
)

__all__ = ["PostgresColumns", "PostgresRows", "open_postgres"]

_NUMBERS = ("bool", "int2", "int4", "int8", "float4", "float8", "numeric")
_SECONDS_TO_CONNECT = 10
_MOST_SHOWN = 300  # characters of a bad row


class PostgresRows(ShuffledRows):
    """Rows that PostgreSQL has put in a random order.

    Args:
        name: What the table is called in messages.
        pick: Which columns and rows to take from it.
        connection: A connection for these rows alone, with autocommit.
        data: The data as SQL, to be put after FROM.
    """

    def __init__(self, name: str, pick: Pick, connection: Any, data: str) -> None:
        super().__init__(name, pick)
        self._psycopg = import_module("psycopg")
        self._connection = connection
        self._data = data
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def read(self, arms: Indices, firsts: Wholes, counts: Wholes) -> Floats:
        """Return ranges of rewards, by the index of the temporary table."""
        query = (
            "SELECT reward FROM unnest(%s::int[], %s::bigint[], %s::bigint[]) "
            "WITH ORDINALITY AS wanted (arm, first, count, number) "
            "JOIN pg_temp.oddarm_rows AS rows ON rows.arm = wanted.arm "
            "AND position >= first AND position < first + count ORDER BY number, position"
        )
        wanted = arms.tolist(), firsts.tolist(), counts.tolist()
        try:
            cursor = self._connection.execute(query, wanted, binary=True)
            rewards = (row[0] for row in cursor)
            return np.fromiter(rewards, dtype=np.float64, count=int(counts.sum()))
        except self._psycopg.Error as error:
            raise SourceError(
                f"the connection to {self.name} failed ({sentence(error)}): open the table again."
            ) from None

    def digest(self) -> str:
        """Return the hashes of all rewards and their positions, combined."""
        [(combined,)] = self._sql(
            "SELECT sum(hashint8extended(position, hashfloat8extended(reward, arm))) "
            "FROM pg_temp.oddarm_rows"
        )
        return str(combined)

    def close(self) -> None:
        """Close the connection; the server then drops the temporary table."""
        self._connection.close()

    def _make(self) -> None:
        """Read the data and fill the temporary table."""
        self._sql(
            "CREATE TEMP TABLE oddarm_rows "
            "(arm integer NOT NULL, position bigint NOT NULL, reward double precision NOT NULL)"
        )
        self._read(self._group, self._shuffle)
        self._sql("CREATE UNIQUE INDEX ON pg_temp.oddarm_rows (arm, position)")
        self._sql("ANALYZE pg_temp.oddarm_rows")

    def _read(self, *parts: Callable[[str, str], None]) -> None:
        """Read the data in one transaction: check the rows, then do each part with them."""
        with self._connection.transaction():
            # All later statements see one snapshot and can write only temporary tables. No
            # statement can change that once the first query has run.
            self._sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._sql("SELECT 1")
            picked, is_usable = self._picked()
            self._refuse_bad_rows(picked, is_usable)
            for part in parts:
                part(picked, is_usable)

    def _picked(self) -> tuple[str, str]:
        """Return as SQL the picked rows, and the condition for a usable row."""
        columns = self._columns()
        reward, number = self._reward(columns)
        arms = self.pick.named_arms(columns)
        picked = (
            f"(SELECT {arms}, {reward} AS raw, {number} AS reward, data AS whole "
            f"FROM {self._data} WHERE {self.pick.condition}) AS picked"
        )
        present = " AND ".join(f"{key} IS NOT NULL" for key in self.pick.keys)
        number = "reward <> 'NaN'" if self.pick.clip else "abs(reward) < 'Infinity'"
        is_usable = f"({present} AND reward IS NOT NULL AND {number})"
        return picked, is_usable

    def _columns(self) -> list[str]:
        """Return the columns of the data, having checked those of the arm."""
        error = self._psycopg.Error
        if self.pick.query is not None:
            try:
                self._check_statement(self.pick.query)
            except error as reason:
                refuse_query(self.pick.query, reason)
        described = self._sql(f"SELECT * FROM {self._data} LIMIT 0").description
        columns = [column.name for column in described]
        for arm in self.pick.arm:
            try:
                cursor = self._describe(arm, columns)
            except error as reason:
                self._refuse_sql("arm", arm, columns, reason)
            if self._type_of(cursor) == "record":
                self._refuse_sql("arm", arm, columns, SEVERAL)
        return columns

    def _describe(self, text: str, columns: list[str]) -> Any:
        """Return a cursor on a column or on one complete expression; else an error of psycopg."""
        if text not in columns:
            self._check_expression(text)
        return self._execute(f"SELECT {as_sql(text, columns)} FROM {self._data} LIMIT 0")

    def _type_of(self, cursor: Any) -> str:
        """Return the type of the first column of a cursor."""
        known = self._connection.adapters.types.get(cursor.description[0].type_code)
        return known.name if known else "unknown"

    def _reward(self, columns: list[str]) -> tuple[str, str]:
        """Return the reward as SQL: as it is and as a number."""
        error = self._psycopg.Error
        if self.pick.where:
            try:
                self._check_expression(self.pick.where)
                self._execute(f"SELECT 1 FROM {self._data} WHERE {self.pick.condition} LIMIT 0")
            except error as reason:
                self._refuse_sql("where", self.pick.where, columns, reason)
        reward = as_sql(self.pick.reward, columns)
        try:
            cursor = self._describe(self.pick.reward, columns)
        except error as reason:
            self._refuse_sql("reward", self.pick.reward, columns, reason)
        kind = self._type_of(cursor)
        if kind not in _NUMBERS:
            self._refuse_type(kind, 'turn it into a number in SQL, as in reward="score::float8"')
        return reward, f"{reward}{'::int' if kind == 'bool' else ''}::float8"

    def _refuse_bad_rows(self, picked: str, is_usable: str) -> None:
        """Count bad rows; show the first unless they are to be skipped."""
        [(self.skipped,)] = self._sql(f"SELECT count(*) FROM {picked} WHERE NOT {is_usable}")
        if self.pick.skip or not self.skipped:
            return
        [(*arms, raw, row)] = self._sql(
            f"SELECT {', '.join(self.pick.keys)}, raw, to_json(whole) FROM {picked} "
            f"WHERE NOT {is_usable} LIMIT 1"
        )
        shown = ", ".join(f"{column} = {value!r}" for column, value in row.items())
        self._refuse_row(f"row ({shown[:_MOST_SHOWN]})", arms, raw)

    def _group(self, picked: str, is_usable: str) -> None:
        """Count the rows of each arm."""
        keys = ", ".join(self.pick.keys)
        self._keep_groups(
            self._sql(
                f"SELECT {keys}, count(*), min(reward), max(reward), bool_and(reward IN (0, 1)) "
                f"FROM {picked} WHERE {is_usable} GROUP BY {keys} ORDER BY {keys}"
            ).fetchall()
        )

    def _shuffle(self, picked: str, is_usable: str) -> None:
        """Number the rows of each arm in a random order."""
        keys = ", ".join(self.pick.keys)
        # A seed gives the same order again only if the server reads the rows in the same order.
        self._sql("SET LOCAL max_parallel_workers_per_gather = 0")
        self._sql("SET LOCAL synchronize_seqscans = off")
        fraction = np.random.default_rng(self.pick.seed).uniform(-1, 1)
        self._sql(f"SELECT setseed({fraction!r})")
        self._sql(
            f"INSERT INTO pg_temp.oddarm_rows "
            f"SELECT dense_rank() OVER (ORDER BY {keys}) - 1, "
            f"row_number() OVER (PARTITION BY {keys} ORDER BY key) - 1, reward "
            f"FROM (SELECT *, count(*) OVER (PARTITION BY {keys}) AS size "
            f"FROM (SELECT {keys}, reward, random() AS key "
            f"FROM {picked} WHERE {is_usable} OFFSET 0) AS drawn) AS sized "
            f"WHERE size >= {self.pick.min_rows}"
        )

    def _check_expression(self, sql: str) -> None:
        """Raise an error of psycopg unless this is one complete expression.

        The first check refuses a closing parenthesis without an opening one. The second, in
        parentheses, refuses everything but an expression.
        """
        self._check_statement(f"SELECT {sql}\nFROM {self._data}")
        self._check_statement(f"SELECT ({sql}\n) FROM {self._data}")

    def _check_statement(self, sql: str) -> None:
        """Raise an error of psycopg unless this is one statement on data; it is not run."""
        self._execute(f"PREPARE oddarm_check AS {sql}")
        self._execute("DEALLOCATE oddarm_check")

    def _execute(self, query: str) -> Any:
        """Return a cursor of one statement; as it is prepared, the server refuses two."""
        return self._connection.execute(query, prepare=True)

    def _sql(self, query: str) -> Any:
        """Return a cursor of a query; raise SourceError if the server refuses it."""
        errors = self._psycopg.errors
        try:
            return self._execute(query)
        except errors.InsufficientPrivilege as error:
            reason, remedy = error, "GRANT SELECT on the data and TEMP on the database to the user"
        except errors.ReadOnlySqlTransaction as error:
            reason, remedy = error, "the data is only read, and a standby has no temporary tables"
        except self._psycopg.Error as error:
            reason, remedy = error, "check the names and the SQL that were given"
        raise SourceError(f"{self.name} cannot be read ({sentence(reason)}): {remedy}.") from None


class PostgresColumns(PostgresRows):
    """The columns of data and their types; no row is read."""

    def _make(self) -> None:
        with self._connection.transaction():
            self._sql("SET TRANSACTION READ ONLY")
            cursor = self._sql(f"SELECT * FROM {self._data} LIMIT 0")
            known = self._connection.adapters.types
            types = [known.get(column.type_code) for column in cursor.description]
            self.columns = [
                (column.name, type_.name if type_ else "unknown")
                for column, type_ in zip(cursor.description, types, strict=True)
            ]


R = TypeVar("R", bound=PostgresRows)


def open_postgres(url: str, pick: Pick, kind: Callable[..., R]) -> R:
    """Return the rows of a table or query of a PostgreSQL database."""
    psycopg: Any = import_module("psycopg")
    address = PostgresURL.parse(url)
    try:
        options = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise ParameterError(
            f"{address.shown} has options that PostgreSQL does not know "
            f"({sentence(address.reason(error))}): check what is behind the question mark."
        ) from None
    options.setdefault("connect_timeout", _SECONDS_TO_CONNECT)
    # Not the URL: it may hold a password.
    database = f"database {options.get('dbname', 'by default')!r}"
    if pick.query is not None:
        data = f"({pick.query.strip().rstrip(';')}\n) AS data"
        name = f"the query on {database}"
    elif pick.table is not None:
        data = f"{'.'.join(map(identifier, pick.table.split('.')))} AS data"
        name = f"table {pick.table!r} of {database}"
    else:
        raise ParameterError(f"{database} with neither table nor query: pass one of them.")
    try:
        connection = psycopg.connect(**options, autocommit=True)
    except psycopg.Error as error:
        raise SourceError(
            f"{database} cannot be reached ({sentence(address.reason(error))}): "
            "check the URL, the password, and that the server is running."
        ) from None
    return kind(name, pick, connection, data)
