"""The pulls of a study that were handed out and not told yet.

An ask is kept in parts, and a tell reads and writes the parts that it is about. When all pulls of a
part have been told, its row goes; that a pull was ever handed out is in the log.

Leases change with events of the log alone. So whoever has seen the whole log may keep in memory
what was read or written before.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from oddarm.errors import UnknownPullError
from oddarm.store.database import Connection

__all__ = ["Found", "Leases", "Listed", "dumps"]

PART = 64
"""Pulls in a part of an ask."""

MOST_PARTS = 5000
"""Parts kept in memory before more are handed out."""

PULL_ID = re.compile(r"([0-9a-f]{6})\.([1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,8})")
"""The study's tag, the number of the ask in its log, and the position of the pull in the ask."""

Listed: TypeAlias = list[str | tuple[int, int, int] | tuple[int, list[int]]]
"""Pulls in the log: the number of their ask, and the position of the first and how many they are in
a row, or all their positions. Logs written before version 3 of the tables have their ids."""

TOLD, WAITING, LOST = range(3)  # TOLD is 0, as bytes are at first
"""The state of a pull: told, with whoever asked for it, or expired and handed out again. A late
reward of a lost pull is still taken."""


@dataclass(eq=False)  # each is itself alone
class _Part:
    """A part of an ask. What was read from the database ends with the last pull not told.

    Attributes:
        seq: The number of the ask.
        number: That of the part in the ask.
        ids: The pulls.
        arms: Their arms; anything for pulls that had been told when the part was read.
        states: TOLD, WAITING or LOST for each.
    """

    seq: int
    number: int
    ids: list[str]
    arms: list[int]
    states: bytearray

    def in_state(self, state: int) -> dict[str, int]:
        """Return the arms of the pulls in a state, by position in the ask."""
        first = self.number * PART
        return {
            str(first + k): arm
            for k, (arm, found) in enumerate(zip(self.arms, self.states, strict=True))
            if found == state
        }


