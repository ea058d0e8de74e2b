"""`oddarm watch NAME`: a study as it goes on."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from oddarm._text import named, printable
from oddarm.cli.exit_codes import exit_code_of
from oddarm.cli.options import JsonOnly
from oddarm.cli.places import Place, Server, StorageOrNone, TokenFile, open_place
from oddarm.cli.study import line
from oddarm.errors import ServiceError
from oddarm.results.sentence import counted, odds, two_digits
from oddarm.results.table import Column, decimals, text_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from oddarm.store import StudyInfo

__all__ = ["watch"]

T = TypeVar("T")

MOST_ARMS = 20
FIRST_PAUSE = 1.0
"""The most seconds of the first pause while a service does not answer; later ones grow."""
COLUMNS = (
    Column("rank"),
    Column("arm", left=True, least=8),
    Column("pulls"),
    Column("mean"),
    Column("low", dropped=1),
    Column("high", dropped=1),
    Column("status", left=True),
)


def watch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The study.")],
    storage: StorageOrNone = None,
    server: Server = None,
    token_file: TokenFile = None,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 1.0,
    as_json: JsonOnly = False,
) -> None:
    """Watch a study until it is done.

    On a terminal, a table of the leading arms; elsewhere, a line for each change. With --json,
    nothing but the result, when the study is done. If the service stops answering meanwhile, the
    watch says so on standard error, and tries again until it answers.
    """
    from rich.console import Console

    console = Console()
    with open_place(storage, server, token_file) as place:
        place.info(name)  # what is wrong from the start is an error at once
        patient = Patient(place)
        if as_json:
            _wait(patient, name, interval)
        elif console.is_terminal:
            _live(patient, name, console, interval)
        else:
            _lines(patient, name, interval)
        result = patient.result(name)
    if as_json:
        print(json.dumps(result, indent=2))
    elif console.is_terminal:
        console.print(_shown(result, MOST_ARMS, console.width))
    else:
        print(f"{printable(result['summary'])}\n\n{_table(result, MOST_ARMS)}")
    raise typer.Exit(exit_code_of(result["verdict"], result["provenance"]["until"]))


class Patient:
    """What a watch asks of a place, which is asked again while it is away or busy.

    Args:
        place: The place.
    """

    def __init__(self, place: Place) -> None:
        self._place = place

    def info(self, name: str) -> StudyInfo:
        """Return how far a study is."""
        return _patiently(lambda: self._place.info(name))

    def result(self, name: str) -> dict[str, Any]:
        """Return the result of a study as JSON values."""
        return _patiently(lambda: self._place.result(name))


def _patiently(call: Callable[[], T]) -> T:
    """Return what a call returns; call again, after pauses that grow, on what may pass."""
    from oddarm.service.client import PASSING, growing_pauses

    pauses = growing_pauses(FIRST_PAUSE)
    while True:
        try:
            return call()
        except ServiceError as error:
            if error.status not in PASSING:
                raise
            pause = max(next(pauses), error.retry_after or 0.0)
            print(
                f"oddarm: {printable(str(error))} Trying again in {math.ceil(pause)} s.",
                file=sys.stderr,
                flush=True,
            )
        time.sleep(pause)


def _wait(place: Patient, name: str, interval: float) -> None:
    while place.info(name).status != "done":
        time.sleep(interval)


def _live(place: Patient, name: str, console: Console, interval: float) -> None:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    with Live(console=console, transient=True, auto_refresh=False) as live:
        while (info := place.info(name)).status != "done":
            arms = max(1, min(MOST_ARMS, console.height - 8))
            shown = _shown(place.result(name), arms, console.width)
            live.update(Group(Text(line(info), style="bold"), shown), refresh=True)
            time.sleep(interval)


def _lines(place: Patient, name: str, interval: float) -> None:
    shown = None
    while (info := place.info(name)).status != "done":
        if info != shown:
            print(" · ".join(filter(None, [line(info), _glance(place.result(name))])), flush=True)
            shown = info
        time.sleep(interval)


def _shown(result: dict[str, Any], arms: int, width: int) -> Text:
    """Return the answer and the leading arms, in lines of a terminal's width."""
    from rich.text import Text

    return Text(f"{printable(result['summary'])}\n\n{_table(result, arms, width)}")


def _glance(result: dict[str, Any]) -> str:
    """Return what is known in a few words."""
    parts = []
    if result["outliers"]:
        parts.append(f"outliers: {named(result['outliers'])}")
    elif result["pulls"] and result["verdict"] != "none":
        parts.append(f"best guess: {named(result['candidates']) or 'nobody'}")
        evidence = odds(result["evidence"])
        parts += [f"evidence {evidence}"] if evidence else []
    if result["forecast"] is not None:
        parts.append(f"about {two_digits(result['forecast']):,} more")
    if result["errors"]:
        parts.append(f"{len(result['errors']):,} failed")
    return " · ".join(parts)


def _table(result: dict[str, Any], most: int, width: int | None = None) -> str:
    """Return the first arms by rank, as `Result.table` shows them."""
    rows = result["arms"]
    digits = decimals(
        [row["mean"] for row in rows], [row["low"] for row in rows], [row["high"] for row in rows]
    )

    def written(value: float | None) -> str:
        return "-" if value is None else f"{value:.{digits}f}"

    cells = [
        (
            str(row["rank"]),
            printable(row["arm"]),
            f"{row['pulls']:,}",
            *(written(row[key]) for key in ("mean", "low", "high")),
            row["status"],
        )
        for row in rows[:most]
    ]
    more = len(rows) - most
    table = text_table(COLUMNS, cells, width)
    return table if more <= 0 else f"{table}\n… and {counted(more, 'arms', 'more ')}"
