"""Studies as they were written before version 4 of the tables.

Rewards then counted as they came, pulls that expired were handed out as new ones, and the pulls
that were out stood in a table of leases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oddarm.search_core import SearchCore
from oddarm.store.database.base import Connection
from oddarm.store.log import arms_of, loads, tell_all

__all__ = ["follow_legacy", "read_leases"]


def read_leases(connection: Connection, study: int) -> list[Any]:
    """Return the leases of a study, for `follow_legacy`; none if it began with version 4."""
    return connection.execute(
        "SELECT l.seq, l.expires, l.waiting, l.lost, e.at FROM oddarm_leases l "
        "JOIN oddarm_events e ON e.study = l.study AND e.seq = l.seq "
        "WHERE l.study = ? ORDER BY l.seq, l.part",
        (study,),
    ).fetchall()


def follow_legacy(
    core: SearchCore, events: Sequence[tuple[int, str, str]], leases: Sequence[Any]
) -> tuple[list[list[Any]], int]:
    """Bring a search from a snapshot to the end of the events after it.

    Returns:
        The pulls that are out, as rows of `Draws`, and how many were handed out anew.
    """
    for _, kind, text in events:
        body = loads(text)
        if kind == "ask" and body["limit"] != 0:
            core.ask(body["limit"])
        elif kind == "aside":
            core.set_aside(body["arm"], body["reason"])
        elif kind == "tell":
            arms = [arm for tell in body for arm in arms_of(tell)]
            tell_all(core, arms, [reward for _, rewards, _ in body for reward in rewards])
    rows: list[list[Any]] = []
    lost = 0
    for seq, expires, waiting, handed_out_anew, asked in leases:
        lost += len(loads(handed_out_anew))
        for position, arm in sorted(loads(waiting).items(), key=lambda item: int(item[0])):
            rows.append([seq, int(position), arm, expires, expires - asked, None])
    return rows, lost
