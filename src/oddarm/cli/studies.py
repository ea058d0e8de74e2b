"""`oddarm studies`: what is in a database of studies."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from oddarm.cli.serve import STORAGE

__all__ = ["studies"]


def studies(
    storage: Annotated[
        str, typer.Option(help="sqlite:///PATH, a path, or postgresql://….")
    ] = STORAGE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the studies in a database."""
    from rich.console import Console
    from rich.table import Table

    from oddarm.store import list_studies

    found = list_studies(storage)
    if as_json:
        print(json.dumps([asdict(info) for info in found], indent=2))
        return
    if not found:
        print(f"There are no studies in {storage}.")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("study", no_wrap=True)
    table.add_column("status")
    table.add_column("verdict")
    table.add_column("strategy")
    table.add_column("arms", justify="right")
    table.add_column("pulls", justify="right")
    table.add_column("created")
    for info in found:
        table.add_row(
            info.name,
            info.status,
            info.verdict,
            info.strategy,
            f"{info.arms:,}",
            f"{info.pulls:,}",
            f"{datetime.fromtimestamp(info.created):%Y-%m-%d %H:%M}",
        )
    Console().print(table)
