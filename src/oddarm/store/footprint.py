"""How much memory objects hold."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType

import numpy as np

__all__ = ["held_bytes"]

SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What all objects share, and none of them holds."""


def held_bytes(*things: object) -> int:
    """Return about how many bytes of memory objects hold, with all that they refer to.

    Examples:
        >>> import numpy as np
        >>> 8_000 < held_bytes({"counts": np.zeros(1000)}) < 9_000
        True
    """
    seen: set[int] = set()
    found: list[object] = [*things]
    total = 0
    while found:
        thing = found.pop()
        if id(thing) in seen or isinstance(thing, SHARED):
            continue
        seen.add(id(thing))
        total += sys.getsizeof(thing)
        # An array that is a view holds the array that has the numbers.
        found.extend(gc.get_referents(thing) if not isinstance(thing, np.ndarray) else [thing.base])
    return total
