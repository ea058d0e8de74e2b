"""Files that are not what they seem, and files that are more than they seem."""

import gzip
import io
import sqlite3
import zipfile

import pytest

import oddarm
from oddarm.errors import OddarmError, ParameterError, SourceError
from support.tables import write_duckdb, write_parquet

duckdb = pytest.importorskip("duckdb")

DATA = {"arm": [f"a{i % 4}" for i in range(40)], "reward": [i % 3 for i in range(40)]}
CSV = "arm,reward\n" + "".join(f"{a},{r}\n" for a, r in zip(*DATA.values(), strict=True))


def sqlite_file(path):
    """The bytes of a SQLite file."""
    sqlite3.connect(path).execute("CREATE TABLE t (arm, reward)").connection.close()
    return path.read_bytes()


def workbook():
    """The bytes of an archive, as an Excel file is one."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return kept.getvalue()


def content(kind, folder):
    """The bytes of a file of that kind."""
    if kind == "sqlite":
        return sqlite_file(folder / "made.sqlite")
    if kind in ("parquet", "cut parquet"):
        return write_parquet(folder / "made", DATA).read_bytes()[: 300 if "cut" in kind else None]
    if kind == "duckdb":
        return write_duckdb(folder / "made.duckdb", DATA).read_bytes()
    return {
        "csv": CSV.encode(),
        "xlsx": workbook(),
        "xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99),
        "gzip": gzip.compress(CSV.encode()),
        "cut": gzip.compress(CSV.encode())[:40],
        "bzip2": b"BZh91AY&SY" + bytes(99),
        "html": b"\n<!DOCTYPE html>\n<html>sign in</html>\n",
        "binary": bytes(range(1, 256)) * 9,
        "zeros": bytes(999),
        "empty": b"",
        "blank": b"\n \n\n",
        "utf-16": CSV.encode("utf-16"),
        "latin-1": CSV.replace("a3", "é").encode("latin-1"),
        "header": b"arm,reward\n",
        "cut list": b'[{"arm": "a", "reward": 1}, {"arm"',
        "latin-1 json": '{"arm": "é", "reward": 1}\n'.encode("latin-1"),
    }[kind]


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("t.csv", "empty", "is empty, must hold a table"),
        ("t.csv", "blank", "is empty, must hold a table"),
        ("t.jsonl", "empty", "is empty, must hold a table"),
        ("t.parquet", "empty", "is empty, must hold a table"),
        ("t.duckdb", "empty", "is empty, must hold a table"),
        ("t.csv.gz", "empty", "is empty, must hold a table"),
        ("t.csv", "header", "has no rows to sample: give it rows"),
        ("t.db", "sqlite", "has no rows to sample: give it rows"),
        ("t.db", "csv", "is not a SQLite or DuckDB file, as '.db' says: .*--format csv"),
        (
            "t.duckdb",
            "sqlite",
            "is a SQLite file, .*rename it to end with .sqlite, .*--format sqlite",
        ),
        ("t.csv", "sqlite", "is a SQLite file"),
        ("t.xlsx", "xlsx", "is an Excel or zip file, .*save the sheet as CSV"),
        ("t.xls", "xls", "is an Excel or zip file"),
        ("t.csv", "xlsx", "is an Excel or zip file"),
        ("t.csv.bz2", "bzip2", "is a compressed file, .*with gzip"),
        ("t.csv", "html", "is an HTML or XML page, .*fetch the table itself"),
        ("t.csv", "parquet", "is a Parquet file, .*rename it to end with .parquet"),
        ("t.parquet", "duckdb", "is a DuckDB file, .*rename it to end with .duckdb"),
        ("t.parquet", "csv", "is not a Parquet file, as '.parquet' says"),
        ("t.duckdb", "csv", "is not a DuckDB file, as '.duckdb' says"),
        ("t.csv.gz", "cut", "is damaged or cut short: write or fetch it again"),
        ("t.parquet.gz", "gzip", "must end with one of .csv, .tsv, .json, .jsonl, .ndjson: name"),
        ("t.txt", "csv", "ends with '.txt', must end with one of .csv"),
        ("t", "csv", "ends with '', must end with one of .csv"),
        ("t.csv", "zeros", "is not text"),
        ("t.csv", "binary", "is not UTF-8 in line 2"),
        ("t.csv", "utf-16", r"is not UTF-8 in line 1: .*\(--encoding utf-16\)"),
        ("t.csv", "latin-1", r"is not UTF-8 in line 5: .*\(--encoding latin-1\)"),
        ("t.jsonl", "latin-1 json", "is not UTF-8 in line 1: convert it to UTF-8.$"),
        ("t.json", "csv", "is not JSON, must be a list of objects or one object a line"),
        ("t.json", "cut list", r"damaged or cut short \(Malformed JSON.*write or fetch it again"),
        ("t.parquet", "cut parquet", r"damaged or cut short \(No magic bytes.*\): write or fetch"),
    ],
)
def test_wrong_files(tmp_path, name, kind, words):
    """A file that is not what its name says gets one sentence: what it is and what to do."""
    made = content(kind, tmp_path)
    path = tmp_path / name
    path.write_bytes(made)
    with pytest.raises(SourceError, match=words) as caught:
        oddarm.open_table(path, "arm", "reward")
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_a_file(tmp_path):
    """A path to nothing, a folder, an address or another thing is refused."""
    for data, words in (
        (tmp_path / "nowhere.csv", "there is no file .*nowhere.csv: check the path"),
        (str(tmp_path), "is a folder, must be a file: name one of the files in it"),
        ("https://x.example/t.csv", "data is a https:// address, must be a file or a postgres"),
        ("mysql://x.example/shop", "data is a mysql:// address"),
        (7, "data is a int, must be a path, a postgresql:// URL"),
    ):
        with pytest.raises(OddarmError, match=words):
            oddarm.open_table(data, "arm", "reward")


def test_a_line_far_down_that_is_not_utf_8(tmp_path):
    """A line that is not UTF-8 is named with the encoding as the remedy, however late it is."""
    path = tmp_path / "t.csv"
    path.write_bytes(CSV.encode() + CSV[11:].encode() * 6000 + b"\xe9,1\n")
    for bad_rows in ("error", "skip"):
        with pytest.raises(SourceError, match=r"not UTF-8 in line 240,042: .*--encoding latin-1"):
            oddarm.open_table(path, "arm", "reward", bad_rows=bad_rows)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_encodings(tmp_path, encoding):
    """A CSV file is read in the encoding that is named."""
    path = tmp_path / "t.csv"
    path.write_bytes(CSV.replace("a3", "é").replace("reward", "lön").encode(encoding))
    with oddarm.open_table(path, "arm", "lön", encoding=encoding) as source:
        assert source.arms == ["a0", "a1", "a2", "é"]
    path.write_bytes(b"\x00\xd8\x00\xd8")
    with pytest.raises(ParameterError, match="encoding == 'ebcdic', must be one of utf-8, latin-1"):
        oddarm.open_table(path, "arm", "reward", encoding="ebcdic")
    with pytest.raises(SourceError, match="is not UTF-16: name its encoding"):
        oddarm.open_table(path, "arm", "reward", encoding="utf-16")


def test_an_encoding_is_for_csv(tmp_path):
    """Other data has no encoding to choose."""
    for data in (write_parquet(tmp_path / "t.parquet", DATA), "postgresql://h/x", DATA):
        with pytest.raises(ParameterError, match=r"encoding with .*not a CSV or TSV file: drop it"):
            oddarm.open_table(data, "arm", "reward", encoding="latin-1")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_and_marks(tmp_path, separator, end):
    """The usual separators and ends of lines are told by themselves, with a byte-order mark too."""
    path = tmp_path / "t.csv"
    text = CSV.replace(",", separator).replace("\n", end)
    for mark in ("", "\ufeff"):
        path.write_bytes((mark + text).encode())
        with oddarm.open_table(path, "arm", "reward") as source:
            assert (source.rows, len(source.arms)) == (40, 4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CSV.replace(",", ":"), "name one of 'arm:reward'; columns must be separated by commas"),
        (CSV.split("\n", 1)[1], "name one of 'a0', '0'; the first line of the file must name its"),
        ("arm\na\nb\nc\n", "has no column 'reward': .*; columns must be separated"),
    ],
)
def test_columns_that_cannot_be_told(tmp_path, text, words):
    """A file without a header, or with another separator, is told from one that lacks a column."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(SourceError, match=words):
        oddarm.open_table(path, "arm", "reward")


