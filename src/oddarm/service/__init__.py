"""Studies over HTTP: `oddarm serve`, and a client for workers in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oddarm.service.client import Client, WorkSummary
from oddarm.service.server import serve
from oddarm.service.tokens import Token

if TYPE_CHECKING:
    from oddarm.service.app import create_app

__all__ = ["Client", "Token", "WorkSummary", "create_app", "serve"]


def __getattr__(name: str) -> Any:
    if name == "create_app":  # needs the extra `service`
        from oddarm.service.app import create_app

        return create_app
    raise AttributeError(f"module 'oddarm.service' has no attribute {name!r}")
