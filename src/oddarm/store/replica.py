"""The search of a study in memory, at some point of the log of its events.

The log holds every ask, every batch of tells and every arm set aside, in order. A search is a
function of these, so a snapshot and the log after it give its state to the last bit, whoever
reads them.
"""

from __future__ import annotations

import json
import time
from typing import Any, TypeAlias

import numpy as np

from oddarm.errors import StateError, UnknownStudyError
from oddarm.search import Search
from oddarm.store.database import Connection
from oddarm.store.leases import Leases, Listed, dumps
from oddarm.strategies import Strategy

__all__ = ["Replica", "Told", "arms_of"]

SNAPSHOT_AFTER = 1000
"""Events between two snapshots, if they are quick to replay."""
SNAPSHOT_SECONDS = 0.5
"""Seconds of work between two snapshots: to plan for thousands of arms takes a while."""


Told: TypeAlias = tuple[int | list[int], list[float], str | Listed]
"""Rewards: their arms, or the one arm of all; and their pulls, or the one key of all."""


def arms_of(told: Told) -> list[int]:
    """Return the arm of each reward."""
    arms, rewards, _ = told
    return [arms] * len(rewards) if isinstance(arms, int) else arms


class Replica:
    """A copy of the search, brought up to date before each use.

    Args:
        study: The study's number in the database.
        name: Its name.
        strategy: Its strategy, if that is none of oddarm's.

    Attributes:
        revision: How many events it has seen.
        index: The position of each arm, by name.
        leases: The pulls that were handed out and not told, as far as they are in memory.
    """

    def __init__(self, study: int, name: str, strategy: Strategy | None) -> None:
        self.study = study
        self.name = name
        self.revision = 0
        self.index: dict[Any, int] = {}
        self._strategy = strategy
        self.leases = Leases(study, name)
        self._search: Search | None = None
        self._events = 0  # since the last snapshot
        self._seconds = 0.0  # that the search took for them

    @property
    def search(self) -> Search:
        """The search as last read."""
        assert self._search is not None
        return self._search

    @property
    def known(self) -> bool:
        """Whether there is a search in memory."""
        return self._search is not None

    def undo(self, ahead: bool) -> None:
        """Take note that a transaction was rolled back.

        Args:
            ahead: Whether the search may be ahead of the log: then it is read anew.
        """
        self.leases.forget()
        if ahead:
            self._search = None

    def gone(self) -> UnknownStudyError:
        """Return the error that says that the study was deleted."""
        return UnknownStudyError(f"study {self.name!r} was deleted: create it anew.")

    def catch_up(self, connection: Connection, lock: str = "") -> bool:
        """Bring the search to the end of the log; return whether the study is paused.

        Args:
            connection: A connection in a transaction.
            lock: What a SELECT ends with that holds the study until the transaction ends.
        """
        row = connection.execute(
            "SELECT revision, paused FROM oddarm_studies WHERE id = ?" + lock, (self.study,)
        ).fetchone()
        if row is None:
            raise self.gone()
        revision, paused = int(row[0]), bool(row[1])
        if self._search is None or revision != self.revision:
            self.leases.forget()
            try:
                self._replay(connection, revision)
            except BaseException:
                self._search = None
                raise
        return paused

    def append(self, connection: Connection, kind: str, body: Any, now: float) -> int:
        """Write an event to the log, which the search is told by `apply`; return its number."""
        self.revision += 1
        connection.execute(
            "INSERT INTO oddarm_events (study, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)",
            (self.study, self.revision, now, kind, dumps(body)),
        )
        return self.revision

    def apply(self, kind: str, body: Any) -> None:
        """Ask or tell the search as an event says.

        The body of an ask has the limit that the search was asked for (0: it was not asked) and
        the arms handed out. That of a batch of tells is a list of `Told`. An arm set aside has
        its reason.
        """
        search = self.search
        if kind == "ask":
            if body["limit"] != 0:
                self.ask(body["limit"])
            return
        began = time.perf_counter()
        if kind == "aside":
            search.set_aside(search.names[body["arm"]], body["reason"])
        else:
            if len(body) == 1:  # nearly always
                arms, rewards = arms_of(body[0]), body[0][1]
            else:
                arms = [arm for told in body for arm in arms_of(told)]
                rewards = [reward for _, rewards, _ in body for reward in rewards]
            if len(arms) == 1:
                search.tell(search.names[arms[0]], rewards[0])
            else:
                search.tell_checked(np.array(arms, dtype=np.intp), np.array(rewards, dtype=float))
        self._note(began)

    def ask(self, limit: int | None) -> list[Any]:
        """Ask the search."""
        began = time.perf_counter()
        names = self.search.ask(limit)
        self._note(began)
        return names

    def _note(self, began: float) -> None:
        self._events += 1
        self._seconds += time.perf_counter() - began

    def save(self, connection: Connection) -> None:
        """Write how far the study is, with a snapshot if the last one is long ago."""
        search = self.search
        connection.execute(
            "UPDATE oddarm_studies SET revision = ?, pulls = ?, verdict = ? WHERE id = ?",
            (self.revision, search.pulls, search.verdict, self.study),
        )
        if self._events >= SNAPSHOT_AFTER or self._seconds >= SNAPSHOT_SECONDS:
            connection.execute(
                "UPDATE oddarm_snapshots SET revision = ?, state = ? WHERE study = ?",
                (self.revision, dumps(search.to_dict()), self.study),
            )
            self._events, self._seconds = 0, 0.0

    def _replay(self, connection: Connection, revision: int) -> None:
        """Apply the events up to `revision`, from where we are or from the snapshot."""
        saved = connection.execute(
            "SELECT revision FROM oddarm_snapshots WHERE study = ?", (self.study,)
        ).fetchone()
        if self._search is None or not int(saved[0]) <= self.revision <= revision:
            at, state = connection.execute(
                "SELECT revision, state FROM oddarm_snapshots WHERE study = ?", (self.study,)
            ).fetchone()
            self._search = Search.from_dict(json.loads(state), strategy=self._strategy)
            self.revision, self._events, self._seconds = int(at), 0, 0.0
            self.index = {name: i for i, name in enumerate(self._search.names)}
        events = connection.execute(
            "SELECT seq, kind, body FROM oddarm_events WHERE study = ? AND seq > ? AND seq <= ? "
            "ORDER BY seq",
            (self.study, self.revision, revision),
        )
        for seq, kind, text in events.fetchall():
            if seq != self.revision + 1:
                raise StateError(
                    f"study {self.name!r} has no event {self.revision + 1} in its log: "
                    "restore the database from a backup."
                )
            self.apply(kind, json.loads(text))
            self.revision = int(seq)
