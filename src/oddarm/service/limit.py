"""The limit of a study, for the live page: what any method must pay if the means are those seen.

It takes seconds to minutes of processor time, which requests cannot wait for. So a process of its
own works it out, at the lowest priority, for one study at a time; the view has what is known.
"""

from __future__ import annotations

import json
import logging
import math
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from oddarm.batch.least import MOST_ARMS, least_of
from oddarm.options import Until
from oddarm.problem import Problem
from oddarm.results.result import Result
from oddarm.rewards import Bernoulli
from oddarm.search import Search

__all__ = ["Limit", "LimitQuestion", "LimitWorker", "StudyLimit", "limit_question"]

LOG = logging.getLogger("oddarm.service")

GROWTH = 1.5
"""The limit is worked out again when the study has so many times the pulls of the last time."""
WATCHED_SECONDS = 30.0
"""A study whose view nobody asked for in this time is not being looked at."""
MOST_SECONDS = 600.0
"""How long one computation may take, on a machine that has other things to do."""

PENDING = "being worked out"
UNPULLED = "unknown until every arm was pulled"
NOT_BINARY = "not for bounded rewards"
FINITE = "not for finite pools"
MANY_ARMS = f"too many arms: above {MOST_ARMS}, it would take minutes"
LARGE_DELTA = "none for δ of ½ or more"
SPENDS_BUDGET = "none: the study spends a budget"
NOBODY = "nobody seems to stand apart yet"
ALL_RIGHT = "none for the means seen so far"
FAILED = "could not be worked out"

PROGRAM = """
import os
if hasattr(os, "nice"):
    os.nice(19)
from oddarm.service.limit import work_out
work_out()
"""


@dataclass(frozen=True)
class Limit:
    """What is known of the limit.

    Attributes:
        pulls: No method needs fewer on average, if the means are those seen; None if unknown.
        after: The pulls of the study when these means were seen; None if `pulls` is.
        reason: Why `pulls` is None.
        pending: Whether it is being worked out, for the first time or again.
    """

    pulls: float | None = None
    after: int | None = None
    reason: str | None = None
    pending: bool = False


@dataclass(frozen=True)
class LimitQuestion:
    """What the limit is asked for: the means seen so far, and the question of the study."""

    means: tuple[float, ...]
    problem: Problem
    until: Until
    pulls: int
    done: bool


def limit_question(search: Search, result: Result) -> LimitQuestion | str:
    """Return what to work out, or why there is nothing to work out."""
    working = np.flatnonzero([status != "failed" for status in result.statuses])
    problem = search.run.context.problem  # of the arms that have not failed
    if not isinstance(search.rewards, Bernoulli):
        return NOT_BINARY
    if search.rewards.pools is not None:
        return FINITE
    if len(working) > MOST_ARMS:
        return MANY_ARMS
    if problem.delta >= 0.5:
        return LARGE_DELTA
    if search.until == "budget":
        return SPENDS_BUDGET
    if not result.counts[working].all():
        return UNPULLED
    means = tuple(result.means[working].tolist())
    return LimitQuestion(means, problem, search.until, result.pulls, search.done)


class StudyLimit:
    """The limit of one study, as far as it is known."""

    def __init__(self, worker: LimitWorker) -> None:
        self._worker = worker
        self._lock = threading.Lock()  # held for moments only
        self._question: LimitQuestion | str = UNPULLED
        self._answered: LimitQuestion | None = None
        self._limit = Limit()
        self._pending = False
        self._looked = -math.inf

    def look(self, question: LimitQuestion | str | None = None) -> Limit:
        """Return what is known, and have the limit worked out if it is due.

        Args:
            question: What to work out now, or why there is nothing; None if the study is as it was.
        """
        with self._lock:
            self._looked = time.monotonic()
            if question is not None:
                self._question = question
            if isinstance(self._question, str):
                return Limit(reason=self._question)
            if not self._pending and self._due(self._question):
                self._pending = self._worker.submit(self)
            known = self._limit
            reason = known.reason
            if self._answered is None:
                reason = PENDING if self._pending else FAILED
            return Limit(known.pulls, known.after, reason, self._pending)

    def _due(self, question: LimitQuestion) -> bool:
        last = self._answered
        if last is None or len(last.means) != len(question.means):  # an arm failed
            return True
        # When a study is done, its last means count.
        return question.pulls > last.pulls * (1 if question.done else GROWTH)

    def take_question(self) -> LimitQuestion | None:
        """Return the newest question, None if nobody looks at the study any more."""
        with self._lock:
            watched = time.monotonic() - self._looked < WATCHED_SECONDS
            if watched and isinstance(self._question, LimitQuestion):
                return self._question
            self._pending = False
            return None

    def answer(self, question: LimitQuestion, pulls: float | None) -> None:
        """Note the limit; 0 if there is none for such means, None if it could not be worked out."""
        if pulls is None:
            limit = Limit(reason=FAILED)
        elif pulls == 0:
            limit = Limit(reason=NOBODY if question.until == "ranked" else ALL_RIGHT)
        else:
            limit = Limit(pulls, question.pulls)
        with self._lock:
            self._answered, self._limit, self._pending = question, limit, False


class LimitWorker:
    """Works out limits one after the other, in the order in which studies were looked at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[StudyLimit] = deque()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def submit(self, limit: StudyLimit) -> bool:
        """Have the limit of a study worked out; return whether it will be."""
        with self._lock:
            if self._closed:
                return False
            if self._thread is None:
                # A daemon: a program that ends without `close` does not wait for it.
                thread = threading.Thread(target=self._work, name="oddarm-limit", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the machine has no thread left; the next look tries again
                    return False
                self._thread = thread
            self._waiting.append(limit)
            return True

    def close(self) -> None:
        """End the computation that is under way, and begin no other."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            thread, process = self._thread, self._process
        if process is not None:
            process.kill()
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while (limit := self._next()) is not None:
            question = limit.take_question()
            if question is None:
                continue
            try:
                pulls = self._compute(question)
            except Exception as error:  # whatever it is, the next study has its turn
                LOG.warning("limit", extra={"fields": {"error": repr(error)}})
                pulls = None
            limit.answer(question, pulls)

    def _next(self) -> StudyLimit | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._thread = None
            return None

    def _compute(self, question: LimitQuestion) -> float | None:
        """Return the limit, 0 if there is none; None if it could not be worked out."""
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for the server, which then ends this process
        )
        with self._lock:
            self._process = process
            if self._closed:
                process.kill()
        try:
            said, trouble = process.communicate(pickle.dumps(question), timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            said, trouble = b"", b"it took too long"
        with self._lock:
            self._process = None
            closed = self._closed
        if process.returncode == 0:
            return float(json.loads(said))
        if not closed:
            words = trouble.decode(errors="replace").strip().rpartition("\n")[2]
            LOG.warning("limit", extra={"fields": {"error": words}})
        return None


def work_out() -> None:
    """Answer the question on standard input; this is all that the process does."""
    question: LimitQuestion = pickle.load(sys.stdin.buffer)
    means = dict(enumerate(question.means))
    least = least_of(means, Bernoulli(), question.problem, [question.until])
    json.dump(least.get(question.until, 0.0), sys.stdout)
