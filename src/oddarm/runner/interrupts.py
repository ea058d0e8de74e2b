"""Ctrl-C, put off while the search changes, so that it is never caught half changed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

__all__ = ["Interrupts"]


class Interrupts:
    """A block that Ctrl-C does not break into; it is raised when the block ends."""

    def __init__(self) -> None:
        self._held = False
        self._late = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take over Ctrl-C, if this is the main thread and nobody else has."""
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            yield
            return
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self._held:
            signal.default_int_handler(number, frame)
        self._late = True

    def __enter__(self) -> None:
        self._held = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held = False
        if self._late:
            self._late = False
            raise KeyboardInterrupt
