"""`oddarm serve`: studies for many workers, over HTTP."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["STORAGE", "Storage", "serve"]

STORAGE = "sqlite:///oddarm.db"
Storage = Annotated[str, typer.Option(help="sqlite:///PATH, a path, or postgresql://….")]


def serve(
    storage: Storage = STORAGE,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: a free one.")] = 8321,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with the token that callers must send, or with lines of role, name and "
            "token; roles are read-only, worker and admin (mode 600)."
        ),
    ] = None,
    study_memory: Annotated[
        int,
        typer.Option(min=1, help="Megabytes that open studies may hold; others are read anew."),
    ] = 256,
    verbose: Annotated[bool, typer.Option(help="Log every request.")] = False,
) -> None:
    """Serve studies over HTTP until Ctrl-C or SIGTERM.

    Workers ask for pulls and tell rewards; an acknowledged reward is on disk. Without a token, only
    this machine is served.
    """
    from oddarm import service
    from oddarm.service.tokens import read_tokens

    service.serve(
        storage,
        host=host,
        port=port,
        token=None if token_file is None else read_tokens(token_file),
        study_memory=study_memory * 1_000_000,
        log_level=logging.DEBUG if verbose else logging.INFO,
    )
