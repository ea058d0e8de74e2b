"""The answer as text, as JSON values and as properties of a JUnit file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from oddarm._text import printable
from oddarm._version import __version__
from oddarm.integrations.pytest_flaky.hunt import SLACK, Answer, Row
from oddarm.results.sentence import counted
from oddarm.results.table import Column, text_table

__all__ = ["answer_dict", "answer_lines", "properties", "sentences"]

MANY = 0.1
"""When more than this share of the tests is flaky, they probably share a cause."""
MOST_ODDS = 1_000_000
SUPPOSES = (
    "This supposes that runs do not depend on each other: beware of fixtures, files and "
    "servers that tests share."
)


def percent(share: float) -> str:
    """Return a share in per cent with three digits at most."""
    return f"{100 * share:.3g} %"


def sentences(answer: Answer) -> list[str]:
    """Return the answer in sentences."""
    flaky, judged = answer.having("flaky"), answer.judged
    rate, lower = percent(answer.rate), percent((1 - SLACK) * answer.rate)
    wrong = f"Wrong with probability at most {percent(answer.delta)}."
    said = []
    if flaky:
        one = len(flaky) == 1
        said.append(
            f"{len(flaky):,} of {counted(judged, 'tests')} {'is' if one else 'are'} flaky: "
            f"{'it fails' if one else 'they fail'} in more than {lower} of runs."
        )
    if answer.complete:
        who = "No other test" if flaky else f"None of {counted(judged, 'tests')}"
        said += [f"{who} fails in {rate} of runs or more.", wrong] if judged else []
    else:
        said += [wrong] if flaky else []
        said.append(_undecided(answer))
    if len(flaky) > max(2, MANY * judged):
        said.append(
            "So many flaky tests often have one cause: look first at what they share, "
            "such as a fixture, a server or the clock."
        )
    return said


def _undecided(answer: Answer) -> str:
    """Return what is open, and what it takes to close it."""
    undecided = answer.having("undecided")
    were = "test is" if len(undecided) == 1 else "tests are"
    more = f"about {answer.forecast:,} more runs may decide"
    return f"{len(undecided):,} {were} undecided; {more}: run the same command again."


def answer_lines(answer: Answer, width: int | None = None) -> Iterator[str]:
    """Yield the lines of the terminal section."""
    yield from sentences(answer)
    shown = [row for row in answer.having("flaky", "undecided", "sound") if row.failures]
    if shown:
        yield ""
        yield text_table(COLUMNS, [_cells(row) for row in shown], width)
    for status, title in TITLES.items():
        rows = answer.having(status)  # type: ignore[arg-type]
        if rows:
            yield ""
            yield title
            yield from (f"  {printable(row.test)} ({_history(row)})" for row in rows)
    yield ""
    yield spent(answer)
    if answer.judged:
        yield SUPPOSES


TITLES = {
    "broken": "Broken, not flaky; left out:",
    "stuck": "Passed at first and then failed always: a run leaves something behind that breaks "
    "the next, or the code under test has changed; left out:",
}
COLUMNS = (
    Column("status", left=True),
    Column("rate"),
    Column("low", dropped=1),
    Column("high", dropped=1),
    Column("failed"),
    Column("runs"),
    Column("evidence"),
    Column("test", left=True, least=20),
)


def _cells(row: Row) -> list[str]:
    odds = row.odds or 1.0
    evidence = f"{odds:,.1f} : 1" if odds < MOST_ODDS else f"> {MOST_ODDS:,} : 1"
    ends = percent(row.low), percent(row.high)
    counts = f"{row.failures:,}", f"{row.runs:,}"
    status = "below rate" if row.status == "sound" else row.status
    return [status, percent(row.rate), *ends, *counts, evidence, printable(row.test)]


def _history(row: Row) -> str:
    if row.failures == row.runs:
        return f"failed in each of {row.runs:,} runs"
    passes = row.runs - row.failures
    return f"passed {counted(passes, 'times')}, then failed {counted(row.failures, 'times')}"


def spent(answer: Answer) -> str:
    """Return what was spent, and what was saved."""
    runs = f"{counted(answer.runs, 'runs')} in this session"
    if not answer.judged or not answer.complete:
        return f"{runs}."
    all_fixed = answer.fixed * answer.judged
    earlier = "" if answer.all_runs <= answer.runs else f" and {answer.all_runs:,} in all"
    less = f"{abs(answer.saved):,} {'fewer' if answer.saved >= 0 else 'more'}"
    return (
        f"{runs}{earlier}: {less} than if the number of runs was fixed beforehand "
        f"({answer.fixed:,} of each test, {all_fixed:,} in all, for the same promise)."
    )


def answer_dict(answer: Answer, seconds: float) -> dict[str, Any]:
    """Return the answer as JSON values."""
    return {
        "format": "oddarm.flaky-answer",
        "oddarm": __version__,
        "verdict": answer.verdict,
        "complete": answer.complete,
        "summary": " ".join(sentences(answer)),
        "supposes": SUPPOSES,
        "rate": answer.rate,
        "delta": answer.delta,
        "evidence": answer.evidence,
        "forecast": answer.forecast,
        "runs": answer.runs,
        "all_runs": answer.all_runs,
        "fixed_runs_per_test": answer.fixed,
        "saved": answer.saved,
        "seconds": round(seconds, 3),
        "tests": [{**asdict(row), "rate": row.rate} for row in answer.rows],
    }


def properties(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the properties of a JUnit file: name and value."""
    yield "odd-flaky.verdict", answer.verdict
    yield "odd-flaky.summary", " ".join(sentences(answer))
    yield "odd-flaky.runs", str(answer.runs)
    yield "odd-flaky.saved", str(answer.saved)
    for row in answer.having("flaky", "broken", "stuck"):
        ends = f", {row.low:.4f} to {row.high:.4f}" if row.status == "flaky" else ""
        value = f"{row.rate:.4f}{ends} ({row.failures} of {row.runs} runs failed)"
        yield f"odd-flaky.{row.status}.{row.test}", value
