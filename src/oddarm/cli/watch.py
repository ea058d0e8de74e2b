"""`oddarm watch NAME`: a study as it goes on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

import oddarm
from oddarm._text import printable
from oddarm.cli.serve import STORAGE, Storage
from oddarm.results.sentence import glance

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from oddarm.results.result import Result
    from oddarm.store import Study, StudyInfo

__all__ = ["watch"]


def watch(
    name: Annotated[str, typer.Argument(help="The study.")],
    storage: Storage = STORAGE,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 1.0,
) -> None:
    """Watch a study until it is done.

    On a terminal, a table of the leading arms; elsewhere, a line for each change.
    """
    from rich.console import Console

    console = Console()
    with oddarm.open_study(storage, name) as study:
        if console.is_terminal:
            _live(study, console, interval)
            console.print(_shown(study.result(), 20, console.width))
        else:
            _lines(study, interval)
            print(study.result())


def _live(study: Study, console: Console, interval: float) -> None:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    with Live(console=console, transient=True, auto_refresh=False) as live:
        while (info := study.info()).status != "done":
            result = study.result()
            arms = max(1, min(20, console.height - 8))
            shown = _shown(result, arms, console.width)
            live.update(Group(Text(_line(info), style="bold"), shown), refresh=True)
            time.sleep(interval)


def _shown(result: Result, arms: int, width: int) -> Text:
    """Return the answer and the leading arms, in lines of a terminal's width."""
    from rich.text import Text

    return Text(f"{result.summary}\n\n{result.table(arms, width=width)}")


def _lines(study: Study, interval: float) -> None:
    shown = None
    while (info := study.info()).status != "done":
        if info != shown:
            print(" · ".join(filter(None, [_line(info), glance(study.result())])), flush=True)
            shown = info
        time.sleep(interval)


def _line(info: StudyInfo) -> str:
    return f"{printable(info.name)}: {info.status}, {info.pulls:,} pulls of {info.arms:,} arms"
