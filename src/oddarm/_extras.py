"""What needs an optional package, and the one message about all that are missing."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from oddarm.errors import MissingExtraError

__all__ = [
    "COMMAND_LINE", "DATA_FRAME", "INSPECT", "PLOT", "POSTGRES", "PROGRESS", "RESULT_FRAME",
    "SERVICE", "SQLITE", "TABLE", "Need", "require",
]  # fmt: skip


class Need(NamedTuple):
    """Something that needs optional packages.

    Attributes:
        purpose: What it is, as the subject of a sentence.
        modules: What it imports.
        extra: The extra that installs them.
    """

    purpose: str
    modules: tuple[str, ...]
    extra: str


COMMAND_LINE = Need("the oddarm command", ("typer", "rich"), "cli")
PROGRESS = Need("a progress bar", ("rich",), "cli")
TABLE = Need("sampling a table", ("duckdb",), "table")
DATA_FRAME = Need("sampling a data frame", ("narwhals", "pyarrow", "duckdb"), "table")
SQLITE = Need("sampling a SQLite file", ("pyarrow", "duckdb"), "table")
POSTGRES = Need("PostgreSQL", ("psycopg",), "postgres")
PLOT = Need("a plot", ("matplotlib",), "plot")
RESULT_FRAME = Need("a data frame of the result", ("pandas",), "frame")
INSPECT = Need("an evaluation by inspect_ai", ("inspect_ai",), "inspect")
SERVICE = Need("the service", ("fastapi", "uvicorn", "prometheus_client"), "service")


def require(*needs: Need) -> None:
    """Refuse what cannot be done: one error names every missing package and one installation.

    Call it with all that a call or a command needs, before it draws or opens anything.

    Raises:
        MissingExtraError: A package cannot be imported.
    """
    missing: list[str] = []
    wants, extras = [], []
    for need in needs:
        lacking = [name for name in need.modules if name in missing or not _imports(name)]
        if not lacking:
            continue
        missing += [name for name in lacking if name not in missing]
        wants.append(f"{need.purpose} needs {' and '.join(lacking)}")
        extras += [need.extra] if need.extra not in extras else []
    if missing:
        raise MissingExtraError(" and ".join(wants), extras, several=len(missing) > 1)


def _imports(module: str) -> bool:
    """Return whether a module can be imported; one that is there may lack a library of its own."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True
