"""The command line. `main` is the entry point; it needs the extra `cli`."""

from __future__ import annotations

import os
import sys
import threading

from oddarm._extras import require
from oddarm.cli.exit_codes import INTERRUPTED, WRONG_USAGE
from oddarm.cli.needs import needs_of
from oddarm.errors import MissingExtraError

__all__ = ["main"]


def main() -> None:
    """Run the `oddarm` command; Ctrl-C ends it with a message and exit code 130."""
    try:
        _main()
    except KeyboardInterrupt:
        print("oddarm: interrupted", file=sys.stderr)
        _leave(INTERRUPTED)
        raise SystemExit(INTERRUPTED) from None
    except SystemExit as stop:
        _leave(stop.code if isinstance(stop.code, int) else 1)
        raise


def _leave(code: int) -> None:
    """End the process at once if a thread still loads a table: it cannot be stopped."""
    duckdb = sys.modules.get("oddarm.sources.table.duckdb")
    if duckdb and any(thread.name == duckdb.LOADER for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _main() -> None:
    try:
        require(*needs_of(sys.argv[1:]))
    except MissingExtraError as error:
        print(f"oddarm: {error}", file=sys.stderr)
        raise SystemExit(WRONG_USAGE) from None
    from oddarm.cli.app import run

    run()
