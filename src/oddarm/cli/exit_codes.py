"""What the exit code of a command says."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oddarm.results.result import Result

__all__ = [
    "DECIDED",
    "INTERRUPTED",
    "MEANINGS",
    "TERMINATED",
    "UNDECIDED",
    "WRONG_USAGE",
    "exit_code",
    "exit_code_of",
]

DECIDED = 0
WRONG_USAGE = 2
UNDECIDED = 3
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM

MEANINGS = (
    f"Exit codes: {DECIDED} if the answer is decided: outliers are confirmed, there are none, or "
    f"the arms are ranked and --until ranked asked for no more; {WRONG_USAGE} for wrong usage; "
    f"{UNDECIDED} if nothing is decided: the budget or the rows ended, or more arms lie apart than "
    f"may be outliers; {INTERRUPTED} after Ctrl-C and {TERMINATED} after SIGTERM."
)
"""For the help of commands that search."""


def exit_code(result: Result) -> int:
    """Return the exit code of a command that prints a result."""
    return exit_code_of(result.verdict, result.provenance["until"])


def exit_code_of(verdict: str, until: str) -> int:
    """Return the exit code for a verdict, where the search was to go on until `until`."""
    if verdict == "running":
        return INTERRUPTED
    if verdict in ("confirmed", "none"):
        return DECIDED
    return DECIDED if verdict == until == "ranked" else UNDECIDED
