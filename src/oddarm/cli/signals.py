"""Commands that SIGTERM ends like Ctrl-C, with an exit code that says which of them it was."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

import typer

from oddarm.cli.exit_codes import INTERRUPTED, TERMINATED

__all__ = ["ended_by_signals"]


def ended_by_signals(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with SIGTERM acting as Ctrl-C, unless the program handles it."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        terminated = False

        def stop(number: int, frame: FrameType | None) -> None:
            nonlocal terminated
            terminated = True
            signal.default_int_handler(number, frame)

        before = signal.getsignal(signal.SIGTERM)
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, stop)
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            raise typer.Exit(TERMINATED if terminated else INTERRUPTED) from None
        except typer.Exit as end:
            if terminated and end.exit_code == INTERRUPTED:
                raise typer.Exit(TERMINATED) from None
            raise
        finally:
            if before is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, before)

    return run
