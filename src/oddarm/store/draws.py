"""The pulls of a study that were handed out, in the order in which their rewards may be counted.

A *draw* is one reward of one arm that a worker was asked for. The draws of an arm form a line. The
search counts an arm's rewards in the order of its line: a reward that comes early waits until every
draw before it was told or given up. If it were counted as it comes, what the search has seen would
depend on how long a reward takes, and no interval is valid for that (docs/guarantees.md).

A draw is leased to the worker that asked. When the lease ends, the draw is handed out again; it
keeps its id and its place in the line, and the first reward told for it counts.

A draw is *out* until it is told or given up. A worker names it by its id, so the draws that are out
are kept by id; the lines keep the draws that are out and those that were told and wait.

Draws follow from the log of the study: a process that has read the log knows them.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

from oddarm.errors import StateError
from oddarm.search_core import SearchCore
from oddarm.state import damaged

__all__ = ["Draw", "Draws", "Lease", "Listed", "ids_of", "listed"]

PULL_ID = re.compile(r"([0-9a-f]{6})\.([1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,8})")
"""The study's tag, the number of the ask in its log, and the position of the pull in the ask."""

DRAW_BYTES = 230
LINE_BYTES = 760
"""About how much memory a draw takes, and the line of an arm beside its draws."""

Listed: TypeAlias = list[str | tuple[int, int, int] | tuple[int, list[int]]]
"""Pulls in the log: the number of their ask, and the position of the first and how many they are in
a row, or all their positions. Logs written before version 3 of the tables have their ids."""


@dataclass(frozen=True, eq=False)
class Lease:
    """How long draws belong to the worker that asked for them.

    Attributes:
        expires: When the lease ends, in seconds since 1970.
        seconds: How long the lease is.
        due: When it ends, on the steady clock of this process.
        worker: What the worker calls itself; None if it did not say.
    """

    expires: float
    seconds: float
    due: float
    worker: str | None = None


class Draw:
    """One reward that a worker was asked for.

    Attributes:
        id: What workers tell the reward by.
        ask: The number of its ask in the log.
        position: Its position in that ask.
        arm: The index of the arm.
        lease: Its lease, the newest if it was handed out again.
        reward: What was told, while it waits for a draw before it; None before that.
    """

    __slots__ = ("arm", "ask", "id", "lease", "position", "reward")

    def __init__(self, tag: str, ask: int, position: int, arm: int) -> None:
        self.id = f"{tag}.{ask}.{position}"
        self.ask = ask
        self.position = position
        self.arm = arm
        self.lease: Lease
        self.reward: float | None = None

    def __lt__(self, other: Draw) -> bool:
        return (self.ask, self.position) < (other.ask, other.position)


