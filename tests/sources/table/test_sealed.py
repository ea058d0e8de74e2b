"""What the SQL of a user may reach: the data that was named, and nothing else."""

from itertools import chain

import pytest

import oddarm
from oddarm.errors import SourceError
from support.tables import ARMS, KINDS, drawn, rows, write_csv, write_duckdb, write_parquet

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

READS = [
    "(SELECT count(*) FROM read_text('{other}')) = 1",
    "(SELECT count(*) FROM read_csv('{other}')) > 0",
    "EXISTS (FROM '{other}')",
    "EXISTS (FROM glob('{folder}/*'))",
    "EXISTS (FROM sniff_csv('{other}'))",
    "EXISTS (FROM query('FROM read_text(''{other}'')'))",
    "EXISTS (FROM rows_of_the_caller)",
    "getenv('HOME') IS NOT NULL",
]
WRITES = [
    "true); COPY (SELECT 1) TO '{new}'; SELECT (1",
    "true; COPY (SELECT 1) TO '{new}'",
    "true) ; COPY (SELECT 1) TO '{new}'; --",
    "true); ATTACH '{new}' AS other; SELECT (1",
    "true); SET lock_configuration = false; SELECT (1",
    "true); INSTALL httpfs; SELECT (1",
    "true); LOAD httpfs; SELECT (1",
    "true); PRAGMA threads = 1; SELECT (1",
    "EXISTS (FROM query('COPY (SELECT 1) TO ''{new}'''))",
    "EXISTS (FROM enable_logging(storage = 'file', storage_path = '{new}'))",
    "EXISTS (WITH a AS (COPY (SELECT 1) TO '{new}') FROM a)",
    "EXISTS (WITH a AS (DELETE FROM temp.data RETURNING 1) FROM a)",
]
ESCAPES = [
    "true) OR (true",
    "true) UNION ALL SELECT 1, 'x', 0, 1 WHERE (true",
    "true) --",
    "true /*",
    "true ORDER BY id",
    "true FROM range(3)",
    "true, false",
]


@pytest.fixture
def places(tmp_path):
    """A file beside the data, the name of one that is not there, and their folder."""
    other = tmp_path / "other.csv"
    other.write_text("secret\n1\n")
    return {"other": other, "new": tmp_path / "new", "folder": tmp_path}


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "pyarrow"])
@pytest.mark.slow
def test_no_other_file_is_reached(tmp_path, places, kind):
    """No condition, reward or arm reads or writes another file, or changes a setting."""
    rows_of_the_caller = pa.table({"x": [1]})
    data = KINDS[kind](tmp_path, rows(40))
    before = sorted(tmp_path.iterdir())
    for attack in [*READS, *WRITES]:
        sql = attack.format(**places)
        with pytest.raises(SourceError, match=r"SQL|cannot be read"):
            oddarm.open_table(data, "host", "slow", where=sql)
        if kind == "parquet":  # a reward takes the same way
            with pytest.raises(SourceError, match=r"SQL|cannot be read"):
                oddarm.open_table(data, "host", sql)
            with pytest.raises(SourceError, match=r"SQL|cannot be read"):
                oddarm.open_table(data, sql, "slow")
    assert sorted(tmp_path.iterdir()) == before
    assert rows_of_the_caller.num_rows == 1


@pytest.mark.parametrize("sql", ESCAPES)
def test_expressions_are_closed_in_themselves(sql):
    """A condition, reward or arm is one expression, which closes what it opens and no more."""
    table = pa.table(rows())
    with pytest.raises(SourceError, match=r"not an SQL condition|cannot be read"):
        oddarm.open_table(table, "host", "slow", where=sql)
    with pytest.raises(SourceError, match=r"nor an SQL expression|must be numbers"):
        oddarm.open_table(table, "host", sql)
    with pytest.raises(SourceError, match=r"nor an SQL expression|cannot be read"):
        oddarm.open_table(table, sql, "slow")


@pytest.mark.parametrize("reward", ["*", "COLUMNS(*)", "slow, score", "?", "$1"])
def test_a_reward_is_one_number(reward):
    """An expression of several columns, or with a gap to fill in, is refused in a sentence."""
    with pytest.raises(SourceError, match="reward == "):
        oddarm.open_table(pa.table(rows()), "host", reward)


@pytest.mark.parametrize(
    "query",
    [
        "FROM events; COPY events TO '{new}'",
        "FROM events) AS a; COPY events TO '{new}'; FROM (FROM events",
        "FROM events) AS a, (SELECT 1",
        "COPY events TO '{new}'",
        "EXPORT DATABASE '{new}'",
        "DELETE FROM events",
        "WITH a AS (DELETE FROM events RETURNING *) FROM a",
        "WITH a AS (COPY events TO '{new}') FROM a",
        "ATTACH '{new}' AS other",
        "SET threads = 1",
        "PRAGMA version",
        "CREATE TABLE x AS FROM events",
        "FROM read_csv('{other}')",
        "SELECT *, (SELECT content FROM read_text('{other}')) FROM events",
        "",
    ],
)
def test_a_query_only_reads_its_database(tmp_path, places, query):
    """A query is one SELECT on the tables of its file: it writes nothing and reads no other."""
    path = write_duckdb(tmp_path / "t.duckdb", rows())
    before, content = sorted(tmp_path.iterdir()), path.read_bytes()
    with pytest.raises(SourceError, match=r"one SELECT statement|cannot be read"):
        oddarm.open_table(path, "host", "slow", query=query.format(**places))
    assert sorted(tmp_path.iterdir()) == before
    assert path.read_bytes() == content


@pytest.mark.parametrize("query", ["FROM events", "TABLE events;", "SELECT * FROM events -- all"])
def test_queries_that_read(tmp_path, query):
    """Every way to write a SELECT is a query, with a semicolon or a comment at its end."""
    path = write_duckdb(tmp_path / "t.duckdb", rows())
    assert oddarm.open_table(path, "host", "slow", query=query).rows == 2000


def test_a_view_of_other_files(tmp_path, places):
    """A view of a DuckDB file that reads another file is refused with the remedy."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as made:
        made.execute(f"CREATE VIEW v AS FROM read_csv('{places['other']}')")
    with pytest.raises(SourceError, match=r"may read only the data that was named: copy the rows"):
        oddarm.open_table(path, "secret", "secret", table="v")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_folder_is_not_a_column(tmp_path, kind):
    """The name of the folder that a file is in changes no column of the file."""
    folder = tmp_path / "host=3"
    folder.mkdir()
    assert oddarm.open_table(KINDS[kind](folder, rows()), "host", "id").arms == ARMS


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_name_is_not_a_pattern(tmp_path, write):
    """A file whose name holds * ? or [ is that file, not all that match."""
    suffix = {write_csv: "csv", write_parquet: "parquet"}[write]
    data = rows(300)
    write(tmp_path / f"t1.{suffix}", rows(500, seed=1))
    for name in ("t*", "t?", "t[1]"):
        path = write(tmp_path / f"{name}.{suffix}", data)
        with oddarm.open_table(path, "host", "id", where="id >= 0") as source:
            assert sorted(chain(*drawn(source).values())) == data["id"]
