"""Asks and tells of one transaction."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from numpy.typing import ArrayLike

from oddarm._checks import whole_number
from oddarm.errors import (
    KeyReusedError,
    ParameterError,
    RewardError,
    UnknownArmError,
    UnknownPullError,
)
from oddarm.store.database.base import Connection
from oddarm.store.draws import Draw, listed
from oddarm.store.info import Pull, Status, status_of
from oddarm.store.live_search import LiveSearch, Statement
from oddarm.store.log import LoggedTell, dumps

__all__ = ["LEASE_SECONDS", "StudyTransaction"]

LEASE_SECONDS = 60.0
MOST_WORKER_NAME = 250
"""The most characters of what a worker calls itself."""
NUMBERS = frozenset((int, float))
UNKNOWN = "unknown"
"""The digest of rewards that were told to a version that kept none."""


class StudyTransaction:
    """Asks and tells of one transaction. Tells are gathered, and told to the search together.

    The search in memory takes them at once. What they write to the database is kept until
    `finish`: so a plan that takes seconds keeps nobody from the database meanwhile.

    Args:
        live: The search.
        read: Gives a connection to look things up with.
        plan: Whether an ask may ask the search, which may have to plan. If not, it hands out no
            pulls but those that have expired.

    Attributes:
        began: The revision of the study at the beginning, and whether it was paused.
        advanced: Whether the search or the draws in memory may be ahead of the log.
    """

    def __init__(
        self,
        live: LiveSearch,
        read: Callable[[], AbstractContextManager[Connection]],
        plan: bool = True,
    ) -> None:
        self.began = live.revision, live.paused
        self.advanced = False
        self._live = live
        self._core = live.core
        self._read = read
        self._plan = plan
        self._told: tuple[list[Draw], list[float]] = ([], [])
        self._data: list[tuple[int, list[float], str]] = []  # arm, rewards, key
        self._keys: dict[str, str] = {}  # each with the digest of what was told under it
        self._asks: dict[int, int] = {}  # how many new pulls each ask of this transaction gave
        self._arms: set[int] = set()  # that have other sums now
        self._statements: list[Statement] = []

    def ask(
        self,
        limit: int | None = None,
        *,
        lease_seconds: float = LEASE_SECONDS,
        worker: str | None = None,
    ) -> list[Pull]:
        """As `Study.ask`."""
        most = sys.maxsize if limit is None else whole_number("limit", limit, 1)
        if not 0 < lease_seconds < math.inf:
            raise ParameterError(f"lease_seconds == {lease_seconds!r}, must be finite and > 0.")
        if worker is not None:
            _check_worker(worker)
        self._flush()
        self._count_expired()
        live, core = self._live, self._core
        if self._paused or core.done:
            return []
        self.advanced = True
        again: list[Draw] = []
        if live.expired_reward is None:  # else a lease that ends now counts with the next call
            again = live.draws.overdue(most, live.clock.steady())
        asked: int | None = None if limit is None else most - len(again)
        arms: list[int] = []
        if self._plan and asked != 0 and live.may_ask(asked) and core.ledger.room != 0:
            arms = live.ask(asked)
        else:
            asked = 0
        if asked == 0 and not again:
            return []
        expires = live.clock.wall() + lease_seconds
        body: dict[str, Any] = {"limit": asked, "arms": arms}
        body |= {"expires": expires, "lease": lease_seconds}
        if again:
            body["again"] = listed(again)
        if worker is not None:
            body["worker"] = worker
        names = live.search.names
        ask = self._log("ask", body)
        self._asks[ask] = len(arms)
        draws = live.grant(ask, body, again)
        return [Pull(draw.id, names[draw.arm], expires) for draw in draws]

    @property
    def _paused(self) -> bool:
        return self.began[1]

    @property
    def status(self) -> Status:
        """Whether the study is running, paused or done, with what this transaction told."""
        self._flush()
        return status_of(self._core.verdict, self._paused)

    def tell_many(self, rewards: Mapping[str, float]) -> int:
        """As `Study.tell_many`."""
        self._count_expired()
        out = self._still_out(rewards)
        if not out:
            return 0
        values = self._numbers([rewards[draw.id] for draw in out])
        if len(values) != len(out):
            raise RewardError(f"{len(values)} rewards for {len(out)} pulls, must be one each.")
        self.advanced = True
        self._live.draws.close(out)  # so that they are not told twice before they are flushed
        self._told[0].extend(out)
        self._told[1].extend(values)
        return len(out)

    def tell_arm(self, arm: Hashable, rewards: ArrayLike, *, key: str) -> bool:
        """As `Study.tell_arm`."""
        if not isinstance(key, str) or not 0 < len(key) <= 200 or not key.isprintable():
            raise ParameterError(
                f"key == {key!r}, must be a text of 1 to 200 printable characters."
            )
        index = self._index_of(arm)
        values = self._numbers(rewards)
        if not values:
            return False
        digest = _digest(index, values)
        known = self._digest_of(key)
        if known is not None:
            if known not in (digest, UNKNOWN):
                raise KeyReusedError(
                    f"key {key!r} was used for other rewards, or for another arm: "
                    "tell these under a key of their own."
                )
            return False
        self._check_limit(index, len(values))
        self._keys[key] = digest
        self._data.append((index, values, key))
        return True

    def give_up(self, pulls: Iterable[str]) -> int:
        """As `Study.give_up`."""
        if isinstance(pulls, str):
            raise ParameterError(f"pulls == {pulls!r}, must be a list of the ids of pulls.")
        self._flush()
        self._count_expired()
        return self._give_up(self._still_out(dict.fromkeys(pulls)))

    def give_up_all(self) -> int:
        """Give up all pulls that are out, also those whose lease has ended; return how many."""
        self._flush()
        return self._give_up(self._live.draws.all_out())

    def _give_up(self, out: list[Draw]) -> int:
        if out:
            self._log("give-up", {"pulls": listed(out)})
            self._live.give_up(out)
            self._arms.update(draw.arm for draw in out)
        return len(out)

    def set_aside(self, arm: Hashable, reason: str) -> bool:
        """As `Study.set_aside`."""
        index = self._index_of(arm)
        if not isinstance(reason, str) or not 0 < len(reason) <= 1000:
            raise ParameterError(f"reason == {reason!r}, must be a text of 1 to 1000 characters.")
        self._flush()
        if self._core.done or index in self._core.failed:
            return False
        self.advanced = True
        self._live.set_aside(index, reason)  # which refuses to leave too few arms
        self._log("aside", {"arm": index, "reason": reason})
        return True

    def finish(self) -> list[Statement]:
        """Return all that is to be written, if the study is still where the transaction began."""
        self._flush()
        if not self._statements:
            return []
        study, arms, tally = self._live.study, sorted(self._arms), self._core.tally
        seen = zip(tally.counts[arms].tolist(), tally.totals[arms].tolist(), arms, strict=True)
        sums: Statement = (  # for readers with SQL of their own
            "UPDATE oddarm_arms SET pulls = ?, total = ? WHERE study = ? AND arm = ?",
            [(count, total, study, arm) for count, total, arm in seen],
        )
        keys: Statement = (
            "INSERT INTO oddarm_keys (study, key, digest) VALUES (?, ?, ?)",
            [(study, key, digest) for key, digest in self._keys.items()],
        )
        return [*self._statements, keys, sums, *self._live.save()]

    def _count_expired(self) -> None:
        """Count the pulls whose lease has ended as what the study says that they count as."""
        live = self._live
        if live.expired_reward is None or self._core.done:
            return
        self.advanced = True
        late = live.draws.overdue(sys.maxsize, live.clock.steady())
        if late:
            live.draws.close(late)
            live.expired += len(late)
            self._tell("expired", late, [live.expired_reward] * len(late), [])

    def _still_out(self, pulls: Mapping[str, object]) -> list[Draw]:
        """Return the draws of pulls that were not told before; all must have been handed out."""
        live = self._live
        out, others = live.draws.find(pulls)
        sizes: dict[int, int] = {}
        for pull in others:
            place = live.draws.place(pull)
            if place is not None and place[0] not in sizes:
                sizes[place[0]] = self._pulls_of(place[0])
            if place is None or place[1] >= sizes[place[0]]:
                raise UnknownPullError(
                    f"pull {pull!r} was never handed out by study {live.name!r}: "
                    "tell the id that ask returned."
                )
        return out

    def _pulls_of(self, ask: int) -> int:
        """Return how many new pulls an ask handed out; 0 if there was no such ask."""
        if ask in self._asks:
            return self._asks[ask]
        with self._read() as connection:
            return self._live.pulls_of(connection, ask)

    def _digest_of(self, key: str) -> str | None:
        """Return the digest of what was told under a key before; None if nothing was."""
        if key in self._keys:
            return self._keys[key]
        with self._read() as connection:
            row = connection.execute(
                "SELECT digest FROM oddarm_keys WHERE study = ? AND key = ?",
                (self._live.study, key),
            ).fetchone()
        return None if row is None else row[0] or UNKNOWN

    def _flush(self) -> None:
        """Tell the search what was gathered, as one event of the log."""
        (draws, rewards), data = self._told, self._data
        if draws or data:
            self._told, self._data = ([], []), []
            self._tell("tell", draws, rewards, data)

    def _tell(
        self,
        kind: str,
        draws: list[Draw],
        rewards: list[float],
        data: list[tuple[int, list[float], str]],
    ) -> None:
        """Write rewards to the log, and tell them to the search."""
        arms = [draw.arm for draw in draws]
        body: list[LoggedTell] = [*data]
        if draws:
            body.append((arms, rewards, listed(draws)))
        self._log(kind, body)
        self._live.tell(draws, rewards, [(arm, values) for arm, values, _ in data])
        self._arms.update(arms, (arm for arm, _, _ in data))

    def _log(self, kind: str, body: Any) -> int:
        """Write an event to the log, which the caller carries out; return its number."""
        self.advanced = True
        live = self._live
        self._statements.append(live.append(kind, body, live.clock.wall()))
        return live.revision

    def _index_of(self, arm: Hashable) -> int:
        search = self._live.search
        try:
            return search.index_of(arm)
        except UnknownArmError:
            raise UnknownArmError(
                f"arm {arm!r} is not one of the {search.n} arms of study "
                f"{self._live.name!r}, such as {search.names[0]!r}."
            ) from None

    def _numbers(self, rewards: Any) -> list[float]:
        """Return rewards as numbers, or raise RewardError."""
        model = self._live.search.rewards
        plain = type(rewards) is list and NUMBERS.issuperset(map(type, rewards))
        if plain and model.allow(rewards):  # nearly always, and half the time of a tell
            return list(map(float, rewards))
        values: list[float] = model.check(rewards).tolist()
        return values

    def _check_limit(self, arm: int, count: int) -> None:
        """Raise RewardError if the arm has fewer items left that were not asked for."""
        ledger, tally = self._core.ledger, self._core.tally
        if tally.limits is None:
            return
        gathered = sum(len(values) for other, values, _ in self._data if other == arm)
        left = ledger.room_of(arm) - gathered
        if count > left:
            out = ledger.in_flight_of(arm)
            asked = f" and {out} handed out" if out else ""
            raise RewardError(
                f"{count} more rewards for arm {self._live.search.names[arm]!r} with {left} of "
                f"its {tally.size_of(arm)} left{asked}: each item may be told once."
            )


def _digest(arm: int, rewards: list[float]) -> str:
    """Return what tells rewards of an arm from all others."""
    return hashlib.sha256(dumps([arm, rewards]).encode()).hexdigest()[:32]


def _check_worker(worker: object) -> None:
    fits = isinstance(worker, str) and 0 < len(worker) <= MOST_WORKER_NAME and worker.isprintable()
    if not fits:
        raise ParameterError(
            f"worker == {worker!r}, must be a text of 1 to {MOST_WORKER_NAME} printable characters."
        )
