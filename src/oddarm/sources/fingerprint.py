"""Fingerprints tell the rewards of one source from those of another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

__all__ = ["CONTENT", "Fingerprint", "differences", "digest"]

Fingerprint = dict[str, Any]
"""Named parts, as JSON values; two sources with equal ones draw the same rewards."""
CONTENT = "content"
"""The part that identifies the rewards themselves; it means nothing to a person."""


def digest(parts: Iterable[object]) -> str:
    """Return a short text that differs if the repr of any part differs."""
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        hashed.update(repr(part).encode("utf-8", "backslashreplace") + b"\0")
    return hashed.hexdigest()


def differences(before: Fingerprint, now: Fingerprint) -> str:
    """Return in words how two fingerprints differ; empty if they do not."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    words = [
        f"{name} was {_shown(before.get(name))} and is {_shown(now.get(name))}"
        for name in names
        if name != CONTENT
    ]
    if names and not words:
        words = ["the rewards or their order are different"]
    return "; ".join(words)


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if type(value) is int else repr(value)
