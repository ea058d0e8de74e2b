"""How kernels are compiled: once per machine, and without the interpreter's lock.

All have the same options, so that what they share is compiled once. Divisions follow numpy, which
saves a check each; no kernel divides whole numbers by zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["OPTIONS", "kernel"]

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
