"""Which files are meant, and of which format each is, by its name and its first bytes.

The first bytes must agree with the name or with the format that the caller names, so that an error
can say what a wrong file is.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import IO, Any, NoReturn

from oddarm.errors import ParameterError, SourceError

__all__ = [
    "DATABASES",
    "ENCODINGS",
    "FORMATS",
    "DataFile",
    "FileOptions",
    "are_files",
    "damaged",
    "files_of",
    "is_pattern",
    "not_utf8",
    "on_disk",
    "title",
]

FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "sqlite", "duckdb")
"""The formats that a caller can name."""
READERS = {"tsv": "csv", "jsonl": "json"}
"""Formats that are read like another one: CSV by its separator, JSON by its first character."""
DATABASES = ("sqlite", "duckdb")
TEXTS = ("csv", "json")
ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "database",
}
"""The format of a file by the end of its name; a .db file is SQLite or DuckDB."""
ENCODINGS = ("utf-8", "latin-1", "utf-16")
"""The encodings of CSV files that DuckDB reads."""
HEAD = 1 << 20
"""Bytes of a text file that are checked here; DuckDB checks the lines after them."""

_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Characters that no header has: all controls but white space and the escapes of a terminal."""
_GZIP = "a gzip file"
_MAGIC = (
    (re.compile(rb"PAR1"), "a Parquet file"),
    (re.compile(rb".{8}DUCK", re.DOTALL), "a DuckDB file"),
    (re.compile(rb"SQLite format 3\0"), "a SQLite file"),
    (re.compile(rb"\x1f\x8b"), _GZIP),
    (re.compile(rb"PK\x03\x04|\xd0\xcf\x11\xe0"), "an Excel or zip file"),
    (re.compile(rb"\x28\xb5\x2f\xfd|BZh|\xfd7zXZ"), "a compressed file"),
    (re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE), "an HTML or XML page"),
)
_BINARY = {"a Parquet file": "parquet", "a DuckDB file": "duckdb", "a SQLite file": "sqlite"}
_SHOWN = {format_: kind for kind, format_ in _BINARY.items()} | {
    "csv": "CSV",
    "json": "JSON",
    "database": "a SQLite or DuckDB file",
}
_REMEDIES = {
    "an Excel or zip file": "save the sheet as CSV, or unpack the archive",
    "a compressed file": "unpack it, or compress it with gzip",
    "an HTML or XML page": "fetch the table itself, as CSV",
}


@dataclass(frozen=True)
class FileOptions:
    """How to read files.

    Attributes:
        encoding: The encoding of CSV files; None for UTF-8.
        format: One of `FORMATS`; None to go by the names and the first bytes.
        glance: Whether a glance at the first rows is enough to tell the types of columns.
    """

    encoding: str | None = None
    format: str | None = None
    glance: bool = False

    def check(self) -> None:
        """Refuse an unknown format or encoding."""
        if self.format is not None and self.format not in FORMATS:
            raise ParameterError(
                f"format == {self.format!r}, must be one of {', '.join(FORMATS)}: "
                "name the one that the file has."
            )
        if self.encoding is not None and self.encoding not in ENCODINGS:
            raise ParameterError(
                f"encoding == {self.encoding!r}, must be one of {', '.join(ENCODINGS)}: "
                "convert the file to UTF-8, as with iconv."
            )

    @property
    def reader(self) -> str | None:
        """What reads the named format."""
        return None if self.format is None else READERS.get(self.format, self.format)


@dataclass(frozen=True)
class DataFile:
    """A file that has been looked at.

    Attributes:
        path: Where it is.
        name: What it is called in messages.
        reader: What reads it: csv, json, parquet, sqlite or duckdb.
        gzipped: Whether it is text that gzip has compressed.
        layout: How its JSON is laid out, in DuckDB's words; empty for other files.
        header: The names in the first line of a CSV file, as far as commas and the like part them.
    """

    path: Path
    name: str
    reader: str
    gzipped: bool = False
    layout: str = ""
    header: tuple[str, ...] = ()


