"""Commands whose help is not cut, and whose examples stay on lines of their own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import typer

__all__ = ["add_command"]


def add_command(
    app: typer.Typer,
    command: Callable[..., None],
    epilog: str | None = None,
) -> None:
    """Add a command, whose docstring is its help.

    The first sentence stands in the list of commands; click would cut it to the width of the
    terminal. Indented lines are examples, which are not wrapped, so that they can be copied.

    Args:
        app: Where to add it.
        command: The function.
        epilog: What to say after the options.
    """
    words = inspect.getdoc(command) or ""
    first = " ".join(words.split("\n\n")[0].split())
    app.command(help=unwrapped(words), short_help=first, epilog=epilog)(command)


def unwrapped(words: str) -> str:
    r"""Return help in which each paragraph of indented lines keeps its lines.

    Examples:
        >>> unwrapped("For example:\n\n    oddarm find flights")
        'For example:\n\n\x08\n    oddarm find flights'
    """
    return re.sub(r"(?m)(?<=\n\n)(?= {4})", "\b\n", words)
