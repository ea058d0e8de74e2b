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
import time
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import numpy as np

from oddarm._typing import Floats, Indices, Wholes
from oddarm.errors import SourceError
from oddarm.sources.table.files import DataFile, FileOptions, damaged, not_utf8, title
from oddarm.sources.table.loading import Loading, report
from oddarm.sources.table.rows import (
    SEVERAL,
    Pick,
    ShuffledRows,
    as_sql,
    identifier,
    refuse_query,
    sentence,
)

__all__ = [
    "LOADER",
    "Connection",
    "DuckColumns",
    "DuckRows",
    "chosen_table",
    "open_database",
    "open_files",
    "open_frame",
]

# A folder named host=3 is not a column of the file in it.
# Types are detected from the whole file: from its first rows only, a later 0.5 would be read as 1.
# Rows that cannot be read are listed (CSV) or empty (JSON lines), so that an error can name them.
_READERS = {
    "csv": "read_csv({path}, header=true, sample_size={sample}, store_rejects=true, "
    "types={{{arms}}}, encoding={encoding}, compression={compression}, hive_partitioning=false)",
    "json": "read_json({path}, format={layout}, sample_size={sample}, ignore_errors={lenient}, "
    "compression={compression}, hive_partitioning=false)",
    "parquet": "read_parquet({path}, hive_partitioning=false)",
}
_GLANCE = 20_000
"""Rows that tell the types of columns where a glance is enough."""
LOADER = "oddarm-load"
"""The name of a thread in which DuckDB loads data."""
_FILE = "oddarm_file"
"""The column that tells the rows of several files apart while they are loaded."""
_NUMBER = re.compile(
    r"BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|VARINT|FLOAT|DOUBLE|DECIMAL.*"
)
_TEXT = re.compile(r"VARCHAR|JSON|ENUM.*")


class DuckRows(ShuffledRows):
    """Rows that DuckDB has put in a random order.

    Args:
        name: What the table is called in messages.
        pick: Which columns and rows to take from it.
        connection: A connection for these rows alone, in which the data can be read.
        data: The data as SQL, to be put after FROM; it is read once.
        files: The files that hold the data, if the data is not yet in the connection.
    """

    stored: ClassVar[str] = "TABLE"
    """Whether the picked rows are copied or only described: TABLE or VIEW."""

    def __init__(
        self,
        name: str,
        pick: Pick,
        connection: Connection,
        data: str,
        files: Sequence[DataFile] = (),
    ) -> None:
        super().__init__(name, pick)
        self._csv = bool(files) and files[0].reader == "csv"
        self._connection = connection
        self._files = files
        self._with_sql = pick.query is not None  # whether what is run has SQL of the caller
        self._unread: list[Any] = []
        self._ends: list[int] = []  # where the rows of each of several files end
        try:
            # Detecting the types of text takes long, and a sealed connection cannot look up a
            # pattern.
            if any(file.reader != "parquet" or _plain(file) != _name(file) for file in files):
                data, files = self._load(data), ()
            elif len(files) > 1:
                self._note_ends("num_rows FROM parquet_file_metadata(" + _list(files) + ")")
            connection.seal(map(_name, files))
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
        self._connection.step = "reading"
        self._sql(f"CREATE TEMP TABLE data AS FROM {data}")
        if self._csv:
            self._unread = self._sql(
                "SELECT line, any_value(error_message), file_path FROM reject_errors "
                "JOIN reject_scans USING (scan_id, file_id) GROUP BY ALL ORDER BY file_path, line"
            )
        if len(self._files) > 1:
            self._note_ends(f"count(*) FROM temp.data GROUP BY {_FILE} ORDER BY {_FILE}")
            self._refuse_empty_columns()
            self._sql(f"ALTER TABLE temp.data DROP COLUMN {_FILE}")
        return "temp.data"

    def _note_ends(self, counts: str) -> None:
        """Note where the rows of each file end, so that an error can name a row's file."""
        self._ends = np.cumsum([row[0] for row in self._sql(f"SELECT {counts}")]).tolist()

    def _refuse_empty_columns(self) -> None:
        """Refuse a file among several that lacks a column which the others have."""
        columns = [row[0] for row in self._sql("DESCRIBE FROM temp.data")]
        for column in (*self.pick.arm, self.pick.reward):
            if column not in columns:
                continue
            empty = self._sql(
                f"SELECT {_FILE} FROM temp.data GROUP BY {_FILE} "
                f"HAVING count({identifier(column)}) = 0 ORDER BY {_FILE} LIMIT 1"
            )
            if empty:
                raise SourceError(
                    f"{self._files[empty[0][0]].name} has no values in column {column!r}, which "
                    "other files have: leave the file out, or correct its header."
                )

    def _refuse_twins(self, columns: Sequence[str]) -> None:
        """Refuse a column whose name a CSV file has twice: DuckDB renames the second to name_1."""
        for column in (*self.pick.arm, self.pick.reward):
            for file in self._files if f"{column}_1" in columns else ():
                if file.header.count(column) > 1:
                    raise SourceError(
                        f"{file.name} has {file.header.count(column)} columns named {column!r}, "
                        "must have one: rename the others in its first line."
                    )

    def _place(self, number: int) -> str:
        """Return a row by its number, with its file if there are several."""
        if not self._ends:
            return f"row {number:,}"
        which = bisect_left(self._ends, number)
        before = self._ends[which - 1] if which else 0
        return f"row {number - before:,} of {self._files[which].name}"

    def _select(self, data: str) -> None:
        """Make `picked`: the number of each row, the columns of the arm, and the reward."""
        columns = [row[0] for row in self._sql(f"DESCRIBE FROM {data}")]
        self._refuse_twins(columns)
        named = {*self.pick.arm, self.pick.reward} <= set(columns)
        self._with_sql |= not named or self.pick.where is not None
        for arm in self.pick.arm:
            try:
                kind = self._type_of(arm, data, columns)
            except self._connection.error as error:
                self._refuse_sql("arm", arm, columns, error)
            if kind.startswith(("STRUCT(", "TUPLE(")) and arm not in columns:
                self._refuse_sql("arm", arm, columns, SEVERAL)
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
                self._refuse_sql("where", self.pick.where, columns, error)
        reward = as_sql(self.pick.reward, columns)
        try:
            kind = self._type_of(self.pick.reward, data, columns)
        except connection.error as error:
            self._refuse_sql("reward", self.pick.reward, columns, error)
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
        named = {_name(file): file.name for file in self._files}
        for line, reason, path in self._unread:
            if "unicode" in reason.lower():  # left out, every name with an accent would be missing
                not_utf8(named.get(path, self.name), line, "csv")
        if self.pick.skip or not self.skipped:
            return
        if self._unread:
            line, reason, path = self._unread[0]
            of_file = f" of {named.get(path)}" if len(self._files) > 1 else ""
            self._refuse_rows(f"line {line}{of_file}: {sentence(reason)}")
        [(number, *arms, raw, reward)] = self._sql(
            f"FROM temp.picked WHERE NOT {self._is_usable} ORDER BY number LIMIT 1"
        )
        if bad == rows and raw is not None:
            remedy = self._number_remedy(raw) or (
                f"write a condition in SQL, as in reward=\"{self.pick.reward} = '{raw}'\""
            )
            self._refuse_type(f"text such as {raw!r}", remedy)
        self._refuse_row(self._place(number), arms, reward if raw is None else raw)

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
        self._connection.step = "shuffling"
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
            own = not self._with_sql
            if "GZIP" in str(error):
                raise SourceError(damaged(self.name)) from None
            if own and self._files and not self._csv:
                raise SourceError(damaged(self.name, sentence(error))) from None
            remedy = "check the data" if own else "check the data and the SQL that was given"
            if isinstance(error, self._connection.denied):
                remedy = "SQL, and a view, may read only the data that was named: copy the rows"
            raise SourceError(
                f"{self.name} cannot be read ({sentence(error)}): {remedy}."
            ) from None


