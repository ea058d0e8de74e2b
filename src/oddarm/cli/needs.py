"""What a command needs, read off its words before anything is parsed, opened or drawn."""

from __future__ import annotations

from collections.abc import Sequence

from oddarm._extras import COMMAND_LINE, PLOT, POSTGRES, SERVICE, TABLE, Need
from oddarm._postgres_url import is_postgres

__all__ = ["needs_of"]


def needs_of(words: Sequence[str]) -> list[Need]:
    """Return everything that needs an optional package.

    Args:
        words: The command line after `oddarm`. The command line may lack typer, so this looks at
            words alone.

    Examples:
        >>> [need.extra for need in needs_of(["find", "log.csv", "--plot", "answer.png"])]
        ['cli', 'table', 'plot']
    """
    needs = [COMMAND_LINE]
    flags = {word.split("=")[0] for word in words if word.startswith("--")}
    command = next((word for word in words if not word.startswith("-")), "")
    if flags & {"--help", "--version"}:
        return needs
    in_postgres = any(is_postgres(word.removeprefix("--storage=")) for word in words)
    reads_data = command in ("find", "scan") or (command == "plan" and "--arms" not in flags)
    if command == "serve":
        needs.append(SERVICE)
    if in_postgres:
        needs.append(POSTGRES)
    elif reads_data and len(words) > 1:
        needs.append(TABLE)
    if "--plot" in flags:
        needs.append(PLOT)
    return needs
