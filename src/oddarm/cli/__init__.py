"""The command line. `main` is the entry point; it needs the extra `cli`."""

from __future__ import annotations

import os
import sys
import threading

from oddarm.cli.exit_codes import INTERRUPTED, WRONG_USAGE

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
        import rich
        import typer
    except ImportError:
        print(
            "The oddarm command needs typer and rich: run  python -m pip install 'oddarm[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(WRONG_USAGE) from None
    del rich, typer
    from oddarm.cli.app import run

    run()
