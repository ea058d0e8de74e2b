"""What the log of a study holds, and how it is written."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np

from oddarm.search import Search
from oddarm.store.database.base import reading
from oddarm.store.draws import Listed

__all__ = ["Told", "arms_of", "dumps", "loads", "tell_all"]

Told: TypeAlias = tuple[int | list[int], list[float], str | Listed]
"""Rewards: their arms, or the one arm of all; and their pulls, or the one key of all."""


def arms_of(told: Told) -> list[int]:
    """Return the arm of each reward."""
    arms, rewards, _ = told
    return [arms] * len(rewards) if isinstance(arms, int) else arms


def tell_all(search: Search, arms: list[int], rewards: list[float]) -> None:
    """Tell a search the rewards of arms, together."""
    if len(arms) == 1:
        search.tell(search.names[arms[0]], rewards[0])
    elif arms:
        search.tell_checked(np.array(arms, dtype=np.intp), np.array(rewards, dtype=float))


_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def dumps(value: Any) -> str:
    """Return a value as compact JSON."""
    return _COMPACT.encode(value)


def loads(text: str) -> Any:
    """Return the value of JSON that `dumps` wrote."""
    with reading("a row of the log"):
        return json.loads(text)
