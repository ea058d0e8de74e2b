"""`oddarm studies`: what is in a database of studies."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from oddarm.cli.options import JsonOnly
from oddarm.cli.places import Server, StorageOrNone, TokenFile, open_place
from oddarm.results.table import Column, text_table

if TYPE_CHECKING:
    from oddarm.store import StudyInfo

__all__ = ["studies"]

COLUMNS = (
    Column("study", left=True, least=12),
    Column("status", left=True, dropped=6),
    Column("pulls", dropped=5),
    Column("arms", dropped=4),
    Column("verdict", left=True, dropped=3),
    Column("strategy", left=True, dropped=2),
    Column("created", left=True, dropped=1),
)


def studies(
    storage: StorageOrNone = None,
    server: Server = None,
    token_file: TokenFile = None,
    as_json: JsonOnly = False,
) -> None:
    """List the studies in a database, or of a service."""
    with open_place(storage, server, token_file) as place:
        infos, where = place.studies(), place.where
    if as_json:
        print(json.dumps([asdict(info) for info in infos], indent=2))
    elif not infos:
        print(f"There are no studies in {where}.")
    else:
        print(table(infos, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))


def table(infos: list[StudyInfo], width: int | None) -> str:
    """Return the list as text.

    Args:
        infos: The studies.
        width: The most letters of a line: columns that do not fit are left out, the last ones
            first, and long names shortened. None if lines may be of any length.
    """
    return text_table(COLUMNS, [_cells(info) for info in infos], width)


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
