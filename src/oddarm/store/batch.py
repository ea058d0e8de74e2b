"""Asks and tells of one transaction."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from oddarm.checks import whole_number
from oddarm.errors import ParameterError, RewardError, UnknownArmError
from oddarm.store.database import Connection
from oddarm.store.info import Pull, Status, status_of
from oddarm.store.leases import Listed
from oddarm.store.replica import Replica, Told

__all__ = ["LEASE_SECONDS", "Batch"]

LEASE_SECONDS = 60.0
NUMBERS = frozenset((int, float))


class Batch:
    """Asks and tells of one transaction. Tells are gathered, and told to the search together.

    Attributes:
        advanced: Whether the search in memory may be ahead of the log.
    """

    def __init__(
        self,
        replica: Replica,
        connection: Connection,
        paused: bool,
        clock: Callable[[], float],
    ) -> None:
        self.advanced = False
        self._replica = replica
        self._connection = connection
        self._paused = paused
        self._clock = clock
        self._search = replica.search
        self._leases = replica.leases
        self._told: tuple[list[int], list[float], Listed] = ([], [], [])  # arms, rewards, pulls
        self._own: list[tuple[int, list[float], str]] = []  # arm, rewards, key

    def ask(self, limit: int | None = None, *, lease_seconds: float = LEASE_SECONDS) -> list[Pull]:
        """As `Study.ask`."""
        most = sys.maxsize if limit is None else whole_number("limit", limit, 1)
        if not 0 < lease_seconds < math.inf:
            raise ParameterError(f"lease_seconds == {lease_seconds!r}, must be finite and > 0.")
        self._flush()
        search, now = self._search, self._clock()
        if self._paused or search.done:
            return []
        on_way: Counter[int] = Counter()
        if search.max_pulls is not None or search.tally.pools is not None:
            on_way = self._leases.on_their_way(self._connection, now)
        if search.max_pulls is not None:
            most = min(most, search.max_pulls - search.pulls - on_way.total())
        arms = self._leases.take_back(self._connection, most, now)
        if search.errors:
            arms = [arm for arm in arms if search.names[arm] not in search.errors]
        asked: int | None = 0
        if len(arms) < most:
            asked = None if limit is None else most - len(arms)
            self.advanced = True
            arms += [self._replica.index[name] for name in self._replica.ask(asked)]
        if not arms and asked == 0:
            return []
        arms = self._within_pools(arms[:most], on_way)
        seq = self._log("ask", {"limit": asked, "arms": arms}, now)
        expires = now + lease_seconds
        granted = self._leases.grant(self._connection, seq, arms, expires)
        return [
            Pull(pull, search.names[arm], expires) for pull, arm in zip(granted, arms, strict=True)
        ]

    @property
    def status(self) -> Status:
        """Whether the study is running, paused or done, with what this batch told."""
        self._flush()
        return status_of(self._search.verdict, self._paused)

    def tell_many(self, rewards: Mapping[str, float]) -> int:
        """As `Study.tell_many`."""
        found = self._leases.find(self._connection, rewards)
        if not found.pulls:
            return 0
        new = len(found.pulls) == len(rewards)  # nearly always
        values = self._numbers(
            list(rewards.values()) if new else [rewards[pull] for pull in found.pulls]
        )
        if len(values) != len(found.arms):
            raise RewardError(
                f"{len(values)} rewards for {len(found.arms)} pulls, must be one each."
            )
        self._check_pools(found.arms)
        self._leases.settle(found)
        self._told[0].extend(found.arms)
        self._told[1].extend(values)
        self._told[2].extend(found.listed())
        return len(found.pulls)

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
        self._check_pools([index] * len(values))
        self._connection.execute("INSERT INTO oddarm_keys (study, key) VALUES (?, ?)", (study, key))
        self._own.append((index, values, key))
        return True

    def set_aside(self, arm: Hashable, reason: str) -> bool:
        """As `Study.set_aside`."""
        index = self._index_of(arm)
        if not isinstance(reason, str) or not 0 < len(reason) <= 1000:
            raise ParameterError(f"reason == {reason!r}, must be a text of 1 to 1000 characters.")
        self._flush()
        if self._search.done or arm in self._search.errors:
            return False
        body = {"arm": index, "reason": reason}
        self._replica.apply("aside", body)
        self._log("aside", body, self._clock())
        return True

    def _flush(self) -> None:
        """Tell the search what was gathered, as one event of the log."""
        body: list[Told] = [*self._own]
        if self._told[0]:
            body.append(self._told)
        if not body:
            return
        self._leases.write(self._connection)
        self._log("tell", body, self._clock())
        self._replica.apply("tell", body)
        counts, totals = self._search.tally.cells
        arms = {*self._told[0], *(arm for arm, _, _ in self._own)}
        self._told, self._own = ([], [], []), []
        study = self._replica.study
        self._connection.executemany(
            "UPDATE oddarm_arms SET pulls = ?, total = ? WHERE study = ? AND arm = ?",
            [(counts[arm], totals[arm], study, arm) for arm in arms],
        )

    def _log(self, kind: str, body: Any, now: float) -> int:
        self.advanced = True
        return self._replica.append(self._connection, kind, body, now)

    def finish(self) -> None:
        """Write what is left to be written before the transaction is committed."""
        self._flush()
        if self.advanced:
            self._replica.save(self._connection)

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

    def _check_pools(self, arms: list[int]) -> None:
        """Raise RewardError if finite pools have fewer rewards left than one for each of `arms`."""
        tally = self._search.tally
        if tally.pools is None:
            return
        gathered = Counter(self._told[0])
        for arm, own, _ in self._own:
            gathered[arm] += len(own)
        for arm, count in Counter(arms).items():
            left = int(tally.pools[arm] - tally.counts[arm]) - gathered[arm]
            if count > left:
                raise RewardError(
                    f"{count} more rewards for arm {self._search.names[arm]!r} with {left} of "
                    f"its pool of {int(tally.pools[arm])} left: each item may be told once."
                )

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
