"""Connections: how many there may be, and how long a request may take to arrive.

uvicorn waits for ever for the rest of a header, and asyncio writes a traceback for each connection
that it cannot accept. So a connection has to send a whole request within a time limit, and the one
that has waited longest is dropped if a new one needs its place.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import sys
from typing import Any, ClassVar

from h11 import DONE, IDLE, MUST_CLOSE
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Crowd", "TimedConnection", "most_connections", "raise_file_limit"]

LOG = logging.getLogger("oddarm.service")

HEADER_SECONDS = 10.0
"""How long a header may take to arrive."""
BODY_SECONDS = 60.0
"""How long a body may take to arrive."""
READER_SECONDS = 60.0
"""How long an answer may wait for a client that does not read it."""
QUIET_SECONDS = 5.0
"""A problem is over if it has not come up for this long."""

MOST_CONNECTIONS = 4000
"""Enough for a few thousand workers; each connection takes some 30 kB of memory."""
OTHER_FILES = 256
"""Descriptors for files, the database and what else is open."""
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

FULL = b'{"error":"the service has as many connections as it can take: try again."}'
REFUSED = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(FULL), FULL)
)


def raise_file_limit() -> None:
    """Let this process open as many files as its connections need, as far as the system allows.

    Many systems begin with 1,024 for programs that do not know better, and allow far more.
    """
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """Return how many connections there may be; files and the database need descriptors too."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    import resource

    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(descriptors // 2, descriptors - OTHER_FILES))


class Trouble:
    """A problem that lasts for a while: it is logged when it begins, and again when it is over."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._times = 0
        self._last = 0.0

    def note(self, loop: asyncio.AbstractEventLoop) -> None:
        """Record that the problem has come up now."""
        self._last = loop.time()
        self._times += 1
        if self._times == 1:
            LOG.warning(self._event)
            loop.call_later(QUIET_SECONDS, self._check_over, loop)

    def _check_over(self, loop: asyncio.AbstractEventLoop) -> None:
        left = self._last + QUIET_SECONDS - loop.time()
        if left > 0:
            loop.call_later(left, self._check_over, loop)
            return
        LOG.warning(f"over: {self._event}", extra={"fields": {"times": self._times}})
        self._times = 0


class Crowd:
    """The connections of one server.

    Args:
        most: How many connections there may be.

    Attributes:
        at_once: How many connections asyncio may accept before it serves any of them.
        waiting: The connections that have not sent a whole request, the one that has waited
            longest first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.at_once = max(1, min(64, most // 8))
        self.waiting: dict[TimedConnection, None] = {}
        self._full = Trouble(f"there are {most:,} connections, as many as can be taken")
        self._exhausted = Trouble("out of file descriptors")

    def make_room(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Drop the connection that has waited longest; return whether there was one."""
        self._full.note(loop)
        for oldest in self.waiting:
            oldest.drop()
            return True
        return False

    def handle_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log errors of the loop; those of connections that it cannot accept, only once."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in EXHAUSTED:
            loop.default_exception_handler(context)
            return
        self._exhausted.note(loop)
        for oldest in [*self.waiting][: len(self.waiting) // 2]:
            oldest.drop()


class TimedConnection(H11Protocol):
    """A connection of uvicorn that ends when it keeps the service waiting."""

    crowd: ClassVar[Crowd]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._request_timer: asyncio.TimerHandle | None = None  # for the next request
        self._of_body = False
        self._refused = False
        self._answer_timer: asyncio.TimerHandle | None = None  # for the client to read the answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; if too many are at work, refuse its first request."""
        super().connection_made(transport)
        if len(self.connections) > self.crowd.most:
            self._refused = not self.crowd.make_room(self.loop)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        if self._refused:
            self._stop_waiting()
            self.transport.write(REFUSED)
            self.transport.close()
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        state = self.conn.their_state
        if state is DONE or state is MUST_CLOSE:
            self._stop_waiting()
        elif state is IDLE:
            if self._request_timer is None:  # the first part of the next header
                self._await_request()
        elif not self._of_body:  # the header has arrived, but not all of the body
            self._stop_waiting()
            self._await_request(of_body=True)

    def on_response_complete(self) -> None:
        """Wait for the next request; uvicorn limits the time until its first byte."""
        super().on_response_complete()
        if not self.transport.is_closing() and self.conn.their_state is IDLE:
            self.crowd.waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Limit the time of a client that does not read its answer."""
        super().pause_writing()
        if self._answer_timer is None:
            self._answer_timer = self.loop.call_later(READER_SECONDS, self.drop)

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    def drop(self) -> None:
        """End the connection at once."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _await_request(self, *, of_body: bool = False) -> None:
        self.crowd.waiting[self] = None
        self._of_body = of_body
        seconds = BODY_SECONDS if of_body else HEADER_SECONDS
        self._request_timer = self.loop.call_later(seconds, self.drop)

    def _stop_waiting(self) -> None:
        self.crowd.waiting.pop(self, None)
        self._of_body = False
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None
