"""The two radii of the GOLD paper, as printed (section 4.1), for fidelity.

Neither is a proved bound; docs/errata.md shows what is missing. δ' = 6δ/(π² n T²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats, Wholes
from oddarm.bounds.base import RadiusBound, around, check_parameters
from oddarm.kernels.intervals import erfcinv
from oddarm.tally import Tally

__all__ = ["PaperBernoulli", "PaperBounded", "delta_prime"]


def delta_prime(delta: float, n: int, pulls: int) -> float:
    """Return δ' = 6δ/(π² n T²), the error probability spent on one arm in round T."""
    return 6 * delta / (math.pi**2 * n * float(pulls) * float(pulls))


@dataclass(frozen=True)
class PaperBounded(RadiusBound):
    """β = R sqrt(log(1/δ') / (2m)), Hoeffding's radius without the 2 of a two-sided event."""

    delta: float
    n: int
    low: float
    high: float
    proved: ClassVar[bool] = False
    reason: ClassVar[str] = "the paper's Hoeffding radius lacks the factor 2 of a two-sided event"
    warmup: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_parameters(self)

    def radii(self, counts: Wholes, totals: Floats, pulls: int) -> Floats:  # noqa: ARG002 - the protocol's
        """Return β as printed."""
        level = -math.log(delta_prime(self.delta, self.n, pulls))
        return np.asarray((self.high - self.low) * np.sqrt(level / (2.0 * counts)))

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return ŷ ± β, cut to the range."""
        return around(self, tally, self.low, self.high)


@dataclass(frozen=True)
class PaperBernoulli(RadiusBound):
    """β = Z sqrt(p̃(1-p̃)/m) with p̃ = (successes + Z²/2)/(m + Z²) and Z = erfinv(1-δ')."""

    delta: float
    n: int
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    proved: ClassVar[bool] = False
    reason: ClassVar[str] = (
        "the paper's Bernoulli radius is an approximation, its Z lacks √2, and GOLD's proof "
        "needs equal radii at equal pulls"
    )
    warmup: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_parameters(self)

    def radii(self, counts: Wholes, totals: Floats, pulls: int) -> Floats:
        """Return β as printed, with Z as erfcinv(δ'): 1-δ' rounds to 1 after a million pulls."""
        z = erfcinv(delta_prime(self.delta, self.n, pulls))
        square = z * z
        p = (totals + square / 2.0) / (counts + square)
        return np.asarray(z * np.sqrt(p * (1.0 - p) / counts))

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return ŷ ± β, cut to [0, 1]."""
        return around(self, tally, self.low, self.high)
