"""The records of a study that workers and lists of studies are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from oddarm.strategies import Verdict

__all__ = [
    "COLUMNS",
    "SHOWN",
    "Leases",
    "Pull",
    "Status",
    "StudyInfo",
    "Worker",
    "status_of",
    "study_info",
]

Status = Literal["running", "paused", "done"]


@dataclass(frozen=True)
class Pull:
    """A pull for the worker that asked to make.

    Attributes:
        id: What to tell the reward by.
        arm: The arm to pull.
        expires: When the pull may be handed to another worker, in seconds since 1970. The first
            reward that is told for it counts.
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
        pulls: Rewards counted.
        waiting: Rewards told that wait until an earlier pull of their arm is told.
        revision: How many events there were: asks, batches of tells, failed arms, ….
        created: When it was made, in seconds since 1970.
        updated: When the last event came; `created` before that.
    """

    name: str
    status: Status
    verdict: Verdict
    strategy: str
    arms: int
    pulls: int
    waiting: int
    revision: int
    created: float
    updated: float


@dataclass(frozen=True)
class Worker:
    """A worker of a study, and what it holds.

    Attributes:
        name: What it calls itself; None for all workers that did not say.
        held: Pulls leased to it and not told.
        late: Those of them whose lease has ended.
        asked: When it was last handed out pulls, in seconds since 1970; None if that is unknown.
    """

    name: str | None
    held: int
    late: int
    asked: float | None


@dataclass(frozen=True)
class Leases:
    """The pulls of a study that are out, and what became of those that were not told.

    Attributes:
        out: Pulls leased and not told.
        late: Those of them whose lease has ended; the next ask gets them.
        ends_in: Seconds until the next lease ends; None if none is left that has not.
        again: How many pulls were handed out again.
        given_up: How many were given up.
        expired: How many expired and count as the study's `expired_reward`.
        workers: Who holds pulls, and who asked last, the latest first.
    """

    out: int
    late: int
    ends_in: float | None
    again: int
    given_up: int
    expired: int
    workers: tuple[Worker, ...]


def status_of(verdict: Verdict, paused: bool) -> Status:
    """Return the status of a study."""
    return "done" if verdict != "running" else "paused" if paused else "running"


COLUMNS = "name, created, strategy, arms, paused, revision, pulls, waiting, verdict"
SHOWN = f"""{COLUMNS}, COALESCE((
    SELECT at FROM oddarm_events WHERE study = oddarm_studies.id ORDER BY seq DESC LIMIT 1
), created)"""


def study_info(row: Sequence[Any]) -> StudyInfo:
    """Return the info in a row of `SHOWN`."""
    name, created, strategy, arms, paused, revision, pulls, waiting, verdict, updated = row
    status = status_of(verdict, bool(paused))
    return StudyInfo(
        name, status, verdict, strategy, arms, pulls, waiting, revision, created, updated
    )
