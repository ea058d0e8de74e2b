"""A connection of psycopg that gives up a server which has stopped answering.

For a process that was stopped the kernel goes on acknowledging what it receives, and so does a
proxy that forwards nothing. The server cannot keep its own limits then, and psycopg has none.
"""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen

__all__ = ["LimitedConnection", "SilentServerError"]


class SilentServerError(psycopg.OperationalError):
    """The server has not sent a byte, nor taken one, for too long."""


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server is silent for `patience` seconds."""

    patience = float("inf")

    def wait(self, gen: PQGen[RV], *arguments: Any, **options: Any) -> RV:
        """Run a step of psycopg's, as long as the server goes on with it."""
        try:
            return super().wait(self._heard(gen), *arguments, **options)
        except SilentServerError:
            self.close()  # an answer that comes after all would be taken for that of the next step
            raise

    def _heard(self, gen: PQGen[RV]) -> Generator[Any, Any, RV]:
        """Hand on what psycopg waits for; every tenth of a second it wakes up without it."""
        heard, ready = monotonic(), None
        while True:
            try:
                wanted = gen.send(ready)  # type: ignore[arg-type]
            except StopIteration as end:
                value: RV = end.value
                return value
            ready = yield wanted
            if ready:
                heard = monotonic()
            elif monotonic() - heard > self.patience:
                raise SilentServerError(f"no answer for {self.patience:g} s")
