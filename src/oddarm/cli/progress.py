"""Progress bars on a terminal; nothing elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from oddarm.search import Search

__all__ = ["PullProgress", "SweepProgress"]


class _Shown:
    """A bar on standard error that is there while its block runs, if that is a terminal."""

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


class PullProgress(_Shown):
    """Shows pulls so far and, for several runs or a budget, how much is done.

    Args:
        runs: How many runs there will be.
    """

    def __init__(self, runs: int = 1) -> None:
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[pulls]:,} pulls"),
            TimeElapsedColumn(),
        )
        self._runs = runs
        self._earlier = 0
        self._latest = 0
        self._task = self._bar.add_task("searching", total=runs if runs > 1 else None, pulls=0)

    def __call__(self, search: Search) -> None:
        """Show the pulls of the running search."""
        self._latest = search.pulls
        if self._runs == 1 and search.max_pulls is not None:
            self._bar.update(self._task, total=search.max_pulls, completed=search.pulls)
        self._bar.update(self._task, pulls=self._earlier + self._latest)

    def finished(self, runs: int) -> None:
        """Note that a run is over."""
        self._earlier += self._latest
        self._latest = 0
        if self._runs > 1:
            self._bar.update(self._task, completed=runs)


class SweepProgress(_Shown):
    """Shows how many cells of a sweep are done, and the time left."""

    def __init__(self) -> None:
        super().__init__(
            TextColumn("cells"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("time left"),
            TimeRemainingColumn(),
        )
        self._task = self._bar.add_task("cells", total=None)

    def __call__(self, done: int, total: int, seconds: float) -> None:
        """Show how many cells are done."""
        del seconds
        self._bar.update(self._task, completed=done, total=total)
