"""Uniform: every arm equally often, with the certificates of the adaptive strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oddarm._typing import Wholes
from oddarm.strategies.adaptive.absolute_run import AbsoluteRun
from oddarm.strategies.adaptive.run import AdaptiveRun
from oddarm.strategies.adaptive.strategy import Adaptive

__all__ = ["Uniform"]

GROWTH = 0.02
"""By what share the pulls of each arm grow between two looks: more than needed by at most that."""


class EqualRounds(AdaptiveRun):
    """Rounds in which every arm is pulled up to the same number."""

    def _quota(self, asked: Wholes, rest: int | None) -> NDArray[Any]:
        """Return the pulls of the next round: those who are behind come first."""
        del rest
        limits = self.tally.limits
        open_ = np.ones(len(asked), dtype=np.bool_) if limits is None else asked < limits
        if not open_.any():
            return np.zeros_like(asked)
        least = int(asked[open_].min())
        level = max(least + 1, int(least * (1 + GROWTH)))
        quota = np.where(open_, np.maximum(level - asked, 0), 0)
        return quota if limits is None else np.minimum(quota, np.maximum(limits - asked, 0))

    def forecast(self) -> None:
        """Return None: how many equal pulls would decide is not computed."""


class EqualAbsoluteRounds(EqualRounds, AbsoluteRun):
    """The same by the absolute rule."""


@dataclass(frozen=True)
class Uniform(Adaptive):
    """Pull all arms in turn, and stop as the adaptive strategy stops.

    Answers come from the same intervals and the same evidence as those of `adaptive`, looked at
    whenever every arm has been pulled once more, or 2 % more often. So what `adaptive` needs less
    is what its choice of arms is worth. Prices of pulls make no difference to it.

    Promises: as Adaptive, since no promise depends on who is pulled.

    Finds: all groups.

    Cost: in pulls, n times what the hardest arm needs. In time, O(n) for each look.

    Examples:
        >>> import oddarm
        >>> rates = [0.20, 0.22, 0.24, 0.25, 0.27, 0.28, 0.30, 0.31, 0.33, 0.35, 0.95]
        >>> uniform, adaptive = (
        ...     oddarm.simulate(rates, name, min_gap=0.2) for name in ("uniform", "adaptive")
        ... )
        >>> uniform.outliers == adaptive.outliers == [10], uniform.pulls > 1.5 * adaptive.pulls
        (True, True)
    """

    name: ClassVar[str] = "uniform"
    runs: ClassVar = (EqualRounds, EqualAbsoluteRounds)
