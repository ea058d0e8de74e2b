"""The kind of a file by its first bytes, so that an error can say what a wrong file is."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from pathlib import Path
from typing import NoReturn

from oddarm.errors import ParameterError, SourceError

__all__ = ["DATABASES", "ENCODINGS", "TEXTS", "check_file", "not_utf8", "reader_of"]

DATABASES = (".duckdb", ".ddb", ".db")
TABLES = (".csv", ".tsv")
TEXTS = (*TABLES, ".jsonl", ".ndjson")
PARQUET = ".parquet"
ENCODINGS = ("utf-8", "latin-1", "utf-16")
"""The encodings of CSV files that DuckDB reads."""
HEAD = 1 << 20
"""Bytes of a text file that are checked here; DuckDB checks the lines after them."""

_DUCKDB, _PARQUET, _GZIP = "a DuckDB file", "a Parquet file", "a gzip file"
_MAGIC = (
    (re.compile(rb"PAR1"), _PARQUET),
    (re.compile(rb".{8}DUCK", re.DOTALL), _DUCKDB),
    (re.compile(rb"\x1f\x8b"), _GZIP),
    (re.compile(rb"SQLite format 3\0"), "a SQLite file"),
    (re.compile(rb"PK\x03\x04|\xd0\xcf\x11\xe0"), "an Excel or zip file"),
    (re.compile(rb"\x28\xb5\x2f\xfd|BZh|\xfd7zXZ"), "a compressed file"),
    (re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE), "an HTML or XML page"),
)
_REMEDIES = {
    _PARQUET: "rename it to end with .parquet",
    _DUCKDB: "rename it to end with .duckdb",
    _GZIP: "rename it to end with .csv.gz or .jsonl.gz",
    "a SQLite file": "write the table to a CSV file, as with sqlite3 -header -csv FILE "
    "'SELECT * FROM …'",
    "an Excel or zip file": "save the sheet as CSV, or unpack the archive",
    "a compressed file": "unpack it, or compress it with gzip",
    "an HTML or XML page": "fetch the table itself, as CSV",
}


def reader_of(path: Path) -> str:
    """Return the suffix that says how to read a file, without .gz; refuse one that cannot be read.

    The first bytes must agree with it.
    """
    head = _first_bytes(path)
    if not head:
        _refuse_empty(path)
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower() if suffix == ".gz" else suffix
    expected = {".gz": _GZIP, PARQUET: _PARQUET} | dict.fromkeys(DATABASES, _DUCKDB)
    actual = next((kind for magic, kind in _MAGIC if magic.match(head)), None)
    if actual is not None and actual != expected.get(suffix):
        raise SourceError(
            f"{path} is {actual}, must be CSV, JSON lines, Parquet or DuckDB, and named so: "
            f"{_REMEDIES[actual]}."
        )
    allowed = TEXTS if suffix == ".gz" else (*TEXTS, PARQUET, *DATABASES)
    if inner not in allowed:
        raise SourceError(
            f"{path} ends with {path.suffix!r}, must end with one of {', '.join(allowed)}: "
            "rename or convert it."
        )
    if suffix in expected and actual is None:
        raise SourceError(
            f"{path} is not {expected[suffix]}, although it ends with {suffix!r}: "
            "check how it was written, or rename it to what it is."
        )
    return inner


def check_file(path: Path, suffix: str, encoding: str | None) -> None:
    """Refuse a text file that is not what its suffix and the encoding say."""
    if encoding is not None and suffix not in TABLES:
        raise ParameterError(f"encoding with {path}, which is not a CSV or TSV file: drop it.")
    if encoding is not None and encoding not in ENCODINGS:
        raise ParameterError(
            f"encoding == {encoding!r}, must be one of {', '.join(ENCODINGS)}: "
            "convert the file to UTF-8, as with iconv."
        )
    if suffix not in TEXTS:
        return
    text = _decoded(path, suffix, encoding or "utf-8")
    if not text.strip():
        _refuse_empty(path)
    if "\0" in text:
        raise SourceError(f"{path} is not text, but ends with {suffix!r}: name a file of rows.")
    if suffix not in TABLES and (text.lstrip()[0] == "[" or text.split(None, 1)[0] == "{"):
        raise SourceError(
            f"{path} is not JSON lines, must have one object a line: "
            "convert it, as with jq -c '.[]' for a list or jq -c . for objects over many lines."
        )


def not_utf8(path: object, line: int, suffix: str, guess: str = "latin-1") -> NoReturn:
    """Raise the error about the first line that is not in UTF-8."""
    remedy = "convert it to UTF-8"
    if suffix in TABLES:
        remedy += f", or name its encoding, as in encoding='{guess}' (--encoding {guess})"
    raise SourceError(f"{path} is not UTF-8 in line {line:,}: {remedy}.") from None


def _refuse_empty(path: Path) -> NoReturn:
    raise SourceError(f"{path} is empty, must hold a table: check how it was written.")


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file; refuse a file that cannot be opened."""
    if path.is_dir():
        raise SourceError(f"{path} is a folder, must be a file: name one of the files in it.")
    if not path.is_file():
        raise SourceError(f"there is no file {path}: check the path.")
    try:
        with path.open("rb") as opened:
            return opened.read(512)
    except OSError as error:
        raise SourceError(
            f"{path} cannot be opened ({error.strerror}): check who may read it."
        ) from None


def _decoded(path: Path, suffix: str, encoding: str) -> str:
    """Return the beginning of a text file; refuse one in another encoding."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as opened:
            head = opened.read(HEAD)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise SourceError(f"{path} is damaged or cut short: write or fetch it again.") from None
    if encoding == "utf-8" and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        not_utf8(path, 1, suffix, guess="utf-16")
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if encoding == "utf-8":
            not_utf8(path, head.count(b"\n", 0, error.start) + 1, suffix)
        raise SourceError(f"{path} is not {encoding.upper()}: name its encoding.") from None
