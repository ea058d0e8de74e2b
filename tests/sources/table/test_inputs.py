"""Several files as one table, streams, SQLite files, JSON arrays, and formats that are named."""

import gzip
import io
import json
import sqlite3
from itertools import chain

import pytest

import oddarm
from oddarm.errors import MissingColumnsError, ParameterError, SourceError
from oddarm.sources.table import sqlite
from oddarm.sources.table.loading import report
from support.tables import drawn, expected, rows, write_csv, write_jsonl, write_parquet

pytest.importorskip("duckdb")

WRITE = {"csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet}


def part(data, which):
    """Every third row of the data."""
    return {name: values[which::3] for name, values in data.items()}


def write_sqlite(path, data, table="events"):
    """Write a SQLite file with one table, whose columns declare no type."""
    names = ", ".join(data)
    with sqlite3.connect(path) as made:
        made.execute(f"CREATE TABLE {table} ({names})")
        marks = ", ".join("?" * len(data))
        made.executemany(f"INSERT INTO {table} VALUES ({marks})", zip(*data.values(), strict=True))
    made.close()
    return path


@pytest.mark.parametrize("kind", WRITE)
def test_several_files_are_one_table(tmp_path, monkeypatch, kind):
    """A pattern, or a list of paths, gives the rows of all files, by name of column."""
    monkeypatch.chdir(tmp_path)
    data = rows(300)
    parts = [part(data, which) for which in range(3)]
    parts[1] = dict(reversed(parts[1].items()))
    for number, columns in enumerate(parts):
        WRITE[kind](tmp_path / f"log-{number}.{kind}", columns)
    truth = {arm: sorted(rewards) for arm, rewards in expected(data, data["score"]).items()}
    names = [f"log-{number}.{kind}" for number in range(3)]
    for files in (f"log-*.{kind}", str(tmp_path / f"log-?.{kind}"), names):
        with oddarm.open_table(files, "host", "score") as source:
            assert {arm: sorted(found) for arm, found in drawn(source).items()} == truth
    assert oddarm.scan(f"log-[0-2].{kind}", "host", "slow", rows="all", max_outliers=1).pulls == 300


@pytest.mark.parametrize("kind", WRITE)
def test_the_fingerprint_covers_every_file(tmp_path, kind):
    """One other reward in the last file is another fingerprint; another folder is not."""
    found = []
    for folder, change in (("a", 0.0), ("b", 0.0), ("c", 0.5)):
        (tmp_path / folder).mkdir()
        for number in range(3):
            columns = part(rows(300), number)
            columns["score"][-1] += change * (number == 2)
            WRITE[kind](tmp_path / folder / f"{number}.{kind}", columns)
        with oddarm.open_table(tmp_path / folder / f"*.{kind}", "host", "score") as source:
            found.append(source.fingerprint())
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_bad_row_is_named_with_its_file(tmp_path, kind):
    """An error about one of several files names that file and the row in it."""
    good = {"arm": list("abc") * 4, "reward": [0.5] * 12}
    WRITE[kind](tmp_path / f"0.{kind}", good)
    WRITE[kind](tmp_path / f"1.{kind}", {**good, "reward": [0.5] * 4 + [float("nan")] * 8})
    with pytest.raises(SourceError, match=rf"row 5 of .*1\.{kind}: reward 'reward' is nan"):
        oddarm.open_table(tmp_path / f"*.{kind}", "arm", "reward")


def test_files_that_are_not_one_table(tmp_path, monkeypatch):
    """Files of two kinds, two databases, a file twice, or one without the column are refused."""
    monkeypatch.chdir(tmp_path)
    data = rows(90)
    table = write_csv(tmp_path / "a.csv", data)
    lines = write_jsonl(tmp_path / "a.jsonl", data)
    bases = [write_sqlite(tmp_path / f"{name}.db", data) for name in "ab"]
    other = write_csv(tmp_path / "b.csv", {"host": list("abc"), "points": [1, 2, 3]})
    for files, words in (
        ([table, lines], "is JSON and .*a.csv is CSV, must be files of one kind"),
        (bases, "are databases, must be one: name one file"),
        ([table, table], "is named twice"),
        (["a.csv", table], "is named twice"),
        ([table, other], "b.csv has no values in column 'score', which other files have"),
        (tmp_path / "x*.csv", "there is no file .*, and no file matches that pattern"),
    ):
        with pytest.raises((SourceError, ParameterError), match=words):
            oddarm.open_table(files, "host", "score")


def test_sql_reaches_no_file_that_was_not_named(tmp_path):
    """SQL on several files reads these, and not the one beside them."""
    for number in range(2):
        write_parquet(tmp_path / f"t{number}.parquet", rows(60, seed=number))
    other = write_parquet(tmp_path / "other.parquet", rows(9))
    for sql in (f"EXISTS (FROM '{other}')", f"EXISTS (FROM glob('{tmp_path}/*'))"):
        with pytest.raises(SourceError, match=r"SQL|cannot be read"):
            oddarm.open_table(tmp_path / "t*.parquet", "host", "slow", where=sql)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "json", "jsonl", "parquet", "sqlite"])
