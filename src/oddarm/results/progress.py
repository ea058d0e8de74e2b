"""Progress: a bar on a terminal, a line in a notebook, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from html import escape
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

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

from oddarm.results.html import framed
from oddarm.results.sentence import at_this_pace, glance

if TYPE_CHECKING:
    from oddarm.results.history import EvidenceHistory
    from oddarm.results.result import Result
    from oddarm.search import Search

__all__ = ["Display", "SearchProgress", "TerminalBar", "display_for"]

SHARE = 10
"""The time between two updates is at least so many times what an update takes."""
LINE_AFTER = 10.0
"""Seconds after which a log has the first line; each further line comes after twice the time."""
MOST_BETWEEN = 600.0
"""But no later than so many seconds after the line before."""


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


class Display(ABC):
    """Where progress is shown.

    Attributes:
        due: The seconds since the start at which it is to be shown next.
    """

    least: ClassVar[float]
    """The least time between two updates, in seconds."""

    def __init__(self, first: float) -> None:
        self.due = first

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:  # noqa: B027
        """End the display; most leave what they have shown."""

    @abstractmethod
    def show(self, words: str, done: float, total: float | None) -> None:
        """Show how far it is: in words, and as a part of a total if there is one."""

    def shown(self, seconds: float, took: float) -> None:
        """Note that it was shown, when, and how long that took."""
        self.due = seconds + max(self.least, SHARE * took)


class _Terminal(Display):
    """A bar on a terminal."""

    least = 0.2

    def __init__(self, first: float, *columns: ProgressColumn) -> None:
        super().__init__(first)
        shown = (
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
        )
        self._terminal = TerminalBar(*shown, *columns)
        self._task = self.bar.add_task("", total=None, visible=first == 0)

    @property
    def bar(self) -> Progress:
        return self._terminal._bar

    def __enter__(self) -> Self:
        self._terminal.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._terminal.__exit__(*error)

    def show(self, words: str, done: float, total: float | None) -> None:
        self.bar.update(self._task, description=words, completed=done, total=total, visible=True)


class Notebook(Display):
    """A line below the cell that runs, and a picture below it; both are replaced, not repeated."""

    least = 0.5

    def __init__(self, first: float) -> None:
        super().__init__(first)
        self._display = import_module("IPython.display").display
        self._line: Any = None
        self._picture: Any = None
        self._words = ""

    def __exit__(self, *error: Any) -> None:
        """Leave the words without the bar."""
        if self._line is not None:
            self._put(framed(escape(self._words)))

    def show(self, words: str, done: float, total: float | None) -> None:
        self._words = words
        bar = "" if total is None else f'<progress value="{done:g}" max="{total:g}"></progress> '
        self._put(framed(bar + escape(words)))

    def draw(self, picture: Any) -> None:
        """Show a picture in place of the one before."""
        if self._picture is None:
            self._picture = self._display(picture, display_id=True)
        else:
            self._picture.update(picture)

    def _put(self, html: str) -> None:
        data = {"text/plain": self._words, "text/html": html}
        if self._line is None:
            self._line = self._display(data, raw=True, display_id=True)
        else:
            self._line.update(data, raw=True)


class _Log(Display):
    """A line on standard error after ten seconds, and then ever more rarely."""

    def __init__(self, first: float) -> None:
        super().__init__(max(first, LINE_AFTER))

    def show(self, words: str, done: float, total: float | None) -> None:
        del done, total
        print(f"oddarm: {words}", file=sys.stderr, flush=True)  # noqa: T201

    def shown(self, seconds: float, took: float) -> None:
        del took
        self.due = seconds + min(seconds, MOST_BETWEEN)


def display_for(first: float, *columns: ProgressColumn) -> Display:
    """Return the display that fits where this runs.

    Args:
        first: The seconds before which nothing is shown.
        columns: What follows the words on a terminal.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if hasattr(shell, "kernel"):  # not a prompt on a terminal
        return Notebook(first)
    return _Terminal(first, *columns) if Console(stderr=True).is_terminal else _Log(first)


class _TimeLeft(TimeRemainingColumn):
    """The time left; the time elapsed if there is neither a budget nor a pool."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return TimeElapsedColumn().render(task)
        return Text.assemble("at most ", super().render(task), " left")


class SearchProgress:
    """Shows the pulls, the best guess and its evidence, and the time left.

    The time left is the time until the budget or the arms are used up; most searches end sooner.

    Args:
        history: What is known of the evidence so far, for the plot.
        plot: Whether to draw the plot of what is known, in a notebook.
    """

    def __init__(self, history: EvidenceHistory | None = None, *, plot: bool = False) -> None:
        self._display = display_for(0.0, _TimeLeft())
        self._history = history
        self._plot = plot
        self._start = time.monotonic()
        self._first: tuple[int, float] | None = None  # pulls and seconds of the first look
        self._latest: Search | None = None

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """Show the end in a notebook, where it stays."""
        if self._latest is not None and isinstance(self._display, Notebook):
            self._show(self._latest)
        self._display.__exit__(*error)

    def __call__(self, search: Search) -> None:
        """Show how far a search has come, if it is time."""
        self._latest = search
        seconds = time.monotonic() - self._start
        if seconds < self._display.due:
            return
        self._first = self._first or (search.pulls, seconds)
        self._show(search, search.pulls - self._first[0], seconds - self._first[1])
        now = time.monotonic() - self._start
        self._display.shown(now, now - seconds)

    def _show(self, search: Search, pulls: int = 0, seconds: float = 0.0) -> None:
        """Show what is known, and how long the rest takes at the pace of so many pulls."""
        limits, result = search.rewards.limits, search.result()
        pace = at_this_pace(result.forecast, pulls, seconds)
        unspent = search.core.ledger.unspent
        ends = [
            None if unspent is None else search.pulls + unspent,
            None if limits is None else sum(limits),
        ]
        words = " · ".join(filter(None, [result.spent, glance(result), pace]))
        total = min((end for end in ends if end is not None), default=None)
        self._display.show(words, search.pulls, total)
        if self._plot and isinstance(self._display, Notebook):
            self._display.draw(self._drawn(result))

    def _drawn(self, result: Result) -> Any:
        """Return the plot of a result with the evidence so far."""
        points = () if self._history is None else tuple(self._history.points)
        return replace(result, history=points).plot()
