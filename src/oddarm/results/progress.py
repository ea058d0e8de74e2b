"""Progress bars on a terminal; nothing elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from oddarm.results.sentence import at_this_pace, glance

if TYPE_CHECKING:
    from oddarm.search import Search

__all__ = ["SearchProgress", "TerminalBar"]

SECONDS = 0.2
"""The least time between two updates of the bar."""
SHARE = 10
"""The time between two updates is at least so many times what an update takes."""


class TerminalBar:
    """A context manager that shows a bar on standard error, if that is a terminal."""

    def __init__(self, *columns: ProgressColumn) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        )

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.__exit__(kind, error, trace)


class _TimeLeft(TimeRemainingColumn):
    """The time left; the time elapsed if there is neither a budget nor a pool."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return TimeElapsedColumn().render(task)
        return Text.assemble("at most ", super().render(task), " left")


class SearchProgress(TerminalBar):
    """Shows the pulls, the best guess and its evidence, and the time left.

    The time left is the time until the budget or the arms are used up; most searches end sooner.
    """

    def __init__(self) -> None:
        super().__init__(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            _TimeLeft(),
        )
        self._task = self._bar.add_task("", total=None)
        self._next = 0.0
        self._first: tuple[int, float] | None = None  # pulls and time of the first look

    def __call__(self, search: Search) -> None:
        """Show how far a search has come."""
        if self._bar.disable or time.monotonic() < self._next:
            return
        began, limits, result = time.monotonic(), search.rewards.limits, search.result()
        self._first = self._first or (search.pulls, began)
        pace = at_this_pace(result.forecast, search.pulls - self._first[0], began - self._first[1])
        unspent = search.core.ledger.unspent
        ends = [
            None if unspent is None else search.pulls + unspent,
            None if limits is None else sum(limits),
        ]
        self._bar.update(
            self._task,
            total=min((end for end in ends if end is not None), default=None),
            completed=search.pulls,
            description=" · ".join(filter(None, [result.spent, glance(result), pace])),
        )
        now = time.monotonic()
        self._next = now + max(SECONDS, SHARE * (now - began))