class Draws:
    """The draws of one study that are not counted yet.

    The ledger of the search counts the draws in lines as pulls in flight. The draws of an arm that
    failed have no line: what is told of them does not count.

    Args:
        tag: What the ids of the study's pulls begin with.
        core: The search.

    Attributes:
        waiting: How many draws were told and wait for a draw before them.
    """

    def __init__(self, tag: str, core: SearchCore) -> None:
        self.waiting = 0
        self._tag = tag
        self._core = core
        self._out: dict[str, Draw] = {}
        self._lines: dict[int, deque[Draw]] = {}
        self._leases: list[tuple[float, int, list[Draw]]] = []  # a heap, by the end of the lease
        self._numbers = itertools.count()
        self._overdue: list[Draw] = []  # a heap, the oldest first

    @property
    def out(self) -> int:
        """How many draws are out."""
        return len(self._out)

    @property
    def held_bytes(self) -> int:
        """About how much memory the draws hold."""
        return DRAW_BYTES * (len(self._out) + self.waiting) + LINE_BYTES * len(self._lines)

    def grant(self, ask: int, arms: Sequence[int], lease: Lease) -> list[Draw]:
        """Add the draws of an ask to the ends of their lines."""
        draws = [Draw(self._tag, ask, position, arm) for position, arm in enumerate(arms)]
        self._add(draws, lease)
        return draws

    def lease(self, draws: list[Draw], lease: Lease) -> None:
        """Lease draws, or lease them again."""
        for draw in draws:
            draw.lease = lease
        if draws:
            heapq.heappush(self._leases, (lease.due, next(self._numbers), draws))

    def overdue(self, most: int, now: float) -> list[Draw]:
        """Return up to `most` draws whose lease has ended by `now`, the oldest first.

        The caller leases them again, or counts something for them.
        """
        while self._leases and self._leases[0][0] <= now:
            for draw in heapq.heappop(self._leases)[2]:
                if self._is_late(draw, now):
                    heapq.heappush(self._overdue, draw)
        found: list[Draw] = []
        while self._overdue and len(found) < most:
            draw = heapq.heappop(self._overdue)
            # Another process may have leased it again, and that lease may have ended too.
            if self._is_late(draw, now) and draw not in found[-1:]:
                found.append(draw)
        return found

    def find(self, pulls: Collection[str]) -> tuple[list[Draw], list[str]]:
        """Return the draws that are out, and the ids of the pulls that are not."""
        out = self._out
        return [out[pull] for pull in pulls if pull in out], [p for p in pulls if p not in out]

    def all_out(self) -> list[Draw]:
        """Return all draws that are out, in the order in which they were asked for."""
        return sorted(self._out.values())

    def named(self, pulls: Listed) -> list[Draw]:
        """Return the draws that the log lists; all must be out."""
        try:
            return [self._out[pull] for pull in ids_of(self._tag, pulls)]
        except KeyError as error:
            raise StateError(
                f"the log tells of pull {error}, which was not handed out before it: "
                "restore the database from a backup."
            ) from None

    def close(self, draws: list[Draw]) -> None:
        """Note that draws are not out any more: they cannot be told or given up again."""
        for draw in draws:
            del self._out[draw.id]

    def tell(self, draws: list[Draw], rewards: list[float]) -> tuple[list[int], list[float]]:
        """Take the rewards of closed draws; return the arms and rewards that count now."""
        arms: list[int] = []
        counted: list[float] = []
        for draw, reward in zip(draws, rewards, strict=True):
            if draw.arm in self._lines:  # else the arm failed
                draw.reward = reward
                self.waiting += 1
                self._release(draw.arm, arms, counted)
        self._core.ledger.settle(arms)
        return arms, counted

    def give_up(self, draws: list[Draw]) -> tuple[list[int], list[float]]:
        """Take draws that are out out of their lines; return what counts now, as `tell` does."""
        arms: list[int] = []
        counted: list[float] = []
        self.close(draws)
        for draw in draws:
            if draw.arm in self._lines:
                self._lines[draw.arm].remove(draw)
                self._release(draw.arm, arms, counted)
        self._core.ledger.settle(arms + [draw.arm for draw in draws])
        return arms, counted

    def drop(self, arm: int) -> None:
        """Close the line of an arm that failed."""
        self.waiting -= sum(draw.reward is not None for draw in self._lines.pop(arm, ()))

    def leases(self) -> list[Lease]:
        """Return the lease of each draw that is out."""
        return [draw.lease for draw in self._out.values()]

    def to_rows(self) -> tuple[list[list[Any]], dict[str, list[int]]]:
        """Return all draws as JSON values, and which of them each worker holds.

        The values of a draw are its ask, position, arm, expires, lease and reward.
        """
        draws = {draw.id: draw for line in self._lines.values() for draw in line} | self._out
        rows: list[list[Any]] = []
        held: dict[str, list[int]] = {}
        for draw in sorted(draws.values()):
            lease = draw.lease
            if lease.worker is not None:
                held.setdefault(lease.worker, []).append(len(rows))
            place = [draw.ask, draw.position, draw.arm]
            rows.append([*place, lease.expires, lease.seconds, draw.reward])
        return rows, held

    def restore(self, rows: Any, held: Any, wall: float, now: float) -> None:
        """Take over what `to_rows` returned; `wall` and `now` are the times of the two clocks."""
        if type(rows) is not list:
            raise damaged("draws", rows, "a list of pulls")
        workers = _workers_of(held, len(rows))
        known: set[str] = set()
        for place, row in enumerate(rows):
            _check(row, len(self._core.tally.counts))
            ask, position, arm, expires, seconds, reward = row
            due = now + min(expires - wall, seconds)
            lease = Lease(expires, seconds, due, workers.get(place))
            draw = Draw(self._tag, ask, position, arm)
            if draw.id in known:
                raise damaged("a pull of draws", draw.id, "there once")
            known.add(draw.id)
            self._add([draw], lease)
            if reward is not None:
                draw.reward = reward
                self.close([draw])
                self.waiting += 1

    def place(self, pull: object) -> tuple[int, int] | None:
        """Return the ask and the position in a pull's id; None if the study gave no such id."""
        match = PULL_ID.fullmatch(pull) if isinstance(pull, str) else None
        if match is None or match[1] != self._tag:
            return None
        return int(match[2]), int(match[3])

    def _add(self, draws: list[Draw], lease: Lease) -> None:
        """Add draws that are out to the ends of their lines."""
        failed = self._core.failed
        for draw in draws:
            self._out[draw.id] = draw
            if draw.arm not in failed:
                self._lines.setdefault(draw.arm, deque()).append(draw)
        self._core.ledger.send([draw.arm for draw in draws if draw.arm not in failed])
        self.lease(draws, lease)

    def _is_late(self, draw: Draw, now: float) -> bool:
        """Return whether a draw is out and still matters, and its newest lease has ended."""
        return draw.lease.due <= now and draw.id in self._out and draw.arm in self._lines

    def _release(self, arm: int, arms: list[int], counted: list[float]) -> None:
        """Take the draws at the head of a line that were told out of it, and append them."""
        line = self._lines[arm]
        while line and (reward := line[0].reward) is not None:
            line.popleft()
            self.waiting -= 1
            arms.append(arm)
            counted.append(reward)


