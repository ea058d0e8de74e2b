"""Problems from tables: one row per reward, or one row per arm with its counts.

Tables are CSV (plain or .gz) with a header, Parquet, or rows given as mappings. Rewards are read as
the decimals they print as and summed exactly.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

from oddarm._typing import Floats
from oddarm.definitions.groups import Group, outlier_groups
from oddarm.errors import MissingExtraError, OddarmError, ParameterError
from oddarm.problem import exact
from oddarm.rewards import Bernoulli, Rewards, as_rewards

__all__ = ["CountProblem", "Table", "read_counts", "read_events", "read_keywords"]

Table = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
"""A path to a CSV, .csv.gz or Parquet file, or rows that map the names of columns to values."""

T = TypeVar("T")

# Digits enough for any sum of numbers that floats can hold, so that no sum is ever rounded.
_UNROUNDED = Context(prec=1000)
_WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class CountProblem:
    """Arms whose rewards have been counted: the empirical mean of each is its true one.

    Attributes:
        name: What the problem is called.
        arms: The names of the arms.
        sizes: How many rewards each arm has.
        sums: The exact sum of each arm's rewards; for 0/1 rewards the number of successes.
        rewards: The reward model, with its `low` and `high`.
        skipped: How many bad rows of the table were left out.

    Example:
        >>> problem = CountProblem("clicks", ("a", "b", "c"), (10, 10, 30), (1, 2, 21))
        >>> problem.means.tolist(), problem.exact_means[2]
        ([0.1, 0.2, 0.7], Fraction(7, 10))
        >>> problem.groups(epsilon=2.5, max_outliers=1)
        [Group(members=('c',), kind='upper', gap=0.5, max_epsilon=4.0)]
    """

    name: str
    arms: tuple[str, ...]
    sizes: tuple[int, ...]
    sums: tuple[int | Fraction, ...]
    rewards: Rewards = field(default_factory=Bernoulli)
    skipped: int = 0

    def __post_init__(self) -> None:
        if not len(self.arms) == len(self.sizes) == len(self.sums):
            raise ParameterError(
                f"{self.name}: {len(self.arms)} arms, {len(self.sizes)} sizes and "
                f"{len(self.sums)} sums, must be as many of each."
            )
        if len(set(self.arms)) < len(self.arms):
            twice = next(arm for i, arm in enumerate(self.arms) if arm in self.arms[:i])
            raise ParameterError(f"{self.name}: arm {twice!r} is there twice, must be there once.")
        for arm, size, total in zip(self.arms, self.sizes, self.sums, strict=True):
            if reason := _impossible(size, total, self.rewards):
                raise ParameterError(f"{self.name}: arm {arm!r} has {reason}")

    @property
    def successes(self) -> tuple[int, ...]:
        """How many of each arm's rewards are 1, if all rewards are 0 or 1."""
        if not isinstance(self.rewards, Bernoulli):
            raise ParameterError(
                f"successes of {self.name!r}, whose rewards lie in [{self.rewards.low:g}, "
                f"{self.rewards.high:g}]: they must be 0 or 1, use sums."
            )
        return tuple(int(total) for total in self.sums)

    @property
    def exact_means(self) -> tuple[Fraction, ...]:
        """The mean of each arm as a ratio of whole numbers."""
        return tuple(
            Fraction(total) / size for size, total in zip(self.sizes, self.sums, strict=True)
        )

    @property
    def means(self) -> Floats:
        """The mean of each arm."""
        return np.array([float(mean) for mean in self.exact_means])

    def groups(
        self, epsilon: float = 2.5, rho: float | None = None, *, max_outliers: int | None = None
    ) -> list[Group]:
        """Return the outlier groups, by the names of the arms: the truth that a search is after."""
        named: dict[str, Any] = dict(zip(self.arms, self.exact_means, strict=True))
        return outlier_groups(named, epsilon, rho, max_outliers=max_outliers)


