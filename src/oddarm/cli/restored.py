"""`oddarm restored`: what to say when a database of studies was restored from a backup."""

from __future__ import annotations

import json

from oddarm._postgres_url import without_password
from oddarm._text import printable
from oddarm.cli.options import JsonOnly
from oddarm.cli.serve import STORAGE, Storage

__all__ = ["restored"]


def restored(storage: Storage = STORAGE, as_json: JsonOnly = False) -> None:
    """Make a database that was restored from a backup ready to go on with.

    Pulls that were handed out before are refused from now on, and others are asked for in their
    place. Without this, a worker that still holds a pull from after the backup could tell its
    reward under an id that now belongs to another arm.
    """
    from oddarm.store import forget_pulls

    forgotten = forget_pulls(storage)
    if as_json:
        print(json.dumps({"given_up": forgotten}, indent=2))
        return
    for name, number in forgotten.items():
        print(f"{printable(name)}: {number:,} pulls that were out are given up")
    if not forgotten:
        print(f"There are no studies in {printable(without_password(storage))}.")
