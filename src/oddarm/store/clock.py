"""Time, twice: what the calendar says, and what no one can set back."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """The times that a study needs. Tests pass a clock of their own."""

    def wall(self) -> float:
        """Return seconds since 1970, which all machines share and anyone may set."""
        return time.time()

    def steady(self) -> float:
        """Return seconds that only grow, in this process."""
        return time.monotonic()
