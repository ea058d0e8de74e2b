"""The pulls of a study that were handed out, in the order in which their rewards may be counted.

A *draw* is one reward of one arm that a worker was asked for. The draws of an arm form a line. The
search counts an arm's rewards in the order of its line: a reward that comes early waits until every
draw before it was told or given up. Were it counted as it comes, what the search has seen would
depend on how long a reward takes, and no interval is valid for that (docs/guarantees.md).

A draw is leased to the worker that asked. When the lease ends, the draw is handed out again; it
keeps its id and its place in the line, and the first reward told for it counts.

Draws follow from the log of the study: a process that has read the log knows them.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from oddarm.errors import StateError
from oddarm.state import damaged

__all__ = ["Draw", "Draws", "Listed", "listed"]

PULL_ID = re.compile(r"([0-9a-f]{6})\.([1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,8})")
"""The study's tag, the number of the ask in its log, and the position of the pull in the ask."""

Listed: TypeAlias = list[str | tuple[int, int, int] | tuple[int, list[int]]]
"""Pulls in the log: the number of their ask, and the position of the first and how many they are in
a row, or all their positions. Logs written before version 3 of the tables have their ids."""


class Draw:
    """One reward that a worker was asked for.

    Attributes:
        id: What workers tell the reward by.
        ask: The number of its ask in the log.
        position: Its position in that ask.
        arm: Whose reward.
        expires: When its lease ends, in seconds since 1970.
        lease: How long the lease is, in seconds.
        due: When its lease ends, on the steady clock of this process.
        reward: What was told, while it waits for a draw before it; else None.
    """

    __slots__ = ("arm", "ask", "due", "expires", "id", "lease", "position", "reward")

    def __init__(self, tag: str, ask: int, position: int, arm: int) -> None:
        self.id = f"{tag}.{ask}.{position}"
        self.ask = ask
        self.position = position
        self.arm = arm
        self.expires = self.lease = self.due = 0.0
        self.reward: float | None = None

    def __lt__(self, other: Draw) -> bool:
        return (self.ask, self.position) < (other.ask, other.position)


