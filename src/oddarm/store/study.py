"""A study: a search that lives in a database, asked and told by many workers.

The log of a study holds every ask and every batch of tells, in order. A search is a function of
what it was asked and told, so the snapshot and the log after it give its state to the last bit,
whoever opens the study. A batch is told arm by arm, each arm's rewards at once.
"""

from __future__ import annotations

import copy
import csv
import io
import itertools
import json
import math
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from oddarm.checks import whole_number
from oddarm.errors import (
    ParameterError,
    RewardError,
    StateError,
    UnknownArmError,
    UnknownPullError,
    UnknownStudyError,
)
from oddarm.result import Result
from oddarm.search import Search
from oddarm.store.database import Connection, Database
from oddarm.strategies import Strategy, Verdict

__all__ = ["Batch", "Pull", "Study", "StudyInfo"]

SNAPSHOT_AFTER = 5000
"""Updates of the search between two snapshots; an update takes some 100 µs to replay."""

LEASE_SECONDS = 60.0

Status = Literal["running", "paused", "done"]

PART = 64
"""Pulls in a part of an ask. A tell reads and writes the parts that it is about."""

PULL_ID = re.compile(r"([0-9a-f]{6})\.([1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,8})")
"""The study's tag, the number of the ask in its log, and the position of the pull in the ask."""


@dataclass(frozen=True)
class Pull:
    """A pull to be made by whoever asked.

    Attributes:
        id: What to tell the reward by.
        arm: The arm to pull.
        expires: When the pull may be handed to somebody else, in seconds since 1970. A reward
            that comes later is still taken.
    """

    id: str
    arm: Any
    expires: float


@dataclass(frozen=True)
class StudyInfo:
    """What a list of studies shows.

    Attributes:
        name: The study's name.
        status: "running", "paused" or "done".
        verdict: Why it ended, or "running".
        strategy: The name of its strategy.
        arms: How many arms it has.
        pulls: Rewards told.
        revision: How many asks and batches of tells there were; grows with every change.
        created: When it was made, in seconds since 1970.
        updated: When it was last asked or told; `created` before that.
    """

    name: str
    status: Status
    verdict: Verdict
    strategy: str
    arms: int
    pulls: int
    revision: int
    created: float
    updated: float


def _status(verdict: Verdict, paused: bool) -> Status:
    return "done" if verdict != "running" else "paused" if paused else "running"


COLUMNS = "name, created, strategy, arms, paused, revision, pulls, verdict"
SHOWN = f"""{COLUMNS}, COALESCE((
    SELECT at FROM oddarm_events WHERE study = oddarm_studies.id ORDER BY seq DESC LIMIT 1
), created)"""


def study_info(row: Sequence[Any]) -> StudyInfo:
    """Return the info in a row of `SHOWN`."""
    name, created, strategy, arms, paused, revision, pulls, verdict, updated = row
    return StudyInfo(
        name=name,
        status=_status(verdict, bool(paused)),
        verdict=verdict,
        strategy=strategy,
        arms=int(arms),
        pulls=int(pulls),
        revision=int(revision),
        created=float(created),
        updated=float(updated),
    )