def test_streams_are_told_by_their_content(tmp_path, kind):
    """An open file is read like a file, and its format is told by its first bytes."""
    data = rows(60)
    content = {
        "csv": lambda: write_csv(tmp_path / "t", data).read_bytes(),
        "csv.gz": lambda: gzip.compress(write_csv(tmp_path / "t", data).read_bytes()),
        "json": lambda: as_array(data).encode(),
        "jsonl": lambda: write_jsonl(tmp_path / "t", data).read_bytes(),
        "parquet": lambda: write_parquet(tmp_path / "t", data).read_bytes(),
        "sqlite": lambda: write_sqlite(tmp_path / "t", data).read_bytes(),
    }[kind]()
    with oddarm.open_table(io.BytesIO(content), "host", "score") as source:
        assert source.rows == 60


def as_array(data):
    """The data as a JSON array, over several lines."""
    listed = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    return json.dumps(listed, indent=1)


def test_a_stream_that_could_be_anything():
    """Where the first line leaves the format open, the error names the option."""
    with pytest.raises(SourceError, match=r"cannot be told from its first line: .*--format csv"):
        oddarm.open_table(io.StringIO("host\na\n"), "host", "host")
    with pytest.raises(SourceError, match="the stream is empty"):
        oddarm.open_table(io.BytesIO(), "host", "host")


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.txt"])
def test_json_is_told_by_its_content(tmp_path, name):
    """An array, objects over many lines and an object a line are all read, whatever the ending."""
    data, path = rows(60), tmp_path / name
    lines = write_jsonl(tmp_path / "lines", data).read_text()
    pretty = "".join(json.dumps(json.loads(line), indent=2) + "\n" for line in lines.splitlines())
    for text in (as_array(data), lines, pretty):
        path.write_text(text)
        named = "json" if name == "t.txt" else None
        with oddarm.open_table(path, "host", "score", format=named) as source:
            assert source.rows == 60


def test_a_format_is_checked(tmp_path):
    """A named format must be known, agree with the content, and be for a file."""
    path = write_csv(tmp_path / "log.2024", rows(60))
    with oddarm.open_table(path, "host", "score", format="csv") as source:
        assert source.rows == 60
    for data, named, words in (
        (path, "xml", "format == 'xml', must be one of csv, tsv, json"),
        (path, "parquet", "is not a Parquet file, as the format says"),
        (path, None, r"ends with '.2024', .*--format csv"),
        ("postgresql://h/x", "csv", "format with data that is not a file: drop it"),
    ):
        with pytest.raises((SourceError, ParameterError), match=words):
            oddarm.open_table(data, "host", "score", format=named)


def test_sqlite_is_read_in_blocks(tmp_path, monkeypatch):
    """Values of every type come over, a column with words as text, bytes as digits."""
    monkeypatch.setattr(sqlite, "BLOCK", 7)
    data = {
        "host": ["a", "b", "c"] * 10,
        "whole": list(range(30)),
        "mixed": [1, 2.5, None] * 10,
        "words": ["x", 1, 0.5] * 10,
        "key": [b"\x01\xff", b"\x02", b"\x03"] * 10,
    }
    path = write_sqlite(tmp_path / "t.db", data)
    before = path.read_bytes()
    with oddarm.open_table(path, "host", "whole") as source:
        assert sorted(chain(*drawn(source).values())) == data["whole"]
    with oddarm.open_table(path, "key", "mixed", where="mixed IS NULL OR true", bad_rows="skip",
                           query="SELECT * FROM events UNION ALL SELECT 'd', 1, 0, 'y', x'04'",
                           ) as source:  # fmt: skip
        assert (source.arms, source.skipped) == (["01FF", "02", "04"], 10)
    with oddarm.open_table(path, "words", "whole", table="events") as source:
        assert source.arms == ["0.5", "1", "x"]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH '{new}' AS other",
        "DELETE FROM events",
        "SELECT 1; DROP TABLE events",
        "SELECT * FROM events) AS a, (SELECT 1",
        "PRAGMA user_version = 3",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('{new}')",
        "VACUUM INTO '{new}'",
        "",
    ],
)
def test_a_query_only_reads_its_sqlite_file(tmp_path, query):
    """A query on a SQLite file is one SELECT on its tables: it reaches nothing else."""
    path = write_sqlite(tmp_path / "t.sqlite", rows(60))
    before, content = sorted(tmp_path.iterdir()), path.read_bytes()
    with pytest.raises(SourceError, match="is not one SELECT statement"):
        oddarm.open_table(path, "host", "slow", query=query.format(new=tmp_path / "new"))
    assert sorted(tmp_path.iterdir()) == before
    assert path.read_bytes() == content


