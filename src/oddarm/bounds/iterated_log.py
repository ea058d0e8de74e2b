"""The radius of MaxGap as printed (Katariya, Tripathy and Nowak, NeurIPS 2019).

It has the form of the law of the iterated logarithm, β = 1.5σ sqrt(2 log(log(25m/δ)) / m), with
constants chosen by its authors. We know no proof that it holds with probability 1-δ, and for small
δ it does not: log log(1/δ) hardly grows. With δ = 10⁻¹⁰ the very first normal reward of one arm is
further from its mean than β with probability 1.3 · 10⁻⁴.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats, Wholes
from oddarm.bounds.base import RadiusBound, around, check_parameters
from oddarm.tally import Tally

__all__ = ["IteratedLog"]


@dataclass(frozen=True)
class IteratedLog(RadiusBound):
    """β = 1.5σ sqrt(2 log(log(25m/δ)) / m), whatever the number of arms.

    Args:
        delta: What is called the error probability of all arms.
        sigma: Sub-Gaussian scale of a reward; (high - low)/2 for bounded ones.
        low: Least reward, for cutting the interval.
        high: Greatest reward.

    Examples:
        >>> bound = IteratedLog(delta=0.1, sigma=0.05)
        >>> bound.radii(np.array([1, 100, 10_000])).round(4)
        array([0.1386, 0.0161, 0.0017])
    """

    delta: float
    sigma: float
    low: float = -math.inf
    high: float = math.inf
    proved: ClassVar[bool] = False
    reason: ClassVar[str] = "no proof is known for the radius of MaxGap"
    warmup: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_parameters(self)

    def radii(self, counts: Wholes, totals: Floats | None = None, pulls: int = 0) -> Floats:  # noqa: ARG002 - the protocol's
        """Return β(m) for each count."""
        level = np.log(np.log(25.0 * counts / self.delta))
        return np.asarray(1.5 * self.sigma * np.sqrt(2.0 * level / counts))

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return ŷ ± β, cut to the range."""
        return around(self, tally, self.low, self.high)
