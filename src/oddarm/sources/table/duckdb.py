"""Files, frames and DuckDB databases, shuffled and read by DuckDB.

The arms and rewards are copied once, ordered by the arm and a hash of the row's number and the
seed, into a temporary table whose row numbers are then an index. DuckDB sorts within its memory
limit and spills the rest to a temporary folder. The data itself is only read: before any SQL of the
caller runs, the connection is sealed (`Connection.seal`), so that SQL reaches no other file.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from oddarm._typing import Floats, Indices, Wholes
from oddarm.errors import SourceError
from oddarm.sources.table.files import not_utf8
from oddarm.sources.table.rows import (
    SEVERAL,
    Pick,
    ShuffledRows,
    as_sql,
    identifier,
    refuse_query,
    sentence,
)

__all__ = ["LOADER", "DuckRows", "open_database", "open_file", "open_frame"]

# A folder named host=3 is not a column of the file in it.
# Types are detected from the whole file: from its first rows only, a later 0.5 would be read as 1.
# Rows that cannot be read are listed (CSV) or empty (JSON), so that an error can name them.
_CSV = (
    "read_csv({path}, header=true, sample_size=-1, store_rejects=true, types={{{arms}}}, "
    "encoding={encoding}, hive_partitioning=false)"
)
_JSON = (
    "read_json({path}, format='newline_delimited', sample_size=-1, ignore_errors=true, "
    "hive_partitioning=false)"
)
READERS = {
    ".csv": _CSV,
    ".tsv": _CSV,
    ".parquet": "read_parquet({path}, hive_partitioning=false)",
    ".jsonl": _JSON,
    ".ndjson": _JSON,
}
LOADER = "oddarm-load"
"""The name of a thread in which DuckDB loads data."""
_NUMBER = re.compile(r"BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*")
_TEXT = re.compile(r"VARCHAR|JSON|ENUM.*")


class DuckRows(ShuffledRows):
    """Rows that DuckDB has put in a random order.

    Args:
        name: What the table is called in messages.
        pick: Which columns and rows to take from it.
        connection: A connection for these rows alone, in which the data can be read.
        data: The data as SQL, to be put after FROM; it is read once.
        load: Whether to copy the data as it is before the SQL of the caller runs.
        file: A file that this SQL may read, because it holds the data.
    """

    stored: ClassVar[str] = "TABLE"
    """Whether the picked rows are copied or only described: TABLE or VIEW."""

    def __init__(
        self,
        name: str,
        pick: Pick,
        connection: Connection,
        data: str,
        *,
        load: bool = False,
        file: str | None = None,
    ) -> None:
        super().__init__(name, pick)
        self._csv = data.startswith("read_csv")
        self._connection = connection
        self._unread: list[Any] = []
        try:
            if load:
                data = self._load(data)
            connection.seal(file)
            self._select(data)
            self._refuse_bad_rows()
            self._take()
        except BaseException:
            self.close()
            raise

    def read(self, arms: Indices, firsts: Wholes, counts: Wholes) -> Floats:
        """Return ranges of rewards, by row numbers."""
        order = np.argsort(self._starts[arms])
        first = (self._starts[arms] + firsts)[order]
        last = first + counts[order]
        # Ranges that touch are one: so are those of all arms, if their rows are few.
        opens = np.append(True, first[1:] != last[:-1])
        closes = np.append(opens[1:], True)
        ranges: list[Any] = [first[opens].tolist(), last[closes].tolist()]
        which = (
            "IN (SELECT unnest(range(first, last)) FROM "
            "(SELECT unnest(?::BIGINT[]) AS first, unnest(?::BIGINT[]) AS last))"
        )
        if len(ranges[0]) == 1:  # DuckDB then reads nothing else
            which, ranges = ">= ? AND rowid < ?", [ranges[0][0], ranges[1][0]]
        query = f"SELECT reward FROM temp.shuffled WHERE rowid {which} ORDER BY rowid"
        rewards: Floats = self._connection.fetch_numpy(query, ranges)
        if (order[1:] > order[:-1]).all():
            return rewards
        parts = np.split(rewards, np.cumsum(counts[order])[:-1])
        return np.concatenate([parts[k] for k in np.argsort(order)])

    def digest(self) -> str:
        """Return the hashes of all rewards and their positions, combined."""
        # Hashed again: with DuckDB's hash of a pair alone, the positions would cancel out.
        [(combined,)] = self._sql(
            "SELECT bit_xor(hash(xor(hash(rowid), hash(reward)))) FROM temp.shuffled"
        )
        return str(combined)

    def close(self) -> None:
        """Close the connection and remove the temporary folder."""
        self._connection.close()

    def _take(self) -> None:
        """Make of the picked rows what is wanted: a random order."""
        self._group()
        self._shuffle()

    def _load(self, data: str) -> str:
        """Copy the data into a temporary table and note the lines that are not rows."""
        self._sql(f"CREATE TEMP TABLE data AS FROM {data}")
        if self._csv:
            self._unread = self._sql(
                "SELECT line, any_value(error_message) FROM reject_errors "
                "GROUP BY line ORDER BY line"
            )
        return "temp.data"

    def _select(self, data: str) -> None:
        """Make `picked`: the number of each row, the columns of the arm, and the reward."""
        columns = [row[0] for row in self._sql(f"DESCRIBE FROM {data}")]
        for arm in self.pick.arm:
            try:
                kind = self._type_of(arm, data, columns)
            except self._connection.error as error:
                self._refuse_arm(arm, columns, error)
            if kind.startswith(("STRUCT(", "TUPLE(")) and arm not in columns:
                self._refuse_arm(arm, columns, SEVERAL)
        reward, number = self._reward(data, columns)
        self._sql(
            f"CREATE TEMP {self.stored} picked AS "
            f"SELECT oddarm_row AS number, {self.pick.named_arms(columns)}, "
            f"{reward if self._text else 'NULL'} AS raw, {number} AS reward "
            f"FROM (SELECT row_number() OVER () AS oddarm_row, * FROM {data}) "
            f"WHERE {self.pick.condition}"
        )
        if self.stored == "TABLE":
            self._sql("DROP TABLE IF EXISTS temp.data")

    def _reward(self, data: str, columns: Sequence[str]) -> tuple[str, str]:
        """Return the reward as SQL, as it is and as a number."""
        connection = self._connection
        if self.pick.where:
            try:
                connection.check_expression(self.pick.where)
                connection.fetch(f"EXPLAIN FROM {data} WHERE {self.pick.condition}")
            except connection.error as error:
                self._refuse_where(columns, error)
        reward = as_sql(self.pick.reward, columns)
        try:
            kind = self._type_of(self.pick.reward, data, columns)
        except connection.error as error:
            self._refuse_reward(columns, error)
        self._text = bool(_TEXT.fullmatch(kind))
        if self._text:
            truth = f"try_cast({reward} AS BOOLEAN)::INT"
            return reward, f"coalesce(try_cast({reward} AS DOUBLE), {truth})"
        if not _NUMBER.fullmatch(kind):
            self._refuse_type(kind, "turn it into a number in SQL, as in reward=\"day > '2024'\"")
        return reward, f"CAST({reward} AS DOUBLE)"

    def _type_of(self, text: str, data: str, columns: Sequence[str]) -> str:
        """Return the type of a column or of one complete expression; else an error of DuckDB."""
        connection = self._connection
        if text not in columns:
            connection.check_expression(text)
        described = connection.fetch(f"DESCRIBE SELECT {as_sql(text, columns)} FROM {data}")
        if len(described) > 1:
            raise connection.error(f"it makes {len(described)} columns")
        return str(described[0][1])

    def _refuse_bad_rows(self) -> None:
        """Count bad rows; name the first unless they are to be skipped."""
        present = " AND ".join(f"{key} IS NOT NULL" for key in self.pick.keys)
        number = "NOT isnan(reward)" if self.pick.clip else "isfinite(reward)"
        self._is_usable = f"({present} AND reward IS NOT NULL AND {number})"
        [(rows, bad)] = self._sql(
            f"SELECT count(*), count(*) FILTER (WHERE NOT {self._is_usable}) FROM temp.picked"
        )
        self.skipped = bad + len(self._unread)
        for line, reason in self._unread:
            if "unicode" in reason.lower():  # left out, every name with an accent would be missing
                not_utf8(self.name, line, ".csv")
        if self.pick.skip or not self.skipped:
            return
        if self._unread:
            line, reason = self._unread[0]
            self._refuse_rows(f"line {line}: {sentence(reason)}")
        [(number, *arms, raw, reward)] = self._sql(
            f"FROM temp.picked WHERE NOT {self._is_usable} ORDER BY number LIMIT 1"
        )
        if bad == rows and raw is not None:
            remedy = self._comma_remedy(raw) or (
                f"write a condition in SQL, as in reward=\"{self.pick.reward} = '{raw}'\""
            )
            self._refuse_type(f"text such as {raw!r}", remedy)
        self._refuse_row(f"row {number:,}", arms, reward if raw is None else raw)

    def _group(self) -> None:
        """Number the arms and count their rows."""
        keys = ", ".join(self.pick.keys)
        self._sql(
            f"CREATE TEMP TABLE arms AS SELECT {keys}, row_number() OVER (ORDER BY {keys}) AS id, "
            f"count(*) AS size, min(reward) AS low, max(reward) AS high, "
            f"bool_and(reward IN (0, 1)) AS zero_one "
            f"FROM temp.picked WHERE {self._is_usable} GROUP BY {keys}"
        )
        self._keep_groups(
            self._sql(f"SELECT {keys}, size, low, high, zero_one FROM temp.arms ORDER BY id")
        )
        self._sql(f"DELETE FROM temp.arms WHERE size < {self.pick.min_rows}")
        self._starts = np.cumsum([0, *self.sizes])

    def _shuffle(self) -> None:
        """Order the rows by arm and, within it, by a random number."""
        word = int(np.random.SeedSequence(self.pick.seed).generate_state(1, np.uint64)[0])
        self._sql(
            "CREATE TEMP TABLE shuffled AS SELECT reward "
            f"FROM temp.picked JOIN temp.arms USING ({', '.join(self.pick.keys)}) "
            f"WHERE {self._is_usable} ORDER BY id, hash(xor(hash(number), {word}::UBIGINT))"
        )
        self._sql("DROP TABLE temp.picked")

    def _sql(self, query: str) -> list[Any]:
        """Return the rows of a query; raise SourceError if DuckDB refuses it."""
        try:
            return self._connection.fetch(query)
        except self._connection.error as error:
            remedy = "check the file and the SQL that was given"
            if isinstance(error, self._connection.denied):
                remedy = "SQL, and a view, may read only the data that was named: copy the rows"
            raise SourceError(
                f"{self.name} cannot be read ({sentence(error)}): {remedy}."
            ) from None


R = TypeVar("R", bound=DuckRows)


class Connection:
    """A DuckDB in memory, with a temporary folder for data that does not fit in memory."""

    def __init__(self) -> None:
        self._duckdb: Any = import_module("duckdb")
        self.error: type[Exception] = self._duckdb.Error
        self.denied: type[Exception] = self._duckdb.PermissionException
        folder = tempfile.mkdtemp(prefix="oddarm-")
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        settings = {
            "temp_directory": folder,
            # DuckDB must not fetch anything from the network, such as an extension for a format.
            "autoinstall_known_extensions": False,
            # SQL does not see the variables of the program that called.
            "python_enable_replacements": False,
        }
        self.connection = self._duckdb.connect(":memory:", config=settings)
        self._calls: list[Future[Any]] = []  # the last call; an interrupted one may still run

    def seal(self, file: str | None) -> None:
        """Let SQL reach only the data in this connection, and one file if it is named.

        This cannot be undone: from now on SQL reads and writes no file, attaches no database, loads
        no extension and changes no setting. DuckDB can still use its own temporary files.
        """
        if file is not None:
            self.fetch(f"SET allowed_paths = [{_literal(file)}]")
        self.fetch("SET enable_external_access = false")
        self.fetch("SET lock_configuration = true")

    def check_expression(self, sql: str) -> None:
        """Raise an error of DuckDB unless this is one complete expression.

        The first check refuses a closing parenthesis without an opening one. The second, in
        parentheses, refuses everything but an expression.
        """
        self.check_query(f"SELECT {sql}\n")
        self.check_query(f"SELECT ({sql}\n)")

    def check_query(self, sql: str) -> None:
        """Raise an error of DuckDB unless this is one SELECT, VALUES or FROM statement."""
        statements = self._duckdb.extract_statements(sql)
        if [statement.type for statement in statements] != [self._duckdb.StatementType.SELECT]:
            raise self._duckdb.ParserException("it is not one SELECT statement and nothing else")

    def fetch(self, query: str) -> list[Any]:
        """Return all rows of a query."""
        rows: list[Any] = self._run(lambda: self.connection.execute(query).fetchall())
        return rows

    def fetch_numpy(self, query: str, parameters: Sequence[Any]) -> Any:
        """Return the only column of a query as an array."""
        columns = self._run(lambda: self.connection.execute(query, parameters).fetchnumpy())
        [column] = columns.values()
        return column

    def close(self) -> None:
        """Close the connection and remove its folder."""
        if all(call.done() for call in self._calls):  # DuckDB refuses to close during a call
            self.connection.close()
        self._remove()

    def _run(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call of DuckDB; Ctrl-C ends the wait for it at once.

        DuckDB reacts late to an interrupt, and not at all while it detects the types of a file. So
        the call runs in a thread of its own, which goes on alone after an interrupt.
        """
        if threading.current_thread() is not threading.main_thread():
            return call()  # only the main thread gets signals
        wait(self._calls)
        result: Future[Any] = Future()

        def work() -> None:
            if not result.set_running_or_notify_cancel():
                return
            try:
                result.set_result(call())
            except BaseException as error:
                result.set_exception(error)

        self._calls = [result]
        try:
            threading.Thread(target=work, name=LOADER).start()
            return result.result()
        except BaseException:
            if result.cancel():  # a signal came before the call began
                self._calls = []
            elif not result.done():  # it came during the call
                threading.Thread(target=self._interrupt, args=(result,), name=LOADER).start()
            raise

    def _interrupt(self, call: Future[Any]) -> None:
        """End a call; an interrupt that comes before DuckDB runs the query is lost."""
        while not call.done():
            with suppress(self.error):  # it has ended, and the connection was closed
                self.connection.interrupt()
            wait([call], timeout=0.02)