class DuckColumns(DuckRows):
    """The columns of data and their types; no row is read beyond the first ones."""

    def __init__(
        self,
        name: str,
        pick: Pick,
        connection: Connection,
        data: str,
        files: Sequence[DataFile] = (),
    ) -> None:
        ShuffledRows.__init__(self, name, pick)
        self._csv = bool(files) and files[0].reader == "csv"
        self._connection, self._files = connection, files
        self._with_sql = pick.query is not None
        try:
            if not files:  # then the data may be SQL of the caller
                connection.seal(())
            self.columns = [(row[0], row[1]) for row in self._sql(f"DESCRIBE FROM {data}")]
        except BaseException:
            self.close()
            raise


R = TypeVar("R", bound=DuckRows)


class Connection:
    """A DuckDB in memory, with a temporary folder for data that does not fit in memory.

    Args:
        name: What the data is called where its loading is shown.
        size: The bytes of its files, if it is in files.
    """

    def __init__(self, name: str = "the data", size: int | None = None) -> None:
        self._name, self._size, self.step = name, size, "reading"
        self._began = time.monotonic()
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
        # A cursor, which is a second connection: DuckDB refuses the settings below on the first one
        # if it is opened in a notebook without ipywidgets.
        self.connection = self._duckdb.connect(":memory:", config=settings).cursor()
        # So that `query_progress` tells how far a query is.
        self.connection.execute("SET enable_progress_bar = true")
        self.connection.execute("SET enable_progress_bar_print = false")
        self._calls: list[Future[Any]] = []  # the last call; an interrupted one may still run

    def seal(self, files: Iterable[str]) -> None:
        """Let SQL reach only the data in this connection, and the files that are named.

        This cannot be undone: from now on SQL reads and writes no file, attaches no database, loads
        no extension and changes no setting. DuckDB can still use its own temporary files.
        """
        allowed = ", ".join(map(_literal, files))
        if allowed:
            self.fetch(f"SET allowed_paths = [{allowed}]")
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
            self._watch(result)
            return result.result()
        except BaseException:
            if result.cancel():  # a signal came before the call began
                self._calls = []
            elif not result.done():  # it came during the call
                threading.Thread(target=self._interrupt, args=(result,), name=LOADER).start()
            raise

    def _watch(self, call: Future[Any]) -> None:
        """Report how far a call is, until it ends."""
        while wait([call], timeout=report.SECONDS if report.wanted() else None).not_done:
            share = self.connection.query_progress()
            self.report(share / 100 if 0 < share <= 100 else None)

    def report(self, share: float | None) -> None:
        """Report how far the present step is: its share, if that is known."""
        seconds = time.monotonic() - self._began
        report.send(Loading(self._name, self.step, seconds, share, self._size))

    def _interrupt(self, call: Future[Any]) -> None:
        """End a call; an interrupt that comes before DuckDB runs the query is lost."""
        while not call.done():
            with suppress(self.error):  # it has ended, and the connection was closed
                self.connection.interrupt()
            wait([call], timeout=0.02)


