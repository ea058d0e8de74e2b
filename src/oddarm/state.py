"""What a saved state may hold: the one place where values become JSON, come back, and are checked.

An object that is saved declares its attributes as *fields*. Each field has a `Kind` that says which
values it may have. Loading checks every value by its kind; all other code, compiled or not, trusts
them. A value that breaks its rule raises a `StateError` with the field, the value and the rule.

Examples:
    >>> from oddarm.state import Whole
    >>> Whole(0, 9).decode(7, "run.position")
    7
    >>> Whole(0, 9).decode(12, "run.position")
    Traceback (most recent call last):
    oddarm.errors.StateError: the saved state is damaged: run.position == 12, must be a whole number
    from 0 to 9; load an older copy, or start again.
"""

from __future__ import annotations

import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm.errors import StateError

__all__ = [
    "EXACT",
    "FINITE",
    "MOST",
    "Arms",
    "Flag",
    "Flags",
    "Kind",
    "Nothing",
    "OrNone",
    "Part",
    "Real",
    "Reals",
    "Whole",
    "Wholes",
    "Word",
    "Words",
    "damaged",
    "decode_fields",
    "encode_fields",
    "mapping",
    "parse",
    "require",
]

MOST = 2**60
"""The largest whole number of a state: the sum of a few fits 64 bits."""
EXACT = 2**53 - 1
"""The most pulls: up to here floats count exactly."""
FINITE = sys.float_info.max
"""The largest finite float."""
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Kind(ABC):
    """Which values a field may have, and how they are written as JSON."""

    @abstractmethod
    def encode(self, value: Any) -> Any:
        """Return a value as JSON values."""

    @abstractmethod
    def decode(self, value: Any, name: str) -> Any:
        """Return what `encode` was given; StateError if `value` breaks the rule."""


class _Plain(Kind):
    """A value that JSON has too."""

    def encode(self, value: Any) -> Any:
        """Return the value as it is."""
        return value


class Nothing(_Plain):
    """None."""

    def decode(self, value: Any, name: str) -> None:
        """Return None."""
        if value is not None:
            raise damaged(name, value, "null")


class Flag(_Plain):
    """True or False."""

    def decode(self, value: Any, name: str) -> bool:
        """Return a bool."""
        if type(value) is not bool:
            raise damaged(name, value, "true or false")
        return value


class Word(_Plain):
    """One of the given words; any text if no word is given."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def decode(self, value: Any, name: str) -> str:
        """Return a word."""
        if type(value) is not str or (self.words and value not in self.words):
            raise damaged(name, value, f"one of {', '.join(self.words)}" if self.words else "text")
        return value


class Words(_Plain):
    """A list of texts."""

    def decode(self, value: Any, name: str) -> list[str]:
        """Return a list of texts."""
        if type(value) is not list or any(type(word) is not str for word in value):
            raise damaged(name, value, "a list of texts")
        return value


class Whole(_Plain):
    """A whole number in a range."""

    def __init__(self, low: float = 0, high: float = MOST) -> None:
        self.low, self.high = low, high

    def decode(self, value: Any, name: str) -> int:
        """Return an int."""
        if type(value) is not int or not self.low <= value <= self.high:
            raise damaged(name, value, f"a whole number{_range(self.low, self.high)}")
        return value


class Real(_Plain):
    """A number in a range."""

    def __init__(self, low: float = -FINITE, high: float = FINITE) -> None:
        self.low, self.high = low, high

    def decode(self, value: Any, name: str) -> float:
        """Return a float."""
        if type(value) not in (int, float) or not self.low <= value <= self.high:
            raise damaged(name, value, f"a number{_range(self.low, self.high)}")
        return float(value)


class OrNone(Kind):
    """A value of another kind, or None."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def encode(self, value: Any) -> Any:
        """Return a value as JSON values."""
        return None if value is None else self.kind.encode(value)

    def decode(self, value: Any, name: str) -> Any:
        """Return the value, or None."""
        return None if value is None else self.kind.decode(value, name)


