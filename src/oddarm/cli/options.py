"""What the commands on tables have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import oddarm
from oddarm.errors import ParameterError

if TYPE_CHECKING:
    from oddarm.sources.table import TableSource

__all__ = [
    "DEFAULT_STRATEGY",
    "ArmColumns",
    "BoundName",
    "Delta",
    "Epsilon",
    "JsonOnly",
    "MaxOutliers",
    "Query",
    "Range",
    "Replace",
    "RewardColumn",
    "Rho",
    "SkipBadRows",
    "TableName",
    "Where",
    "number_pair",
    "open_data",
]

DEFAULT_STRATEGY = "adaptive"
"""What the command line searches with, if not told."""

# Which rows of a table, and what they are rewards of.
ArmColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--arm", help="The column whose values are the arms; repeat it for pairs of columns."
    ),
]
RewardColumn = Annotated[
    str | None,
    typer.Option("--reward", help="The column of rewards, or an expression such as 'delay > 15'."),
]
Where = Annotated[str | None, typer.Option("--where", help="An SQL condition on the rows.")]
TableName = Annotated[str | None, typer.Option("--table", help="The table of a database.")]
Query = Annotated[
    str | None, typer.Option("--query", help="An SQL query on a database, in place of --table.")
]
Range = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="LOW,HIGH",
        help="What rewards can be. [default: 0 or 1 if all are, else the table's range]",
    ),
]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out rows without a usable reward.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Draw rows with replacement, endlessly.")]

# What is looked for.
Epsilon = Annotated[float, typer.Option("--epsilon", help="How much wider the gap is.")]
Rho = Annotated[
    float | None, typer.Option("--rho", help="Least share of normal arms. [default: 0.9]")
]
MaxOutliers = Annotated[
    int | None, typer.Option("--max-outliers", help="Most outliers, in place of --rho.")
]
Delta = Annotated[float, typer.Option("--delta", help="Probability of a wrong answer.")]
BoundName = Annotated[str, typer.Option("--bound", help="anytime (proved) or paper (as printed).")]

JsonOnly = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def open_data(
    data: str, arm: Sequence[str] | None, reward: str | None, **options: Any
) -> tuple[TableSource, list[str]]:
    """Open a table, or a bundled one by its name; return it and the columns of its arms."""
    known = oddarm.datasets.BUNDLED.get(data)
    if known is not None and not Path(data).exists():
        data, arm, reward = str(known.path), arm or [known.arm], reward or known.reward
    if not arm:
        raise ParameterError(
            "--arm is missing: name the column whose values are the arms, such as --arm host."
        )
    if reward is None:
        raise ParameterError(
            "--reward is missing: name the column of rewards, such as --reward slow, "
            "or an expression, such as --reward 'ms > 200'."
        )
    columns = list(arm)
    source = oddarm.open_table(
        data, columns[0] if len(columns) == 1 else columns, reward, **options
    )
    return source, columns


def number_pair(option: str, text: str) -> tuple[float, float]:
    """Return the two numbers of LOW,HIGH."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"{option} {text}: must be two numbers LOW,HIGH, such as 0,100."
        ) from None
    return low, high
