"""The pulls of a study that were handed out and not told yet.

An ask is kept in parts, and a tell reads and writes the parts that it is about. When all pulls of a
part have been told, its row goes; that a pull was ever handed out is in the log.

Leases change with events of the log alone. So whoever has seen the whole log may keep in memory
what was read or written before.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from oddarm.errors import UnknownPullError
from oddarm.store.database import Connection

__all__ = ["Leases", "Listed", "dumps"]

PART = 64
"""Pulls in a part of an ask."""

MOST_KEPT = 100_000
"""Untold pulls kept in memory before more are handed out."""

PULL_ID = re.compile(r"([0-9a-f]{6})\.([1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,8})")
"""The study's tag, the number of the ask in its log, and the position of the pull in the ask."""

Listed: TypeAlias = list[str | tuple[int, int, int]]
"""Pulls in the log: an id, or for pulls in a row the number of their ask, the position of the first
and how many they are."""


@dataclass(eq=False)  # each is itself alone, and can be counted
class _Part:
    """A part of an ask: the arms of the pulls that have not been told, by position.

    Attributes:
        waiting: Those of whoever asked for them.
        lost: Those that expired and were handed out again; a late reward is still taken.
        told: How many of both have been told since the part was read or written.
    """

    seq: int
    number: int
    waiting: dict[str, int]
    lost: dict[str, int]
    told: int = 0


