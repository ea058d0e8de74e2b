"""Checks of arguments that several rooms share."""

from __future__ import annotations

import operator
from typing import Any

from oddarm.errors import ParameterError

__all__ = ["whole_number"]


def whole_number(name: str, value: Any, least: int) -> int:
    """Return `value` as an int, or raise ParameterError; numpy integers are whole numbers too."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise ParameterError(f"{name} == {value!r}, must be a whole number >= {least}.")
    return number