def open_file(
    path: Path, reader: str, pick: Pick, encoding: str | None, kind: Callable[..., R]
) -> R:
    """Return the rows of a CSV, Parquet or JSON lines file."""
    arms = ", ".join(f"{_literal(column)}: 'VARCHAR'" for column in pick.arm)
    name = str(path.absolute())
    plain = re.sub(r"([*?[])", r"[\1]", name)  # a name, not a pattern of many names
    data = READERS[reader].format(
        path=_literal(plain), arms=arms, encoding=_literal(encoding or "utf-8")
    )
    # Detecting the types of text takes long, and a sealed connection cannot look up a pattern.
    load = reader != ".parquet" or plain != name
    return kind(str(path), pick, Connection(), data, load=load, file=None if load else name)


def open_frame(table: Any, pick: Pick, kind: Callable[..., R]) -> R:
    """Return the rows of an Arrow table."""
    connection = Connection()
    connection.connection.register("frame", table)
    rows = kind("the data frame", pick, connection, "frame")
    connection.connection.unregister("frame")
    return rows


def open_database(path: Path, pick: Pick, kind: Callable[..., R]) -> R:
    """Return the rows of a table or query of a DuckDB file, which is only read."""
    query = pick.query
    connection = Connection()
    try:
        connection.fetch(f"ATTACH {_literal(str(path))} AS oddarm_data (TYPE duckdb, READ_ONLY)")
        connection.fetch("USE oddarm_data")
    except connection.error as error:
        connection.close()
        raise SourceError(
            f"{path} cannot be opened as a DuckDB file ({sentence(error)}): check the file, and "
            "close it where it is open for writing."
        ) from None
    if query is not None:
        try:
            connection.check_query(query)
        except connection.error as error:
            connection.close()
            refuse_query(query, error)
        name, data = f"the query on {path}", f"({query.strip().rstrip(';')}\n) AS data"
    else:
        table = _table(connection, path, pick.table)
        name, data = f"table {table!r} of {path}", ".".join(map(identifier, table.split(".")))
    rows = kind(name, pick, connection, data)
    connection.fetch("USE memory")
    connection.fetch("DETACH oddarm_data")  # so that others can write to the file
    return rows


def _table(connection: Connection, path: Path, table: str | None) -> str:
    """Return the named table, or the only one if none is named."""
    tables = [
        row[1] if row[0] == "main" else f"{row[0]}.{row[1]}"
        for row in connection.fetch(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = 'oddarm_data' ORDER BY ALL"
        )
    ]
    if table is None and len(tables) == 1:
        return str(tables[0])
    if table is not None and {table, table.removeprefix("main.")} & set(tables):
        return table
    connection.close()
    if not tables:
        raise SourceError(f"{path} has no tables: check that it is the file that you mean.")
    asked = "tables to choose from" if table is None else f"no table {table!r}"
    names = ", ".join(map(repr, tables))
    raise SourceError(f"{path} has {asked}, its tables are {names}: name one, or pass a query.")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