def read_events(
    table: Table,
    arm: str = "arm",
    reward: str = "reward",
    *,
    rewards: str | Sequence[float] | Rewards = "bernoulli",
    name: str | None = None,
    skip_bad: bool = False,
) -> CountProblem:
    """Return the problem of a table with one row per reward.

    Args:
        table: A path to a CSV, .csv.gz or Parquet file, or rows as mappings.
        arm: The column that names the arm.
        reward: The column of the reward; true and false count as 1 and 0.
        rewards: "bernoulli" for rewards 0 and 1, or the range (low, high).
        name: What to call the problem; default the file's name.
        skip_bad: Leave bad rows out and count them, instead of raising an error at the first.

    Example:
        >>> rows = [{"host": "a", "late": 0}, {"host": "b", "late": 1}, {"host": "a", "late": 1}]
        >>> problem = read_events(rows, arm="host", reward="late")
        >>> problem.arms, problem.sizes, problem.successes
        (('a', 'b'), (2, 1), (1, 1))
    """
    model = as_rewards(rewards)
    reading = _Reading(table, skip_bad)
    tallies: dict[str, _Tally] = {}
    pairs = reading.parsed((arm, reward), lambda a, r: (_label(arm, a), _reward(reward, r, model)))
    for label, value in pairs:
        _tally(tallies, label).add(value)
    return _problem(name or reading.name, tallies, model, reading)


def read_counts(
    table: Table,
    *,
    rewards: str | Sequence[float] | Rewards = "bernoulli",
    skip_bad: bool = False,
) -> list[CountProblem]:
    """Return the problems of a table of counts, one per instance, in the order of the table.

    Args:
        table: A path to a CSV, .csv.gz or Parquet file, or rows as mappings, with the columns arm,
            n (how many rewards) and successes. Rewards that are not 0 or 1 have a column sum in
            place of successes. A column instance tells problems apart; without it there is one,
            called by the file's name.
        rewards: "bernoulli" for rewards 0 and 1, or the range (low, high).
        skip_bad: Leave bad rows out and count them, instead of raising an error at the first.

    Example:
        >>> rows = [
        ...     {"instance": "may", "arm": "a", "n": 100, "successes": 3},
        ...     {"instance": "may", "arm": "b", "n": 200, "successes": 8},
        ...     {"instance": "june", "arm": "a", "n": 50, "successes": 1},
        ... ]
        >>> [(problem.name, problem.means.tolist()) for problem in read_counts(rows)]
        [('may', [0.03, 0.04]), ('june', [0.02])]
    """
    model = as_rewards(rewards)
    reading = _Reading(table, skip_bad)
    last = "successes" if isinstance(model, Bernoulli) else "sum"
    instances: dict[str, dict[str, _Tally]] = {}

    def parse(instance: Any, arm: Any, n: Any, total: Any) -> None:
        title = reading.name if instance is _ABSENT else _label("instance", instance)
        label = _label("arm", arm)
        tally = _Tally(_whole("n", n), _number(last, total))
        if reason := _impossible(tally.size, tally.total, model):
            raise _BadRowError(f"arm {label!r} has {reason}")
        if label in instances.get(title, ()):
            raise _BadRowError(f"arm {label!r} of {title!r} is there twice, must be there once.")
        instances.setdefault(title, {})[label] = tally

    for _ in reading.parsed(("instance", "arm", "n", last), parse, optional="instance"):
        pass
    return [_problem(title, tallies, model, reading) for title, tallies in instances.items()]


def read_keywords(table: Table, *, skip_bad: bool = False) -> list[CountProblem]:
    """Return the problems of a table of texts, one per keyword: the arms are the regions.

    Args:
        table: A path to a CSV, .csv.gz or Parquet file, or rows as mappings, with the columns
            region, keyword and contains: whether one text of the region contains the keyword.
        skip_bad: Leave bad rows out and count them, instead of raising an error at the first.

    Example:
        >>> rows = [
        ...     {"region": "NY", "keyword": "yankee", "contains": 1},
        ...     {"region": "NY", "keyword": "rain", "contains": 0},
        ...     {"region": "LA", "keyword": "yankee", "contains": 0},
        ... ]
        >>> [(problem.name, problem.arms, problem.successes) for problem in read_keywords(rows)]
        [('yankee', ('NY', 'LA'), (1, 0)), ('rain', ('NY',), (0,))]
    """
    model = Bernoulli()
    reading = _Reading(table, skip_bad)
    keywords: dict[str, dict[str, _Tally]] = {}

    def parse(region: Any, keyword: Any, contains: Any) -> tuple[str, str, int | Decimal]:
        value = _reward("contains", contains, model)
        return _label("keyword", keyword), _label("region", region), value

    for keyword, region, value in reading.parsed(("region", "keyword", "contains"), parse):
        _tally(keywords.setdefault(keyword, {}), region).add(value)
    return [_problem(keyword, tallies, model, reading) for keyword, tallies in keywords.items()]


class _BadRowError(Exception):
    """A row that cannot be read, and why."""


_ABSENT: Any = object()  # the value in a column that the table does not have and need not have


