"""The limit of a study, for the live page: what any method must pay if the means are those seen.

It takes seconds of processor time, which no request can wait for. So a process of its own computes
it, at the lowest priority, for one study at a time; the view has what is known so far.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import os
import sys
import threading
import time
from dataclasses import dataclass, replace

import numpy as np

from oddarm.batch.least import MOST_ARMS, least_of
from oddarm.options import Until
from oddarm.problem import Problem
from oddarm.results.result import Result
from oddarm.rewards import Bernoulli
from oddarm.search import Search

__all__ = ["Limit", "LimitQuestion", "StudyLimit", "limit_question"]

LOG = logging.getLogger("oddarm.service")

GROWTH = 1.5
"""The limit is computed again when the study has so many times the pulls of the last time."""
WATCHED_SECONDS = 30.0
"""A study whose view nobody asked for in this time has no turn."""
MOST_SECONDS = 300.0
"""How long one computation may take, on a machine that has other things to do."""
COMMAND = [sys.executable, "-P", "-m", "oddarm.service.limit"]


@dataclass(frozen=True)
class Limit:
    """What is known of the limit.

    Attributes:
        pulls: No method needs fewer on average, if the means are those seen; None if unknown.
        after: The pulls of the study when these means were seen; None if `pulls` is.
        reason: Why `pulls` is None, in a sentence.
        pending: Whether it is being computed, for the first time or again.
    """

    pulls: float | None = None
    after: int | None = None
    reason: str | None = None
    pending: bool = False


@dataclass(frozen=True)
class LimitQuestion:
    """What the limit is computed from: the means seen so far, and the question of the study."""

    means: tuple[float, ...]
    problem: Problem
    until: Until
    pulls: int
    done: bool


def limit_question(search: Search, result: Result) -> LimitQuestion | str:
    """Return what to compute, or a sentence that says why there is nothing to compute."""
    working = np.flatnonzero([status != "failed" for status in result.statuses])
    problem = search.run.context.problem  # of the arms that have not failed
    if not isinstance(search.rewards, Bernoulli):
        return "The limit is computed for 0/1 rewards only."
    if search.rewards.pools is not None:
        return "The limit is not computed for finite pools."
    if len(working) > MOST_ARMS:
        return f"The limit is not computed for more than {MOST_ARMS} arms."
    if problem.delta >= 0.5:
        return "There is no limit if δ is ½ or more."
    if problem.neighbours > 1:
        return "The limit is computed for neighbours = 1 only."
    if search.until == "budget":
        return "There is no limit for a study that spends a budget."
    if not result.counts[working].all():
        return "The limit is unknown until every arm is pulled."
    means = tuple(result.means[working].tolist())
    return LimitQuestion(means, problem, search.until, result.pulls, search.done)


class StudyLimit:
    """The limit of one study, as far as it is known; for use from an event loop."""

    def __init__(self, turn: asyncio.Semaphore) -> None:
        """Know nothing yet; studies that share `turn` take turns."""
        self._turn = turn
        self._task: asyncio.Task[None] | None = None
        self._question: LimitQuestion | str = ""
        self._looked = -math.inf
        self._answered: LimitQuestion | None = None
        self._known = Limit(reason="The limit is being computed.")

    def look(self, question: LimitQuestion | str) -> Limit:
        """Return what is known, at once, and have the limit computed if that is due."""
        self._question, self._looked = question, time.monotonic()
        if isinstance(question, str):
            return Limit(reason=question)
        if self._task is None and self._due(question):
            self._task = asyncio.create_task(self._compute())
        return replace(self._known, pending=self._task is not None)

    async def give_up(self) -> None:
        """End the computation, if there is one."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _due(self, question: LimitQuestion) -> bool:
        last = self._answered
        if last is None or len(last.means) != len(question.means):  # an arm failed
            return True
        # When a study is done, its last means count.
        return question.pulls > last.pulls * (1 if question.done else GROWTH)

    async def _compute(self) -> None:
        async with self._turn:
            question = self._question  # the newest
            watched = time.monotonic() - self._looked < WATCHED_SECONDS
            if watched and isinstance(question, LimitQuestion):
                self._known = await _limit(question)
                self._answered = question
        self._task = None


async def _limit(question: LimitQuestion) -> Limit:
    try:
        pulls = await _in_process(question)
    except Exception as error:  # whatever it is, the page shows the rest of the study
        LOG.warning("limit", extra={"fields": {"error": repr(error)}})
        return Limit(reason="The limit could not be computed; the service's log says why.")
    if pulls > 0:
        return Limit(pulls, question.pulls)
    if question.until == "ranked":
        return Limit(reason="There is no limit yet: no arm seems to stand apart.")
    return Limit(reason="There is no limit for the means seen so far: two answers are right.")


async def _in_process(question: LimitQuestion) -> float:
    """Return the limit, 0 if there is none, from a process that ends when this does."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,  # Ctrl-C is for the server, which then ends this process
    )
    assert process.stdin is not None
    assert process.stdout is not None
    values = {"means": question.means, "problem": question.problem.to_dict()}
    try:
        async with asyncio.timeout(MOST_SECONDS):
            process.stdin.write(json.dumps({**values, "until": question.until}).encode() + b"\n")
            said = await process.stdout.read()
        return float(said.strip().rpartition(b"\n")[2])  # its error names what is not a number
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
    finally:
        await process.wait()


def main() -> None:
    """Print the limit for the question on standard input; end when standard input does."""
    if hasattr(os, "nice"):
        os.nice(19)
    question = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    until, problem = question["until"], Problem.from_dict(question["problem"])
    least = least_of(dict(enumerate(question["means"])), Bernoulli(), problem, [until])
    print(least.get(until, 0.0))  # noqa: T201


def _end_with_the_server() -> None:
    os.read(0, 1)  # waits until the server closes the pipe, or is killed
    os._exit(1)


if __name__ == "__main__":
    main()
