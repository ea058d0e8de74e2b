"""`oddarm studies`: what is in a database of studies."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from oddarm._text import text_table
from oddarm.cli.serve import STORAGE

if TYPE_CHECKING:
    from oddarm.store import StudyInfo

__all__ = ["studies"]

COLUMNS = ("study", "status", "pulls", "arms", "verdict", "strategy", "created")


def studies(
    storage: Annotated[
        str, typer.Option(help="sqlite:///PATH, a path, or postgresql://….")
    ] = STORAGE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the studies in a database."""
    from oddarm._postgres_url import without_password
    from oddarm.store import list_studies

    found = list_studies(storage)
    if as_json:
        print(json.dumps([asdict(info) for info in found], indent=2))
    elif not found:
        print(f"There are no studies in {without_password(storage)}.")
    else:
        print(table(found, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))


def table(found: list[StudyInfo], width: int | None) -> str:
    """Return the list as text.

    Args:
        found: The studies.
        width: The most letters of a line: columns that do not fit are left out, the last ones
            first, and long names shortened. None if lines may be of any length.
    """
    cells = zip(*map(_cells, found), strict=True)
    return text_table(
        dict(zip(COLUMNS, cells, strict=True)),
        left=[name for name in COLUMNS if name not in ("pulls", "arms")],
        spare=COLUMNS[:0:-1],
        elastic=COLUMNS[0],
        width=width,
    )


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
