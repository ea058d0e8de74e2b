"""Studies as they were written before version 4 of the tables.

Rewards then counted as they came, pulls that expired were handed out as new ones, and the pulls
that were out stood in a table of leases.
"""

from __future__ import annotations

from typing import Any

from oddarm.search_core import SearchCore
from oddarm.store.database.base import Connection
from oddarm.store.log import arms_of, loads, tell_all

__all__ = ["read_legacy"]


def read_legacy(
    connection: Connection, study: int, core: SearchCore, at: int, revision: int
) -> tuple[list[list[Any]], int]:
    """Bring a search from a snapshot at event `at` to event `revision`.

    Returns:
        The pulls that are out, as rows of `Draws`, and how many were handed out anew.
    """
    events = connection.execute(
        "SELECT kind, body FROM oddarm_events "
        "WHERE study = ? AND seq > ? AND seq <= ? ORDER BY seq",
        (study, at, revision),
    )
    for kind, text in events.fetchall():
        body = loads(text)
        if kind == "ask" and body["limit"] != 0:
            core.ask(body["limit"])
        elif kind == "aside":
            core.set_aside(body["arm"], body["reason"])
        elif kind == "tell":
            arms = [arm for tell in body for arm in arms_of(tell)]
            tell_all(core, arms, [reward for _, rewards, _ in body for reward in rewards])
    leases = connection.execute(
        "SELECT l.seq, l.expires, l.waiting, l.lost, e.at FROM oddarm_leases l "
        "JOIN oddarm_events e ON e.study = l.study AND e.seq = l.seq "
        "WHERE l.study = ? ORDER BY l.seq, l.part",
        (study,),
    ).fetchall()
    rows: list[list[Any]] = []
    lost = 0
    for seq, expires, waiting, handed_out_anew, asked in leases:
        lost += len(loads(handed_out_anew))
        for position, arm in sorted(loads(waiting).items(), key=lambda item: int(item[0])):
            rows.append([seq, int(position), arm, expires, expires - asked, None])
    return rows, lost
