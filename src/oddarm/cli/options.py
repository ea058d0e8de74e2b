"""What the commands on tables have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import oddarm
from oddarm.errors import ParameterError

if TYPE_CHECKING:
    from oddarm.sources.table import TableSource

__all__ = ["DEFAULT_STRATEGY", "number_pair", "open_data"]

DEFAULT_STRATEGY = "adaptive"
"""What the command line searches with, if not told."""


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
