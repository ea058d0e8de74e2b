"""Problems whose rewards have been counted, and the CSV tables (plain or .gz) that hold them.

A table with one row per reward needs no loader here: `oddarm.open_table` reads it.
"""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from oddarm import Group, outlier_groups
from oddarm.errors import OddarmError, ParameterError
from oddarm.rewards import Bernoulli, Rewards, as_rewards

__all__ = ["CountProblem", "read_counts", "read_keywords"]


@dataclass(frozen=True)
class CountProblem:
    """Arms whose rewards have been counted: the empirical mean of each is its true mean.

    Attributes:
        name: What the problem is called.
        arms: The names of the arms.
        sizes: How many rewards each arm has.
        sums: The exact sum of each arm's rewards; for 0/1 rewards the number of successes.
        rewards: The reward model, with its `low` and `high`.

    Examples:
        >>> problem = CountProblem("clicks", ("a", "b", "c"), (10, 10, 30), (1, 2, 21))
        >>> problem.means.tolist(), problem.exact_means[2]
        ([0.1, 0.2, 0.7], Fraction(7, 10))
        >>> problem.groups(epsilon=2.5, max_outliers=1)
        [Group(members=('c',), kind='upper', gap=0.5, max_epsilon=4.0, max_neighbours=1)]
    """

    name: str
    arms: tuple[str, ...]
    sizes: tuple[int, ...]
    sums: tuple[int | Fraction, ...]
    rewards: Rewards = field(default_factory=Bernoulli)

    def __post_init__(self) -> None:
        if not len(self.arms) == len(self.sizes) == len(self.sums):
            raise ParameterError(
                f"{self.name}: {len(self.arms)} arms, {len(self.sizes)} sizes and "
                f"{len(self.sums)} sums, must be as many of each."
            )
        arm, times = max(Counter(self.arms).items(), key=lambda item: item[1])
        if times > 1:
            raise ParameterError(f"{self.name}: arm {arm!r} occurs twice, must occur once.")
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
    def means(self) -> NDArray[np.float64]:
        """The mean of each arm."""
        return np.array([float(mean) for mean in self.exact_means])

    def groups(
        self, epsilon: float = 2.5, rho: float | None = None, *, max_outliers: int | None = None
    ) -> list[Group]:
        """Return the true outlier groups, by the names of the arms."""
        named = dict(zip(self.arms, self.exact_means, strict=True))
        return outlier_groups(named, epsilon, rho, max_outliers=max_outliers)


def read_counts(
    path: str | os.PathLike[str], rewards: str | Sequence[float] = "bernoulli"
) -> list[CountProblem]:
    """Return the problems of a table of counts, one per instance, in the order of the table.

    Args:
        path: A CSV file, plain or .gz, with the columns arm, n (how many rewards) and successes.
            Rewards that are not 0 or 1 have a column sum in place of successes. A column instance
            tells problems apart; without it there is one problem, named after the file.
        rewards: "bernoulli" for rewards 0 and 1, or the range (low, high).
    """
    path, model = Path(path), as_rewards(rewards)
    last = "successes" if isinstance(model, Bernoulli) else "sum"
    whole_file = path.name.removesuffix(".gz").removesuffix(".csv")
    instances: dict[str, list[tuple[str, int, int | Fraction]]] = defaultdict(list)
    for place, row in _rows(path, ("arm", "n", last)):
        size = _number(place, "n", row["n"])
        if not isinstance(size, int):
            raise OddarmError(f"{place}: n == {row['n']!r}, must be a whole number.")
        total = _number(place, last, row[last])
        instances[row.get("instance", whole_file)].append((row["arm"], size, total))
    problems = []
    for name, rows in instances.items():
        arms, sizes, sums = zip(*rows, strict=True)
        problems.append(CountProblem(name, arms, sizes, sums, model))
    return problems


def read_keywords(path: str | os.PathLike[str]) -> list[CountProblem]:
    """Return the problems of a table of texts, one per keyword: the arms are the regions.

    Args:
        path: A CSV file, plain or .gz, with the columns region, keyword and contains: 1 if one
            text of the region contains the keyword, else 0.
    """
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    hits: dict[str, Counter[str]] = defaultdict(Counter)
    for place, row in _rows(Path(path), ("region", "keyword", "contains")):
        if row["contains"] not in ("0", "1"):
            raise OddarmError(f"{place}: contains == {row['contains']!r}, must be 0 or 1.")
        seen[row["keyword"]][row["region"]] += 1
        hits[row["keyword"]][row["region"]] += int(row["contains"])
    return [
        CountProblem(
            keyword, tuple(sizes), tuple(sizes.values()), tuple(hits[keyword][r] for r in sizes)
        )
        for keyword, sizes in seen.items()
    ]


def _impossible(size: int, total: int | Fraction, model: Rewards) -> str:
    """Say why so many rewards cannot have such a sum; empty if they can."""
    if size < 1:
        return f"n == {size}, must be >= 1: leave out arms that have no rewards."
    if isinstance(model, Bernoulli):
        if not isinstance(total, int) or not 0 <= total <= size:
            return f"successes == {total}, must be a whole number from 0 to n == {size}."
    elif not model.low <= float(Fraction(total) / size) <= model.high:
        return (
            f"sum == {total}, must be from n·low == {size * model.low:g} to "
            f"n·high == {size * model.high:g}: declare the range, as in rewards=(low, high)."
        )
    return ""


def _number(place: str, column: str, text: str) -> int | Fraction:
    """Return a decimal number exactly, as an int if it is whole."""
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise OddarmError(f"{place}: {column} == {text!r}, must be a number.") from None
    return number.numerator if number.denominator == 1 else number


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a CSV file, each with its place, such as "clicks.csv line 3"."""
    try:
        with _open_text(path) as text:
            reader = csv.DictReader(text)
            header = reader.fieldnames or []
            for column in columns:
                if column not in header:
                    raise OddarmError(
                        f"{path} has no column {column!r}, only {', '.join(map(repr, header))}."
                    )
            for row in reader:
                place = f"{path} line {reader.line_num}"
                if None in row or None in row.values():
                    raise OddarmError(f"{place} must have {len(header)} cells, as the header has.")
                if not all(value.strip() for value in row.values()):
                    raise OddarmError(f"{place} has an empty cell.")
                yield place, row
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise OddarmError(f"{path} is damaged ({error}): get the file again.") from None


def _open_text(path: Path) -> TextIO:
    # utf-8-sig: spreadsheet programs begin files with a byte order mark.
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")
