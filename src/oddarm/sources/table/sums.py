"""Sums of the rewards of each arm, by the database.

No row reaches Python, unless exact sums of rewards with very many digits are wanted.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import compress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from oddarm._typing import Floats, Wholes
from oddarm.errors import SourceError
from oddarm.rewards import LARGEST
from oddarm.sources.table.duckdb import DuckRows
from oddarm.sources.table.files import FileOptions
from oddarm.sources.table.opening import open_rows
from oddarm.sources.table.postgres import PostgresRows
from oddarm.sources.table.rows import Pick, ShuffledRows
from oddarm.tally import exact_sum

__all__ = ["ArmSums", "sums_of_arrays", "sums_of_table"]

DECIMALS = (0, 2, 4, 6)
"""How many decimals rewards may have for DuckDB to add them exactly."""
WHOLE = 2**52
"""Below this, a float and the whole number that it is rounded to are certain."""


@dataclass(frozen=True)
class ArmSums:
    """What is known of the rewards of each arm.

    Attributes:
        name: What the data is called in messages.
        arms: The names of the arms.
        counts: How many rewards each has.
        centre: A number near the rewards, so that sums lose no digits to an offset.
        sums: The sum of (reward - centre) of each arm.
        scatter: The sum of squared deviations from the arm's mean.
        low: The least reward.
        high: The greatest reward.
        zero_one: Whether every reward is 0 or 1.
        skipped: How many bad rows were left out.
        left_out: The arms that were left out because they have too few rows.
        exact: The exact sums, each reward read as the decimal that it prints as; None if they are
            not wanted.
    """

    name: str
    arms: Sequence[Hashable]
    counts: Wholes
    centre: float
    sums: Floats
    scatter: Floats
    low: float
    high: float
    zero_one: bool
    skipped: int = 0
    left_out: Sequence[Hashable] = ()
    exact: Sequence[Decimal] | None = None

    @property
    def sizes(self) -> list[int]:
        """How many rewards each arm has, as whole numbers of Python."""
        sizes: list[int] = self.counts.tolist()
        return sizes


def sums_of_table(data: Any, pick: Pick, options: FileOptions, exact: bool) -> ArmSums:
    """Return the sums of a table of any kind, as `open_table` opens it; exact ones if wanted."""
    kinds = partial(DuckSums, exact=exact), partial(PostgresSums, exact=exact)
    rows = open_rows(data, pick, options, kinds)
    rows.close()
    return rows.found


def sums_of_arrays(
    rewards: Mapping[Any, ArrayLike], clip: tuple[float, float] | None = None, min_rows: int = 1
) -> ArmSums:
    """Return the sums of arrays of rewards by arm, of the arms that have enough of them."""
    arrays: dict[Any, Floats] = {}
    left_out = []
    for arm, values in rewards.items():
        try:
            array = np.asarray(values, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            array = np.array([np.nan])
        array = array if clip is None else np.clip(array, *clip)
        if not len(array) or not (np.abs(array) <= LARGEST).all():
            what = "has no rewards" if not len(array) else "has a reward that is not a number"
            raise SourceError(f"arm {arm!r} {what}, must have one or more finite numbers.")
        if len(array) < min_rows:
            left_out.append(arm)
        else:
            arrays[arm] = array
    if len(arrays) < 3:
        remedy = "an outlier and two others"
        if left_out:
            remedy = f"{len(left_out):,} have fewer than {min_rows:,} rows, pass a smaller min_rows"
        raise SourceError(f"{len(arrays)} arms, must be 3 or more: {remedy}.")
    told = list(arrays.values())
    centre = float(told[0][0])
    return ArmSums(
        name="the rewards",
        arms=list(arrays),
        counts=np.array([len(array) for array in told], dtype=np.int64),
        centre=centre,
        sums=np.array([(array - centre).sum() for array in told]),
        scatter=np.array([((array - array.mean()) ** 2).sum() for array in told]),
        low=min(float(array.min()) for array in told),
        high=max(float(array.max()) for array in told),
        zero_one=all(bool(((array == 0) | (array == 1)).all()) for array in told),
        left_out=left_out,
        exact=[exact_sum(array) for array in told],
    )


def _found(
    rows: ShuffledRows, groups: Sequence[Sequence[Any]], exact: Sequence[Decimal] | None
) -> ArmSums:
    """Return sums from groups (arm, …, size, least, greatest, zero-one, centre, sum, scatter)."""
    width = len(rows.pick.arm)
    rows._keep_groups(groups)
    kept = [group[width] >= rows.pick.min_rows for group in groups]
    groups = list(compress(groups, kept))
    if max(abs(rows.low), abs(rows.high)) > LARGEST:
        raise SourceError(
            f"rewards of {rows.name} go from {rows.low:g} to {rows.high:g}, must be at most "
            f"{LARGEST:g} in size: scale them."
        )
    return ArmSums(
        name=rows.name,
        arms=rows.arms,
        counts=np.array(rows.sizes, dtype=np.int64),
        centre=float(groups[0][width + 4]),
        sums=np.array([float(group[width + 5]) for group in groups]),
        scatter=np.array([max(float(group[width + 6]), 0.0) for group in groups]),
        low=rows.low,
        high=rows.high,
        zero_one=rows.zero_one,
        skipped=rows.skipped,
        left_out=rows.left_out,
        exact=None if exact is None else list(compress(exact, kept)),
    )


class DuckSums(DuckRows):
    """Sums that DuckDB has made, of rows that it reads where they are."""

    stored: ClassVar[str] = "VIEW"
    found: ArmSums

    def __init__(self, *args: Any, exact: bool, **options: Any) -> None:
        self._exactly = exact
        super().__init__(*args, **options)

    def _take(self) -> None:
        """Add the rewards of each arm."""
        keys = ", ".join(self.pick.keys)
        usable = self.pick.usable("temp.picked", self._is_usable)
        first = self._sql(f"SELECT reward FROM {usable} LIMIT 1")
        centre = f"{first[0][0]!r}::DOUBLE" if first else "0::DOUBLE"
        groups = self._sql(
            f"SELECT {keys}, count(*), min(reward), max(reward), bool_and(reward IN (0, 1)), "
            f"{centre}, fsum(reward - {centre}), var_pop(reward - {centre}) * count(*) "
            f"FROM {usable} GROUP BY {keys} ORDER BY {keys}"
        )
        self.found = _found(self, groups, self._exact(keys, usable) if self._exactly else None)

    def _exact(self, keys: str, usable: str) -> Sequence[Decimal]:
        """Return the exact sums; by Python, if the rewards have too many digits for DuckDB."""
        [fits] = self._sql(f"SELECT {', '.join(map(_is_decimal, DECIMALS))} FROM {usable}")
        groups = f"FROM {usable} GROUP BY {keys} ORDER BY {keys}"
        if True not in fits:
            return _exact_sums(self._sql(f"SELECT list(reward) {groups}"))
        digits = DECIMALS[fits.index(True)]
        sums = self._sql(f"SELECT sum(CAST(round(reward * 1e{digits}) AS BIGINT)) {groups}")
        return [Decimal(total).scaleb(-digits) for (total,) in sums]


def _exact_sums(lists: Sequence[Sequence[Any]]) -> list[Decimal]:
    """Return the exact sums of lists of rewards, one in each row."""
    return [exact_sum(np.array(rewards, dtype=np.float64)) for (rewards,) in lists]


def _is_decimal(digits: int) -> str:
    """Return as SQL whether every reward prints with at most so many decimals."""
    scaled = f"reward * 1e{digits}"
    return f"bool_and(abs({scaled}) < {WHOLE} AND round({scaled}) / 1e{digits} = reward)"


class PostgresSums(PostgresRows):
    """Sums that PostgreSQL has made; it writes nothing."""

    found: ArmSums

    def __init__(self, *args: Any, exact: bool) -> None:
        self._exactly = exact
        super().__init__(*args)

    def _make(self) -> None:
        self._read(self._sums)

    def _sums(self, picked: str, is_usable: str) -> None:
        """Add the rewards of each arm."""
        keys = ", ".join(self.pick.keys)
        usable = self.pick.usable(picked, is_usable)
        first = self._sql(f"SELECT reward FROM {usable} LIMIT 1").fetchall()
        centre = f"{first[0][0]!r}::float8" if first else "0::float8"
        groups = self._sql(
            f"SELECT {keys}, count(*), min(reward), max(reward), bool_and(reward IN (0, 1)), "
            f"{centre}, sum(reward - ({centre})), var_pop(reward - ({centre})) * count(*), "
            f"bool_and(reward::numeric::float8 = reward), sum(reward::numeric) "
            f"FROM {usable} GROUP BY {keys} ORDER BY {keys}"
        ).fetchall()
        exact = None
        if self._exactly:
            exact = [Decimal(group[-1]) for group in groups]
            if not all(group[-2] for group in groups):  # too many digits
                by_arm = f"FROM {usable} GROUP BY {keys} ORDER BY {keys}"
                exact = _exact_sums(self._sql(f"SELECT array_agg(reward) {by_arm}").fetchall())
        self.found = _found(self, groups, exact)