@dataclass
class Found:
    """Pulls that have not been told.

    Attributes:
        pulls: Their ids.
        arms: Their arms.
        rows: The same as parts, the first pull in the part, and how many follow in a row.
    """

    pulls: list[str] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)
    rows: list[tuple[_Part, int, int]] = field(default_factory=list)

    def listed(self) -> Listed:
        """Return the pulls as the log lists them."""
        listed: Listed = []
        for ask, rows in itertools.groupby(self.rows, lambda row: row[0].seq):
            positions: list[int] = []
            for part, at, count in rows:
                first = part.number * PART + at
                if count == 1:
                    positions.append(first)
                else:
                    positions += range(first, first + count)
            row = range(positions[0], positions[0] + len(positions))
            listed.append((ask, row[0], len(row)) if positions == [*row] else (ask, positions))
        return listed


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
        self._parts: dict[tuple[str, int], _Part] = {}  # by tag and ask, and number
        self._changed: dict[_Part, None] = {}  # since they were written

    def forget(self) -> None:
        """Read all anew before the next use."""
        self._parts.clear()
        self._changed.clear()

    def grant(self, connection: Connection, seq: int, arms: list[int], expires: float) -> list[str]:
        """Hand out the pulls of an ask; return their ids."""
        if len(self._parts) > MOST_PARTS:
            self.forget()
        ids = self._ids(seq, range(len(arms)))
        rows = []
        for number, first in enumerate(range(0, len(arms), PART)):
            some = slice(first, first + PART)
            part = _Part(seq, number, ids[some], arms[some], bytearray())
            part.states += bytes([WAITING]) * len(part.ids)
            self._keep(part)
            rows.append((self._study, seq, number, expires, dumps(part.in_state(WAITING)), "{}"))
        connection.executemany(
            "INSERT INTO oddarm_leases (study, seq, part, expires, waiting, lost) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )
        return ids

    def find(self, connection: Connection, pulls: Iterable[str]) -> Found:
        """Return those of some pulls that have not been told.

        Raises:
            UnknownPullError: One was never handed out.
        """
        wanted, found = list(pulls), Found()
        sizes: dict[int, int] = {}
        near: dict[str, tuple[_Part, int]] = {}  # pulls of parts that were told of out of order
        start = 0
        while start < len(wanted):
            pull = wanted[start]
            place = near.get(pull)
            part, at = place or self._place(connection, pull, sizes)
            if at >= len(part.ids) or part.states[at] == TOLD:
                start += 1
                continue
            count = _in_a_row(part, at, wanted, start)
            found.rows.append((part, at, count))
            if count > 1:
                found.arms += part.arms[at : at + count]
                found.pulls += wanted[start : start + count]
            else:
                found.arms.append(part.arms[at])
                found.pulls.append(pull)
                if place is None and start + 1 < len(wanted):
                    near.update({other: (part, k) for k, other in enumerate(part.ids)})
            start += count
        return found

    def settle(self, found: Found) -> None:
        """Take note that pulls which `find` returned have been told."""
        for part, at, count in found.rows:
            if count == 1:
                part.states[at] = TOLD
            else:
                part.states[at : at + count] = bytes(count)
            self._changed[part] = None

    def in_full(self, listed: Listed) -> list[str]:
        """Return the pulls that the log lists, in order."""
        pulls: list[str] = []
        for item in listed:
            if isinstance(item, str):
                pulls.append(item)
            elif len(item) == 2:
                pulls += self._ids(item[0], item[1])
            else:
                ask, first, count = item
                pulls += self._ids(ask, range(first, first + count))
        return pulls

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
        for seq, number in rows:
            part = self._part(connection, seq, number)
            expired = [k for k, state in enumerate(part.states) if state == WAITING]
            for k in expired[: most - len(arms)]:
                part.states[k] = LOST
                arms.append(part.arms[k])
            self._changed[part] = None
        self.write(connection)
        return arms

    def write(self, connection: Connection) -> None:
        """Write the parts whose pulls have been told or taken back."""
        over, left = [], []
        for part in self._changed:
            where = (self._study, part.seq, part.number)
            if not any(part.states):
                self._parts.pop((f"{self._tag}.{part.seq}", part.number), None)
                over.append(where)
            else:
                waiting, lost = part.in_state(WAITING), part.in_state(LOST)
                left.append((dumps(waiting), dumps(lost), len(waiting), *where))
        self._changed.clear()
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

    def _place(self, connection: Connection, pull: str, sizes: dict[int, int]) -> tuple[_Part, int]:
        """Return the part of a pull and where it is there; it may be missing if it was told.

        Args:
            connection: A connection in a transaction.
            pull: Its id.
            sizes: How many pulls an ask handed out, as far as it was read before.
        """
        if not isinstance(pull, str):
            raise self._unknown(pull)
        ask, _, text = pull.rpartition(".")
        if text.isdecimal() and len(text) < 10:  # nearly always
            number, at = divmod(int(text), PART)
            part = self._parts.get((ask, number))
            if part is not None and at < len(part.ids) and part.ids[at] == pull:
                return part, at
        match = PULL_ID.fullmatch(pull)
        if match is None or match[1] != self._tag:
            raise self._unknown(pull)
        seq, position = int(match[2]), int(match[3])
        number, at = divmod(position, PART)
        part = self._part(connection, seq, number)
        if at < len(part.ids):
            return part, at
        if seq not in sizes:
            sizes[seq] = self._size(connection, seq)
        if position >= sizes[seq]:
            raise self._unknown(pull)
        return part, at

    def _part(self, connection: Connection, seq: int, number: int) -> _Part:
        """Return a part of an ask; all its pulls may have been told."""
        known = self._parts.get((f"{self._tag}.{seq}", number))
        if known is not None:
            return known
        row = connection.execute(
            "SELECT waiting, lost FROM oddarm_leases WHERE study = ? AND seq = ? AND part = ?",
            (self._study, seq, number),
        ).fetchone()
        if row is None:
            return _Part(seq, number, [], [], bytearray())
        waiting, lost = json.loads(row[0]), json.loads(row[1])
        first = number * PART
        count = max(map(int, (waiting | lost)), default=first - 1) + 1 - first
        ids = self._ids(seq, range(first, first + count))
        part = _Part(seq, number, ids, [0] * count, bytearray(count))
        for pulls, state in ((waiting, WAITING), (lost, LOST)):
            for position, arm in pulls.items():
                k = int(position) - first
                part.arms[k], part.states[k] = arm, state
        self._keep(part)
        return part

    def _keep(self, part: _Part) -> None:
        self._parts[f"{self._tag}.{part.seq}", part.number] = part

    def _ids(self, seq: int, positions: Iterable[int]) -> list[str]:
        """Return the ids of pulls of an ask."""
        ask = f"{self._tag}.{seq}."
        return [f"{ask}{position}" for position in positions]

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


def _in_a_row(part: _Part, at: int, wanted: list[str], start: int) -> int:
    """Return how many pulls to take at once: all that part and list have in common, or one."""
    count = min(len(part.ids) - at, len(wanted) - start)
    if count == 1 or wanted[start + 1] != part.ids[at + 1]:  # spares longer comparisons
        return 1
    same = part.ids[at : at + count] == wanted[start : start + count]
    return count if same and part.states.find(TOLD, at, at + count) < 0 else 1


_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def dumps(value: Any) -> str:
    """Return a value as compact JSON."""
    return _COMPACT.encode(value)
