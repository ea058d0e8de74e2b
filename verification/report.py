"""One line per check: how often it was wrong, and whether that is plausible."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import binom

SURE = 1 - 1e-4
"""A check fails if its errors have a chance of less than 1 in 10,000 at the promised limit."""


@dataclass(frozen=True)
class Check:
    """The outcome of one check.

    Attributes:
        name: What was checked.
        errors: Runs that were wrong.
        runs: Runs in all.
        limit: The promised error probability.
        note: What else was measured.
    """

    name: str
    errors: int
    runs: int
    limit: float
    note: str = ""

    @property
    def plausible_errors(self) -> int:
        """The most errors that are plausible if the promise holds."""
        return int(binom.ppf(SURE, self.runs, self.limit))

    @property
    def holds(self) -> bool:
        """Whether the errors are plausible under the promise."""
        return self.errors <= self.plausible_errors

    def __str__(self) -> str:
        verdict = "ok  " if self.holds else "FAIL"
        return (
            f"{verdict} {self.name:<46} wrong in {self.errors:>4} of {self.runs:,} "
            f"(promised {self.limit:g}, allowed {self.plausible_errors:,})  {self.note}".rstrip()
        )