def are_files(data: Any) -> bool:
    """Return whether data is a path, a pattern, an open file, or a list of paths."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(item, str | os.PathLike) for item in data)
    return isinstance(data, str | os.PathLike | io.IOBase)


def is_pattern(name: object) -> bool:
    """Return whether a name is a pattern: it has * ? or [, and there is no file of that name."""
    return re.search(r"[*?[]", str(name)) is not None and not os.path.lexists(str(name))


@contextmanager
def on_disk(data: Any) -> Iterator[tuple[list[Path], str | None]]:
    """Give the paths of files, and the name of a stream, which is copied to a file for a while."""
    if isinstance(data, str | os.PathLike) and Path(data).is_fifo():  # as <(command) gives it
        with Path(data).open("rb") as pipe, on_disk(pipe) as copied:
            yield copied
        return
    if not isinstance(data, io.IOBase):
        yield _paths([data] if isinstance(data, str | os.PathLike) else data), None
        return
    given = getattr(data, "name", None)
    name = "standard input" if given == "<stdin>" else f"the stream {given or ''}".rstrip()
    with tempfile.TemporaryDirectory(prefix="oddarm-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, "stream")
        with copy.open("wb") as opened:
            _copy(data, opened)
        yield [copy], name


def files_of(paths: Sequence[Path], options: FileOptions, stream: str | None) -> list[DataFile]:
    """Return the files, each looked at; refuse those that cannot be read together.

    Args:
        paths: Where they are.
        options: How to read them.
        stream: What a stream is called that was copied to the path; it has no ending to go by.
    """
    files = [_looked_at(path, options, stream) for path in paths]
    first = files[0]
    for other in files[1:]:
        if other.reader != first.reader:
            raise SourceError(
                f"{other.name} is {_SHOWN[other.reader]} and {first.name} is "
                f"{_SHOWN[first.reader]}, must be files of one kind: name them by a narrower "
                "pattern."
            )
    if len(files) > 1 and first.reader in DATABASES:
        raise SourceError(
            f"{first.name} and {len(files) - 1:,} more are databases, must be one: name one file."
        )
    if options.encoding is not None and first.reader != "csv":
        raise ParameterError(
            f"encoding with {first.name}, which is not a CSV or TSV file: drop it."
        )
    return files


def title(files: Sequence[DataFile]) -> str:
    """Return what files are called together in messages."""
    if len(files) == 1:
        return files[0].name
    return f"{files[0].name} and {len(files) - 1:,} more"


def damaged(name: str, reason: str = "") -> str:
    """Return the sentence about a file that is not whole."""
    why = f" ({reason})" if reason else ""
    return f"{name} is damaged or cut short{why}: write or fetch it again."


def not_utf8(name: object, line: int, reader: str, guess: str = "latin-1") -> NoReturn:
    """Raise the error about the first line that is not in UTF-8."""
    remedy = "convert it to UTF-8"
    if reader == "csv":
        remedy += f", or name its encoding, as in encoding='{guess}' (--encoding {guess})"
    raise SourceError(f"{name} is not UTF-8 in line {line:,}: {remedy}.") from None


def _paths(names: Iterable[Any]) -> list[Path]:
    """Return the files of these names, and of patterns the files that match, in order."""
    paths: list[Path] = []
    for name in names:
        if not is_pattern(name):
            paths.append(Path(name))
            continue
        found = sorted(
            path
            for path in map(Path, glob(str(name), recursive=True))  # noqa: PTH207
            if path.is_file()
        )
        if not found:
            raise SourceError(
                f"there is no file {name}, and no file matches that pattern: check the path."
            )
        paths += found
    seen: set[Path] = set()
    for path in paths:
        if path.absolute() in seen:
            raise ParameterError(f"{path} is named twice, must be named once: drop one.")
        seen.add(path.absolute())
    return paths


def _copy(stream: Any, copy: IO[bytes]) -> None:
    """Copy a stream of bytes or text, to its end."""
    stream = getattr(stream, "buffer", stream)
    if isinstance(stream, io.TextIOBase):
        stream = io.BytesIO(stream.read().encode())
    shutil.copyfileobj(stream, copy)


def _looked_at(path: Path, options: FileOptions, stream: str | None) -> DataFile:
    """Return a file as what it is; refuse one that cannot be read."""
    name = stream or str(path)
    head = _first_bytes(path)
    if not head:
        _refuse_empty(name)
    actual = next((kind for magic, kind in _MAGIC if magic.match(head)), None)
    reader = options.reader or (None if stream else _by_ending(path, actual))
    if reader is None:
        reader = _BINARY.get(actual or "") or _by_text(path, name, options)
    binary = _BINARY.get(actual or "")
    if reader == "database":
        reader = binary if binary in DATABASES else "database"
    if actual in _REMEDIES or (binary is not None and binary != reader):
        remedy = _REMEDIES.get(actual or "") or (
            f"rename it to end with .{binary}, or pass format='{binary}' (--format {binary})"
        )
        raise SourceError(
            f"{name} is {actual}, must be CSV, JSON, Parquet, SQLite or DuckDB, and named so: "
            f"{remedy}."
        )
    if reader not in TEXTS and binary is None:
        reason = "as the format says" if options.reader or stream else f"as {path.suffix!r} says"
        raise SourceError(
            f"{name} is not {_SHOWN[reader]}, {reason}: "
            "check how it was written, or name the format that it has, as in format='csv' "
            "(--format csv)."
        )
    if reader not in TEXTS:
        return DataFile(path, name, reader)
    gzipped = actual == _GZIP
    text = _decoded(path, name, reader, options.encoding or "utf-8")
    if not text.strip():
        _refuse_empty(name)
    if "\0" in text or _CONTROLS.search(text.lstrip().splitlines()[0]):
        raise SourceError(f"{name} is not text, must be {_SHOWN[reader]}: name a file of rows.")
    if reader == "json":
        return DataFile(path, name, reader, gzipped, _layout(name, text))
    cells = re.split(r"[,;\t|]", text.lstrip().splitlines()[0])
    header = tuple(cell.strip().strip('"') for cell in cells)
    return DataFile(path, name, reader, gzipped, header=header)


def _by_ending(path: Path, actual: str | None) -> str | None:
    """Return what reads a file by the end of its name."""
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower() if suffix == ".gz" else suffix
    reader = ENDINGS.get(inner)
    if reader in TEXTS or (reader is not None and suffix != ".gz"):
        return reader
    if actual in _REMEDIES or actual in _BINARY:
        return "csv"  # refused as what it is
    allowed = [end for end, kind in ENDINGS.items() if kind in TEXTS or suffix != ".gz"]
    raise SourceError(
        f"{path} ends with {path.suffix!r}, must end with one of {', '.join(allowed)}: "
        "name its format, as in format='csv' (--format csv), or rename it."
    )


def _by_text(path: Path, name: str, options: FileOptions) -> str:
    """Return what reads the text of a stream, if its first line leaves no doubt."""
    text = _decoded(path, name, "csv", options.encoding or "utf-8").strip()
    if text.startswith(("{", "[")):
        return "json"
    if not text:
        _refuse_empty(name)
    if "\0" not in text and re.search(r"[,;\t|]", text.splitlines()[0]):
        return "csv"
    raise SourceError(
        f"the format of {name} cannot be told from its first line: name it, as in "
        "format='csv' (--format csv)."
    )


def _layout(name: str, text: str) -> str:
    """Return how JSON is laid out: an array, an object a line, or objects over several lines."""
    first = text.lstrip()[0]
    if first not in "[{":
        raise SourceError(
            f"{name} is not JSON, must be a list of objects or one object a line: "
            "check how it was written."
        )
    if first == "[":
        return "array"
    line = text.lstrip().splitlines()[0].rstrip()
    return "newline_delimited" if line.endswith("}") or len(line) == len(text) else "unstructured"


def _refuse_empty(name: str) -> NoReturn:
    raise SourceError(f"{name} is empty, must hold a table: check how it was written.")


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file; refuse a file that cannot be opened."""
    if path.is_dir():
        raise SourceError(
            f"{path} is a folder, must be a file: name one of the files in it, or several by a "
            f"pattern such as '{path / '*.csv'}'."
        )
    if not path.exists():
        raise SourceError(f"there is no file {path}: check the path.")
    if not path.is_file():
        raise SourceError(f"{path} is not a file: pass an open file, or - on the command line.")
    try:
        with path.open("rb") as opened:
            return opened.read(512)
    except OSError as error:
        raise SourceError(
            f"{path} cannot be opened ({error.strerror}): check who may read it."
        ) from None


def _decoded(path: Path, name: str, reader: str, encoding: str) -> str:
    """Return the beginning of a text file; refuse one in another encoding."""
    try:
        with path.open("rb") as plain:
            gzipped = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path) if gzipped else path.open("rb") as opened:
            head = opened.read(HEAD)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise SourceError(damaged(name)) from None
    if encoding == "utf-8" and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        not_utf8(name, 1, reader, guess="utf-16")
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if encoding == "utf-8":
            not_utf8(name, head.count(b"\n", 0, error.start) + 1, reader)
        raise SourceError(f"{name} is not {encoding.upper()}: name its encoding.") from None
