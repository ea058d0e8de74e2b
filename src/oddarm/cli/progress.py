"""The progress bar of simulations, on a terminal; nothing elsewhere."""

from __future__ import annotations

from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

from oddarm.results.progress import TerminalBar
from oddarm.results.result import Result
from oddarm.search import Search

__all__ = ["PullProgress"]


class PullProgress(TerminalBar):
    """Shows pulls so far and, for several runs or a budget, how much is done."""

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
        self._ended = 0
        self._task = self._bar.add_task("searching", total=runs if runs > 1 else None, pulls=0)

    def __call__(self, search: Search) -> None:
        """Show the strategy and the pulls of the running search."""
        self._latest = search.pulls
        self._bar.update(self._task, description=search.strategy.name)
        if self._runs == 1 and search.max_pulls is not None:
            self._bar.update(self._task, total=search.max_pulls, completed=search.pulls)
        self._bar.update(self._task, pulls=self._earlier + self._latest)

    def ended(self, result: Result) -> None:
        """Note that one of several runs is over, in this process or in another one."""
        self._latest = result.pulls
        self._ended += 1
        self.finished(self._ended)
        self._bar.update(self._task, pulls=self._earlier)

    def finished(self, runs: int) -> None:
        """Note that a run is over."""
        self._earlier += self._latest
        self._latest = 0
        if self._runs > 1:
            self._bar.update(self._task, completed=runs)
