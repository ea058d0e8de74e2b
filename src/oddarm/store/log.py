"""What the log of a study holds, and how it is written."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np

from oddarm.search_core import SearchCore
from oddarm.store.database.base import reading
from oddarm.store.draws import Listed

__all__ = ["LoggedTell", "arms_of", "dumps", "loads", "tell_all"]

LoggedTell: TypeAlias = tuple[int | list[int], list[float], str | Listed]
"""Rewards: their arms, or the one arm of all; and their pulls, or the one key of all."""


def arms_of(tell: LoggedTell) -> list[int]:
    """Return the arm of each reward."""
    arms, rewards, _ = tell
    return [arms] * len(rewards) if isinstance(arms, int) else arms


def tell_all(core: SearchCore, arms: list[int], rewards: list[float]) -> None:
    """Tell a search the rewards of arms, together."""
    values = np.array(rewards, dtype=np.float64)
    if len(arms) == 1:
        core.tell(arms[0], values)
    else:
        core.tell_many(np.array(arms, dtype=np.intp), values)


_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def dumps(value: Any) -> str:
    """Return a value as compact JSON."""
    return _COMPACT.encode(value)


def loads(text: str) -> Any:
    """Return the value of JSON that `dumps` wrote."""
    with reading("a row of the log"):
        return json.loads(text)
