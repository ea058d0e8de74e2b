"""The files of the live page, and what a browser may do with them."""

from __future__ import annotations

from pathlib import Path

from fastapi.staticfiles import StaticFiles
from starlette.responses import Response
from starlette.types import Scope

__all__ = ["HEADERS", "Page"]

FILES = Path(__file__).parent / "static"
HEADERS = {
    # The page loads everything from this service and has no inline scripts or styles.
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Page(StaticFiles):
    """Serves the files of the page."""

    def __init__(self) -> None:
        super().__init__(directory=FILES, html=True)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, with the security headers."""
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response
