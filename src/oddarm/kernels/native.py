"""The compiled library, and how an array is handed to it.

The library knows nothing of Python: it is C, compiled when oddarm is installed, and its functions
are called by ctypes, without the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import c_bool, c_double, c_int64, c_void_p
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

__all__ = ["Record", "fields", "function", "layout"]

_handed = (ctypes.c_char * 0).from_buffer


class _Array:
    """An argument of a kernel: a contiguous array of one type that may be written to, or None."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)

    def hand(self, value: Any) -> Any:
        """Return what ctypes hands over; a TypeError if the array is of another kind."""
        if value is None:
            return None
        if value.dtype is not self.dtype and value.dtype != self.dtype:  # usually the same object
            raise TypeError(f"an array of {value.dtype}, must be of {self.dtype}")
        return _handed(value)


KINDS: dict[str, Any] = {
    "real": c_double,
    "whole": c_int64,
    "flag": c_bool,
    "floats": _Array(np.float64),
    "wholes": _Array(np.int64),
    "flags": _Array(np.bool_),
    "bytes": _Array(np.uint8),
    "words": _Array(np.uint64),
    "small_wholes": _Array(np.int32),
    "results": c_void_p,  # an array of ctypes, in which a kernel gives several numbers
    "record": c_void_p,
}
"""What a kernel takes: one number, an array, or a struct."""


def _load() -> ctypes.CDLL:
    folder = Path(__file__).parent
    library = folder / ("_native.dll" if sys.platform == "win32" else "_native.so")
    sources = [file.stat().st_mtime for file in folder.glob("*.[ch]")]  # in a checkout
    if not library.exists() or library.stat().st_mtime < max(sources, default=0.0):
        raise ImportError(
            "oddarm's kernels are not compiled, or their sources have changed since; in a checkout "
            "run: python tools/compile_kernels.py"
        )
    return ctypes.CDLL(str(library))


_LIBRARY = _load()

SIGNATURES: dict[str, tuple[str, str | None]] = {}
"""What Python says of each function of the library: what it takes and what it gives."""


def function(name: str, takes: str, gives: str | None = None) -> Callable[..., Any]:
    """Return a function of the library.

    Args:
        name: Its name.
        takes: The kinds of its arguments, one word each.
        gives: The kind of the number that it returns; None if it returns nothing.
    """
    SIGNATURES[name] = takes, gives
    compiled = _LIBRARY[name]
    kinds = [KINDS[kind] for kind in takes.split()]
    compiled.argtypes = [c_void_p if isinstance(kind, _Array) else kind for kind in kinds]
    compiled.restype = KINDS[gives] if gives else None
    arrays = [(i, kind.hand) for i, kind in enumerate(kinds) if isinstance(kind, _Array)]
    if not arrays:
        return compiled

    def call(*arguments: Any) -> Any:
        # Not by `from_param`: ctypes would turn a KeyboardInterrupt in it into an ArgumentError.
        given = list(arguments)
        for i, hand in arrays:
            given[i] = hand(given[i])
        return compiled(*given)

    return call


def layout(text: str) -> dict[str, Any]:
    """Return the kinds of a struct's fields by name: each line has a kind and names."""
    lines = [line.split() for line in text.strip().split("\n")]
    return {name: KINDS[kind] for kind, *names in lines for name in names}


def fields(kinds: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the fields of a struct as ctypes wants them."""
    return [(name, c_void_p if isinstance(kind, _Array) else kind) for name, kind in kinds.items()]


class Record(ctypes.Structure):
    """A struct of the kernels; it keeps the arrays that it refers to.

    A subclass has `kinds`, and `fields(kinds)` as its `_fields_`.

    Args:
        values: Numbers and arrays by the names of its fields; 0 for those not named.
    """

    kinds: ClassVar[dict[str, Any]]

    def __init__(self, **values: Any) -> None:
        self._kept: dict[str, Any] = {}
        self.give(**values)

    def give(self, **values: Any) -> None:
        """Set some fields."""
        for name, value in values.items():
            kind = self.kinds[name]
            if isinstance(kind, _Array):
                self._kept[name] = given = kind.hand(value)
                setattr(self, name, ctypes.addressof(given) if given is not None else None)
            else:
                setattr(self, name, value)

    def reserve(self, size: int, names: str) -> None:
        """Set some fields to new arrays of so many entries: working memory of a kernel."""
        self.give(**{name: np.empty(size, self.kinds[name].dtype) for name in names.split()})
