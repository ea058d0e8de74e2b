"""The pulls that a search has asked for and has not been told: which is next, and what it gave."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from oddarm._typing import Indices, Wholes
from oddarm.errors import (
    OddarmError,
    ParameterError,
    RewardError,
    RewardRangeError,
    SourceError,
)
from oddarm.search import Search
from oddarm.sources import Job, Source

__all__ = ["Pending", "PullQueue"]

SHARE = 32
"""A batch from a local source is at most this part of the pulls so far, or one natural round."""
PAUSES = (0.1, 0.4, 1.6)
"""Seconds before a failed pull is tried again: after its first failure, its second, all others."""
ALIKE = 3
"""If the first pulls of this many arms fail with one error, the source is at fault."""
DRAWN_AGAIN = (
    "Pulls that failed were drawn again; that supposes that failing does not depend on the reward."
)


@dataclass(eq=False)
class PendingPull:
    """Rewards of one arm that are drawn together.

    Attributes:
        arm: The index of the arm.
        count: How many rewards.
        job: The call that draws them; None before it is first needed.
        failures: How often the call has failed.
        due: When the call may be tried again, if it has failed.
        drawn: Whether the rewards are drawn, and wait to be told.
        rewards: What the call returned.
    """

    arm: int
    count: int
    job: Job | None = None
    failures: int = 0
    due: float = 0.0
    drawn: bool = False
    rewards: Any = None

    @property
    def arms(self) -> list[int]:
        """The arm, once for each reward."""
        return [self.arm] * self.count


@dataclass(eq=False)
class PendingBlock:
    """Rewards of many arms that are drawn together.

    Attributes:
        index: The indices of the arms, in the order in which they are told.
        counts: How many rewards of each.
    """

    index: Indices
    counts: Wholes

    @property
    def arms(self) -> list[int]:
        """The arms, each once for each of its rewards."""
        arms: list[int] = np.repeat(self.index, self.counts).tolist()
        return arms


Pending = PendingPull | PendingBlock


class PullQueue:
    """Hands out pulls, tells their rewards, and sets arms aside whose pulls fail.

    The rewards of an arm are told in the order in which they were asked for. A slow pull
    holds up the later ones of its arm: if they were told first, what a search has seen would depend
    on how long a reward takes, and no interval is valid for that. It also means that a search which
    has been told k rewards of an arm has been told the first k, so it can be resumed exactly.

    Arms are indices here; a source is asked for an arm by its name.

    Each method changes the search and the queue together; the runner holds signals back meanwhile.

    Args:
        search: The search to drive.
        source: Where rewards come from.
        batch: The most rewards to ask for at a time; None for what suits the source.
        in_flight: Ask for more only while fewer pulls than this are untold.
        retries: How often a pull is tried again.
    """

    def __init__(
        self, search: Search, source: Source, batch: int | None, in_flight: int, retries: int
    ) -> None:
        self.search = search
        self._core = search.core
        self.source = source
        self.batch = batch
        self.in_flight = in_flight
        self.retries = retries
        self.pending: deque[Pending] = deque()
        self._retries: list[PendingPull] = []  # those that wait to be tried again
        self._untold: dict[Pending, None] = {}  # in the order asked
        self._lines: dict[int, deque[PendingPull]] = {}  # the same by arm, without blocks
        self._in_blocks = source.blocks  # until a pull fails
        self._succeeded = False
        self._first_errors: dict[int, tuple[Any, ...]] = {}  # by arm, until a pull succeeds
        self._first_error: Exception | None = None

    def next(self) -> Pending | None:
        """Return a pull to start; None if one in flight must end first, or pauses."""
        if not self.pending:
            # Until a pull succeeds, other arms' first pulls come before a second try.
            retry = None if self._unproved else self._due()
            if retry is not None:
                return retry
            if self._in_flight() < self.in_flight:
                self._ask()
        return self.pending.popleft() if self.pending else self._due()

    def pause(self) -> float | None:
        """Return how many seconds the next second try must wait; None if there is none to wait for.

        Until a pull succeeds, a second try waits for the pulls in flight.
        """
        if not self._retries or (self._unproved and self._busy()):
            return None
        return max(min(pull.due for pull in self._retries) - time.monotonic(), 0.0)

    def job(self, pull: Pending) -> Job:
        """Return the call that draws the rewards of a pull: the same rewards at a second try."""
        if isinstance(pull, PendingBlock):
            names = [self.search.names[arm] for arm in pull.index.tolist()]
            return partial(self.source.draw_block, names, pull.counts.tolist())
        if pull.job is None:
            pull.job = self.source.job(self.search.names[pull.arm], pull.count)
        return pull.job

    def take(self, pull: Pending, rewards: Any) -> None:
        """Tell the rewards of a pull, and those that waited for it.

        Raises:
            SourceError: A reward is outside the declared range.
        """
        if pull not in self._untold:  # its arm has failed
            return
        if isinstance(pull, PendingBlock):
            self._take_block(pull, rewards)
            return
        pull.rewards, pull.drawn = rewards, True
        line = self._lines[pull.arm]
        while line and line[0].drawn:
            first = line[0]
            try:
                self._tell(first)
            except RewardRangeError as error:  # all pulls that fit by chance would mislead
                name = self.search.names[first.arm]
                raise self.ended(f"arm {name!r} gave {error}") from error
            except RewardError as error:
                first.drawn = False
                self.fail(first, error)
                return
            line.popleft()
            self._settle(first)
            self._succeeded = True
            # An item of a finite arm is the same when it is tried again; a call is another draw.
            finite = self.search.rewards.limits is not None
            if first.failures and not finite and DRAWN_AGAIN not in self.search.supposes:
                self.search.supposes.append(DRAWN_AGAIN)

    def _take_block(self, block: PendingBlock, rewards: Any) -> None:
        """Tell the rewards of a block; if one is bad, those of each arm by itself."""
        try:
            checked = self.search.rewards.check(rewards)
        except RewardError:
            self._divide(block, np.split(rewards, np.cumsum(block.counts)[:-1]))
            return
        told = self._core.tell_in_turn(block.index, block.counts, checked)
        self._succeeded = True
        settled = PendingBlock(block.index[:told], block.counts[:told])
        self._core.ledger.settle(settled.arms)
        block.index, block.counts = block.index[told:], block.counts[told:]
        if not len(block.index):  # else the search is done
            del self._untold[block]

    def _divide(self, block: PendingBlock, rewards: Iterable[Any] | None = None) -> None:
        """Pull each arm of a block by itself, as all later pulls; its rewards may be drawn."""
        self._in_blocks = False
        del self._untold[block]
        for arm, count in zip(block.index.tolist(), block.counts.tolist(), strict=True):
            self._await(PendingPull(arm, count))
        for pull, drawn in zip(self.pending, rewards or (), strict=False):
            assert isinstance(pull, PendingPull)
            pull.job = partial(np.array, drawn)

    def fail(self, pull: Pending, error: Exception) -> None:
        """Let a pull be tried again after a pause, or set its arm aside.

        Raises:
            SourceError: The source is at fault and not the arm, or too few arms are left.
        """
        if pull not in self._untold:  # its arm has failed
            return
        if isinstance(error, SourceError):
            raise self.ended(f"{error}") from error
        if isinstance(pull, PendingBlock):
            self._divide(pull)
            return
        pull.failures += 1
        if not self._succeeded:
            self._check_first(pull.arm, error)
        if pull.failures <= self.retries:
            pull.due = time.monotonic() + PAUSES[min(pull.failures, len(PAUSES)) - 1]
            self._retries.append(pull)
            return
        self._first_error = self._first_error or error
        self._set_aside(pull.arm, _words(error))

    def untold(self) -> list[int]:
        """Return the arms of all pulls that were asked for and not told, in the order asked."""
        return [arm for pull in self._untold for arm in pull.arms]

    def give_back(self) -> None:
        """Give the search back what it was not told, and end."""
        self._core.give_back(self.untold())
        self._core.ledger.settle_all()
        self._untold.clear()

    def stuck(self) -> SourceError:
        """Return the error of a search that asks for nothing though it is not done."""
        return self.ended(
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
        """Whether a pull is being drawn: it waits neither to be told nor to be tried again."""
        return any(
            isinstance(pull, PendingBlock) or (not pull.drawn and pull not in self._retries)
            for pull in self._untold
        )

    def _ask(self) -> None:
        """Ask the search for more pulls; those of one arm are drawn together."""
        arms = self._core.ask(self._limit())
        if self.search.done or not arms:  # the strategy has decided when it was asked
            return
        self._core.ledger.send(arms)
        times = Counter(arms)
        if not self._in_blocks:
            for arm, count in times.items():
                self._await(PendingPull(arm, count))
            return
        block = PendingBlock(np.array([*times]), np.array([*times.values()]))
        self.pending.append(block)
        self._untold[block] = None

    def _await(self, pull: PendingPull) -> None:
        """Note a pull that is to be drawn and told."""
        self.pending.append(pull)
        self._lines.setdefault(pull.arm, deque()).append(pull)
        self._untold[pull] = None

    def _limit(self) -> int | None:
        given_back = len(self._core.ledger.given_back)
        if given_back:
            return given_back  # at once, as they were asked for
        if self.batch is not None:
            return self.batch
        if not self.source.local:
            return 1
        share = self.search.pulls // SHARE
        return share if share > self.search.n else None

    def _tell(self, pull: PendingPull) -> None:
        """Tell the rewards of a pull."""
        rewards = self.search.rewards.check(pull.rewards)
        if len(rewards) == 0:
            raise RewardError(
                f"a pull of arm {self.search.names[pull.arm]!r} gave no reward, must give "
                f"{pull.count}: if the source is finite, declare its pools or rows, and start each "
                "search with a new one."
            )
        self._core.tell(pull.arm, rewards)

    def _settle(self, pull: PendingPull) -> None:
        """Forget a pull that was told, or whose arm has failed."""
        del self._untold[pull]
        self._core.ledger.settle(pull.arms)

    def _check_first(self, arm: int, error: Exception) -> None:
        """Raise an error if the first pulls of several arms have failed alike."""
        names = self.search.names
        kind = _kind(names[arm], error)
        self._first_errors.setdefault(arm, kind)
        alike = [repr(names[i]) for i, other in self._first_errors.items() if other == kind]
        if len(alike) < ALIKE:
            return
        raise self.ended(
            f"the first pulls of {', '.join(alike[:-1])} and {alike[-1]} failed "
            f"alike ({_words(error).rstrip('.')}), and no pull has succeeded: mend the function "
            "or source that is pulled, or declare other rewards."
        ) from error

    def _set_aside(self, arm: int, reason: str) -> None:
        """Go on without an arm, and forget its pulls."""
        search, core = self.search, self._core
        try:
            core.set_aside(arm, reason)
        except ParameterError:
            raise self.ended(
                f"pulls of {len(core.failed) + 1} of {search.n} arms failed, of "
                f"{search.names[arm]!r} the last ({reason}), and too few arms are left for a "
                "search: mend the source, or pass more retries."
            ) from self._first_error
        for pull in self._lines.pop(arm):
            self._settle(pull)
        self.pending = deque(
            pull for pull in self.pending if isinstance(pull, PendingBlock) or pull.arm != arm
        )
        self._retries = [pull for pull in self._retries if pull.arm != arm]

    def ended(self, message: str) -> SourceError:
        """Return the error that ends the search, with the result so far."""
        return SourceError(message, self.search.result())


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, OddarmError) else f"{type(error).__name__}: {error}"


def _kind(arm: Any, error: Exception) -> tuple[Any, ...]:
    """Return what errors with one cause have in common; each may quote the name of its arm."""
    if isinstance(error, RewardError):
        return (RewardError,)  # its message quotes the reward
    message = re.sub(r"\b0x[0-9a-fA-F]+\b", "", str(error))  # addresses of objects
    for name in (repr(arm), str(arm)):
        message = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", message)
    return (type(error), message)