@pytest.mark.parametrize(
    ("cells", "remedy", "total"),
    [
        (["1,5", "2,5", "0,25"], "replace(reward, ',', '.')", 4.25),
        (["1,5", "2", "3"], "replace(reward, ',', '.')", 6.5),
        (["1,234.5", "2,000.0", "-1,000.0"], "replace(reward, ',', '')", 2234.5),
        (["1.5 ms", "2 ms", "-3 ms"], "replace(reward, ' ms', '')", 0.5),
        (["11.5%", "2%", "0%"], "replace(reward, '%', '')", 13.5),
        (["$11.5", "$2", "$0"], "replace(reward, '$', '')", 13.5),
    ],
)
def test_numbers_with_commas(tmp_path, cells, remedy, total):
    """Numbers with commas or a unit get the expression that reads them, and it does."""
    path = tmp_path / "t.csv"
    path.write_text("arm;reward\n" + "".join(f"{a};{r}\n" for a, r in zip("abc", cells)) * 2)  # noqa: B905
    with pytest.raises(SourceError) as caught:
        oddarm.open_table(path, "arm", "reward")
    assert f'write reward="{remedy}"' in str(caught.value)
    with oddarm.open_table(path, "arm", remedy) as source:
        assert sum(source.draw(arm)[0] for arm in source.arms) == total


def test_a_database_without_tables(tmp_path):
    """A DuckDB file that has no tables is said to have none."""
    duckdb.connect(tmp_path / "t.duckdb").close()
    with pytest.raises(SourceError, match="has no tables: check that it is the file"):
        oddarm.open_table(tmp_path / "t.duckdb", "arm", "reward")
