"""Checks every request before the application sees it, and logs it afterwards."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddarm.errors import OddarmError
from oddarm.service.metrics import Metrics
from oddarm.service.models import MAX_BODY
from oddarm.service.server import is_loopback
from oddarm.service.tokens import GUARDED, LEAST_ROLE, ROLES, Token, find_token, may, route_of

__all__ = ["CALLER", "ERROR", "Guard"]

LOG = logging.getLogger("oddarm.service")
FREQUENT = ("/ask", "/tell", "/data")
ERROR = "oddarm.error"
"""The key in the scope of a request whose value is the error message for the log."""
CALLER = "oddarm.caller"
"""The key in the scope of a request whose value is the token that it came with."""
TOO_LARGE = f"the request has more than {MAX_BODY:,} bytes: send fewer at a time."


class Guard:
    """Middleware that checks host, origin, token and size before the application sees a request.

    Without a token, only this machine may use the service. A web page from elsewhere that is open
    in a browser on this machine must not reach it either, so host and origin must be local.

    Args:
        app: The application that is guarded.
        tokens: The tokens that callers may send; empty if they need none.
        metrics: Where requests are counted.
    """

    def __init__(self, app: ASGIApp, tokens: Sequence[Token], metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._tokens = tuple(tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status, begun, seconds = 500, False, 0.0

        async def send_and_note(message: Message) -> None:
            nonlocal status, begun, seconds
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                seconds = time.perf_counter() - started
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._app(scope, _limited(receive), send_and_note)
            else:
                await refusal(scope, receive, send_and_note)
        except Exception as error:
            reason = error if isinstance(error, OddarmError) else error.__cause__
            if not begun or not isinstance(reason, OddarmError):
                raise
            # The answer has begun and can only be cut off: uvicorn closes the connection.
            status, scope[ERROR] = 500, str(reason)
        finally:
            self._metrics.note(
                scope["method"],
                scope["path"],
                status,
                seconds if begun else time.perf_counter() - started,
            )
            _log(scope, status, started)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        # If a header is sent twice, the first one counts.
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        length = headers.get(b"content-length", "")
        if length.isdecimal() and int(length[:20]) > MAX_BODY:
            return _answer(413, TOO_LARGE)
        if not self._tokens:
            host = headers.get(b"host", "")
            if not is_loopback(_hostname(f"//{host}") or ""):
                return _answer(
                    403, f"host {host!r} is not this machine: start the service with a token."
                )
            origin = headers.get(b"origin")
            if origin is not None and origin.partition("://")[2] != host:
                return _answer(403, f"origin {origin!r} is not this service.")
            return None
        if not scope["path"].startswith(GUARDED):
            return None
        given = headers.get(b"authorization", "")
        scheme, _, secret = given.partition(" ")
        token = find_token(self._tokens, secret) if scheme.lower() == "bearer" else None
        if token is None:
            problem = "the token is wrong" if given else "there is no token"
            return _answer(
                401,
                f"{problem}: send the header  Authorization: Bearer TOKEN.",
                {"WWW-Authenticate": "Bearer"},
            )
        scope[CALLER] = token
        return _refusal_of_role(token, scope["method"], scope["path"])


def _refusal_of_role(token: Token, method: str, path: str) -> JSONResponse | None:
    """Refuse what the role of a token does not allow, and what the table of roles does not name."""
    least = LEAST_ROLE.get((method, route_of(path)))
    if least is None:  # the application refuses it, too, but the table decides who may call
        return (
            None if token.role == "admin" else _answer(404, f"There is no route {method} {path}.")
        )
    if may(token.role, least):
        return None
    wanted = " or ".join(ROLES[ROLES.index(least) :])
    return _answer(
        403,
        f"token {token.name!r} is for the role {token.role}, and {method} {path} needs {wanted}: "
        "send another token.",
    )


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _answer(status: int, error: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": error}, status, headers)


def _limited(receive: Receive) -> Receive:
    """Limit the size of a body whose header does not state its length."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY:
            raise HTTPException(413, TOO_LARGE)
        return message

    return counted


def _log(scope: Scope, status: int, started: float) -> None:
    method, path = scope["method"], scope["path"]
    level = logging.DEBUG
    if status >= 500:
        level = logging.ERROR
    elif status >= 400:
        level = logging.WARNING
    elif method != "GET" and not path.endswith(FREQUENT):
        level = logging.INFO
    if LOG.isEnabledFor(level):
        fields: dict[str, Any] = {
            "method": method,
            "path": path,
            "status": status,
            "ms": round((time.perf_counter() - started) * 1e3, 2),
        }
        if CALLER in scope:
            fields["token"] = scope[CALLER].name
        if ERROR in scope:
            fields["error"] = scope[ERROR]
        LOG.log(level, "request", extra={"fields": fields})
