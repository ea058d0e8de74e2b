"""The typer application: commands, and how errors reach a person."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from oddarm._version import __version__
from oddarm.cli import find, plan, reproduce, serve, simulate, studies, watch
from oddarm.errors import OddarmError

__all__ = ["app", "run"]

app = typer.Typer(
    name="oddarm",
    help="Find the arms that do not belong, with few samples and a stated error probability.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"oddarm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


app.command()(find.find)
app.command()(plan.plan)
app.command()(simulate.simulate)
app.command()(reproduce.reproduce)
app.command()(serve.serve)
app.command()(studies.studies)
app.command()(watch.watch)


def run() -> None:
    """Run the command line: mistakes get one sentence and exit code 2, Ctrl-C gets 130."""
    try:
        app()
    except SystemExit as stop:
        if stop.code == 130:
            print("oddarm: interrupted", file=sys.stderr)
        raise
    except OddarmError as error:
        print(f"oddarm: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except OSError as error:
        print(f"oddarm: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        raise SystemExit(2) from None
