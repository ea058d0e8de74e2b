"""What plans and comparisons say alike: a table that fits, and what is true of known means."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from oddarm.groups import Group
from oddarm.problem import Problem

__all__ = ["NO_POOLS", "group_dict", "groups_sentence", "shortened", "text_table"]

NO_POOLS = "there is no proof for rewards that are drawn once each."
"""Why a strategy takes no finite pools."""
LEAST = 12
"""The fewest characters that are left of a column that is shortened."""


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


def text_table(
    columns: Mapping[str, Sequence[str]],
    *,
    left: Collection[str],
    spare: Sequence[str] = (),
    elastic: str | None = None,
    width: int | None = None,
) -> str:
    """Return a table as text.

    Args:
        columns: The cells of each column, by its head.
        left: The columns that are flush left.
        spare: The columns that can be left out to fit, those that matter least first.
        elastic: A column that is shortened to fit before any is left out.
        width: The most characters of a line.
    """
    cells = {head: [head, *column] for head, column in columns.items()}
    wide = {head: max(map(len, column)) for head, column in cells.items()}

    def excess() -> int:
        return 0 if width is None else max(sum(wide.values()) + 2 * len(wide) - 2 - width, 0)

    if elastic is not None:
        wide[elastic] = min(max(wide[elastic] - excess(), LEAST), wide[elastic])
        cells[elastic] = [shortened(text, wide[elastic]) for text in cells[elastic]]
    for head in spare:
        if excess():
            del wide[head]
    return "\n".join(
        "  ".join(
            cells[head][k].ljust(room) if head in left else cells[head][k].rjust(room)
            for head, room in wide.items()
        ).rstrip()
        for k in range(len(next(iter(cells.values()))))
    )


def shortened(text: str, most: int) -> str:
    """Return the text, cut to `most` characters if it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
