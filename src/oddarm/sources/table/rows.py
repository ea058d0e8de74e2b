"""What a table must offer to be sampled: its arms, and its rows in a random order per arm."""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol

from oddarm._text import exact, named, shortened
from oddarm._typing import Floats, Indices, Wholes
from oddarm.errors import MissingColumnsError, SourceError
from oddarm.rewards import Bernoulli, Clipped, Rewards
from oddarm.sources.fingerprint import CONTENT, Fingerprint, digest

__all__ = [
    "SEVERAL",
    "Column",
    "Pick",
    "ShuffledRows",
    "arm_name",
    "as_sql",
    "check_declared",
    "doubts",
    "identifier",
    "kind_of",
    "missing_columns",
    "refuse_query",
    "sentence",
    "suggested",
    "supposed",
]


_KINDS = (
    (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|int[248]|BIGNUM|VARINT", "whole number"),
    (r"FLOAT[48]?|DOUBLE|REAL|DECIMAL.*|NUMERIC.*", "number"),
    (r"BOOL(EAN)?", "true or false"),
    (r"VARCHAR|TEXT|JSON|ENUM.*|BPCHAR", "text"),
    (r"DATE", "date"),
    (r"TIMESTAMP.*", "date and time"),
)
"""Types of DuckDB and PostgreSQL, and what a person calls them."""
_LONGEST = 60
"""Longer names of columns are shortened in a sentence."""
SEVERAL = "it has several values; name each as a column of its own, in a list"
"""Why an expression of several columns does not name an arm."""


@dataclass(frozen=True)
class Pick:
    """Which columns and rows to take from a table.

    Attributes:
        arm: The columns that name the arm, or SQL expressions.
        reward: The column of the reward, or an SQL expression.
        where: An SQL condition on the rows, if not all are wanted.
        skip: Whether bad rows are left out and counted, instead of being an error.
        seed: Decides the random order.
        table: The table of a database.
        query: An SQL query on a database, in place of a table.
        clip: The range that rewards are clipped to, so that infinite ones are usable.
        min_rows: The fewest rows of an arm; arms with fewer are left out.
    """

    arm: tuple[str, ...]
    reward: str
    where: str | None = None
    skip: bool = False
    seed: int = 0
    table: str | None = None
    query: str | None = None
    clip: tuple[float, float] | None = None
    min_rows: int = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The names that the columns of the arm have in SQL."""
        return tuple(f"arm_{i}" for i in range(len(self.arm)))

    @property
    def condition(self) -> str:
        """The SQL condition on the rows; TRUE if all are wanted."""
        return f"({self.where}\n)" if self.where else "TRUE"  # a comment may end the condition

    def usable(self, picked: str, is_usable: str) -> str:
        """Return as SQL the arms and rewards of usable rows, clipped if rewards are."""
        reward = "reward"
        if self.clip is not None:
            low, high = self.clip
            reward = f"least(greatest(reward, ({low!r})::float8), ({high!r})::float8)"
        keys = ", ".join(self.keys)
        return f"(SELECT {keys}, {reward} AS reward FROM {picked} WHERE {is_usable}) AS usable"

    def named_arms(self, columns: Sequence[str]) -> str:
        """Return the columns of the arm as SQL, under the names of `keys`."""
        return ", ".join(
            f"{as_sql(arm, columns)} AS {key}" for arm, key in zip(self.arm, self.keys, strict=True)
        )


class Described(Protocol):
    """What is known of a table: its name, its arms, how many rows each has, and its rewards."""

    @property
    def name(self) -> str: ...
    @property
    def arms(self) -> Sequence[Hashable]: ...
    @property
    def sizes(self) -> Sequence[int]: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def zero_one(self) -> bool: ...


def doubts(table: Described, sampled: bool, arm: object) -> str:
    """Return warnings about the arms of a table, in sentences; empty if nothing is odd.

    Args:
        table: The table.
        sampled: Whether its rows are a sample of what the arms do.
        arm: The column of the arms, or several.
    """
    name, n, single = table.name, len(table.arms), list(table.sizes).count(1)
    sentences = []
    if sampled and 2 * single > n:
        sentences.append(
            f"{single:,} of {n:,} arms of {name} have one row, which says next to nothing about "
            "them: name a column with fewer values as the arm, leave such arms out with min_rows, "
            "or pass rows='all' if the rows are all that there is."
        )
    alike: dict[str, list[str]] = {}
    for known in table.arms:
        if isinstance(known, str):
            alike.setdefault(known.strip().lower(), []).append(known)
    twins = [arms for arms in alike.values() if len(arms) > 1]
    if twins:
        first, second = sorted(twins[0])[:2]
        column = arm if isinstance(arm, str) and arm.isidentifier() else "host"
        sentences.append(
            f"{sum(map(len, twins)):,} of {n:,} arms of {name} differ from another one only by "
            f"case or spaces, such as {first!r} and {second!r}: if they are the same, name the arm "
            f'by SQL, as in arm="lower(trim({column}))".'
        )
    return " ".join(sentences)


def check_declared(table: Described, model: Rewards) -> None:
    """Refuse rewards of a table that are not what was declared."""
    if isinstance(model, Clipped):
        return
    low, high = exact(model.low), exact(model.high)
    if isinstance(model, Bernoulli):
        fit, must, clipped = table.zero_one, "0 or 1", ""
    else:
        fit, must = model.low <= table.low and table.high <= model.high, f"in [{low}, {high}]"
        clipped = f", or clip them by rewards=oddarm.rewards.Clipped({low}, {high})"
    if not fit:
        least, greatest = exact(table.low), exact(table.high)
        raise SourceError(
            f"rewards of {table.name} go from {least} to {greatest}, must be {must} as declared: "
            "declare the least and the greatest that there can be, as in "
            f"rewards=({least}, {greatest}){clipped}."
        )


def supposed(
    skipped: int,
    left_out: Sequence[Hashable],
    min_rows: int,
    limits: tuple[float, float] | None,
) -> list[str]:
    """Return what an answer about a table supposes, in sentences.

    Args:
        skipped: How many bad rows were left out.
        left_out: The arms that were left out because they have too few rows.
        min_rows: The fewest rows of an arm.
        limits: The range of rewards, if it was read off a sample.
    """
    sentences = []
    if skipped:
        sentences.append(f"{skipped:,} bad {'row was' if skipped == 1 else 'rows were'} left out.")
    if left_out:
        were = "1 arm was" if len(left_out) == 1 else f"{len(left_out):,} arms were"
        sentences.append(f"{were} left out, with fewer than {min_rows:,} rows: {named(left_out)}.")
    if limits is not None:
        low, high = limits
        sentences.append(
            f"The rewards are supposed to stay between {low:g} and {high:g}, the least and the "
            "greatest of the table."
        )
    return sentences


class ShuffledRows(ABC):
    """The rows of a table, put once in a uniformly random order per arm and read by ranges.

    Attributes:
        name: What the table is called in messages.
        pick: What was taken from it.
        arms: The names of the arms, as the columns have them; tuples if there are several columns.
        sizes: How many rows each arm has.
        low: The least reward.
        high: The greatest reward.
        zero_one: Whether every reward is 0 or 1.
        skipped: How many bad rows were left out.
        left_out: The arms that were left out because they have too few rows.
        columns: The columns of the data and their types, if only these were asked for.
    """

    name: str
    pick: Pick
    arms: list[Hashable]
    sizes: list[int]
    low: float
    high: float
    zero_one: bool
    skipped: int
    left_out: list[Hashable]
    columns: list[tuple[str, str]]

    def __init__(self, name: str, pick: Pick) -> None:
        self.name = name
        self.pick = pick
        self.skipped = 0
        self._csv = False

    @abstractmethod
    def read(self, arms: Indices, firsts: Wholes, counts: Wholes) -> Floats:
        """Return ranges of rewards, one after the other, by one query.

        Args:
            arms: The indices of distinct arms.
            firsts: The number of the first reward of each.
            counts: How many rewards of each, from there on.
        """

    @abstractmethod
    def digest(self) -> str:
        """Return a text that tells these rewards, in the order of reading, from others."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    def fingerprint(self) -> Fingerprint:
        """Return what was taken from the table, and a digest of its rows."""
        pick = self.pick
        return {
            "table": pick.table,
            "query": pick.query,
            "arm": list(pick.arm),
            "reward": pick.reward,
            "where": pick.where,
            "rows": sum(self.sizes),
            "seed": pick.seed,
            **({"min_rows": pick.min_rows} if pick.min_rows > 1 else {}),
            CONTENT: digest([self.arms, self.sizes, self.digest()]),
        }

    def _keep_groups(self, groups: Sequence[Sequence[Any]]) -> None:
        """Keep the arms, from rows (arm, …, size, least, greatest, whether all are 0 or 1).

        Arms with too few rows are left out.
        """
        width = len(self.pick.arm)
        self.left_out = self._names([row for row in groups if row[width] < self.pick.min_rows])
        groups = [row for row in groups if row[width] >= self.pick.min_rows]
        self.arms = self._names(groups)
        self._check_arms()
        self.sizes = [int(row[width]) for row in groups]
        self.low = float(min(row[width + 1] for row in groups))
        self.high = float(max(row[width + 2] for row in groups))
        self.zero_one = all(row[width + 3] for row in groups)

    def _names(self, groups: Sequence[Sequence[Any]]) -> list[Hashable]:
        """Return the names of arms, from rows that begin with the columns of the arm."""
        width = len(self.pick.arm)
        names = [tuple(map(arm_name, row[:width])) for row in groups]
        return [name[0] for name in names] if width == 1 else list(names)

    def _check_arms(self) -> None:
        if self.left_out and len(self.arms) < 3:
            raise SourceError(
                f"{len(self.arms)} of {len(self.arms) + len(self.left_out):,} arms of {self.name} "
                f"have {self.pick.min_rows:,} rows or more, must be 3 or more: pass a smaller "
                "min_rows."
            )
        if not self.arms:
            left = f" where {self.pick.where}" if self.pick.where else ""
            bad = f"; {self.skipped:,} bad ones were left out" if self.skipped else ""
            raise SourceError(
                f"{self.name} has no rows to sample{left}{bad}: give it rows, or ask for others."
            )
        if len(self.arms) < 3:
            columns = " and ".join(map(repr, self.pick.arm))
            values = "one value" if len(self.arms) == 1 else "two values"
            raise SourceError(
                f"arm column {columns} of {self.name} has {values}, "
                f"{' and '.join(map(repr, self.arms))}, must have 3 or more: "
                "name the column that tells the arms apart."
            )

    def _refuse_sql(
        self, option: str, text: str, columns: Sequence[str], reason: object
    ) -> NoReturn:
        """Raise the error about a column or SQL that the caller gave, and what was meant.

        Args:
            option: Which option gave it: arm, reward or where.
            text: The column or the SQL.
            columns: The columns that there are.
            reason: What the database says.
        """
        unknown = text if re.fullmatch(r"\w+", text) else _unknown_column(reason)
        if unknown is not None and unknown not in columns:
            where = "" if unknown == text else f", which {option} == {text!r} names"
            remedy = _meant((text, unknown), columns) or f"{self._header_remedy(columns)}."
            raise SourceError(
                f"{self.name} has no column {unknown!r}{where}: name one of {_listed(columns)}"
                f"{remedy}"
            ) from None
        if option == "where":
            what, example = f"is not an SQL condition on {self.name}", "year = 2024"
        else:
            what = f"is neither a column of {self.name} nor an SQL expression"
            example = "lower(host)" if option == "arm" else "ms > 200"
        raise SourceError(
            f"{option} == {text!r} {what} ({sentence(reason)}): write one of the columns "
            f"{_listed(columns)}, such as {example}."
        ) from None

    def _refuse_type(self, kind: str, remedy: str) -> NoReturn:
        raise SourceError(
            f"reward == {self.pick.reward!r} of {self.name} is of type {kind.lower()}, "
            f"must be numbers or true and false: {remedy}."
        )

    def _refuse_row(self, place: str, arms: Sequence[Any], reward: Any) -> NoReturn:
        """Raise the error about the first bad row."""
        remedy = ""
        missing = [c for c, v in zip(self.pick.arm, arms, strict=True) if v is None]
        if missing:
            reason = f"arm column {missing[0]!r} is empty, must name an arm"
        elif reward is None:
            reason = f"reward {self.pick.reward!r} is empty, must be a number"
        else:
            reason = f"reward {self.pick.reward!r} is {reward!r}, must be a finite number"
            remedy = self._number_remedy(reward)
        self._refuse_rows(f"{place}: {reason}", remedy)

    def _refuse_rows(self, what: str, remedy: str = "") -> NoReturn:
        more = f" (the first of {self.skipped:,} bad rows)" if self.skipped > 1 else ""
        raise SourceError(
            f"{self.name} {what}{more}: {remedy or 'correct it'}, or leave bad rows out and count "
            "them with bad_rows='skip' (--skip-bad-rows)."
        )

    def _header_remedy(self, columns: Sequence[str]) -> str:
        """Return what a CSV file may lack if it has no column of that name."""
        if not self._csv:
            return ""
        if len(columns) == 1:
            return "; columns must be separated by commas, semicolons, tabs or |"
        return "; the first line of the file must name its columns"

    def _number_remedy(self, value: object) -> str:
        """Return how to write a reward whose numbers have commas or a unit; empty if not so."""
        column = self.pick.reward if self.pick.reward.isidentifier() else f"({self.pick.reward})"
        if re.fullmatch(r"\s*[-+]?\d{1,3}(,\d{3})+\.\d*\s*", str(value)):
            return f"for numbers with commas, write reward=\"replace({column}, ',', '')\""
        if re.fullmatch(r"\s*[-+]?\d*,\d+\s*", str(value)):
            return f"for a decimal comma, write reward=\"replace({column}, ',', '.')\""
        unit = re.fullmatch(r"\s*[-+]?\d+(?:\.\d+)?(\s*[^\W\d_]{1,5}|\s*[%€$£¥])\s*", str(value))
        unit = unit or re.fullmatch(r"\s*([€$£¥]\s*)\d+(?:\.\d+)?\s*", str(value))
        if unit is not None:
            return f"for numbers with a unit, write reward=\"replace({column}, {unit[1]!r}, '')\""
        return ""


def refuse_query(query: str, reason: object) -> NoReturn:
    """Raise the error about a query that is not one SELECT statement."""
    raise SourceError(
        f"query == {query!r} is not one SELECT statement ({sentence(reason)}): "
        "write a single SELECT, VALUES or FROM, which only reads."
    ) from None


def as_sql(text: str, columns: Sequence[str]) -> str:
    """Return SQL for the column of that name, if there is one, else for an expression."""
    return identifier(text) if text in columns else f"({text}\n)"  # it may end with a comment


def identifier(name: str) -> str:
    """Return a name of a column as SQL."""
    return '"' + name.replace('"', '""') + '"'


def arm_name(value: Any) -> Hashable:
    """Return the value of an arm column as a name that JSON can hold."""
    return value if isinstance(value, str | int | float) else str(value)


def sentence(reason: object) -> str:
    """Return the first line of a database's message, without its kind and its full stop.

    Examples:
        >>> sentence('Binder Error: Referenced table "x" not found!')
        'Referenced table "x" not found'
    """
    lines = str(reason).strip().splitlines()
    if not lines:
        return type(reason).__name__
    return re.sub(r"^[A-Z]\w*( \w+)* Error: ", "", lines[0].strip()).rstrip(".!:")


def _unknown_column(reason: object) -> str | None:
    """Return the column that a database did not find; None if that is not what it says.

    Examples:
        >>> _unknown_column('Binder Error: Referenced column "slo" not found in FROM clause!')
        'slo'
        >>> _unknown_column('column "slo" does not exist'), _unknown_column("syntax error")
        ('slo', None)
    """
    found = re.search(r'column "(.+?)" (?:not found|does not exist)', str(reason))
    return found[1] if found else None


def _listed(columns: Sequence[str], limit: int = 12) -> str:
    shown = ", ".join(shortened(repr(column), _LONGEST) for column in columns[:limit])
    return f"{shown} and {len(columns) - limit} more" if len(columns) > limit else shown


def _meant(words: Sequence[str], columns: Sequence[str]) -> str:
    """Return a question about the column that is most like the first word with one; else empty."""
    folded = {column.lower(): column for column in columns}
    for word in words:
        similar = difflib.get_close_matches(word.lower(), folded, n=1)
        if similar:
            return f"; did you mean {folded[similar[0]]!r}?"
    return ""


class Column(NamedTuple):
    """A column of a table and its type in plain words."""

    name: str
    kind: str


def missing_columns(
    name: str, columns: Sequence[tuple[str, str]], arm: object, reward: object, caller: str
) -> MissingColumnsError:
    """Return the error about a missing arm or reward of data that has these columns."""
    known = [Column(column, kind_of(type_)) for column, type_ in columns]
    guess_arm, guess_reward = suggested(known)
    arm_given = arm if arm is not None else guess_arm
    missing = [word for word, value in (("arm", arm), ("reward", reward)) if value is None]
    shown = ", ".join(f"{column.name!r} ({column.kind})" for column in known[:12])
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    error = MissingColumnsError(
        f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: {name} has the "
        f"columns {shown}{more}; name the column whose values are the arms and that of the "
        f"rewards, as in oddarm.{caller}(data, arm={arm_given!r}, "
        f"reward={reward if reward is not None else guess_reward!r})."
    )
    error.name, error.missing, error.columns = name, missing, known
    error.suggestion = guess_arm, guess_reward
    return error


def kind_of(type_: str) -> str:
    """Return the type of a database in plain words.

    Examples:
        >>> [kind_of(type_) for type_ in ("BIGINT", "varchar", "numeric", "BOOLEAN", "DATE")]
        ['whole number', 'text', 'number', 'true or false', 'date']
    """
    for pattern, words in _KINDS:
        if re.fullmatch(pattern, type_, re.IGNORECASE):
            return words
    return type_.lower()


def suggested(columns: Sequence[Column]) -> tuple[str, str]:
    """Return the columns that are most likely the arm and the reward."""
    words = [column.name for column in columns]
    texts = [column.name for column in columns if column.kind == "text"]
    arm = (texts or words or ["host"])[0]
    for kind in ("true or false", "whole number", "number"):
        numbers = [column.name for column in columns if column.kind == kind and column.name != arm]
        if numbers:
            return arm, numbers[-1]
    return arm, next((word for word in words if word != arm), "slow")
