"""What is shown while a large table loads."""

from __future__ import annotations

from typing import Any, Protocol, Self

from oddarm._text import printable, shortened
from oddarm.results.progress import display_for

__all__ = ["LoadProgress", "loading_words"]

BAR_AFTER = 1.0
"""Seconds before which nothing is shown: small files load before."""
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


class LoadProgress:
    """Shows how far the loading of a table is."""

    def __init__(self) -> None:
        self._display = display_for(BAR_AFTER)

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._display.__exit__(*error)

    def __call__(self, load: Load) -> None:
        """Show one report, if it is time; nothing in the first second."""
        if load.seconds >= self._display.due:
            total = None if load.share is None else 1.0
            self._display.show(loading_words(load), load.share or 0.0, total)
            self._display.shown(load.seconds, 0.0)


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