@dataclass
class _Tally:
    size: int = 0
    total: int | Fraction | Decimal = 0

    def add(self, reward: int | Decimal) -> None:
        self.size += 1
        if isinstance(reward, Decimal):
            self.total = _UNROUNDED.add(Decimal(self.total), reward)  # type: ignore[arg-type]
        else:
            self.total += reward


def _tally(tallies: dict[str, _Tally], label: str) -> _Tally:
    tally = tallies.get(label)
    if tally is None:
        tally = tallies[label] = _Tally()
    return tally


def _problem(
    name: str, tallies: Mapping[str, _Tally], model: Rewards, reading: _Reading
) -> CountProblem:
    return CountProblem(
        name=name,
        arms=tuple(tallies),
        sizes=tuple(tally.size for tally in tallies.values()),
        sums=tuple(_plain(tally.total) for tally in tallies.values()),
        rewards=model,
        skipped=reading.skipped,
    )


def _plain(total: int | Fraction | Decimal) -> int | Fraction:
    """Return an int if it is a whole number."""
    ratio = Fraction(total)
    return ratio.numerator if ratio.denominator == 1 else ratio


def _impossible(size: int, total: int | Fraction | Decimal, model: Rewards) -> str:
    """Say why so many rewards cannot have such a sum; empty if they can."""
    if size < 1:
        return f"n == {size}, must be >= 1: leave out arms that have no rewards."
    if isinstance(model, Bernoulli):
        if total != int(total) or not 0 <= total <= size:
            return f"successes == {_shown(total)}, must be a whole number from 0 to n == {size}."
    elif not model.low <= float(Fraction(total) / size) <= model.high:
        return (
            f"sum == {_shown(total)}, must be from n·low == {size * model.low:g} to "
            f"n·high == {size * model.high:g}: declare the range, as in rewards=(low, high)."
        )
    return ""


def _shown(total: int | Fraction | Decimal) -> str:
    return str(total) if isinstance(total, int) else f"{float(total):g}"


def _label(column: str, value: Any) -> str:
    """Return the name of an arm or instance."""
    if _missing(value):
        raise _BadRowError(f"{column} is missing, must be a name.")
    return str(value).strip()


def _reward(column: str, value: Any, model: Rewards) -> int | Decimal:
    """Return a reward that fits the model: an int for 0 and 1, else the decimal that it prints."""
    number = _float(column, value)
    if isinstance(model, Bernoulli):
        if number not in (0.0, 1.0):
            raise _BadRowError(
                f"{column} == {value!r}, must be 0 or 1: "
                "declare other rewards by their range, as in rewards=(low, high)."
            )
        return int(number)
    if not model.low <= number <= model.high:
        raise _BadRowError(
            f"{column} == {value!r}, must be in [{model.low:g}, {model.high:g}]: "
            "declare the range that rewards can take, as in rewards=(low, high)."
        )
    return Decimal(repr(number))


def _missing(value: Any) -> bool:
    """Whether a cell is empty: no text, None, or the NaN or NA of a data frame."""
    if isinstance(value, str):
        return not value.strip()
    try:
        return value is None or bool(value != value)
    except TypeError:  # the truth of pandas' NA is an error
        return True


def _float(column: str, value: Any) -> float:
    if _missing(value):
        raise _BadRowError(f"{column} is missing, must be a number.")
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = _WORDS.get(str(value).strip().lower(), math.nan)
    if not math.isfinite(number):
        raise _BadRowError(f"{column} == {value!r}, must be a finite number.")
    return number


def _number(column: str, value: Any) -> int | Fraction:
    """Return a number exactly; text of a whole number may be longer than a float can hold."""
    try:
        return int(value) if isinstance(value, str) else _plain(exact(_float(column, value)))
    except ValueError:
        return _plain(exact(_float(column, value)))


def _whole(column: str, value: Any) -> int:
    number = _number(column, value)
    if not isinstance(number, int):
        raise _BadRowError(f"{column} == {value!r}, must be a whole number.")
    return number