class Study:
    """A named search in a database. Make one with `create_study` or `open_study`.

    A study may be open in many threads and processes: each write takes its turn, and first catches
    up with what the others wrote. When a write returns, it is on disk.

    Args:
        database: Where the study lives.
        name: Its name.
        strategy: Its strategy, if that is one of your own; those of oddarm are found by name.
        clock: Returns seconds since 1970.

    Example:
        >>> import oddarm, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> study = oddarm.create_study(f"{folder.name}/s.db", "demo", list("abcd"), max_outliers=1)
        >>> pulls = study.ask(2)
        >>> [pull.arm for pull in pulls]
        ['a', 'b']
        >>> study.tell(pulls[0].id, 1), study.tell(pulls[0].id, 1)
        (True, False)
        >>> study.result().pulls
        1
        >>> study.close()
        >>> folder.cleanup()
    """

    def __init__(
        self,
        database: Database,
        name: str,
        *,
        strategy: Strategy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self._database = database
        self._strategy = strategy
        self._clock = clock
        self._lock = threading.RLock()
        self._search: Search | None = None
        self._revision = 0
        self._work = 0  # updates since the last snapshot
        self._index: dict[Any, int] = {}
        with database.transaction() as connection:
            row = connection.execute(
                "SELECT id FROM oddarm_studies WHERE name = ?", (name,)
            ).fetchone()
            if row is None:
                raise UnknownStudyError(
                    f"study {name!r} is not in {database.url}: create it, or list what is there."
                )
            self._id = int(row[0])
            self._tag = f"{self._id & 0xFFFFFF:06x}"
            self._catch_up(connection, lock=False)

    def ask(self, limit: int | None = None, *, lease_seconds: float = LEASE_SECONDS) -> list[Pull]:
        """Return pulls to be made; each is yours until it expires.

        Pulls that others let expire are handed out again first.

        Args:
            limit: The most pulls to return; None for one natural round of the strategy.
            lease_seconds: How long nobody else is given them.

        Returns:
            Pulls; empty when the study is done or paused, or when all that its budget or its
            finite pools allow is on its way.
        """
        with self.batch() as batch:
            return batch.ask(limit, lease_seconds=lease_seconds)

    def tell(self, pull: str, reward: float) -> bool:
        """Report the reward of a pull; return False, and change nothing, if it was told before.

        Raises:
            UnknownPullError: The study never handed out that pull.
            RewardError: The reward does not fit the declared model.
        """
        return self.tell_many({pull: reward}) == 1

    def tell_many(self, rewards: Mapping[str, float]) -> int:
        """Report rewards by the id of their pull; return how many were not told before.

        All are taken or, if one is refused, none.
        """
        with self.batch() as batch:
            return batch.tell_many(rewards)

    def tell_arm(self, arm: Hashable, rewards: ArrayLike, *, key: str) -> bool:
        """Report rewards of an arm that nobody asked for, such as ones measured before.

        Args:
            arm: The arm.
            rewards: One reward or several.
            key: A name of your own for these rewards; told again under it, they change nothing.

        Returns:
            Whether they were new.
        """
        with self.batch() as batch:
            return batch.tell_arm(arm, rewards, key=key)

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """Give a `Batch`, with which many asks and tells are one transaction.

        What its methods refuse leaves no trace; any other error undoes the whole batch.
        """
        with self._lock:
            batch = None
            try:
                with self._database.transaction(write=True) as connection:
                    paused = self._catch_up(connection, lock=True)
                    batch = Batch(self, connection, paused)
                    yield batch
                    batch.finish()
            except BaseException:
                if batch is None or batch.advanced:
                    self._search = None  # it may be ahead of the log: read it anew
                raise

    def search(self) -> Search:
        """Return a copy of the search as it is now, which is yours to change."""
        with self._lock:
            with self._database.transaction() as connection:
                self._catch_up(connection, lock=False)
            return copy.deepcopy(self._current)

    def result(self) -> Result:
        """Return what is known now; at any time, not only at the end."""
        return self.search().result()

    def info(self) -> StudyInfo:
        """Return how far the study is."""
        with self._database.transaction() as connection:
            row = connection.execute(
                f"SELECT {SHOWN} FROM oddarm_studies WHERE id = ?", (self._id,)
            ).fetchone()
        if row is None:
            raise self._gone()
        return study_info(row)

    @property
    def done(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.info().status == "done"

    def pause(self) -> None:
        """Hand out no more pulls; rewards of those on their way are taken."""
        self._set_paused(1)

    def resume(self) -> None:
        """Hand out pulls again."""
        self._set_paused(0)

    def _set_paused(self, paused: int) -> None:
        with self._database.transaction(write=True) as connection:
            changed = connection.execute(
                "UPDATE oddarm_studies SET paused = ? WHERE id = ?", (paused, self._id)
            )
            if changed.rowcount == 0:
                raise self._gone()

    def delete(self) -> None:
        """Delete the study with all its rewards, for good."""
        with self._database.transaction(write=True) as connection:
            for table in ("events", "snapshots", "leases", "keys", "arms"):
                connection.execute(f"DELETE FROM oddarm_{table} WHERE study = ?", (self._id,))
            gone = connection.execute("DELETE FROM oddarm_studies WHERE id = ?", (self._id,))
            if gone.rowcount == 0:
                raise self._gone()

    def export(self, format: Literal["jsonl", "csv"] = "jsonl") -> Iterator[str]:  # noqa: A002
        """Yield every reward as a line of text, in the order in which the search took them.

        The columns are seq (rewards of one batch share it), at (seconds since 1970), pull (its id,
        or the key it was told under), arm and reward. A CSV file starts with their names.

        Args:
            format: "jsonl" for one JSON object a line, or "csv".
        """
        if format not in ("jsonl", "csv"):
            raise ParameterError(f"format == {format!r}, must be 'jsonl' or 'csv'.")
        return _lines(self.tells(), format)

    def tells(self, page: int = 200) -> Iterator[dict[str, Any]]:
        """Yield every reward, as `export` describes; long logs are read `page` batches a time."""
        names = self._current.names
        last = 0
        while True:
            with self._database.transaction() as connection:
                rows = connection.execute(
                    "SELECT seq, at, body FROM oddarm_events WHERE study = ? AND kind = 'tell' "
                    "AND seq > ? ORDER BY seq LIMIT ?",
                    (self._id, last, page),
                ).fetchall()
            for seq, at, text in rows:
                for arm, rewards, pulls in json.loads(text):
                    each = itertools.repeat(pulls) if isinstance(pulls, str) else pulls
                    for pull, reward in zip(each, rewards, strict=False):
                        yield {
                            "seq": seq,
                            "at": at,
                            "pull": pull,
                            "arm": names[arm],
                            "reward": reward,
                        }
                last = seq
            if len(rows) < page:
                return

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Study {self.name!r} in {self._database.url}>"

    @property
    def _current(self) -> Search:
        """The search as last read."""
        if self._search is None:
            with self._lock, self._database.transaction() as connection:
                self._catch_up(connection, lock=False)
        assert self._search is not None
        return self._search

    def _gone(self) -> UnknownStudyError:
        return UnknownStudyError(f"study {self.name!r} was deleted: create it anew.")

    def _catch_up(self, connection: Connection, *, lock: bool) -> bool:
        """Bring the search to the end of the log; return whether the study is paused."""
        row = connection.execute(
            "SELECT revision, paused FROM oddarm_studies WHERE id = ?"
            + (self._database.row_lock if lock else ""),
            (self._id,),
        ).fetchone()
        if row is None:
            raise self._gone()
        revision, paused = int(row[0]), bool(row[1])
        if self._search is None or revision != self._revision:
            try:
                self._replay(connection, revision)
            except BaseException:
                self._search = None
                raise
        return paused

    def _replay(self, connection: Connection, revision: int) -> None:
        """Apply the events up to `revision`, from where we are or from the snapshot."""
        saved = connection.execute(
            "SELECT revision FROM oddarm_snapshots WHERE study = ?", (self._id,)
        ).fetchone()
        if self._search is None or not int(saved[0]) <= self._revision <= revision:
            at, state = connection.execute(
                "SELECT revision, state FROM oddarm_snapshots WHERE study = ?", (self._id,)
            ).fetchone()
            self._search = Search.from_dict(json.loads(state), strategy=self._strategy)
            self._revision, self._work = int(at), 0
            self._index = {name: i for i, name in enumerate(self._search.names)}
        events = connection.execute(
            "SELECT seq, kind, body FROM oddarm_events WHERE study = ? AND seq > ? AND seq <= ? "
            "ORDER BY seq",
            (self._id, self._revision, revision),
        )
        for seq, kind, text in events.fetchall():
            if seq != self._revision + 1:
                raise StateError(
                    f"study {self.name!r} has no event {self._revision + 1} in its log: "
                    "restore the database from a backup."
                )
            self._work += _apply(self._search, kind, json.loads(text))
            self._revision = int(seq)


@dataclass
class _Lease:
    """A part of an ask: the arms of the pulls that have not been told, by position.

    Attributes:
        waiting: Those of whoever asked for them.
        lost: Those that expired and were handed out again; a late reward is still taken.
    """

    seq: int
    part: int
    waiting: dict[str, int]
    lost: dict[str, int]
    changed: bool = False


class Batch:
    """Asks and tells of one transaction. Tells are gathered, and told to the search together."""

    def __init__(self, study: Study, connection: Connection, paused: bool) -> None:
        self.advanced = False  # whether the search in memory may be ahead of the log
        self._study = study
        self._connection = connection
        self._paused = paused
        self._search = study._current
        self._told: dict[int, tuple[list[float], list[str]]] = {}  # by arm: rewards, pulls
        self._leases: dict[tuple[int, int], _Lease] = {}

    def ask(self, limit: int | None = None, *, lease_seconds: float = LEASE_SECONDS) -> list[Pull]:
        """As `Study.ask`."""
        most = sys.maxsize if limit is None else whole_number("limit", limit, 1)
        if not 0 < lease_seconds < math.inf:
            raise ParameterError(f"lease_seconds == {lease_seconds!r}, must be finite and > 0.")
        self._flush()
        search, now = self._search, self._study._clock()
        if self._paused or search.done:
            return []
        on_way = self._on_their_way(now)
        if search.max_pulls is not None:
            most = min(most, search.max_pulls - search.pulls - on_way.total())
        arms = self._expired(most, now)
        asked: int | None = 0
        if len(arms) < most:
            asked = None if limit is None else most - len(arms)
            self.advanced = True
            arms += [self._study._index[name] for name in search.ask(asked)]
        if not arms and asked == 0:
            return []
        arms = self._within_pools(arms[:most], on_way)
        seq = self._log("ask", {"limit": asked, "arms": arms}, now)
        expires = now + lease_seconds
        parts: list[dict[str, int]] = [{} for _ in range(0, len(arms), PART)]
        for position, arm in enumerate(arms):
            parts[position // PART][str(position)] = arm
        self._connection.executemany(
            "INSERT INTO oddarm_leases (study, seq, part, expires, waiting, lost) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                (self._study._id, seq, part, expires, _dumps(waiting), "{}")
                for part, waiting in enumerate(parts)
            ],
        )
        return [
            Pull(f"{self._study._tag}.{seq}.{position}", search.names[arm], expires)
            for position, arm in enumerate(arms)
        ]

    @property
    def status(self) -> Status:
        """Whether the study is running, paused or done, with what this batch told."""
        self._flush()
        return _status(self._search.verdict, self._paused)

    def tell_many(self, rewards: Mapping[str, float]) -> int:
        """As `Study.tell_many`."""
        new: dict[str, int] = {}
        found = []
        for pull in rewards:
            seq, position = self._parse(pull)
            lease = self._lease(seq, int(position) // PART)
            arm = lease.waiting.get(position, lease.lost.get(position))
            if arm is not None:
                new[pull] = arm
                found.append((lease, position))
            elif not self._handed_out(seq, int(position)):
                raise self._unknown(pull)
        if not new:
            return 0
        arms = list(new.values())
        values = self._check(arms, [rewards[pull] for pull in new])
        for lease, position in found:
            lease.waiting.pop(position, None)
            lease.lost.pop(position, None)
            lease.changed = True
        for pull, arm, value in zip(new, arms, values, strict=True):
            self._gather(arm, [value], [pull])
        return len(new)

    def tell_arm(self, arm: Hashable, rewards: ArrayLike, *, key: str) -> bool:
        """As `Study.tell_arm`."""
        study = self._study
        if not isinstance(key, str) or not 0 < len(key) <= 200 or not key.isprintable():
            raise ParameterError(
                f"key == {key!r}, must be a text of 1 to 200 printable characters."
            )
        try:
            index = study._index[arm]
        except (KeyError, TypeError):
            raise UnknownArmError(
                f"arm {arm!r} is not one of the {self._search.n} arms of study {study.name!r}, "
                f"such as {self._search.names[0]!r}."
            ) from None
        known = self._connection.execute(
            "SELECT 1 FROM oddarm_keys WHERE study = ? AND key = ?", (study._id, key)
        ).fetchone()
        if known is not None:
            return False
        values = self._search.rewards.check(rewards).tolist()
        if not values:
            return False
        self._check([index] * len(values), values)
        self._connection.execute(
            "INSERT INTO oddarm_keys (study, key) VALUES (?, ?)", (study._id, key)
        )
        self._gather(index, values, [key] * len(values))
        return True

    def _gather(self, arm: int, rewards: list[float], pulls: list[str]) -> None:
        gathered = self._told.setdefault(arm, ([], []))
        gathered[0].extend(rewards)
        gathered[1].extend(pulls)

    def _flush(self) -> None:
        """Tell the search what was gathered, as one event of the log."""
        if not self._told:
            return
        self._write_leases()
        study, tally = self._study, self._search.tally
        body = [
            (arm, rewards, pulls[0] if len(set(pulls)) == 1 else pulls)
            for arm, (rewards, pulls) in self._told.items()
        ]
        self._log("tell", body, study._clock())
        study._work += _apply(self._search, "tell", body)
        self._connection.executemany(
            "UPDATE oddarm_arms SET pulls = ?, total = ? WHERE study = ? AND arm = ?",
            [
                (int(tally.counts[arm]), float(tally.totals[arm]), study._id, arm)
                for arm in self._told
            ],
        )
        self._told = {}

    def _log(self, kind: str, body: Any, now: float) -> int:
        study = self._study
        self.advanced = True
        study._revision += 1
        self._connection.execute(
            "INSERT INTO oddarm_events (study, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)",
            (study._id, study._revision, now, kind, _dumps(body)),
        )
        return study._revision

    def finish(self) -> None:
        """Write what is left to be written before the transaction is committed."""
        self._flush()
        if not self.advanced:
            return
        study, search = self._study, self._search
        self._connection.execute(
            "UPDATE oddarm_studies SET revision = ?, pulls = ?, verdict = ? WHERE id = ?",
            (study._revision, search.pulls, search.verdict, study._id),
        )
        if study._work >= SNAPSHOT_AFTER:
            self._connection.execute(
                "UPDATE oddarm_snapshots SET revision = ?, state = ? WHERE study = ?",
                (study._revision, _dumps(search.to_dict()), study._id),
            )
            study._work = 0

    def _check(self, arms: list[int], rewards: Sequence[Any]) -> list[float]:
        """Return the rewards as numbers, or raise RewardError."""
        values: list[float] = self._search.rewards.check(rewards).tolist()
        if len(values) != len(arms):
            raise RewardError(f"{len(values)} rewards for {len(arms)} pulls, must be one each.")
        tally = self._search.tally
        if tally.pools is not None:
            for arm, count in Counter(arms).items():
                gathered = len(self._told[arm][0]) if arm in self._told else 0
                left = int(tally.pools[arm] - tally.counts[arm]) - gathered
                if count > left:
                    raise RewardError(
                        f"{count} more rewards for arm {self._search.names[arm]!r} with {left} of "
                        f"its pool of {int(tally.pools[arm])} left: each item may be told once."
                    )
        return values

    def _on_their_way(self, now: float) -> Counter[int]:
        """Return how many pulls of each arm are leased; looked up only where that matters."""
        search = self._search
        if search.max_pulls is None and search.tally.pools is None:
            return Counter()
        rows = self._connection.execute(
            "SELECT waiting FROM oddarm_leases WHERE study = ? AND expires > ?",
            (self._study._id, now),
        ).fetchall()
        return Counter(arm for (waiting,) in rows for arm in json.loads(waiting).values())

    def _within_pools(self, arms: list[int], on_way: Counter[int]) -> list[int]:
        """Return the arms without those whose finite pool is on its way already."""
        tally = self._search.tally
        if tally.pools is None:
            return arms
        kept = []
        for arm in arms:
            if tally.counts[arm] + on_way[arm] < tally.pools[arm]:
                on_way[arm] += 1
                kept.append(arm)
        return kept

    def _expired(self, most: int, now: float) -> list[int]:
        """Take up to `most` pulls back from those who let them expire; return their arms."""
        if most < 1:
            return []
        rows = self._connection.execute(
            "SELECT seq, part FROM oddarm_leases "
            "WHERE study = ? AND expires <= ? ORDER BY seq, part LIMIT ?",
            (self._study._id, now, min(most, 1000)),
        ).fetchall()
        arms: list[int] = []
        for seq, part in rows:
            lease = self._lease(seq, part)
            for position in list(lease.waiting)[: most - len(arms)]:
                lease.lost[position] = lease.waiting.pop(position)
                arms.append(lease.lost[position])
            lease.changed = True
        self._write_leases()
        return arms

    def _lease(self, seq: int, part: int) -> _Lease:
        """Return a part of an ask; all its pulls may have been told."""
        known = self._leases.get((seq, part))
        if known is None:
            row = self._connection.execute(
                "SELECT waiting, lost FROM oddarm_leases WHERE study = ? AND seq = ? AND part = ?",
                (self._study._id, seq, part),
            ).fetchone()
            waiting, lost = ("{}", "{}") if row is None else row
            known = _Lease(seq, part, json.loads(waiting), json.loads(lost))
            self._leases[seq, part] = known
        return known

    def _write_leases(self) -> None:
        for lease in self._leases.values():
            where = (self._study._id, lease.seq, lease.part)
            if not lease.changed:
                continue
            if lease.waiting or lease.lost:
                self._connection.execute(
                    "UPDATE oddarm_leases SET waiting = ?, lost = ?, "
                    "expires = CASE WHEN ? = 0 THEN NULL ELSE expires END "
                    "WHERE study = ? AND seq = ? AND part = ?",
                    (_dumps(lease.waiting), _dumps(lease.lost), len(lease.waiting), *where),
                )
            else:
                self._connection.execute(
                    "DELETE FROM oddarm_leases WHERE study = ? AND seq = ? AND part = ?", where
                )
        self._leases = {}

    def _handed_out(self, seq: int, position: int) -> bool:
        row = self._connection.execute(
            "SELECT body FROM oddarm_events WHERE study = ? AND seq = ? AND kind = 'ask'",
            (self._study._id, seq),
        ).fetchone()
        return row is not None and position < len(json.loads(row[0])["arms"])

    def _parse(self, pull: str) -> tuple[int, str]:
        """Return which ask a pull belongs to, and its position there."""
        match = PULL_ID.fullmatch(pull) if isinstance(pull, str) else None
        if match is None or match[1] != self._study._tag:
            raise self._unknown(pull)
        return int(match[2]), match[3]

    def _unknown(self, pull: object) -> UnknownPullError:
        return UnknownPullError(
            f"pull {pull!r} was never handed out by study {self._study.name!r}: "
            "tell the id that ask returned."
        )


def _apply(search: Search, kind: str, body: Any) -> int:
    """Ask or tell the search as an event says; return how many updates that took.

    The body of an ask has the limit that the search was asked for (0: it was not asked) and the
    arms handed out. That of a batch of tells has, for each arm, its rewards and their pulls, or
    the one key that they were told under.
    """
    if kind == "ask":
        if body["limit"] != 0:
            search.ask(body["limit"])
        return 1
    for arm, rewards, _ in body:
        search.tell(search.names[arm], rewards)
    return len(body)


def _lines(tells: Iterator[dict[str, Any]], format: str) -> Iterator[str]:  # noqa: A002
    if format == "jsonl":
        yield from (json.dumps(tell) + "\n" for tell in tells)
        return
    names = ("seq", "at", "pull", "arm", "reward")
    for row in itertools.chain([names], (tell.values() for tell in tells)):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        yield line.getvalue()


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
