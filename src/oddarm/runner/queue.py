"""What a search has asked for and has not been told: which pull is next, and what becomes of it."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

from oddarm.errors import OddarmError, ParameterError, RewardError, SourceError
from oddarm.search import Search
from oddarm.sources import Job, Source

__all__ = ["PendingPull", "PullQueue"]

SHARE = 32
"""A batch from a local source is at most this part of the pulls so far, or one natural round."""
PAUSES = (0.1, 0.4, 1.6)
"""Seconds before a failed pull is tried again: after its first failure, its second, all others."""
ALIKE = 3
"""So many arms whose first pulls fail with one error show that the error is not the arms'."""
DRAWN_AGAIN = (
    "Pulls that failed were drawn again; that supposes that failing does not depend on the reward."
)


@dataclass(eq=False)
class PendingPull:
    """Rewards of one arm that are drawn together.

    Attributes:
        arm: Whose rewards.
        count: How many.
        job: What draws them, once they are picked.
        failures: How often it has failed.
        due: When it may be tried again, if it has failed.
        drawn: Whether its rewards are there, and wait to be told.
        rewards: What it gave.
    """

    arm: Any
    count: int
    job: Job | None = None
    failures: int = 0
    due: float = 0.0
    drawn: bool = False
    rewards: Any = None


