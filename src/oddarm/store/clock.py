"""Two clocks: one that tells the date, and one that cannot be set back."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """The times that a study needs. Tests pass a clock of their own."""

    def wall(self) -> float:
        """Return seconds since 1970; all machines share this time, and it may be set."""
        return time.time()

    def steady(self) -> float:
        """Return seconds that only grow; they mean something in this process alone."""
        return time.monotonic()