def test_sqlite_tables_are_named(tmp_path):
    """A missing or ambiguous table is refused with the tables there are; damage is one sentence."""
    path = write_sqlite(tmp_path / "t.db", rows(60))
    write_sqlite(path, rows(60), table="others")
    with pytest.raises(SourceError, match=r"has tables to choose from, .*'events', 'others'"):
        oddarm.open_table(path, "host", "slow")
    with pytest.raises(SourceError, match="has no table 'event', its tables are 'events'"):
        oddarm.open_table(path, "host", "slow", table="event")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(SourceError, match=r"cannot be read \(.*\): check the file"):
        oddarm.open_table(path, "host", "slow", table="events")


@pytest.mark.parametrize("call", [oddarm.open_table, oddarm.scan, oddarm.find])
def test_missing_columns_are_listed(tmp_path, call):
    """Without arm or reward, the error lists the columns with types and suggests a call."""
    path = write_csv(tmp_path / "t.csv", rows(30))
    with pytest.raises(MissingColumnsError) as caught:
        call(path)
    assert caught.value.columns == [
        ("id", "whole number"), ("host", "text"), ("score", "number"), ("slow", "true or false"),
    ]  # fmt: skip
    assert f"oddarm.{call.__name__}(data, arm='host', reward='slow')" in str(caught.value)
    with pytest.raises(
        MissingColumnsError, match=r"reward is missing: .*arm='score', reward='slow'"
    ):
        call(path, arm="score")


def test_the_nearest_column_is_named(tmp_path):
    """A misspelt column gets the name that is most like it, within an expression too."""
    path = write_csv(tmp_path / "t.csv", rows(30))
    for arm, reward, where in (("Hots", "slow", None), ("host", "slwo", None)):
        with pytest.raises(SourceError, match=r"; did you mean '(host|slow)'\?"):
            oddarm.open_table(path, arm, reward, where=where)
    with pytest.raises(SourceError, match=r"; did you mean 'score'\?"):
        oddarm.open_table(path, "host", "slow", where="scores > 2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("host,host,r\na,b,1\n", "has 2 columns named 'host', must have one: rename"),
        ("host,r\x07\x02\na,1\n", "is not text, must be CSV"),
        (f"host,{'x' * 500}\na,1\n", "one of 'host', 'x{58}…"),
    ],
)
def test_odd_headers(tmp_path, text, words):
    """Two columns of a name, bytes that are not text, and endless names get one sentence."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(SourceError, match=words):
        oddarm.open_table(path, "host", "r")


def test_gzip_is_told_by_its_content(tmp_path):
    """Text is unpacked if it is packed, whatever it is called; a cut is told even far down."""
    text = write_csv(tmp_path / "t", rows(120_000)).read_bytes()
    for name, content in (("a.csv", gzip.compress(text, 1)), ("b.csv.gz", text)):
        (tmp_path / name).write_bytes(content)
        with oddarm.open_table(tmp_path / name, "host", "score") as source:
            assert source.rows == 120_000
    packed = gzip.compress(text, 1)
    (tmp_path / "c.csv.gz").write_bytes(packed[: len(packed) * 9 // 10])
    with pytest.raises(SourceError, match=r"c\.csv\.gz is damaged or cut short: write or fetch"):
        oddarm.open_table(tmp_path / "c.csv.gz", "host", "score")


def test_loading_is_reported(tmp_path, monkeypatch):
    """A watcher is told which table is read and how far; without a watcher nothing is told."""
    monkeypatch.setattr(sqlite, "BLOCK", 10)
    path = write_sqlite(tmp_path / "t.db", rows(40))
    heard = []
    with report.to(heard.append):
        oddarm.open_table(path, "host", "score").close()
    shares = [one.share for one in heard if one.share is not None and one.step == "reading"]
    assert shares[:4] == [0.25, 0.5, 0.75, 1.0]
    assert {(one.name, one.size) for one in heard} == {(str(path), path.stat().st_size)}
    heard.clear()
    oddarm.open_table(path, "host", "score").close()
    assert heard == []
