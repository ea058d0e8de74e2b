"""Text for people: what a terminal and a spreadsheet may be given, and tables that fit.

Names of arms and studies come from anywhere. On a terminal they pass through `printable`, in a CSV
file through `csv_cell`, and nowhere else is that decided.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oddarm.definitions.groups import Group
    from oddarm.problem import Problem

__all__ = [
    "NO_POOLS",
    "Column",
    "csv_cell",
    "group_dict",
    "groups_sentence",
    "printable",
    "shortened",
    "text_table",
]

NO_POOLS = "there is no proof for rewards that are drawn once each."
"""Why a strategy takes no finite pools."""

_JOINERS = "\u200c\u200d"
"""Marks without a shape that are letters of words in some scripts."""
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Controls, marks that change the direction of text, halves of characters, ends of lines."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def printable(value: object) -> str:
    r"""Return a value as text on one line that a terminal shows and does not obey.

    Control characters, marks that change the direction of text, and ends of lines are shown as
    escapes.

    Example:
        >>> printable("host-1"), printable("\x1b[2Jgone"), printable("a\u202eb")
        ('host-1', '\\x1b[2Jgone', 'a\\u202eb')
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in _HIDDEN and character not in _JOINERS
        else character
        for character in text
    )


def csv_cell(value: Any) -> Any:
    """Return a value for a CSV file: text that a spreadsheet would run follows an apostrophe.

    Example:
        >>> csv_cell("=1+2"), csv_cell("host-1"), csv_cell(-0.5)
        ("'=1+2", 'host-1', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def groups_sentence(
    arms: int, problem: Problem, groups: Sequence[Group], noun: str = "arms"
) -> str:
    """Return whether known means have an outlier group, and how clear it is, in a sentence."""
    most = problem.max_outliers
    limit = f"ε = {problem.epsilon:g} and " + (
        f"ρ = {problem.rho:g}" if most is None else f"at most {most} outlier{'s' * (most > 1)}"
    )
    if not groups:
        return f"These {arms:,} means have no outlier group at {limit}."
    group = max(groups, key=lambda found: found.max_epsilon)
    odd = len(group.members)
    return (
        f"{odd} of {arms:,} {noun} {'is' if odd == 1 else 'are'} an outlier group at {limit}; "
        f"the gap of {group.gap:.3g} is wide enough for "
        + (f"ε up to {group.max_epsilon:.3g}." if group.max_epsilon < math.inf else "any ε.")
    )


def group_dict(group: Group) -> dict[str, Any]:
    """Return a group as JSON values; an infinite ε is None."""
    epsilon = group.max_epsilon
    return {**asdict(group), "max_epsilon": epsilon if epsilon < math.inf else None}


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
            enough, columns are left out, and cells take the room that this makes.

    Example:
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


def shortened(text: str, most: int) -> str:
    """Return the text, cut to `most` characters if it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
