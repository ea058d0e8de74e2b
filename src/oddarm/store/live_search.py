"""The search of a study in memory, at some point of the log of its events.

The log holds every ask, every batch of tells, every pull that expired or was given up and every arm
that failed, in order. The search and its draws follow from these events: a snapshot and the log
after it give both, in every process.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from oddarm._version import __version__
from oddarm.errors import StateError, UnknownStudyError
from oddarm.search import Search
from oddarm.search_core import SearchCore
from oddarm.state import OrNone, Real, Whole, mapping, parse
from oddarm.store.clock import Clock
from oddarm.store.database.base import Connection, reading
from oddarm.store.draws import Draw, Draws, Lease
from oddarm.store.footprint import held_bytes
from oddarm.store.legacy import follow_legacy, read_leases
from oddarm.store.log import dumps, loads, tell_all
from oddarm.strategies import Strategy

__all__ = ["LiveSearch", "Statement", "another_number"]

LOG = logging.getLogger("oddarm.store")

FORMAT = "oddarm.study"
FORMAT_VERSION = 1

SNAPSHOT_AFTER = 1000
"""Events between two snapshots, if they are quick to replay."""
MOST_WORKERS = 200
"""Of how many workers a study knows when they asked last."""
SNAPSHOT_SECONDS = 0.5
"""Seconds of work between two snapshots: a plan for thousands of arms takes a while."""

Statement: TypeAlias = tuple[str, list[tuple[Any, ...]]]
"""SQL, and the parameters of each time that it runs."""


@dataclass(frozen=True)
class Unread:
    """What the database has of a study beyond what is in memory.

    Attributes:
        revision, paused, pulls, verdict: What the study says of itself.
        snapshot: Its revision and state, if memory has to begin with it.
        events: The events after the snapshot, or after what is in memory.
        leases: The pulls that were out, if the snapshot was written before version 4 of the tables.
    """

    revision: int
    paused: bool
    pulls: int
    verdict: str
    snapshot: tuple[int, str] | None = None
    events: Sequence[tuple[int, str, str]] = ()
    leases: Sequence[Any] = ()


class LiveSearch:
    """A copy of the search and of its draws, brought up to date before each use.

    Args:
        study: The study's number in the database.
        name: Its name.
        strategy: Its strategy, if that is one of the user's own.
        clock: Tells the time.

    Attributes:
        tag: What the ids of the study's pulls begin with.
        revision: How many events it has seen.
        paused: Whether the study was paused when it was last read.
        shared: Whether others were seen to write to the study, too.
        expired_reward: What a pull counts as when its lease ends; None if it is handed out again.
        again: How many pulls were handed out again.
        given_up: How many pulls were given up.
        expired: How many pulls expired and count as `expired_reward`.
        workers: When each worker was last handed out pulls, in seconds since 1970; the one that was
            not for the longest time comes first.
    """

    def __init__(self, study: int, name: str, strategy: Strategy | None, clock: Clock) -> None:
        self.study = study
        self.name = name
        self.clock = clock
        self.revision = 0
        self.paused = False
        self.shared = False
        self.tag = _tag(study)
        self._strategy = strategy
        self._search: Search | None = None
        self._snapshot_due = False  # even if the log after the last snapshot is short
        self._snapshot_done = False  # whether it is, or will be, of a search that is done
        self._events = 0  # since the last snapshot
        self._seconds = 0.0  # that the search took for them

    def begin(self, search: Search, expired_reward: float | None) -> None:
        """Take over a search, without draws."""
        self._search = search
        self._search_bytes: int | None = None  # until somebody wants to know
        self.draws = Draws(self.tag, search.core)
        self.expired_reward = expired_reward
        self.again = 0
        self.given_up = 0
        self.expired = 0
        self.workers: dict[str, float] = {}
        self._empty: set[int | None] = set()  # limits of asks that gave nothing, until a change

    @property
    def search(self) -> Search:
        """The search as last read."""
        assert self._search is not None
        return self._search

    @property
    def core(self) -> SearchCore:
        """The same search by index."""
        return self.search.core

    @property
    def supposes(self) -> list[str]:
        """What became of pulls that were not told in time, and what the promise then supposes."""
        found = []
        if self.again:
            found.append(
                f"{_pulls_were(self.again)} not told in time and drawn again; that supposes that "
                "being late does not depend on the reward."
            )
        if self.expired:
            late = _pulls_were(self.expired)
            found.append(f"{late} not told in time and counted as {self.expired_reward:g}.")
        if self.given_up:
            found.append(
                f"{_pulls_were(self.given_up)} given up; that supposes that losing a pull does not "
                "depend on the reward."
            )
        return found

    @property
    def held_bytes(self) -> int:
        """About how much memory the search and its draws hold."""
        if self._search is None:
            return 0
        if self._search_bytes is None:
            self._search_bytes = held_bytes(self._search)
        return self._search_bytes + self.draws.held_bytes

    def renumbered(self, study: int) -> LiveSearch:
        """Return this study under another number, still to be read."""
        return LiveSearch(study, self.name, self._strategy, self.clock)

    def undo(self) -> None:
        """Forget the search after a transaction was rolled back: it is read anew."""
        self._search = None

    def pulls_of(self, connection: Connection, ask: int) -> int:
        """Return how many new pulls an ask handed out; 0 if there was no such ask."""
        row = connection.execute(
            "SELECT body FROM oddarm_events WHERE study = ? AND seq = ? AND kind = 'ask'",
            (self.study, ask),
        ).fetchone()
        return 0 if row is None else len(loads(row[0])["arms"])

    def gone(self) -> UnknownStudyError:
        """Return the error that says that the study was deleted."""
        return UnknownStudyError(f"study {self.name!r} was deleted: create it anew.")

    @property
    def is_read(self) -> bool:
        """Whether the search is in memory."""
        return self._search is not None

    def is_current(self, connection: Connection, began: tuple[int, bool], lock: str = "") -> bool:
        """Return whether the revision, and whether the study is paused, are what they were."""
        revision, self.paused, *_ = self._row(connection, lock)
        self.shared = self.shared or revision != began[0]
        return (revision, self.paused) == began

    def catch_up(self, connection: Connection, lock: str = "") -> None:
        """Bring the search to the end of the log, within a transaction."""
        self.apply(self.read(connection, lock))

    def read(self, connection: Connection, lock: str = "") -> Unread:
        """Read what is not in memory yet, for `apply`.

        Args:
            connection: A connection in a transaction.
            lock: What a SELECT ends with that holds the study until the transaction ends.
        """
        revision, paused, pulls, verdict = self._row(connection, lock)
        if self._search is not None and revision == self.revision:
            return Unread(revision, paused, pulls, verdict)
        with reading(f"study {self.name!r}"):
            snapshot, leases, after = None, [], self.revision
            (at,) = connection.execute(
                "SELECT revision FROM oddarm_snapshots WHERE study = ?", (self.study,)
            ).fetchone()
            if self._search is None or not at <= after <= revision:
                at, text = connection.execute(
                    "SELECT revision, state FROM oddarm_snapshots WHERE study = ?", (self.study,)
                ).fetchone()
                snapshot, leases, after = (int(at), text), read_leases(connection, self.study), at
            events = connection.execute(
                "SELECT seq, kind, body FROM oddarm_events "
                "WHERE study = ? AND seq > ? AND seq <= ? ORDER BY seq",
                (self.study, after, revision),
            ).fetchall()
        return Unread(revision, paused, pulls, verdict, snapshot, events, leases)

    def apply(self, unread: Unread) -> None:
        """Bring the search to where the study was when it was read."""
        self.paused = unread.paused
        if self._search is not None and unread.revision == self.revision:
            return
        self.shared = self.shared or self._search is not None
        try:
            with reading(f"study {self.name!r}"):
                self._replay(unread)
            self._check(unread.pulls, unread.verdict)
        except BaseException:
            self._search = None
            raise

    def _row(self, connection: Connection, lock: str) -> tuple[int, bool, int, str]:
        """Return what the study says of itself: revision, paused, pulls and verdict."""
        row = connection.execute(
            "SELECT revision, paused, pulls, verdict FROM oddarm_studies WHERE id = ?" + lock,
            (self.study,),
        ).fetchone()
        if row is None:
            raise self.gone()
        return int(row[0]), bool(row[1]), int(row[2]), row[3]

    def append(self, kind: str, body: Any, now: float) -> Statement:
        """Give an event the next number, `revision`, and return what writes it to the log.

        The caller carries it out.
        """
        self.revision += 1
        sql = "INSERT INTO oddarm_events (study, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)"
        return sql, [(self.study, self.revision, now, kind, dumps(body))]

    def may_ask(self, limit: int | None) -> bool:
        """Return whether the search may have more to ask for than when it was last asked.

        Nothing has changed since an ask that gave nothing, so one for no more gives nothing too.
        """
        if limit is None:
            return None not in self._empty
        return not any(empty is not None and limit <= empty for empty in self._empty)

    def ask(self, limit: int | None) -> list[int]:
        """Ask the search; return the arms of new pulls."""
        with self._timing():
            arms = self.core.ask(limit)
        if arms:
            self._empty.clear()
        else:
            self._empty.add(limit)
        return arms

    def grant(self, ask: int, body: Any, again: list[Draw]) -> list[Draw]:
        """Hand out the pulls of an ask as its event says.

        Args:
            ask: The number of the event.
            body: The limit that the search was asked for (0: it was not asked), the arms of the
                new pulls, the pulls that are handed out again, when and for how long they are
                leased, and the worker, if it said who it is.
            again: The draws that are handed out again.
        """
        expires, seconds, worker = body["expires"], body["lease"], body.get("worker")
        left = min(expires - self.clock.wall(), seconds)
        lease = Lease(expires, seconds, self.clock.steady() + left, worker)
        if worker is not None:
            self.workers.pop(worker, None)
            self.workers[worker] = expires - seconds
            if len(self.workers) > MOST_WORKERS:
                del self.workers[next(iter(self.workers))]
        self.draws.lease(again, lease)
        self.again += len(again)
        return [*again, *self.draws.grant(ask, body["arms"], lease)]

    def tell(
        self, draws: list[Draw], rewards: list[float], data: Sequence[tuple[int, list[float]]] = ()
    ) -> None:
        """Take the rewards of closed draws, and rewards that were not asked for, by arm.

        Those that were not asked for count at once, before those of draws.
        """
        with self._timing():
            self._empty.clear()
            arms = [arm for arm, own in data for _ in own]
            values = [reward for _, own in data for reward in own]
            counted_arms, counted = self.draws.tell(draws, rewards)
            tell_all(self.core, arms + counted_arms, values + counted)

    def give_up(self, draws: list[Draw]) -> None:
        """Take note that draws that are out are lost."""
        with self._timing():
            self._empty.clear()
            if not self.core.done:
                self.given_up += sum(draw.arm not in self.core.failed for draw in draws)
            arms, rewards = self.draws.give_up(draws)
            self.core.give_back([draw.arm for draw in draws])
            tell_all(self.core, arms, rewards)

    def set_aside(self, arm: int, reason: str) -> None:
        """Go on without an arm."""
        with self._timing():
            self._empty.clear()
            self.core.set_aside(arm, reason)
            self.draws.drop(arm)

    @contextmanager
    def _timing(self) -> Iterator[None]:
        """Note an event, and the time that the search takes for it."""
        began = time.perf_counter()
        yield
        self._events += 1
        self._seconds += time.perf_counter() - began

    def _apply(self, seq: int, kind: str, body: Any) -> bool:
        """Carry out an event of the log; return whether the search asks for the arms in it."""
        if kind == "aside":
            self.set_aside(body["arm"], body["reason"])
        elif kind == "give-up":
            self.give_up(self.draws.named(body["pulls"]))
        elif kind == "ask":
            alike: bool = body["limit"] == 0 or self.ask(body["limit"]) == body["arms"]
            self.grant(seq, body, self.draws.named(body.get("again", [])))
            return alike
        else:  # rewards told, or counted for pulls that expired
            draws: list[Draw] = []
            rewards: list[float] = []
            data = []
            for arms, values, pulls in body:
                if isinstance(pulls, str):
                    data.append((arms, values))
                else:
                    draws += self.draws.named(pulls)
                    rewards += values
            self.draws.close(draws)
            if kind == "expired":
                self.expired += len(rewards)
            self.tell(draws, rewards, data)
        return True

    def save(self) -> list[Statement]:
        """Return what writes how far the study is, and a snapshot if the last one is long ago."""
        search = self.search
        row = (self.revision, search.pulls, self.draws.waiting, search.verdict, self.study)
        columns = "revision = ?, pulls = ?, waiting = ?, verdict = ?"
        statements = [(f"UPDATE oddarm_studies SET {columns} WHERE id = ?", [row])]
        if search.done and not self._snapshot_done:  # others must come to the same verdict
            self._snapshot_done = self._snapshot_due = True
        long_ago = self._events >= SNAPSHOT_AFTER or self._seconds >= SNAPSHOT_SECONDS
        if self._snapshot_due or long_ago:
            statements += self.snapshot()
        return statements

    def snapshot(self) -> list[Statement]:
        """Return what writes the state; nothing if no event came after the last snapshot.

        A newer snapshot, which another process may have written, stays.
        """
        if self._search is None or not (self._events or self._snapshot_due):
            return []
        self._events, self._seconds, self._snapshot_due = 0, 0.0, False
        self._search_bytes = None  # it may have grown
        row = (self.revision, dumps(self.to_dict()), self.study, self.revision)
        where = "WHERE study = ? AND revision <= ?"
        return [(f"UPDATE oddarm_snapshots SET revision = ?, state = ? {where}", [row])]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state as JSON values."""
        draws, held = self.draws.to_rows()
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "oddarm": __version__,
            "search": self.search.to_dict(),
            "draws": draws,
            "held": held,
            "workers": self.workers,
            "expired_reward": self.expired_reward,
            "again": self.again,
            "given_up": self.given_up,
            "expired": self.expired,
        }

    def _restore(self, unread: Unread) -> None:
        """Begin with the snapshot."""
        rows: Any  # which `Draws.restore` checks
        held: Any = {}
        assert unread.snapshot is not None
        at, text = unread.snapshot
        state = mapping(parse(text), "state")
        legacy = state.get("format") != FORMAT
        if not legacy:
            Whole(FORMAT_VERSION, FORMAT_VERSION).decode(state.get("version"), "version")
        saved = state if legacy else mapping(state.get("search"), "search")
        search = Search.from_dict(saved, strategy=self._strategy)
        self.begin(search, None)
        if legacy:
            rows, self.again = follow_legacy(self.core, unread.events, unread.leases)
            at, state = unread.revision, {}
        else:
            rows, held = state.get("draws"), state.get("held", {})
            self.again = Whole().decode(state.get("again"), "again")
            self.given_up = Whole().decode(state.get("given_up"), "given_up")
            self.expired = Whole().decode(state.get("expired"), "expired")
            ends = search.rewards.low, search.rewards.high
            self.expired_reward = OrNone(Real(*ends)).decode(
                state.get("expired_reward"), "expired_reward"
            )
            if self.expired_reward is not None:
                search.rewards.check(self.expired_reward)
            asked = mapping(state.get("workers", {}), "workers")
            self.workers = {name: Real().decode(at, "workers") for name, at in asked.items()}
        self.revision, self._events, self._seconds = at, 0, 0.0
        self._snapshot_due = state.get("oddarm") != __version__
        self._snapshot_done = search.done
        self.draws.restore(rows, held, self.clock.wall(), self.clock.steady())
        search.rewards.check([row[5] for row in rows if row[5] is not None])

    def _replay(self, unread: Unread) -> None:
        """Apply the events that were read, from where we are or from the snapshot."""
        if unread.snapshot is not None:
            self._restore(unread)
        differs = None
        for seq, kind, text in unread.events:
            if seq <= self.revision:  # of a legacy study, which was followed to its end
                continue
            if seq != self.revision + 1:
                raise StateError(
                    f"study {self.name!r} has no event {self.revision + 1} in its log: "
                    "restore the database from a backup."
                )
            if not self._apply(int(seq), kind, loads(text)):
                differs = differs or int(seq)
            self.revision = int(seq)
        if differs is not None:
            self._start_over(differs)

    def _start_over(self, seq: int) -> None:
        """Go on after a replay that asked for other arms than the log says.

        Another version of oddarm, or the arithmetic of another processor, may plan differently.
        What was told stands, and the promise holds for any choice of arms, so the run starts over
        on the rewards told so far, and a snapshot is taken with the next write.
        """
        LOG.warning(
            "study %r: event %d asked for other arms than oddarm %s asks for on this machine; "
            "the run starts over on the rewards told so far",
            self.name,
            seq,
            __version__,
        )
        if not self.search.done:
            self.core.start_over()
        self._empty.clear()
        self._snapshot_due = True

    def _check(self, pulls: int, verdict: str) -> None:
        """Refuse a log that does not lead to what the study says of itself."""
        search = self.search
        if search.pulls != pulls:
            raise StateError(
                f"the log of study {self.name!r} counts {search.pulls:,} rewards, must be the "
                f"{pulls:,} that the study has: restore the database from a backup."
            )
        if verdict not in ("running", "budget") and search.verdict != verdict:
            raise StateError(
                f"study {self.name!r} ended with the verdict {verdict!r}, and oddarm "
                f"{__version__} on this machine comes to {search.verdict!r}: open it with the "
                "version, and on the kind of machine, that it ran on."
            )


def _tag(study: int) -> str:
    return f"{study & 0xFFFFFF:06x}"


def another_number(study: int | None = None) -> int:
    """Return a number for a study; its pulls have other ids than those of the given number."""
    while True:
        number = secrets.randbits(62)
        if study is None or _tag(number) != _tag(study):
            return number


def _pulls_were(count: int) -> str:
    return "1 pull was" if count == 1 else f"{count:,} pulls were"
