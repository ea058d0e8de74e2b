"""Asks and tells of one transaction."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from oddarm._checks import whole_number
from oddarm.errors import ParameterError, RewardError, UnknownArmError, UnknownPullError
from oddarm.store.database.base import Connection
from oddarm.store.draws import Draw, Listed, listed
from oddarm.store.info import Pull, Status, status_of
from oddarm.store.live_search import Replica
from oddarm.store.log import Told

__all__ = ["LEASE_SECONDS", "Batch"]

LEASE_SECONDS = 60.0
NUMBERS = frozenset((int, float))


class Batch:
    """Asks and tells of one transaction. Tells are gathered, and told to the search together.

    Attributes:
        advanced: Whether what is in memory may be ahead of the log.
    """

    def __init__(self, replica: Replica, connection: Connection, paused: bool) -> None:
        self.advanced = False
        self._logged = False
        self._replica = replica
        self._connection = connection
        self._paused = paused
        self._search = replica.search
        self._told: tuple[list[int], list[float], Listed] = ([], [], [])  # arms, rewards, pulls
        self._gathered: set[str] = set()  # the same pulls, by id
        self._own: list[tuple[int, list[float], str]] = []  # arm, rewards, key

    def ask(self, limit: int | None = None, *, lease_seconds: float = LEASE_SECONDS) -> list[Pull]:
        """As `Study.ask`."""
        most = sys.maxsize if limit is None else whole_number("limit", limit, 1)
        if not 0 < lease_seconds < math.inf:
            raise ParameterError(f"lease_seconds == {lease_seconds!r}, must be finite and > 0.")
        self._flush()
        self._count_expired()
        replica, search = self._replica, self._search
        if self._paused or search.done:
            return []
        self.advanced = True
        again = replica.draws.overdue(most, replica.clock.steady())
        asked: int | None = None if limit is None else most - len(again)
        arms: list[int] = []
        if asked == 0 or not replica.may_ask(asked) or not self._room():
            asked = 0
        else:
            arms = replica.ask(asked)
        if asked == 0 and not again:
            return []
        now = replica.clock.wall()
        body: dict[str, Any] = {
            "limit": asked,
            "arms": arms,
            "expires": now + lease_seconds,
            "lease": lease_seconds,
        }
        if again:
            body["again"] = listed(again)
        ids = replica.grant(self._log("ask", body), body)
        every = [*(draw.arm for draw in again), *arms]
        return [
            Pull(pull, search.names[arm], body["expires"])
            for pull, arm in zip(ids, every, strict=True)
        ]

    @property
    def status(self) -> Status:
        """Whether the study is running, paused or done, with what this batch told."""
        self._flush()
        return status_of(self._search.verdict, self._paused)

    def tell_many(self, rewards: Mapping[str, float]) -> int:
        """As `Study.tell_many`."""
        self._count_expired()
        out = self._still_out(rewards)
        if not out:
            return 0
        whole = len(out) == len(rewards)  # nearly always
        values = self._numbers(
            list(rewards.values()) if whole else [rewards[draw.id] for draw in out]
        )
        if len(values) != len(out):
            raise RewardError(f"{len(values)} rewards for {len(out)} pulls, must be one each.")
        self._told[0].extend(draw.arm for draw in out)
        self._told[1].extend(values)
        self._told[2].extend(listed(out))
        self._gathered.update(draw.id for draw in out)
        return len(out)

    def tell_arm(self, arm: Hashable, rewards: ArrayLike, *, key: str) -> bool:
        """As `Study.tell_arm`."""
        if not isinstance(key, str) or not 0 < len(key) <= 200 or not key.isprintable():
            raise ParameterError(
                f"key == {key!r}, must be a text of 1 to 200 printable characters."
            )
        index = self._index_of(arm)
        study = self._replica.study
        known = self._connection.execute(
            "SELECT 1 FROM oddarm_keys WHERE study = ? AND key = ?", (study, key)
        ).fetchone()
        if known is not None:
            return False
        values = self._numbers(rewards)
        if not values:
            return False
        self._check_pool(index, len(values))
        self._connection.execute("INSERT INTO oddarm_keys (study, key) VALUES (?, ?)", (study, key))
        self._own.append((index, values, key))
        return True

    def give_up(self, pulls: Iterable[str]) -> int:
        """As `Study.give_up`."""
        if isinstance(pulls, str):
            raise ParameterError(f"pulls == {pulls!r}, must be a list of the ids of pulls.")
        self._flush()
        self._count_expired()
        out = self._still_out(dict.fromkeys(pulls))
        if out:
            self._apply("give-up", {"pulls": listed(out)})
            self._write_arms({draw.arm for draw in out})
        return len(out)

    def set_aside(self, arm: Hashable, reason: str) -> bool:
        """As `Study.set_aside`."""
        index = self._index_of(arm)
        if not isinstance(reason, str) or not 0 < len(reason) <= 1000:
            raise ParameterError(f"reason == {reason!r}, must be a text of 1 to 1000 characters.")
        self._flush()
        if self._search.done or arm in self._search.errors:
            return False
        body = {"arm": index, "reason": reason}
        self.advanced = True
        self._replica.apply("aside", body)  # which refuses to leave too few arms
        self._log("aside", body)
        return True

    def finish(self) -> None:
        """Write what is left to be written before the transaction is committed."""
        self._flush()
        if self._logged:
            self._replica.save(self._connection)

    def _room(self) -> bool:
        """Return whether the budget allows for another pull beside those that are out."""
        search = self._search
        return (
            search.max_pulls is None
            or search.pulls + self._replica.draws.outstanding < search.max_pulls
        )

    def _count_expired(self) -> None:
        """Count the pulls whose lease has ended as what the study says that they count as."""
        replica = self._replica
        if replica.expired_reward is None or self._search.done:
            return
        self.advanced = True
        late = replica.draws.overdue(sys.maxsize, replica.clock.steady())
        late = [draw for draw in late if draw.id not in self._gathered]
        if late:
            arms = [draw.arm for draw in late]
            self._apply("expired", [(arms, [replica.expired_reward] * len(late), listed(late))])
            self._write_arms(set(arms))

    def _still_out(self, pulls: Mapping[str, object]) -> list[Draw]:
        """Return the draws of pulls that were not told before; all must have been handed out."""
        out, others = self._replica.draws.find(pulls)
        self._check_handed_out(others)
        if self._gathered:
            out = [draw for draw in out if draw.id not in self._gathered]
        return out

    def _check_handed_out(self, pulls: list[str]) -> None:
        """Raise UnknownPullError if the study never handed out one of some pulls."""
        replica = self._replica
        sizes: dict[int, int] = {}
        for pull in pulls:
            place = replica.draws.place(pull)
            if place is not None and place[0] not in sizes:
                sizes[place[0]] = replica.pulls_of(self._connection, place[0])
            if place is None or place[1] >= sizes[place[0]]:
                raise UnknownPullError(
                    f"pull {pull!r} was never handed out by study {replica.name!r}: "
                    "tell the id that ask returned."
                )

    def _flush(self) -> None:
        """Tell the search what was gathered, as one event of the log."""
        body: list[Told] = [*self._own]
        if self._told[0]:
            body.append(self._told)
        if not body:
            return
        arms = {*self._told[0], *(arm for arm, _, _ in self._own)}
        self._told, self._own = ([], [], []), []
        self._gathered.clear()
        self._apply("tell", body)
        self._write_arms(arms)

    def _apply(self, kind: str, body: Any) -> None:
        self._log(kind, body)
        self._replica.apply(kind, body)

    def _log(self, kind: str, body: Any) -> int:
        self.advanced = self._logged = True
        replica = self._replica
        return replica.append(self._connection, kind, body, replica.clock.wall())

    def _write_arms(self, arms: set[int]) -> None:
        """Write what has been seen of some arms, for readers with SQL of their own."""
        counts, totals = self._search.tally.cells
        self._connection.executemany(
            "UPDATE oddarm_arms SET pulls = ?, total = ? WHERE study = ? AND arm = ?",
            [(counts[arm], totals[arm], self._replica.study, arm) for arm in arms],
        )

    def _index_of(self, arm: Hashable) -> int:
        try:
            return self._replica.index[arm]
        except (KeyError, TypeError):
            raise UnknownArmError(
                f"arm {arm!r} is not one of the {self._search.n} arms of study "
                f"{self._replica.name!r}, such as {self._search.names[0]!r}."
            ) from None

    def _numbers(self, rewards: Any) -> list[float]:
        """Return rewards as numbers, or raise RewardError."""
        model = self._search.rewards
        plain = type(rewards) is list and NUMBERS.issuperset(map(type, rewards))
        if plain and model.allow(rewards):  # nearly always
            return list(map(float, rewards))
        values: list[float] = model.check(rewards).tolist()
        return values

    def _check_pool(self, arm: int, count: int) -> None:
        """Raise RewardError if a finite pool has fewer items left that nobody was asked for."""
        tally = self._search.tally
        if tally.pools is None:
            return
        gathered = sum(len(own) for other, own, _ in self._own if other == arm)
        out = self._replica.draws.of_arm(arm)
        left = int(tally.pools[arm] - tally.counts[arm]) - out - gathered
        if count > left:
            asked = f" and {out} handed out" if out else ""
            raise RewardError(
                f"{count} more rewards for arm {self._search.names[arm]!r} with {left} of "
                f"its pool of {int(tally.pools[arm])} left{asked}: each item may be told once."
            )