def _check(row: Any, n: int) -> None:
    """Raise StateError if a saved draw is not what `to_rows` returns for a search of n arms."""
    fits = (
        isinstance(row, list)
        and len(row) == 6
        and all(type(number) is int and 0 <= number < 2**62 for number in row[:3])
        and row[2] < n
        and all(type(time) in (int, float) and math.isfinite(time) for time in row[3:5])
        and (row[5] is None or (type(row[5]) in (int, float) and math.isfinite(row[5])))
    )
    if not fits:
        raise damaged("a pull of draws", row, "ask, position, arm, expires, lease and reward")


def _workers_of(held: Any, n: int) -> dict[int, str]:
    """Return the worker of each of n saved draws that has one."""
    fits = type(held) is dict and all(
        type(rows) is list and all(type(row) is int and 0 <= row < n for row in rows)
        for rows in held.values()
    )
    if not fits:
        raise damaged("held", held, "for each worker the places of its pulls in draws")
    return {row: worker for worker, rows in held.items() for row in rows}


def listed(draws: list[Draw]) -> Listed:
    """Return draws as the log lists their pulls."""
    found: Listed = []
    for ask, some in itertools.groupby(draws, attrgetter("ask")):
        positions = [draw.position for draw in some]
        first, count = positions[0], len(positions)
        in_a_row = positions == list(range(first, first + count))
        found.append((ask, first, count) if in_a_row else (ask, positions))
    return found


def ids_of(tag: str, pulls: Listed) -> list[str]:
    """Return the ids of the pulls that the log lists, in order."""
    found: list[str] = []
    for item in pulls:
        if isinstance(item, str):
            found.append(item)
            continue
        positions = item[1] if len(item) == 2 else range(item[1], item[1] + item[2])
        found += [f"{tag}.{item[0]}.{position}" for position in positions]
    return found
