"""Arrays as JSON values and back, without loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["decode", "encode"]


def encode(value: Any) -> Any:
    """Return an array as JSON values, with infinities and nan as text; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    data = value.tolist()
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        data = [x if math.isfinite(x) else repr(x) for x in data]
    return {"array": value.dtype.str, "data": data}


def decode(value: Any) -> Any:
    """Return what `encode` was given."""
    if isinstance(value, dict) and "array" in value:
        data = [float(x) if isinstance(x, str) else x for x in value["data"]]
        return np.array(data, dtype=value["array"])
    return value