class Leases:
    """The leases of one study.

    Args:
        study: The study's number in the database.
        name: Its name.
    """

    def __init__(self, study: int, name: str) -> None:
        self._study = study
        self._name = name
        self._tag = f"{study & 0xFFFFFF:06x}"
        self._parts: dict[tuple[int, int], _Part] = {}
        self._open: dict[str, tuple[_Part, int]] = {}  # by untold pull, its part and its arm
        self._changed: dict[_Part, None] = {}  # parts with pulls told since they were written

    def forget(self) -> None:
        """Read all anew before the next use."""
        self._parts.clear()
        self._open.clear()
        self._changed.clear()

    def grant(self, connection: Connection, seq: int, arms: list[int], expires: float) -> list[str]:
        """Hand out the pulls of an ask; return their ids."""
        if len(self._open) > MOST_KEPT:
            self.forget()
        rows = []
        for number, first in enumerate(range(0, len(arms), PART)):
            part = arms[first : first + PART]
            waiting = {str(first + k): arm for k, arm in enumerate(part)}
            self._keep(_Part(seq, number, waiting, {}))
            rows.append((self._study, seq, number, expires, dumps(waiting), "{}"))
        connection.executemany(
            "INSERT INTO oddarm_leases (study, seq, part, expires, waiting, lost) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )
        return [f"{self._tag}.{seq}.{position}" for position in range(len(arms))]

    def find(self, connection: Connection, pulls: Iterable[str]) -> tuple[list[str], list[int]]:
        """Return those of some pulls that have not been told, and their arms."""
        wanted, known = list(pulls), self._open
        try:
            return wanted, [known[pull][1] for pull in wanted]
        except KeyError:  # told before, or not in memory
            sizes: dict[int, int] = {}
            for pull in wanted:
                if pull not in known:
                    self._look_up(connection, pull, sizes)
        wanted = [pull for pull in wanted if pull in known]
        return wanted, [known[pull][1] for pull in wanted]

    def in_short(self, pulls: list[str]) -> Listed:
        """Return pulls as the log lists them: what was asked for at once is mostly told at once."""
        ask, _, position = pulls[0].rpartition(".")
        first, count = int(position), len(pulls)
        row = range(first, first + count)
        if count == 1 or pulls[-1] != f"{ask}.{row[-1]}" or pulls != [f"{ask}.{k}" for k in row]:
            return [*pulls]
        return [(int(ask.partition(".")[2]), first, count)]

    def in_full(self, listed: Listed) -> list[str]:
        """Return the pulls that the log lists, in order."""
        pulls: list[str] = []
        for item in listed:
            if isinstance(item, str):
                pulls.append(item)
            else:
                seq, first, count = item
                pulls += [f"{self._tag}.{seq}.{k}" for k in range(first, first + count)]
        return pulls

    def settle(self, pulls: Iterable[str]) -> None:
        """Take note that pulls which `find` returned have been told."""
        for part, told in Counter([part for part, _ in map(self._open.pop, pulls)]).items():
            part.told += told
            self._changed[part] = None

    def on_their_way(self, connection: Connection, now: float) -> Counter[int]:
        """Return how many pulls of each arm have been handed out and have not expired."""
        rows = connection.execute(
            "SELECT waiting FROM oddarm_leases WHERE study = ? AND expires > ?",
            (self._study, now),
        ).fetchall()
        return Counter(arm for (waiting,) in rows for arm in json.loads(waiting).values())

    def take_back(self, connection: Connection, most: int, now: float) -> list[int]:
        """Take up to `most` pulls back from those who let them expire; return their arms."""
        if most < 1:
            return []
        rows = connection.execute(
            "SELECT seq, part FROM oddarm_leases "
            "WHERE study = ? AND expires <= ? ORDER BY seq, part LIMIT ?",
            (self._study, now, min(most, 1000)),
        ).fetchall()
        arms: list[int] = []
        parts = [self._part(connection, seq, number) for seq, number in rows]
        for part in parts:
            for position in list(part.waiting)[: most - len(arms)]:
                part.lost[position] = part.waiting.pop(position)
                arms.append(part.lost[position])
        self._write(connection, parts)
        return arms

    def write(self, connection: Connection) -> None:
        """Write which pulls have been told."""
        self._write(connection, [*self._changed])
        self._changed.clear()

    def _write(self, connection: Connection, parts: list[_Part]) -> None:
        over, left = [], []
        for part in parts:
            where = (self._study, part.seq, part.number)
            if part.told == len(part.waiting) + len(part.lost):
                self._parts.pop((part.seq, part.number), None)
                over.append(where)
                continue
            if part.told:
                part.waiting = self._untold(part, part.waiting)
                part.lost = self._untold(part, part.lost)
                part.told = 0
            left.append((dumps(part.waiting), dumps(part.lost), len(part.waiting), *where))
        if over:
            connection.executemany(
                "DELETE FROM oddarm_leases WHERE study = ? AND seq = ? AND part = ?", over
            )
        if left:
            connection.executemany(
                "UPDATE oddarm_leases SET waiting = ?, lost = ?, "
                "expires = CASE WHEN ? = 0 THEN NULL ELSE expires END "
                "WHERE study = ? AND seq = ? AND part = ?",
                left,
            )

    def _untold(self, part: _Part, pulls: dict[str, int]) -> dict[str, int]:
        ask = f"{self._tag}.{part.seq}."
        return {position: arm for position, arm in pulls.items() if ask + position in self._open}

    def _look_up(self, connection: Connection, pull: str, sizes: dict[int, int]) -> None:
        """Read the part of a pull from the database; it is not there if the pull was told.

        Args:
            connection: A connection in a transaction.
            pull: Its id.
            sizes: How many pulls an ask handed out, as far as it was read before.
        """
        match = PULL_ID.fullmatch(pull) if isinstance(pull, str) else None
        if match is None or match[1] != self._tag:
            raise self._unknown(pull)
        seq, position = int(match[2]), int(match[3])
        self._part(connection, seq, position // PART)
        if pull in self._open:
            return
        if seq not in sizes:
            sizes[seq] = self._size(connection, seq)
        if position >= sizes[seq]:
            raise self._unknown(pull)

    def _part(self, connection: Connection, seq: int, number: int) -> _Part:
        """Return a part of an ask; all its pulls may have been told."""
        known = self._parts.get((seq, number))
        if known is None:
            row = connection.execute(
                "SELECT waiting, lost FROM oddarm_leases WHERE study = ? AND seq = ? AND part = ?",
                (self._study, seq, number),
            ).fetchone()
            waiting, lost = ("{}", "{}") if row is None else row
            known = _Part(seq, number, json.loads(waiting), json.loads(lost))
            if row is not None:
                self._keep(known)
        return known

    def _keep(self, part: _Part) -> None:
        self._parts[part.seq, part.number] = part
        ask = f"{self._tag}.{part.seq}."
        for pulls in (part.waiting, part.lost):
            self._open.update({ask + position: (part, arm) for position, arm in pulls.items()})

    def _size(self, connection: Connection, seq: int) -> int:
        """Return how many pulls an ask handed out; 0 if there was no such ask."""
        row = connection.execute(
            "SELECT body FROM oddarm_events WHERE study = ? AND seq = ? AND kind = 'ask'",
            (self._study, seq),
        ).fetchone()
        return 0 if row is None else len(json.loads(row[0])["arms"])

    def _unknown(self, pull: object) -> UnknownPullError:
        return UnknownPullError(
            f"pull {pull!r} was never handed out by study {self._name!r}: "
            "tell the id that ask returned."
        )


_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def dumps(value: Any) -> str:
    """Return a value as compact JSON."""
    return _COMPACT.encode(value)