def open_files(
    files: Sequence[DataFile], pick: Pick, options: FileOptions, kind: Callable[..., R]
) -> R:
    """Return the rows of CSV, Parquet or JSON files, one file after the other."""
    parts = [_reader(file, pick, options) for file in files]
    data = parts[0]
    if len(files) > 1 and files[0].reader == "parquet":
        data = f"read_parquet({_list(files)}, union_by_name=true, hive_partitioning=false)"
    elif len(files) > 1:
        # Each file is read alone, so that its own separator and order of columns count.
        parts = [f"SELECT {i} AS {_FILE}, * FROM {part}" for i, part in enumerate(parts)]
        data = f"({' UNION ALL BY NAME '.join(parts)}) AS data"
    name = title(files)
    connection = Connection(name, sum(file.path.stat().st_size for file in files))
    return kind(name, pick, connection, data, files=files)


def _reader(file: DataFile, pick: Pick, options: FileOptions) -> str:
    """Return as SQL the rows of one file."""
    return _READERS[file.reader].format(
        path=_literal(_plain(file)),
        arms=", ".join(f"{_literal(column)}: 'VARCHAR'" for column in pick.arm),
        encoding=_literal(options.encoding or "utf-8"),
        compression="'gzip'" if file.gzipped else "'none'",
        layout=_literal(file.layout),
        lenient="true" if file.layout == "newline_delimited" else "false",
        sample=_GLANCE if options.glance else -1,
    )


def _list(files: Sequence[DataFile]) -> str:
    return "[" + ", ".join(_literal(_plain(file)) for file in files) + "]"


def _name(file: DataFile) -> str:
    return str(file.path.absolute())


def _plain(file: DataFile) -> str:
    """Return the path for DuckDB: a name, not a pattern of many names."""
    return re.sub(r"([*?[])", r"[\1]", _name(file))


def open_frame(table: Any, pick: Pick, kind: Callable[..., R]) -> R:
    """Return the rows of an Arrow table."""
    connection = Connection()
    connection.connection.register("frame", table)
    rows = kind("the data frame", pick, connection, "frame")
    connection.connection.unregister("frame")
    return rows


def open_database(file: DataFile, pick: Pick, kind: Callable[..., R]) -> R:
    """Return the rows of a table or query of a DuckDB file, which is only read."""
    query, path = pick.query, file.path
    connection = Connection(file.name, path.stat().st_size)
    try:
        connection.fetch(f"ATTACH {_literal(str(path))} AS oddarm_data (TYPE duckdb, READ_ONLY)")
        connection.fetch("USE oddarm_data")
    except connection.error as error:
        connection.close()
        raise SourceError(
            f"{file.name} cannot be opened as a DuckDB file ({sentence(error)}): check the file, "
            "and close it where it is open for writing."
        ) from None
    if query is not None:
        try:
            connection.check_query(query)
        except connection.error as error:
            connection.close()
            refuse_query(query, error)
        name, data = f"the query on {file.name}", f"({query.strip().rstrip(';')}\n) AS data"
    else:
        table = _table(connection, file.name, pick.table)
        name = f"table {table!r} of {file.name}"
        data = ".".join(map(identifier, table.split(".")))
    rows = kind(name, pick, connection, data)
    connection.fetch("USE memory")
    connection.fetch("DETACH oddarm_data")  # so that others can write to the file
    return rows


def _table(connection: Connection, name: str, table: str | None) -> str:
    """Return the named table, or the only one if none is named."""
    tables = [
        row[1] if row[0] == "main" else f"{row[0]}.{row[1]}"
        for row in connection.fetch(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = 'oddarm_data' ORDER BY ALL"
        )
    ]
    try:
        return chosen_table(name, tables, table)
    except SourceError:
        connection.close()
        raise


def chosen_table(name: str, tables: Sequence[str], table: str | None) -> str:
    """Return the named table of a database, or its only one if none is named."""
    if table is None and len(tables) == 1:
        return tables[0]
    if table is not None and {table, table.removeprefix("main.")} & set(tables):
        return table
    if not tables:
        raise SourceError(f"{name} has no tables: check that it is the file that you mean.")
    asked = "tables to choose from" if table is None else f"no table {table!r}"
    names = ", ".join(map(repr, tables))
    raise SourceError(f"{name} has {asked}, its tables are {names}: name one, or pass a query.")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
