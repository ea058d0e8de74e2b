"""What strategies share that declare the arms with a mean above a threshold."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Flags, Floats
from oddarm.strategies.base import Run, RunContext, Strategy
from oddarm.strategies.rounds import RoundRun

__all__ = ["ThresholdRun", "ThresholdStrategy"]


class ThresholdRun(RoundRun):
    """A run that estimates the threshold and keeps intervals for the arms."""

    def __init__(self, context: RunContext, k: float) -> None:
        self.k = k
        super().__init__(context)

    @property
    @abstractmethod
    def threshold(self) -> float:
        """The threshold of the sample means; every arm has been pulled."""

    def overlapping(self, least: float, most: float) -> Flags:
        """Return which arms' intervals overlap that from `least` to `most`."""
        return np.asarray((self.intervals.low <= most) & (self.intervals.high >= least))

    def ranked(self, above: Flags) -> list[int]:
        """Return the arms that are flagged, the greatest sample mean first."""
        order = np.argsort(-self.tally.means, kind="stable")
        return [int(i) for i in order[above[order]]]

    def estimate(self) -> list[int]:
        """Return the arms with a sample mean above the estimated threshold, the furthest first."""
        return self.ranked(self.tally.means > self.threshold)

    def scores(self) -> Floats:
        """Return how far each sample mean lies above the estimated threshold."""
        if not self.ready:
            return np.full(self.context.n, np.nan)
        return np.asarray(self.tally.means - self.threshold)


@dataclass(frozen=True)
class ThresholdStrategy(Strategy):
    """Parameters of a strategy that declares the arms above a threshold.

    Args:
        k: How many deviations above the middle of all arms the threshold lies.
    """

    run: ClassVar[type[ThresholdRun]]
    words: ClassVar[str]
    """The threshold in words, with a place for k."""
    promise: ClassVar[str] = "no other arm does"
    k: float = 2.0

    def start(self, context: RunContext) -> Run:
        """Return a new run."""
        self.check(context)
        return self.run(context, self.k)

    def predicate(self, found: int, side: str) -> str:
        """Say that arms lie above the threshold."""
        del side
        return f"{'lies' if found == 1 else 'lie'} above {self.words.format(self.k)}"
