"""The pulls of a study that were handed out and not told yet.

An ask is kept in parts, and a tell reads and writes the parts that it is about. When all pulls of a
part have been told, its row goes; that a pull was ever handed out is in the log.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from oddarm.errors import UnknownPullError
from oddarm.store.database import Connection
from oddarm.store.replica import dumps

__all__ = ["Leases"]

PART = 64
"""Pulls in a part of an ask."""

PULL_ID = re.compile(r"([0-9a-f]{6})\.([1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,8})")
"""The study's tag, the number of the ask in its log, and the position of the pull in the ask."""


@dataclass
class _Part:
    """A part of an ask: the arms of the pulls that have not been told, by position.

    Attributes:
        waiting: Those of whoever asked for them.
        lost: Those that expired and were handed out again; a late reward is still taken.
    """

    seq: int
    number: int
    waiting: dict[str, int]
    lost: dict[str, int]
    changed: bool = False


class Leases:
    """The leases of one study, within one transaction.

    Args:
        connection: A connection in a transaction.
        study: The study's number in the database.
        name: Its name.
    """

    def __init__(self, connection: Connection, study: int, name: str) -> None:
        self._connection = connection
        self._study = study
        self._name = name
        self._tag = f"{study & 0xFFFFFF:06x}"
        self._parts: dict[tuple[int, int], _Part] = {}
        self._open: dict[str, tuple[_Part, str, int]] = {}  # part, position and arm, by pull

    def grant(self, seq: int, arms: list[int], expires: float) -> list[str]:
        """Hand out the pulls of an ask; return their ids."""
        parts: list[dict[str, int]] = [{} for _ in range(0, len(arms), PART)]
        for position, arm in enumerate(arms):
            parts[position // PART][str(position)] = arm
        self._connection.executemany(
            "INSERT INTO oddarm_leases (study, seq, part, expires, waiting, lost) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                (self._study, seq, number, expires, dumps(waiting), "{}")
                for number, waiting in enumerate(parts)
            ],
        )
        return [f"{self._tag}.{seq}.{position}" for position in range(len(arms))]

    def arm_of(self, pull: str) -> int | None:
        """Return the arm of a pull, or None if it was told before."""
        known = self._open.get(pull)
        if known is None:
            match = PULL_ID.fullmatch(pull) if isinstance(pull, str) else None
            if match is None or match[1] != self._tag:
                raise self._unknown(pull)
            seq, position = int(match[2]), int(match[3])
            self._part(seq, position // PART)
            known = self._open.get(pull)
            if known is None:
                if not self._handed_out(seq, position):
                    raise self._unknown(pull)
                return None
        return known[2]

    def settle(self, pulls: Iterable[str]) -> None:
        """Take note that pulls which were waited for have been told."""
        for pull in pulls:
            part, position, _ = self._open.pop(pull)
            part.waiting.pop(position, None)
            part.lost.pop(position, None)
            part.changed = True

    def on_their_way(self, now: float) -> Counter[int]:
        """Return how many pulls of each arm have been handed out and have not expired."""
        rows = self._connection.execute(
            "SELECT waiting FROM oddarm_leases WHERE study = ? AND expires > ?",
            (self._study, now),
        ).fetchall()
        return Counter(arm for (waiting,) in rows for arm in json.loads(waiting).values())

    def take_back(self, most: int, now: float) -> list[int]:
        """Take up to `most` pulls back from those who let them expire; return their arms."""
        if most < 1:
            return []
        rows = self._connection.execute(
            "SELECT seq, part FROM oddarm_leases "
            "WHERE study = ? AND expires <= ? ORDER BY seq, part LIMIT ?",
            (self._study, now, min(most, 1000)),
        ).fetchall()
        arms: list[int] = []
        for seq, number in rows:
            part = self._part(seq, number)
            for position in list(part.waiting)[: most - len(arms)]:
                part.lost[position] = part.waiting.pop(position)
                arms.append(part.lost[position])
            part.changed = True
        self.write()
        return arms

    def write(self) -> None:
        """Write what has changed; what is looked at next is read anew."""
        for part in self._parts.values():
            where = (self._study, part.seq, part.number)
            if not part.changed:
                continue
            if part.waiting or part.lost:
                self._connection.execute(
                    "UPDATE oddarm_leases SET waiting = ?, lost = ?, "
                    "expires = CASE WHEN ? = 0 THEN NULL ELSE expires END "
                    "WHERE study = ? AND seq = ? AND part = ?",
                    (dumps(part.waiting), dumps(part.lost), len(part.waiting), *where),
                )
            else:
                self._connection.execute(
                    "DELETE FROM oddarm_leases WHERE study = ? AND seq = ? AND part = ?", where
                )
        self._parts, self._open = {}, {}

    def _part(self, seq: int, number: int) -> _Part:
        """Return a part of an ask; all its pulls may have been told."""
        known = self._parts.get((seq, number))
        if known is None:
            row = self._connection.execute(
                "SELECT waiting, lost FROM oddarm_leases WHERE study = ? AND seq = ? AND part = ?",
                (self._study, seq, number),
            ).fetchone()
            waiting, lost = ("{}", "{}") if row is None else row
            known = _Part(seq, number, json.loads(waiting), json.loads(lost))
            self._parts[seq, number] = known
            for pulls in (known.waiting, known.lost):
                for position, arm in pulls.items():
                    self._open[f"{self._tag}.{seq}.{position}"] = (known, position, arm)
        return known

    def _handed_out(self, seq: int, position: int) -> bool:
        row = self._connection.execute(
            "SELECT body FROM oddarm_events WHERE study = ? AND seq = ? AND kind = 'ask'",
            (self._study, seq),
        ).fetchone()
        return row is not None and position < len(json.loads(row[0])["arms"])

    def _unknown(self, pull: object) -> UnknownPullError:
        return UnknownPullError(
            f"pull {pull!r} was never handed out by study {self._name!r}: "
            "tell the id that ask returned."
        )
