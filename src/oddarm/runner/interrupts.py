"""Ctrl-C and SIGTERM act only where the runner waits, so that nothing is left half changed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """Lets signals through only in `with` blocks on this object, which surround what waits.

    Inside `watched()` a signal is noted, and acts when the next `with` block begins: it does not
    interrupt an ask, a tell or a save. In a `with` block a signal acts at once. It calls the
    handler that was set before; SIGTERM without a handler acts like Ctrl-C.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._open = False
        self._noted: list[int] = []
        self._cancel: Callable[[], object] | None = None

    def cancels(self, cancel: Callable[[], object]) -> None:
        """Let the first Ctrl-C call `cancel`: in an event loop an exception may get lost."""
        self._cancel = cancel

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Handle the signals, if this is the main thread; restore the handlers afterwards.

        A signal that comes while the block ends calls the earlier handlers, but ends nothing.
        """
        before = _handlers() if threading.current_thread() is threading.main_thread() else {}
        self._handlers = {
            number: handler if callable(handler) else signal.default_int_handler
            for number, handler in before.items()
        }
        try:
            for number in before:
                signal.signal(number, self._note)
            yield
        finally:
            self._open = False
            for number, handler in reversed(before.items()):  # Ctrl-C last: it may raise at once
                signal.signal(number, handler)
            for number in self._noted:
                with suppress(KeyboardInterrupt):
                    self._handlers[number](number, None)
            self._noted.clear()

    def __enter__(self) -> None:
        self._open = True
        while self._noted:
            self._note(self._noted.pop(0), None)

    def __exit__(self, *error: object) -> None:
        self._open = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Act on a signal, or note it for later."""
        if not self._open:
            self._noted.append(number)
            return
        self._open = False  # further signals wait while the caller handles what this raises
        try:
            self._handlers[number](number, frame)
        except KeyboardInterrupt:
            if self._cancel is None:
                raise
            self._cancel()
            self._cancel = None
        self._open = True


def _handlers() -> dict[int, Any]:
    """Return the handlers that the runner may replace, by signal.

    An ignored signal stays ignored, and a handler that is not Python's stays in place.
    """
    current = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    return {
        number: handler
        for number, handler in current.items()
        if callable(handler) or (number == signal.SIGTERM and handler is signal.SIG_DFL)
    }
