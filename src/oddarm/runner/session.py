"""Signals, progress, callbacks and saving while a search is driven."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from oddarm._extras import PLOT, PROGRESS, require
from oddarm.options import Shown
from oddarm.results.history import EvidenceHistory
from oddarm.runner.interrupts import Interrupts
from oddarm.runner.queue import PullQueue
from oddarm.search import Search

__all__ = ["Session"]

SECONDS = 3.0
"""The least number of seconds between two savings while the search runs."""
SHARE = 0.05
"""The largest share of the time that savings may take."""


class Session:
    """A `with` block in which a search is driven; at its end, pulls are given back and saved.

    Args:
        queue: The pulls of the search.
        callbacks: Called with the search when rewards have been told.
        progress: Whether to show progress, or "plot" to show it with a plot.
        path: The file to save the search to; None for no file.

    Attributes:
        history: How the evidence grew.
        interrupts: Holds signals back outside `with session.interrupts:`.
    """

    def __init__(
        self,
        queue: PullQueue,
        callbacks: Sequence[Callable[[Search], object]],
        progress: Shown,
        path: str | Path | None,
    ) -> None:
        self.queue = queue
        self.interrupts = Interrupts()
        self.history = EvidenceHistory()
        self._watchers = list(callbacks)
        self._progress = progress
        self._path = path
        self._next_save = 0.0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._save()  # a search that cannot be saved fails now, before any pull
        if self._progress:
            require(PROGRESS, *([PLOT] if self._progress == "plot" else []))
            from oddarm.results.progress import SearchProgress

            progress = SearchProgress(self.history, plot=self._progress == "plot")
            self._watchers.append(self._stack.enter_context(progress))
        return self

    def __exit__(self, *error: object) -> None:
        self.queue.give_back()
        self.history.note(self.queue.search)
        try:
            self._stack.close()
        finally:
            self._save()

    def told(self) -> None:
        """Call the callbacks after rewards may have been told, and save if it is time."""
        if not self.queue.pending:
            self.history(self.queue.search)
            with self.interrupts:
                for watcher in self._watchers:
                    watcher(self.queue.search)
        if self._path is not None and time.monotonic() >= self._next_save:
            try:
                self._save()
            except OSError as error:  # no reason to end the search: it is saved again later
                warnings.warn(f"the search could not be saved ({error})", stacklevel=2)

    def _save(self) -> None:
        if self._path is None:
            return
        begun = time.monotonic()
        try:
            self.queue.search.save_indices(self._path, self.queue.untold())
        finally:
            ended = time.monotonic()
            self._next_save = ended + max(SECONDS, (ended - begun) / SHARE)
