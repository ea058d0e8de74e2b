"""Checks of arguments that several modules share."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from numbers import Complex, Real
from typing import Any

from oddarm.errors import ParameterError

__all__ = [
    "LEAST_PROBABILITY",
    "MOST",
    "error_probability",
    "is_number",
    "numbers_by_arm",
    "real_number",
    "whole_number",
]

MOST = 2**63 - 1
"""The largest whole number that compiled code, arrays and databases take."""
LEAST_PROBABILITY = 1e-200
"""The least error probability of one arm: its inverse is still a float."""


def is_number(arms: Any) -> bool:
    """Return whether arms are given by their number; an array is a list of names."""
    return hasattr(arms, "__index__") and not getattr(arms, "ndim", 0)


def whole_number(name: str, value: Any, least: int, most: int = MOST) -> int:
    """Return `value` as an int, or raise ParameterError; numpy integers are whole numbers too."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise ParameterError(f"{name} == {_shown(value)}, must be a whole number >= {least}.")
    if number > most:
        raise ParameterError(f"{name} == {_shown(number)}, must be a whole number <= {most}.")
    return number


def real_number(
    name: str, value: Any, rule: str, fits: Callable[[float], bool] = math.isfinite
) -> float:
    """Return `value` as a float, or raise ParameterError, which says the rule.

    Fractions, decimals and numpy's numbers are numbers; strings and bools are not. A number that
    is too large for a float is refused.
    """
    try:
        complex_ = isinstance(value, Complex) and not isinstance(value, Real)
        if complex_ or isinstance(value, bool | str | bytes | bytearray):
            raise TypeError
        number = float(value)
        if fits(number):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterError(f"{name} == {_shown(value)}, must be {rule}.")


def error_probability(name: str, value: Any) -> float:
    """Return the error probability `value` as a float, or raise ParameterError."""
    rule = f"> 0 and < 1, at least {LEAST_PROBABILITY:g}"
    return real_number(name, value, rule, lambda p: LEAST_PROBABILITY <= p < 1)


def _shown(value: Any) -> str:
    """Return a value as text, shortened if it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        text = f"a {type(value).__name__} of very many digits"
    return text if len(text) <= 200 else f"{text[:80]}…"


def numbers_by_arm(given: Any, name: str, one: str) -> tuple[list[Any] | None, list[Any]]:
    """Return the names of the arms, None if they are numbered, and the number of each.

    A mapping names its arms, and so does a pandas Series by its index, unless that numbers them
    from 0. All else is read by position: sequences, arrays, and a polars Series, which has no
    index. The numbers are returned as they are, unchecked.

    Args:
        given: What the caller passed.
        name: The name of the parameter, for errors, such as "means".
        one: What a single number is, for errors, such as "mean".

    Raises:
        ParameterError: `given` has columns, or is of another kind; or a name occurs twice.
    """
    if isinstance(given, Mapping):
        return list(given), list(given.values())
    if hasattr(given, "columns"):
        raise ParameterError(
            f"{name} is a {type(given).__name__} with columns, must be one {one} for each arm: "
            f"pass one column of it, such as frame[{one!r}]."
        )
    try:
        if isinstance(given, str | bytes | set | frozenset):
            raise TypeError
        values = given.tolist() if hasattr(given, "tolist") else list(given)
        labels: Any = getattr(given, "index", None)
        names = labels.tolist() if hasattr(labels, "tolist") else None
        if not isinstance(values, list):
            raise TypeError
    except TypeError:
        raise ParameterError(
            f"{name} == {_shown(given)}, must be a sequence of numbers or a mapping from arm to "
            f"{one}."
        ) from None
    if names is None or names == list(range(len(values))):
        return None, values
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(
            f"the index of {name} has {twice!r} twice, must name each arm once: "
            f"pass for example {name}.groupby(level=0).mean()."
        )
    return names, values
