"""Data frames of pandas, polars, pyarrow and others, as Arrow tables."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from oddarm.errors import ParameterError, SourceError
from oddarm.sources.table.rows import sentence

__all__ = ["as_arrow"]


def as_arrow(data: Any) -> Any:
    """Return a frame as a pyarrow table; anything else is refused."""
    narwhals: Any = import_module("narwhals")
    arrow: Any = import_module("pyarrow")
    try:
        frame = narwhals.from_native(data)
    except TypeError:
        raise ParameterError(
            f"data is a {type(data).__name__}, must be a path, a postgresql:// URL, or a frame of "
            "pandas, polars or pyarrow: read it into one of these."
        ) from None
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect(backend="pyarrow")
    try:
        return frame.to_arrow()
    except (arrow.ArrowException, TypeError, ValueError) as error:
        raise SourceError(
            f"the data frame has a column of mixed values ({sentence(error)}): "
            "pass only the columns that are needed, each of one type."
        ) from None