class Draws:
    """The draws of one study that are not counted yet.

    Args:
        tag: What the ids of the study's pulls begin with.

    Attributes:
        outstanding: How many draws stand in lines: handed out, or told and waiting.
        waiting: How many of them were told and wait for a draw before them.
        dropped: The arms set aside.
    """

    def __init__(self, tag: str) -> None:
        self.outstanding = 0
        self.waiting = 0
        self._tag = tag
        self._by_id: dict[str, Draw] = {}
        self._lines: dict[int, deque[Draw]] = {}
        self.dropped: set[int] = set()
        self._leases: list[tuple[float, int, list[Draw]]] = []  # a heap, by the end of the lease
        self._numbers = itertools.count()
        self._overdue: list[Draw] = []  # a heap, the oldest first

    def of_arm(self, arm: int) -> int:
        """Return how many draws of an arm are not counted yet."""
        return len(self._lines.get(arm, ()))

    def grant(self, ask: int, arms: Sequence[int]) -> list[Draw]:
        """Add the draws of an ask to the ends of their lines."""
        draws = [Draw(self._tag, ask, position, arm) for position, arm in enumerate(arms)]
        for draw in draws:
            self._add(draw)
        return draws

    def lease(self, draws: list[Draw], expires: float, lease: float, due: float) -> None:
        """Lease draws, or lease them again, until `expires`."""
        for draw in draws:
            draw.expires, draw.lease, draw.due = expires, lease, due
        if draws:
            heapq.heappush(self._leases, (due, next(self._numbers), draws))

    def overdue(self, most: int, now: float) -> list[Draw]:
        """Return up to `most` draws whose lease has ended, the oldest first.

        The caller leases them again, or counts something for them.

        Args:
            most: How many at most.
            now: The time, on the steady clock.
        """
        while self._leases and self._leases[0][0] <= now:
            due, _, draws = heapq.heappop(self._leases)
            for draw in draws:
                if draw.due == due and self._is_out(draw):
                    heapq.heappush(self._overdue, draw)
        found: list[Draw] = []
        while self._overdue and len(found) < most:
            draw = heapq.heappop(self._overdue)
            # Another process may have leased it again, and that lease may have ended too.
            if draw.due <= now and self._is_out(draw) and draw not in found[-1:]:
                found.append(draw)
        return found

    def find(self, pulls: Iterable[str]) -> tuple[list[Draw], list[str]]:
        """Return the draws that are still out, and the ids of the pulls that are not."""
        out: list[Draw] = []
        others: list[str] = []
        for pull in pulls:
            draw = self._by_id.get(pull) if isinstance(pull, str) else None
            if draw is None or draw.reward is not None:
                others.append(pull)
            else:
                out.append(draw)
        return out, others

    def named(self, pulls: Listed) -> list[Draw]:
        """Return the draws that the log lists; all must be out."""
        try:
            return [self._by_id[pull] for pull in self.ids(pulls)]
        except KeyError as error:
            raise StateError(
                f"the log tells of pull {error}, which was not handed out before it: "
                "restore the database from a backup."
            ) from None

    def tell(self, draw: Draw, reward: float) -> list[float]:
        """Take the reward of a draw; return the rewards of its arm that count now, in order."""
        if draw.arm in self.dropped:
            del self._by_id[draw.id]
            return []
        draw.reward = reward
        self.waiting += 1
        return self._release(draw.arm)

    def give_up(self, draw: Draw) -> list[float]:
        """Take a draw out of its line; return the rewards of its arm that count now, in order."""
        del self._by_id[draw.id]
        if draw.arm in self.dropped:
            return []
        self._lines[draw.arm].remove(draw)
        self.outstanding -= 1
        return self._release(draw.arm)

    def drop(self, arm: int) -> None:
        """Close the line of an arm that is set aside: what is told of it does not count."""
        self.dropped.add(arm)
        for draw in self._lines.pop(arm, ()):
            self.outstanding -= 1
            if draw.reward is not None:
                self.waiting -= 1
                del self._by_id[draw.id]

    def to_rows(self) -> list[list[Any]]:
        """Return all draws as JSON values: ask, position, arm, expires, lease, reward."""
        return [
            [draw.ask, draw.position, draw.arm, draw.expires, draw.lease, draw.reward]
            for draw in self._by_id.values()
        ]

    def restore(self, rows: Any, dropped: Iterable[int], wall: float, now: float) -> None:
        """Take over what `to_rows` returned.

        Args:
            rows: The draws.
            dropped: The arms that are set aside.
            wall: The time, in seconds since 1970.
            now: The time, on the steady clock.
        """
        if type(rows) is not list:
            raise damaged("draws", rows, "a list of pulls")
        self.dropped = set(dropped)
        for row in rows:
            _check(row)
            ask, position, arm, expires, lease, reward = row
            draw = Draw(self._tag, ask, position, arm)
            self._add(draw)
            self.lease([draw], expires, lease, now + min(expires - wall, lease))
            if reward is not None:
                draw.reward = reward
                self.waiting += 1

    def ids(self, pulls: Listed) -> list[str]:
        """Return the ids of the pulls that the log lists, in order."""
        found: list[str] = []
        for item in pulls:
            if isinstance(item, str):
                found.append(item)
                continue
            positions = item[1] if len(item) == 2 else range(item[1], item[1] + item[2])
            found += [f"{self._tag}.{item[0]}.{position}" for position in positions]
        return found

    def place(self, pull: object) -> tuple[int, int] | None:
        """Return the ask and the position in a pull's id; None if the study gave no such id."""
        match = PULL_ID.fullmatch(pull) if isinstance(pull, str) else None
        if match is None or match[1] != self._tag:
            return None
        return int(match[2]), int(match[3])

    def _add(self, draw: Draw) -> None:
        if draw.id in self._by_id:
            raise damaged("a pull of draws", draw.id, "there once")
        self._by_id[draw.id] = draw
        if draw.arm not in self.dropped:
            self._lines.setdefault(draw.arm, deque()).append(draw)
            self.outstanding += 1

    def _is_out(self, draw: Draw) -> bool:
        """Return whether a draw was not told, and still matters."""
        return draw.reward is None and draw.id in self._by_id and draw.arm not in self.dropped

    def _release(self, arm: int) -> list[float]:
        """Take the told draws at the head of a line out of it; return their rewards."""
        line = self._lines[arm]
        counted: list[float] = []
        while line and (reward := line[0].reward) is not None:
            del self._by_id[line.popleft().id]
            counted.append(reward)
        self.outstanding -= len(counted)
        self.waiting -= len(counted)
        return counted


def _check(row: Any) -> None:
    """Raise StateError if a saved draw is not what `to_rows` returns."""
    fits = (
        isinstance(row, list)
        and len(row) == 6
        and all(type(number) is int and 0 <= number < 2**62 for number in row[:3])
        and all(type(time) in (int, float) and math.isfinite(time) for time in row[3:5])
        and (row[5] is None or (type(row[5]) in (int, float) and math.isfinite(row[5])))
    )
    if not fits:
        raise damaged("a pull of draws", row, "ask, position, arm, expires, lease and reward")


def listed(draws: list[Draw]) -> Listed:
    """Return draws as the log lists their pulls."""
    found: Listed = []
    for ask, some in itertools.groupby(draws, lambda draw: draw.ask):
        positions = [draw.position for draw in some]
        row = range(positions[0], positions[0] + len(positions))
        found.append((ask, row[0], len(row)) if positions == [*row] else (ask, positions))
    return found
