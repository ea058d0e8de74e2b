"""Running the service on uvicorn."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import FrameType

from oddarm._extras import POSTGRES, SERVICE, require
from oddarm._postgres_url import is_postgres
from oddarm.errors import ParameterError
from oddarm.service.tokens import Token

__all__ = ["STUDY_MEMORY", "bind", "is_loopback", "serve"]

STUDY_MEMORY = 256_000_000
"""Bytes that the studies in memory may hold, unless the caller says otherwise."""
STOP_SECONDS = 10
"""How long requests may take to finish when the service is asked to stop."""
BACKLOG = 4096
"""Connections that the system keeps until the service accepts them."""


def serve(
    storage: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    token: str | Sequence[Token] | None = None,
    study_memory: int = STUDY_MEMORY,
    log_level: int = logging.INFO,
) -> None:
    """Serve the studies of a database until SIGTERM or Ctrl-C.

    Args:
        storage: `sqlite:///path`, a bare path, or `postgresql://…`.
        host: The address to listen on; any but a loopback one needs a token.
        port: The port; 0 for a free one.
        token: The token that callers must send, which may do everything, or tokens with roles.
        study_memory: How many bytes the studies in memory may hold, about; beyond it, those that
            were not used for the longest time are closed.
        log_level: The lowest level that is logged.
    """
    if not token and not is_loopback(host):
        raise ParameterError(
            f"host {host!r} can be reached from elsewhere: pass a token file, or listen on "
            "127.0.0.1."
        )
    require(SERVICE, *([POSTGRES] if is_postgres(str(storage)) else []))
    import uvicorn

    from oddarm.service.app import create_app
    from oddarm.service.connections import (
        Crowd,
        TimedConnection,
        most_connections,
        raise_file_limit,
    )
    from oddarm.service.logs import log_to_stderr

    with bind(host, port) as listening:
        raise_file_limit()
        crowd = Crowd(most_connections())
        # Asks that wait leave the other half of the connections to tells.
        app = create_app(
            storage, token=token, study_memory=study_memory, most_waiting=crowd.most // 2
        )
        log_to_stderr(log_level)

        class Server(uvicorn.Server):
            """A server that ends streams of events when it is asked to stop."""

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                asyncio.get_running_loop().set_exception_handler(crowd.handle_error)
                await super().startup(sockets)
                listening.listen(BACKLOG)

            def handle_exit(self, sig: int, frame: FrameType | None) -> None:
                app.state.stopping = True
                super().handle_exit(sig, frame)

        # When the requests are finished, uvicorn raises the signal again. To be stopped is not a
        # failure, so it is ignored.
        signal.signal(signal.SIGTERM, lambda *_: None)
        # A request makes hundreds of objects and hardly any reference cycles: search for cycles
        # less often, and never among what is loaded now.
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        # Threads of the store call SQLite often and briefly; let them continue soon after.
        sys.setswitchinterval(0.0005)
        address = f"[{host}]" if ":" in host else host
        print(f"oddarm: http://{address}:{listening.getsockname()[1]}", flush=True)  # noqa: T201
        config = uvicorn.Config(
            app,
            http=type("TimedConnection", (TimedConnection,), {"crowd": crowd}),
            ws="none",
            backlog=crowd.at_once,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        Server(config).run(sockets=[listening])


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise ParameterError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends answers without delay only over sockets whose protocol it can see.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ParameterError(
            f"cannot listen on {host}:{port} ({error.strerror}): choose another host or port."
        ) from None
    return listening


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Return whether a host is an address that only this machine can reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
