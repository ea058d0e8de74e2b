"""How kernels are compiled: once per machine, and without the interpreter's lock.

All have the same options, so that what they share is compiled once. Divisions follow numpy, which
saves a check each; no kernel divides whole numbers by zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from numba import njit
from numba.core import event

__all__ = ["OPTIONS", "CompileWatch", "kernel"]

OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # nobody calls a kernel from C
}

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """Return the function compiled; that happens when it is first called, or is read from disk."""
    compiled: Kernel = njit(**OPTIONS)(function)
    return compiled


class CompileWatch(event.Listener):
    """Knows, while its block runs, whether a kernel is being compiled."""

    def __init__(self) -> None:
        self.compiling = 0  # a kernel within another counts too

    def on_start(self, event: Any) -> None:
        """Take note that a compilation begins."""
        del event
        self.compiling += 1

    def on_end(self, event: Any) -> None:
        """Take note that it is over."""
        del event
        self.compiling -= 1

    def __enter__(self) -> Self:
        event.register("numba:compile", self)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]
