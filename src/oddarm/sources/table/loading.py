"""How far the loading of a table is, for who wants to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Loading", "Report", "report"]


@dataclass(frozen=True)
class Loading:
    """How far the loading of a table is.

    Attributes:
        name: What the table is called.
        step: What is being done: "reading" or "shuffling".
        seconds: The time since it began.
        share: The share of the step that is done, from 0 to 1; None if it is not known.
        size: The bytes of its files; None if it is not in files.
    """

    name: str
    step: str
    seconds: float
    share: float | None
    size: int | None


class Report:
    """Tells a watcher, if there is one, how far the loading of tables is."""

    SECONDS = 0.2
    """The time between two reports."""

    def __init__(self) -> None:
        self._watcher: ContextVar[Callable[[Loading], object] | None] = ContextVar(
            "watcher", default=None
        )

    @contextmanager
    def to(self, watcher: Callable[[Loading], object]) -> Iterator[None]:
        """Report to a watcher what is loaded in this context, by its main thread."""
        token = self._watcher.set(watcher)
        try:
            yield
        finally:
            self._watcher.reset(token)

    def wanted(self) -> bool:
        """Return whether somebody watches."""
        return self._watcher.get() is not None

    def send(self, loading: Loading) -> None:
        """Tell the watcher."""
        watcher = self._watcher.get()
        if watcher is not None:
            watcher(loading)


report = Report()
"""Where tables report to."""
