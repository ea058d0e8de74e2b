"""What a search has asked for and has not been told: which pull is next, and what becomes of it."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

from oddarm.errors import OddarmError, ParameterError, RewardError, SourceError
from oddarm.runner.interrupts import Interrupts
from oddarm.search import Search
from oddarm.sources import Job, Source

__all__ = ["Desk", "Pull"]

SHARE = 32
"""A batch from a local source is at most this part of the pulls so far, or one natural round."""


@dataclass(eq=False)
class Pull:
    """Rewards of one arm that are drawn together.

    Attributes:
        arm: Whose rewards.
        count: How many.
        job: What draws them, once they are picked.
        failures: How often it has failed.
        drawn: Whether its rewards are there, and wait to be told.
        rewards: What it gave.
    """

    arm: Any
    count: int
    job: Job | None = None
    failures: int = 0
    drawn: bool = False
    rewards: Any = None


class Desk:
    """Hands out pulls, tells their rewards, and sets arms aside whose pulls fail.

    The rewards of an arm are told in the order in which they were picked. A slow pull thus holds
    up the later ones of its arm: were they told first, what a search has seen would depend on how
    long a reward takes, and no interval is valid for that. It also means that a search which has
    been told k rewards of an arm has been told the first k, so it can be resumed exactly.

    Args:
        search: What to drive.
        source: Where rewards come from.
        batch: The most rewards to ask for at a time; None for what suits the source.
        in_flight: Ask for more only while fewer pulls than this are untold.
        retries: How often a pull is tried again.
        interrupts: Puts off Ctrl-C while the search changes.
    """

    def __init__(
        self,
        search: Search,
        source: Source,
        batch: int | None,
        in_flight: int,
        retries: int,
        interrupts: Interrupts,
    ) -> None:
        self.search = search
        self.source = source
        self.batch = batch
        self.in_flight = in_flight
        self.retries = retries
        self.interrupts = interrupts
        self.pending: deque[Pull] = deque()
        self._lines: dict[Any, deque[Pull]] = {}  # of each arm, what is untold, in order
        self._untold = 0  # pulls
        self._out = 0  # rewards of those pulls
        self._failed = set(search.errors)
        self._first_error: Exception | None = None
        self._left: dict[Any, int] | None = None  # of finite pools, what was not asked for
        pools = search.tally.pools
        if pools is not None:
            left = (pools - search.tally.counts).tolist()
            self._left = dict(zip(search.names, left, strict=True))

    def next(self) -> Pull | None:
        """Return a pull to start; None if one on its way must come back first."""
        if not self.pending and self._untold < self.in_flight:
            self._ask()
        return self.pending.popleft() if self.pending else None

    def job(self, pull: Pull) -> Job:
        """Return what draws the rewards of a pull, the same ones if it is tried again."""
        if pull.job is None:
            pull.job = self.source.job(pull.arm, pull.count)
        return pull.job

    def take(self, pull: Pull, rewards: Any) -> None:
        """Tell the rewards of a pull, and those that waited for it."""
        if pull.arm in self._failed:
            return
        pull.rewards, pull.drawn = rewards, True
        line = self._lines[pull.arm]
        while line and line[0].drawn:
            first = line[0]
            try:
                told = self._tell(first)
            except RewardError as error:
                first.drawn = False
                self.fail(first, error)
                return
            line.popleft()
            self._untold -= 1
            self._out -= first.count
            if self._left is not None:
                self._left[pull.arm] += first.count - told

    def fail(self, pull: Pull, error: Exception) -> None:
        """Try a pull again, or set its arm aside."""
        if pull.arm in self._failed:
            return
        pull.failures += 1
        if pull.failures <= self.retries:
            self.pending.appendleft(pull)
            return
        self._first_error = self._first_error or error
        words = str(error) if isinstance(error, OddarmError) else f"{type(error).__name__}: {error}"
        with self.interrupts:
            self._set_aside(pull.arm, words)

    def stuck(self) -> SourceError:
        """Return the error of a search that asks for nothing though it is not done."""
        return SourceError(
            f"strategy {self.search.strategy.name!r} asks for nothing though the search is not "
            "done: check it with oddarm.testing.check_strategy.",
            self.search.result(),
        )

    def _ask(self) -> None:
        search, free = self.search, None
        if search.max_pulls is not None:
            free = search.max_pulls - search.pulls - self._out
            if free < 1:
                return
        for arm, wanted in Counter(search.ask(self._limit())[:free]).items():
            count = wanted
            if self._left is not None:
                count = min(wanted, self._left[arm])
                self._left[arm] -= count
            if count:
                pull = Pull(arm, count)
                self.pending.append(pull)
                self._lines.setdefault(arm, deque()).append(pull)
                self._untold += 1
                self._out += count

    def _limit(self) -> int | None:
        if self.batch is not None:
            return self.batch
        if not self.source.local:
            return 1
        share = self.search.pulls // SHARE
        return share if share > self.search.n else None

    def _tell(self, pull: Pull) -> int:
        """Tell the rewards of a pull and return how many they were."""
        before = self.search.pulls
        with self.interrupts:
            self.search.tell(pull.arm, pull.rewards)
        told = self.search.pulls - before
        if told == 0:
            raise RewardError(
                f"a pull of arm {pull.arm!r} gave no reward, must give {pull.count}: "
                "if the source is finite, declare its pools, and start each search with a new one."
            )
        return told

    def _set_aside(self, arm: Any, reason: str) -> None:
        search = self.search
        try:
            search.set_aside(arm, reason)
        except ParameterError:
            failed = len(self._failed) + 1
            raise SourceError(
                f"pulls of {failed} of {search.n} arms failed, of {arm!r} the last ({reason}), "
                "and too few arms are left for a search: mend the source, or pass retries.",
                search.result(),
            ) from self._first_error
        self._failed.add(arm)
        dropped = self._lines.pop(arm)
        self._untold -= len(dropped)
        self._out -= sum(pull.count for pull in dropped)
        self.pending = deque(pull for pull in self.pending if pull.arm != arm)
