"""Progress bars on a terminal; nothing elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from oddarm._text import printable, shortened
from oddarm.errors import MissingExtraError

try:
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
except ImportError:
    raise MissingExtraError("rich", "cli", "a progress bar") from None

if TYPE_CHECKING:
    from oddarm.search import Search

__all__ = ["SearchProgress", "TerminalBar"]

SECONDS = 0.2
"""The least time between two updates of the bar."""
LEADERS = 3
"""How many of the arms that rank first are shown."""


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
    """Shows the pulls, how many arms are declared, the arms that rank first, and the time left.

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

    def __call__(self, search: Search) -> None:
        """Show how far a search has come."""
        if self._bar.disable or time.monotonic() < self._next:
            return
        limits = search.rewards.limits
        ends = [search.max_pulls, None if limits is None else sum(limits)]
        self._bar.update(
            self._task,
            total=min((end for end in ends if end is not None), default=None),
            completed=search.pulls,
            description=describe(search),
        )
        self._next = time.monotonic() + SECONDS


def describe(search: Search) -> str:
    """Return in one line the pulls, how many arms are declared, and which rank first."""
    parts = [f"{search.pulls:,} pulls", f"{len(search.declared())} declared"]
    if search.pulls:
        leaders = ", ".join(shortened(printable(arm), 20) for arm in search.ranking()[:LEADERS])
        parts.append(f"leading: {leaders}")
    if search.errors:
        parts.append(f"{len(search.errors)} failed")
    return " · ".join(parts)