class Arms(_Plain):
    """A list of arms, by their positions.

    Args:
        n: How many arms there are.
        distinct: Whether an arm may occur only once.
    """

    def __init__(self, n: int, *, distinct: bool = True) -> None:
        self.n, self.distinct = n, distinct

    def decode(self, value: Any, name: str) -> list[int]:
        """Return a list of positions."""
        arms = _array(value, name, (None,), {int}, 0, self.n - 1).tolist()
        if self.distinct and len(set(arms)) < len(arms):
            raise damaged(name, value, "a list without repeated arms")
        return arms  # type: ignore[no-any-return]


class _Array(Kind):
    """An array of one type, of a given shape, with all entries in a range.

    Args:
        shape: Its shape; a number for an array of one dimension. None for any length.
        low: The least entry.
        high: The greatest: one number, or one for each entry.
        nan: Whether entries may be nan.
        plain: Whether it is saved as a list alone; else the list has the name of its type with it.
    """

    dtype: ClassVar[Any]
    types: ClassVar[set[type]]
    range: ClassVar[tuple[float, float]]
    """The least and the greatest entry, if no other is given."""

    def __init__(
        self,
        shape: int | tuple[int, ...] | None,
        low: Any = None,
        high: Any = None,
        *,
        nan: bool = False,
        plain: bool = False,
    ) -> None:
        self.shape: tuple[int | None, ...] = shape if isinstance(shape, tuple) else (shape,)
        self.low = self.range[0] if low is None else low
        self.high = self.range[1] if high is None else high
        self.nan, self.plain = nan, plain

    def encode(self, value: Any) -> Any:
        """Return an array as JSON values, with infinities and nan as text."""
        data = value.tolist()
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            data = _spelled(data)
        return data if self.plain else {"array": value.dtype.str, "data": data}

    def decode(self, value: Any, name: str) -> NDArray[Any]:
        """Return a contiguous array of its own type, as compiled code needs it."""
        if not self.plain:
            code = np.dtype(self.dtype).str
            parts = mapping(value, name)
            tag = parts.get("array")
            if type(tag) is not str or tag[1:] != code[1:]:  # in any order of bytes
                raise damaged(f"{name}.array", tag, repr(code))
            value, name = parts.get("data"), f"{name}.data"
        array = _array(value, name, self.shape, self.types, self.low, self.high)
        if not self.nan and np.isnan(array).any():
            raise damaged(name, "nan", "numbers")
        return np.ascontiguousarray(array, dtype=self.dtype)


class Flags(_Array):
    """An array of bools."""

    dtype: ClassVar[Any] = np.bool_
    types: ClassVar[set[type]] = {bool}
    range: ClassVar[tuple[float, float]] = (False, True)


class Wholes(_Array):
    """An array of whole numbers."""

    dtype: ClassVar[Any] = np.int64
    types: ClassVar[set[type]] = {int}
    range: ClassVar[tuple[float, float]] = (0, MOST)


class Reals(_Array):
    """An array of numbers; infinite ones only if the range includes them, nan only if `nan`."""

    dtype: ClassVar[Any] = np.float64
    types: ClassVar[set[type]] = {int, float, str}
    range: ClassVar[tuple[float, float]] = (-FINITE, FINITE)


class Part(Kind):
    """An object with fields of its own; loading sets them and keeps the object."""

    def __init__(self, owner: Any, fields: Mapping[str, Kind]) -> None:
        self.owner, self.fields = owner, fields

    def encode(self, value: Any) -> Any:
        """Return its fields as JSON values."""
        return encode_fields(value, self.fields)

    def decode(self, value: Any, name: str) -> Any:
        """Set its fields and return it."""
        decode_fields(self.owner, self.fields, value, name)
        return self.owner


def encode_fields(owner: Any, fields: Mapping[str, Kind]) -> dict[str, Any]:
    """Return attributes as JSON values."""
    return {name: kind.encode(getattr(owner, name)) for name, kind in fields.items()}


def decode_fields(owner: Any, fields: Mapping[str, Kind], values: Any, name: str) -> None:
    """Set attributes to what `encode_fields` returned; StateError if one breaks its rule.

    Other names are ignored: older versions saved more.
    """
    saved = mapping(values, name)
    for field in fields:
        if field not in saved:
            raise StateError(_text(f"{name} has no {field!r}"))
    decoded = {
        field: kind.decode(saved[field], f"{name}.{field}") for field, kind in fields.items()
    }
    for field, value in decoded.items():
        setattr(owner, field, value)


