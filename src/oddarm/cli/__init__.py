"""The command line. `main` is the entry point; it needs the extra `cli`."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the `oddarm` command; Ctrl-C ends it with a word and exit code 130."""
    try:
        _main()
    except KeyboardInterrupt:
        print("oddarm: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


def _main() -> None:
    try:
        import rich
        import typer
    except ImportError:
        print(
            "The oddarm command needs typer and rich: run  python -m pip install 'oddarm[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    del rich, typer
    from oddarm.cli.app import run

    run()
