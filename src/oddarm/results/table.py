"""Text tables that fit the width of a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from oddarm._text import printable, shortened

__all__ = ["Column", "decimals", "text_table"]


@dataclass(frozen=True)
class Column:
    """A column of a text table.

    Attributes:
        head: Its first line.
        left: Whether it is flush left.
        dropped: When it is left out of a table that is too wide: columns with 1 go first, all
            together, then those with 2, …; never if 0.
        least: If given, the cells are shortened to fit, to no fewer characters than that.
    """

    head: str
    left: bool = False
    dropped: int = 0
    least: int | None = None


def text_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None = None
) -> str:
    """Return a table as text.

    Args:
        columns: What each column is like.
        rows: A cell for each column.
        width: The most characters of a line. To fit, cells are shortened; where that is not
            enough, columns are left out, and the other cells get their space.

    Examples:
        >>> print(text_table([Column("host", left=True), Column("rows")], [("a", "7"), ("b", "1")]))
        host  rows
        a        7
        b        1
    """
    cells = [
        [printable(column.head), *(printable(row[k]) for row in rows)]
        for k, column in enumerate(columns)
    ]
    wide = [max(map(len, texts)) for texts in cells]
    least = [
        full if column.least is None else min(full, column.least)
        for column, full in zip(columns, wide, strict=True)
    ]
    shown = list(range(len(columns)))

    def excess(widths: list[int]) -> int:
        taken = sum(widths[k] + 2 for k in shown) - 2
        return 0 if width is None else max(taken - width, 0)

    for turn in sorted({column.dropped for column in columns} - {0}):
        if excess(least):
            shown = [k for k in shown if columns[k].dropped != turn]
    for k in shown:
        wide[k] = max(wide[k] - excess(wide), least[k])
        cells[k] = [shortened(text, wide[k]) for text in cells[k]]
    return "\n".join(
        "  ".join(
            cells[k][line].ljust(wide[k]) if columns[k].left else cells[k][line].rjust(wide[k])
            for k in shown
        ).rstrip()
        for line in range(len(rows) + 1)
    )


def decimals(means: ArrayLike, low: ArrayLike, high: ArrayLike) -> int:
    """Return how many decimals show three digits of the width of a typical interval.

    Args:
        means: The mean of each arm; None or NaN before its first pull.
        low: The lower end of each interval; None or infinite where there is none.
        high: The upper end of each interval, likewise.
    """
    widths = np.asarray(high, dtype=float) - np.asarray(low, dtype=float)
    widths = widths[np.isfinite(widths) & (widths > 0)]
    seen = np.asarray(means, dtype=float)
    known = seen[~np.isnan(seen)]
    if not len(widths) and len(known):  # all means are exact
        widths = np.ptp(known, keepdims=True)
    typical = (float(np.median(widths)) if len(widths) else 0.0) or 1.0
    return int(np.clip(2 - math.floor(math.log10(typical)), 0, 9))
