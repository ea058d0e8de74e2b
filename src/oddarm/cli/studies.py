"""`oddarm studies`: what is in a database of studies."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from oddarm.cli.serve import STORAGE

if TYPE_CHECKING:
    from oddarm.store import StudyInfo

__all__ = ["studies"]

COLUMNS = ("study", "status", "pulls", "arms", "verdict", "strategy", "created")
LEAST_NAME = 12
"""Letters that a study's name keeps, whatever else is shown."""


def studies(
    storage: Annotated[
        str, typer.Option(help="sqlite:///PATH, a path, or postgresql://….")
    ] = STORAGE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the studies in a database."""
    from oddarm.store import list_studies

    found = list_studies(storage)
    if as_json:
        print(json.dumps([asdict(info) for info in found], indent=2))
    elif not found:
        print(f"There are no studies in {storage}.")
    else:
        print(table(found, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))


def table(found: list[StudyInfo], width: int | None) -> str:
    """Return the list as text.

    Args:
        found: The studies.
        width: The most letters of a line: columns that do not fit are left out, the last ones
            first, and long names shortened. None if lines may be of any length.
    """
    lines = [COLUMNS, *(_cells(info) for info in found)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if width is not None:
        least = min(widths[0], LEAST_NAME)
        while len(widths) > 1 and least + sum(wide + 2 for wide in widths[1:]) > width:
            widths.pop()
        widths[0] = min(widths[0], max(width - sum(wide + 2 for wide in widths[1:]), 1))
    return "\n".join(_line(cells, widths) for cells in lines)


def _cells(info: StudyInfo) -> tuple[str, ...]:
    return (
        info.name,
        info.status,
        f"{info.pulls:,}",
        f"{info.arms:,}",
        info.verdict,
        info.strategy,
        f"{datetime.fromtimestamp(info.created):%Y-%m-%d %H:%M}",
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    name, *others = cells
    if len(name) > widths[0]:
        name = name[: widths[0] - 1] + "…"
    parts = [name.ljust(widths[0])]
    for text, column, wide in zip(others, COLUMNS[1:], widths[1:], strict=False):
        parts.append(text.rjust(wide) if column in ("pulls", "arms") else text.ljust(wide))
    return "  ".join(parts).rstrip()