class _Reading:
    """A table being read: where it is, and how many bad rows it has had."""

    def __init__(self, table: Table, skip_bad: bool) -> None:
        self.table = table
        self.skip_bad = skip_bad
        self.skipped = 0
        self._unit, self._number = "row", 0
        self.path = Path(table) if isinstance(table, str | os.PathLike) else None
        self.name = "table" if self.path is None else self.path.name
        for suffix in (".gz", ".csv", ".tsv", ".txt", ".parquet"):
            self.name = self.name.removesuffix(suffix)

    def parsed(
        self, columns: tuple[str, ...], parse: Callable[..., T], optional: str | None = None
    ) -> Iterator[T]:
        """Yield what `parse` makes of the named columns of each row that is not bad."""
        good = False
        for values in self._rows(columns, optional):
            try:
                if isinstance(values, str):
                    raise _BadRowError(values)
                row = parse(*values)
            except _BadRowError as bad:
                if not self.skip_bad:
                    raise OddarmError(
                        f"{self._place()}: {bad} Correct the row, or pass skip_bad=True to leave "
                        "bad rows out and count them."
                    ) from None
                self.skipped += 1
                continue
            good = True
            yield row
        if not good:
            bad_rows = f"; {self.skipped:,} bad ones were left out" if self.skipped else ""
            raise OddarmError(f"{self.path or 'the table'} has no rows to read{bad_rows}.")

    def _rows(
        self, columns: tuple[str, ...], optional: str | None
    ) -> Iterator[Sequence[Any] | str]:
        """Yield the values of each row, or what is wrong with it."""
        if self.path is None:
            return self._mapping_rows(columns, optional)
        if self.path.name.endswith(".parquet"):
            return self._parquet_rows(self.path, columns, optional)
        return self._csv_rows(self.path, columns, optional)

    def _mapping_rows(
        self, columns: tuple[str, ...], optional: str | None
    ) -> Iterator[Sequence[Any] | str]:
        for number, row in enumerate(self.table, start=1):  # type: ignore[arg-type]
            self._number = number
            if not isinstance(row, Mapping):
                yield f"{row!r} is no row, must map the names of columns to values."
                continue
            yield [row.get(column, _ABSENT if column == optional else None) for column in columns]

    def _parquet_rows(
        self, path: Path, columns: tuple[str, ...], optional: str | None
    ) -> Iterator[Sequence[Any] | str]:
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError:
            raise MissingExtraError("pyarrow", "table", f"reading {path.name}") from None
        try:
            with parquet.ParquetFile(path) as file:
                present = [c for c in columns if self._has(c, file.schema_arrow.names, optional)]
                for batch in file.iter_batches(columns=present):
                    cells = dict(zip(present, map(_cells, batch.columns), strict=True))
                    absent = [_ABSENT] * len(batch)
                    for values in zip(*(cells.get(c, absent) for c in columns), strict=True):
                        self._number += 1
                        yield values
        except (import_module("pyarrow").ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # there is no such file, or it may not be read
            reason = str(error).strip()
            raise OddarmError(f"{path} is not a Parquet file that can be read: {reason}") from None

    def _csv_rows(
        self, path: Path, columns: tuple[str, ...], optional: str | None
    ) -> Iterator[Sequence[Any] | str]:
        self._unit = "line"
        try:
            with _open_text(path) as text:
                reader = csv.reader(text)
                header = [cell.strip() for cell in next(reader, [])]
                if not header:
                    raise OddarmError(
                        f"{path} is empty, must begin with the columns {', '.join(columns)}."
                    )
                positions = [
                    header.index(c) if self._has(c, header, optional) else None for c in columns
                ]
                for row in reader:
                    self._number = reader.line_num
                    if len(row) == len(header):
                        yield [_ABSENT if p is None else row[p] for p in positions]
                    elif row:
                        yield f"{len(row)} cells, must be {len(header)} as in the header."
        except gzip.BadGzipFile as error:
            raise OddarmError(
                f"{path} is not a gzip file that can be read ({error}): "
                "if it is plain text, take .gz off its name."
            ) from None
        except (EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
            raise OddarmError(
                f"{path} is damaged after line {self._number}: {error}. Get the file again."
            ) from None

    def _place(self) -> str:
        return f"{self.path or 'the table'} {self._unit} {self._number}"

    def _has(self, column: str, present: Sequence[str], optional: str | None) -> bool:
        if column in present:
            return True
        if column == optional:
            return False
        remedy = "rename one, or name the right one if the reader has a parameter for it."
        if column == "successes" and "sum" in present:
            remedy = (
                "sums need the range of the rewards, as in read_counts(…, rewards=(low, high))."
            )
        raise OddarmError(
            f"{self.path} has no column {column!r}, only {', '.join(map(repr, present))}: {remedy}"
        )


def _cells(column: Any) -> list[Any]:
    """Return the values of a column of Parquet, single precision as the decimals it prints."""
    cells: list[Any] = (column.cast("string") if column.type == "float" else column).to_pylist()
    return cells


def _open_text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")