def mapping(value: Any, name: str) -> dict[str, Any]:
    """Return a JSON object, or raise StateError."""
    if type(value) is not dict:
        raise damaged(name, value, "an object with names")
    return value


def require(holds: bool | np.bool_, rule: str) -> None:
    """Raise StateError if a rule between fields does not hold."""
    if not holds:
        raise StateError(_text(f"this does not hold: {rule}"))


def damaged(name: str, value: Any, rule: str) -> StateError:
    """Return the error for a value that breaks a rule."""
    return StateError(_text(f"{name} == {_quoted(value)}, must be {rule}"))


def parse(text: str | bytes) -> Any:
    """Return the values of a JSON text; StateError if it is not JSON or repeats a name."""
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float
        )
    except RecursionError:
        raise StateError(_text("its values are nested too deeply")) from None
    except StateError:
        raise
    except ValueError as error:  # also text that is not UTF-8, or a number of too many digits
        raise StateError(_text(f"it is not JSON: {error}")) from error


def _text(fault: str) -> str:
    return f"the saved state is damaged: {fault}; load an older copy, or start again."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise StateError(_text(f"it has {_quoted(twice)} twice"))
    return values


def _constant(word: str) -> float:
    raise StateError(_text(f"it has the number {word}"))


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise StateError(_text(f"it has the number {digits[:40]}, which is too large"))
    return value


def _spelled(data: list[Any]) -> list[Any]:
    """Return numbers with infinities and nan as text, since JSON does not have them."""
    return [
        _spelled(x) if isinstance(x, list) else x if math.isfinite(x) else repr(x) for x in data
    ]


def _array(
    value: Any, name: str, shape: tuple[int | None, ...], types: set[type], low: Any, high: Any
) -> NDArray[Any]:
    """Return nested lists as an array, having checked lengths, types and range, in that order."""
    flat = [value]
    for size in shape:
        for part in flat:
            if type(part) is not list or (size is not None and len(part) != size):
                entries = "entries" if size is None else f"{size} entries"
                raise damaged(name, part, f"a list of {entries}")
        flat = [entry for part in flat for entry in part]
    odd = set(map(type, flat)) - types
    if odd:
        bad = next(x for x in flat if type(x) in odd)
        raise damaged(f"an entry of {name}", bad, _NAMES[min(t.__name__ for t in types)])
    if str in types:
        flat = _numbers(flat, name)
    lengths: list[Any] = [-1, *shape[1:]]
    return _in_range(flat, name, types, low, high).reshape(lengths)


_NAMES = {"bool": "true or false", "int": "a whole number", "float": "a number"}


def _numbers(flat: list[Any], name: str) -> list[float]:
    try:
        return [_SPECIAL[x] if type(x) is str else float(x) for x in flat]
    except KeyError as error:
        raise damaged(f"an entry of {name}", error.args[0], "a number") from None
    except OverflowError:
        raise damaged(f"an entry of {name}", "a huge number", "a number") from None


def _in_range(flat: list[Any], name: str, types: set[type], low: Any, high: Any) -> NDArray[Any]:
    if types == {int}:
        large = [x for x in (min(flat, default=0), max(flat, default=0)) if abs(x) > 2**62]
        if large:  # numpy has no such numbers
            raise damaged(f"an entry of {name}", large[0], f"a whole number{_range(low, high)}")
    array = np.array(flat, dtype=np.float64 if str in types else None)
    if types != {bool} and len(flat):
        beyond = (array < np.ravel(low)) | (array > np.ravel(high))
        if beyond.any():
            first = int(np.argmax(beyond))
            ends = [np.ravel(end)[first if np.size(end) > 1 else 0].item() for end in (low, high)]
            raise damaged(f"entry {first} of {name}", flat[first], f"a number{_range(*ends)}")
    return array


def _range(low: Any, high: Any) -> str:
    """Return a range in words, after a noun."""
    if np.size(low) > 1 or np.size(high) > 1:
        return " within its limits"
    if high >= FINITE:
        return "" if low <= -FINITE else f" >= {low}"
    return f" <= {high}" if low <= -FINITE else f" from {low} to {high}"


def _quoted(value: Any) -> str:
    """Return any value as a short text."""
    if isinstance(value, list):
        return f"a list of {len(value)} entries"
    if isinstance(value, dict):
        return f"an object of {len(value)} names"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a whole number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
