"""Which tests to run again, and what is known of each: the plugin's decisions, without pytest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from oddarm.integrations.pytest_flaky.strategy import (
    FailureRates,
    FailureRatesRun,
    fixed_runs,
)
from oddarm.search import Search

__all__ = ["ALWAYS", "Answer", "Hunt", "Record", "Row", "Turns"]

ALWAYS = 10
"""A test that failed in each of so many runs, and in all before or in none, is not called flaky: it
is broken, or stuck. A test that fails in half of its runs is taken for one in 1 of 1,000 cases."""
SLACK = 0.8
"""Tests with a failure rate from a fifth of the rate that matters up to it may be called either."""
LEAST_ARMS = 3
"""A search has so many arms at least; tests that never fail make up for what is missing."""

ENOUGH = 50.0
"""A test that never fails is told this many passes, divided by the rate that matters: the odds that
it is sound are then beyond any that are asked for."""

FIRST_ALLOWANCE = 1.0
"""So many seconds every test has in all before some wait for others."""

Status = Literal["flaky", "broken", "stuck", "sound", "undecided", "left out"]


@dataclass(frozen=True)
class Record:
    """The runs of one test.

    Attributes:
        runs: How often it ran.
        failures: How often it failed.
        tail: How many of the last runs failed, without a pass between them.
    """

    runs: int = 0
    failures: int = 0
    tail: int = 0

    def after(self, failed: bool) -> Record:
        """Return the record with one more run."""
        return Record(self.runs + 1, self.failures + failed, self.tail + 1 if failed else 0)

    @property
    def status(self) -> Status:
        """What the order of passes and failures says, before any statistics."""
        if self.tail < ALWAYS or self.failures != self.tail:
            return "undecided"
        return "broken" if self.runs == self.tail else "stuck"


@dataclass(frozen=True)
class Row:
    """What is known of one test.

    Attributes:
        test: Its node id.
        status: "flaky", "broken" (failed always), "stuck" (passed, then failed always), "sound",
            "undecided" or "left out".
        runs: How often it ran, earlier sessions included.
        failures: How often it failed.
        low, high: The ends of the interval of its failure rate.
        odds: The odds of what is decided or guessed of it; None if that is not a matter of odds.
        reason: Why it is left out.
    """

    test: str
    status: Status
    runs: int
    failures: int
    low: float = 0.0
    high: float = 1.0
    odds: float | None = None
    reason: str = ""

    @property
    def rate(self) -> float:
        """The share of runs that failed."""
        return self.failures / self.runs if self.runs else 0.0


@dataclass(frozen=True)
class Answer:
    """What is known of all tests.

    Attributes:
        verdict: "flaky", "none" or "undecided".
        rows: One for each test, as they were collected.
        rate: The failure rate that matters.
        delta: The probability with which the answer may be wrong.
        evidence: The odds for the whole answer; None if no test could be judged.
        forecast: About how many further runs decide.
        runs: The runs of this session, the first run of each test included.
        fixed: How often every judged test would have to run if that number was fixed beforehand,
            for the same promise.
        all_runs: The runs of all sessions that count for the tests judged.
    """

    verdict: Literal["flaky", "none", "undecided"]
    rows: Sequence[Row]
    rate: float
    delta: float
    evidence: float | None
    forecast: int
    runs: int
    fixed: int
    all_runs: int

    def having(self, *statuses: Status) -> list[Row]:
        """Return the rows of these statuses, the highest failure rate first."""
        return sorted(
            (row for row in self.rows if row.status in statuses), key=lambda row: -row.rate
        )

    @property
    def judged(self) -> int:
        """How many tests the search judges or has yet to judge."""
        return len(self.having("flaky", "sound", "undecided"))

    @property
    def complete(self) -> bool:
        """Whether every test is decided."""
        return not self.having("undecided")

    @property
    def saved(self) -> int:
        """How many runs fewer than the fixed design; negative if it would have taken fewer."""
        return self.fixed * self.judged - self.all_runs


class Turns:
    """Who comes next, so that all tests get about as much time.

    A test of a millisecond is decided while one of a minute runs once. If both ran equally often,
    hardly anything would be decided when time is up. Tests that took no more than `allowance`
    seconds in all wait for nobody.
    """

    def __init__(self) -> None:
        self.allowance = FIRST_ALLOWANCE
        self.seconds: dict[str, float] = {}

    def took(self, test: str, seconds: float) -> None:
        """Take note of how long a run of a test took."""
        self.seconds[test] = self.seconds.get(test, 0.0) + seconds

    def due(self, asked: Sequence[str]) -> list[str]:
        """Return those of the tests asked for that come now; the others are asked for again."""
        seconds = {test: self.seconds.get(test, 0.0) for test in asked}
        least = min(seconds.values(), default=0.0)
        while self.allowance < least:
            self.allowance *= 2
        return [test for test in asked if seconds[test] <= self.allowance]


class Hunt:
    """Asks for tests to run, is told whether each failed, and says which are flaky.

    Args:
        tests: Their node ids.
        rate: The failure rate that matters.
        delta: The probability with which the answer may be wrong.
        earlier: Records of earlier sessions, of the same code.
    """

    def __init__(
        self,
        tests: Iterable[str],
        *,
        rate: float = 0.05,
        delta: float = 0.05,
        earlier: Mapping[str, Record] | None = None,
    ) -> None:
        self.rate, self.delta = rate, delta
        known = earlier or {}
        self.records = {test: known.get(test, Record()) for test in tests}
        self.left_out: dict[str, str] = {}
        self.runs = 0
        self._search: Search | None = None

    def tell(self, test: str, failed: bool) -> None:
        """Take note of one run."""
        self.records[test] = record = self.records[test].after(failed)
        self.runs += 1
        if record.status != "undecided":
            self._search = None  # the next one goes on without the test
        elif self._search is not None:
            self._search.tell(test, float(failed))

    def leave_out(self, test: str, reason: str) -> None:
        """Judge a test no more."""
        self.left_out[test] = reason
        self._search = None

    def ask(self) -> list[str]:
        """Return the tests to run next, repeats included; none if all is decided."""
        doubtful = [test for test in self._live() if self._in_doubt(test)]
        if doubtful:
            return doubtful
        if self._search is None or self._search.done:
            self._search = self._new_search()  # runs after the last decision may open it again
        return [] if self._search is None else self._search.ask()

    def _live(self) -> list[str]:
        """Return the tests that are neither left out, nor broken, nor stuck."""
        return [
            test
            for test, record in self.records.items()
            if test not in self.left_out and record.status == "undecided"
        ]

    def _in_doubt(self, test: str) -> bool:
        """Whether a test has not run, or has not passed since it failed for the first time.

        Such a test runs until it passes or has failed ALWAYS times, before anything else.
        """
        record = self.records[test]
        return record.failures == record.tail and (record.tail > 0 or record.runs == 0)

    def _new_search(self) -> Search | None:
        """Return a search that knows all runs so far; None without tests to judge."""
        tests = self._live()
        if not tests:
            return None
        never = [f"(a test that never fails, {k})" for k in range(LEAST_ARMS - len(tests))]
        arms = [*tests, *never]
        search = Search(
            arms,
            # Whether a test is broken depends on its runs, so false alarms are shared among all.
            FailureRates(shared_by=max(len(self.records) - len(self.left_out), 1)),
            min_gap=self.rate,
            slack=SLACK,
            delta=self.delta,
            max_outliers=(len(arms) - 1) // 2,
        )
        for arm in never:
            search.tell(arm, np.zeros(math.ceil(ENOUGH / self.rate)))
        for test in tests:
            record = self.records[test]
            passes = record.runs - record.failures
            search.tell(test, np.repeat([0.0, 1.0], [passes, record.failures]))
        return search

    def answer(self) -> Answer:
        """Return what is known now, from the records alone: it is right after an interrupt too."""
        search = self._new_search()
        rows = {
            test: Row(test, record.status, record.runs, record.failures)
            for test, record in self.records.items()
        }
        for test, reason in self.left_out.items():
            record = self.records[test]
            rows[test] = Row(test, "left out", record.runs, record.failures, reason=reason)
        judged = self._live()
        if search is None:
            nothing = list(rows.values())
            return Answer("none", nothing, self.rate, self.delta, None, 0, self.runs, 0, 0)
        run, result = search.run, search.result()
        assert isinstance(run, FailureRatesRun)
        above, below, odds = run.above, run.below, run.odds()
        for k, test in enumerate(judged):
            record = self.records[test]
            status: Status = "flaky" if above[k] else "sound" if below[k] else "undecided"
            ends = float(result.low[k]), float(result.high[k])
            rows[test] = Row(test, status, record.runs, record.failures, *ends, odds=float(odds[k]))
        flaky = int(above[: len(judged)].sum())
        return Answer(
            verdict="flaky" if flaky else "none" if search.done else "undecided",
            rows=list(rows.values()),
            rate=self.rate,
            delta=self.delta,
            evidence=float(odds[: len(judged)].min()),
            forecast=0 if search.done else run.forecast(),
            runs=self.runs,
            fixed=fixed_runs(run.levels, flaky),
            all_runs=sum(self.records[test].runs for test in judged),
        )
