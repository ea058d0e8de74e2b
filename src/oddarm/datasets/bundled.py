"""Data that comes with the package, as files that a table source reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from oddarm.errors import ParameterError
from oddarm.rewards import RowsKind

__all__ = ["BUNDLED", "Bundled", "bundled"]

_FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Bundled:
    """A file of the package and the columns to search by.

    Attributes:
        path: Where it is.
        arm: The column that names the arms.
        reward: The column of rewards.
        about: What it is, in a sentence.
        rows: Whether its rows are a sample of what the arms do, or all that there is.
    """

    path: Path
    arm: str
    reward: str
    about: str
    rows: RowsKind = "sample"


BUNDLED = {
    "flights": Bundled(
        path=_FILES / "flights.parquet",
        arm="route",
        reward="late",
        about="326,408 flights from New York in 2013, on 193 routes: which are late? (CC0)",
        rows="all",
    )
}
"""The data that comes with oddarm, by name."""


def bundled(name: str) -> Bundled:
    """Return the bundled data set of that name.

    Examples:
        >>> flights = bundled("flights")
        >>> flights.path.name, flights.arm, flights.reward
        ('flights.parquet', 'route', 'late')
    """
    if name not in BUNDLED:
        raise ParameterError(f"data set == {name!r}, must be one of {', '.join(BUNDLED)}.")
    return BUNDLED[name]
