"""The typer application: commands, and how errors reach a person."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from oddarm._text import printable
from oddarm._version import __version__
from oddarm.cli import find, plan, restored, scan, serve, simulate, studies, study, watch
from oddarm.cli.exit_codes import INTERRUPTED, MEANINGS, TERMINATED, WRONG_USAGE
from oddarm.cli.help import add_command
from oddarm.cli.options import as_options, missing_words
from oddarm.cli.signals import ended_by_signals
from oddarm.errors import MissingColumnsError, OddarmError

__all__ = ["app", "run"]

ENDED = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
"""The message about a command that a signal ended, by its exit code."""

app = typer.Typer(
    name="oddarm",
    help="Find the arms that do not belong, with few samples and a stated error probability.",
    no_args_is_help=True,
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


add_command(app, ended_by_signals(find.find), MEANINGS)
add_command(app, scan.scan, MEANINGS)
add_command(app, plan.plan)
add_command(app, simulate.simulate, MEANINGS)
add_command(app, serve.serve)
add_command(app, restored.restored)
add_command(app, studies.studies)
add_command(app, watch.watch, MEANINGS)
app.add_typer(study.app, name="study")


def run() -> None:
    """Run the command line: mistakes get one sentence and exit code 2, Ctrl-C gets 130."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack ε
    try:
        app()
    except SystemExit as stop:
        if stop.code in ENDED:
            print(f"oddarm: {ENDED[stop.code]}", file=sys.stderr)
        raise
    except MissingColumnsError as error:
        print(f"oddarm: {missing_words(error, sys.argv[1:])}", file=sys.stderr)
        raise SystemExit(WRONG_USAGE) from None
    except OddarmError as error:
        print(f"oddarm: {printable(as_options(str(error)))}", file=sys.stderr)
        raise SystemExit(WRONG_USAGE) from None
    except MemoryError:
        print("oddarm: this needs more memory than there is: ask for less.", file=sys.stderr)
        raise SystemExit(WRONG_USAGE) from None
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"oddarm: {printable(f'{where}{error.strerror or error}')}", file=sys.stderr)
        raise SystemExit(WRONG_USAGE) from None
