"""What is shown while a large table loads: a bar on a terminal, a few lines elsewhere."""

from __future__ import annotations

import sys
from typing import Protocol

from rich.progress import BarColumn, SpinnerColumn, TextColumn

from oddarm._text import printable, shortened
from oddarm.results.progress import TerminalBar

__all__ = ["LoadProgress", "loading_words"]

BAR_AFTER = 1.0
"""Seconds after which a terminal shows a bar: small files load before."""
LINE_AFTER = 10.0
"""Seconds after which a log has the first line; each further line comes after twice the time."""
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Load(Protocol):
    """How far a load is: as `oddarm.sources.table.loading.Loading` describes it."""

    @property
    def name(self) -> str: ...
    @property
    def step(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def share(self) -> float | None: ...
    @property
    def size(self) -> int | None: ...


class LoadProgress(TerminalBar):
    """Shows how far the loading of a table is, on standard error."""

    def __init__(self) -> None:
        super().__init__(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
        )
        self._task = self._bar.add_task("", total=None, visible=False)
        self._line = LINE_AFTER

    def __call__(self, load: Load) -> None:
        """Show one report; nothing in the first second."""
        if not self._bar.disable and load.seconds >= BAR_AFTER:
            self._bar.update(
                self._task,
                visible=True,
                total=None if load.share is None else 1.0,
                completed=load.share or 0.0,
                description=loading_words(load),
            )
        elif self._bar.disable and load.seconds >= self._line:
            self._line *= 2
            print(f"oddarm: {loading_words(load)}", file=sys.stderr, flush=True)  # noqa: T201


def loading_words(load: Load) -> str:
    """Return how far a load is, in words.

    Examples:
        >>> from oddarm.sources.table.loading import Loading
        >>> loading_words(Loading("log.csv", "reading", 12.3, share=0.43, size=2_500_000_000))
        'reading log.csv, 2.5 GB: 43 % after 12 s'
        >>> loading_words(Loading("log.csv", "reading", 12.3, share=None, size=None))
        'reading log.csv: 12 s'
    """
    size = ""
    if load.size is not None:
        shown = (f"{load.size / unit:.1f} {word}" for unit, word in _UNITS if load.size >= unit)
        size = f", {next(shown, f'{load.size} bytes')}"
    far = "" if load.share is None else f"{100 * load.share:.0f} % after "
    return f"{load.step} {shortened(printable(load.name), 60)}{size}: {far}{load.seconds:.0f} s"