class PullQueue:
    """Hands out pulls, tells their rewards, and sets arms aside whose pulls fail.

    The rewards of an arm are told in the order in which they were picked. A slow pull thus holds
    up the later ones of its arm: were they told first, what a search has seen would depend on how
    long a reward takes, and no interval is valid for that. It also means that a search which has
    been told k rewards of an arm has been told the first k, so it can be resumed exactly.

    Each method changes the search and the queue together; the runner holds signals back meanwhile.

    Args:
        search: What to drive.
        source: Where rewards come from.
        batch: The most rewards to ask for at a time; None for what suits the source.
        in_flight: Ask for more only while fewer pulls than this are untold.
        retries: How often a pull is tried again.
    """

    def __init__(
        self, search: Search, source: Source, batch: int | None, in_flight: int, retries: int
    ) -> None:
        self.search = search
        self.source = source
        self.batch = batch
        self.in_flight = in_flight
        self.retries = retries
        self.pending: deque[PendingPull] = deque()
        self._retries: list[PendingPull] = []  # those that wait to be tried again
        self._untold: dict[PendingPull, None] = {}  # in the order asked
        self._lines: dict[Any, deque[PendingPull]] = {}  # the same by arm
        self._out = 0  # rewards of those pulls
        self._failed = set(search.errors)
        self._succeeded = False
        self._first_errors: dict[Any, tuple[Any, ...]] = {}  # by arm, until a pull succeeds
        self._first_error: Exception | None = None
        self._left: dict[Any, int] | None = None  # of finite pools, what was not asked for
        pools = search.tally.pools
        if pools is not None:
            left = (pools - search.tally.counts).tolist()
            self._left = dict(zip(search.names, left, strict=True))

    def next(self) -> PendingPull | None:
        """Return a pull to start; None if one on its way must come back first, or pauses."""
        if not self.pending:
            # Until a pull succeeds, other arms' first pulls come before a second try.
            retry = None if self._unproved else self._due()
            if retry is not None:
                return retry
            if self._in_flight() < self.in_flight:
                self._ask()
        return self.pending.popleft() if self.pending else self._due()

    def pause(self) -> float | None:
        """Return for how many seconds the next second try must wait; None if none waits for that.

        Until a pull succeeds, a second try waits for the pulls in flight.
        """
        if not self._retries or (self._unproved and self._busy()):
            return None
        return max(min(pull.due for pull in self._retries) - time.monotonic(), 0.0)

    def job(self, pull: PendingPull) -> Job:
        """Return what draws the rewards of a pull, the same ones if it is tried again."""
        if pull.job is None:
            pull.job = self.source.job(pull.arm, pull.count)
        return pull.job

    def take(self, pull: PendingPull, rewards: Any) -> None:
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
            del self._untold[first]
            self._out -= first.count
            self._succeeded = True
            # An item of a pool is the same one when it is tried again; a call is another draw.
            if first.failures and self._left is None and DRAWN_AGAIN not in self.search.supposes:
                self.search.supposes.append(DRAWN_AGAIN)
            if self._left is not None:
                self._left[pull.arm] += first.count - told

    def fail(self, pull: PendingPull, error: Exception) -> None:
        """Let a pull be tried again after a pause, or set its arm aside.

        Raises:
            SourceError: The error is not that of an arm but of the source, or of all arms, or too
                few arms are left.
        """
        if pull.arm in self._failed:
            return
        if isinstance(error, SourceError):
            raise self._ended(f"{error}") from error
        pull.failures += 1
        if not self._succeeded:
            self._check_first(pull.arm, error)
        if pull.failures <= self.retries:
            pull.due = time.monotonic() + PAUSES[min(pull.failures, len(PAUSES)) - 1]
            self._retries.append(pull)
            return
        self._first_error = self._first_error or error
        self._set_aside(pull.arm, _words(error))

    def untold(self) -> list[Any]:
        """Return the arms of all pulls that were asked for and not told, in the order asked."""
        return [pull.arm for pull in self._untold for _ in range(pull.count)]

    def give_back(self) -> None:
        """Give the search back what it was not told, and end."""
        self.search.give_back(self.untold())
        self.pending.clear()
        self._retries.clear()
        self._untold.clear()
        self._lines.clear()

    def stuck(self) -> SourceError:
        """Return the error of a search that asks for nothing though it is not done."""
        return self._ended(
            f"strategy {self.search.strategy.name!r} asks for nothing though the search is not "
            "done: check it with oddarm.testing.check_strategy."
        )

    @property
    def _unproved(self) -> bool:
        """Whether pulls have failed and none has succeeded, in too few arms to blame the source."""
        return not self._succeeded and 0 < len(self._first_errors) < ALIKE

    def _in_flight(self) -> int:
        """Return how many pulls count as being in flight.

        Pulls that pause hold up others only where pulls are one by one, so that the order of the
        sequential algorithm is kept; or if they are many, as of an arm that fails whenever asked.
        """
        if self._unproved:
            most = max(self.in_flight, ALIKE - 1)
        else:
            most = self.in_flight if self.in_flight > 1 else 0
        return len(self._untold) - min(len(self._retries), most)

    def _due(self) -> PendingPull | None:
        """Return a failed pull whose pause is over."""
        if self.pause() != 0.0:
            return None
        first = min(self._retries, key=lambda pull: pull.due)
        self._retries.remove(first)
        return first

    def _busy(self) -> bool:
        """Whether a pull is on its way, and neither waits to be told nor to be tried again."""
        return any(not pull.drawn and pull not in self._retries for pull in self._untold)

    def _ask(self) -> None:
        search = self.search
        free = None
        if search.max_pulls is not None:
            free = search.max_pulls - search.pulls - self._out
            if free < 1:
                return
        arms = search.ask(self._limit())
        if search.done:  # the strategy took stock, and needs no more
            return
        if free is not None and len(arms) > free:
            search.give_back(arms[free:])
        for arm, wanted in Counter(arms[:free]).items():
            count = wanted
            if self._left is not None:
                count = min(wanted, self._left[arm])
                self._left[arm] -= count
            if count:
                pull = PendingPull(arm, count)
                self.pending.append(pull)
                self._lines.setdefault(arm, deque()).append(pull)
                self._untold[pull] = None
                self._out += count

    def _limit(self) -> int | None:
        given_back = len(self.search.given_back)
        if given_back:
            return given_back  # at once, as they were asked for
        if self.batch is not None:
            return self.batch
        if not self.source.local:
            return 1
        share = self.search.pulls // SHARE
        return share if share > self.search.n else None

    def _tell(self, pull: PendingPull) -> int:
        """Tell the rewards of a pull and return how many they were."""
        before = self.search.pulls
        self.search.tell(pull.arm, pull.rewards)
        told = self.search.pulls - before
        if told == 0:
            raise RewardError(
                f"a pull of arm {pull.arm!r} gave no reward, must give {pull.count}: "
                "if the source is finite, declare its pools, and start each search with a new one."
            )
        return told

    def _check_first(self, arm: Any, error: Exception) -> None:
        """Raise an error if the first pulls of several arms have failed alike."""
        self._first_errors.setdefault(arm, _kind(arm, error))
        alike = [a for a, kind in self._first_errors.items() if kind == _kind(arm, error)]
        if len(alike) < ALIKE:
            return
        raise self._ended(
            f"the first pulls of {', '.join(map(repr, alike[:-1]))} and {alike[-1]!r} failed "
            f"alike ({_words(error).rstrip('.')}), and no pull has succeeded: mend the function "
            "or source that is pulled, or declare other rewards."
        ) from error

    def _set_aside(self, arm: Any, reason: str) -> None:
        search = self.search
        try:
            search.set_aside(arm, reason)
        except ParameterError:
            failed = len(self._failed) + 1
            raise self._ended(
                f"pulls of {failed} of {search.n} arms failed, of {arm!r} the last ({reason}), "
                "and too few arms are left for a search: mend the source, or pass more retries."
            ) from self._first_error
        self._failed.add(arm)
        for pull in self._lines.pop(arm):
            del self._untold[pull]
            self._out -= pull.count
        self.pending = deque(pull for pull in self.pending if pull.arm != arm)
        self._retries = [pull for pull in self._retries if pull.arm != arm]

    def _ended(self, message: str) -> SourceError:
        return SourceError(message, self.search.result())


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, OddarmError) else f"{type(error).__name__}: {error}"


def _kind(arm: Any, error: Exception) -> tuple[Any, ...]:
    """Return what errors of several arms share if they have one cause."""
    if isinstance(error, RewardError):
        return (RewardError,)  # its message quotes the reward
    message = re.sub(r"\b0x[0-9a-fA-F]+\b", "", str(error))  # addresses of objects
    for name in (repr(arm), str(arm)):
        message = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", message)
    return (type(error), message)
