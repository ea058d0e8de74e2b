"""The radius of ROAI (Zhu, Katariya and Nowak, ICML 2020): Hoeffding's, summed over all pulls.

β = σ sqrt(2 log(π² n m² / (3δ)) / m), which is sqrt(log(π² n m² / (3δ)) / (2m)) for rewards in
[0, 1]. It holds at all times at once: by Hoeffding's inequality the mean of m rewards of one arm is
off by more with probability at most 2·exp(-log(π² n m² / (3δ))) = 6δ/(π² n m²), and 1/m² summed
over all m is π²/6, so n arms spend δ. HDoC (Kano and others, 2019) has 4nm²/δ in place of
π²nm²/(3δ), which is larger, and so spends less than δ. Drawing without replacement only helps
(Hoeffding 1963, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._checks import real_number
from oddarm._typing import Floats, Wholes
from oddarm.bounds.base import RadiusBound, around, check_parameters
from oddarm.tally import Tally

__all__ = ["HoeffdingUnion"]


@dataclass(frozen=True)
class HoeffdingUnion(RadiusBound):
    """β = σ sqrt(2 log(f n m² / δ) / m), with f = π²/3 or more.

    Args:
        delta: Error probability of all arms, over all times.
        n: How many arms there are.
        sigma: Sub-Gaussian scale of a reward; (high - low)/2 for bounded ones.
        low: Least reward, for cutting the interval.
        high: Greatest reward.
        factor: f.

    Examples:
        >>> bound = HoeffdingUnion(delta=0.05, n=20, sigma=0.5)
        >>> bound.radii(np.array([100, 10_000])).round(4)
        array([0.2863, 0.0358])
    """

    delta: float
    n: int
    sigma: float
    low: float = -math.inf
    high: float = math.inf
    factor: float = math.pi**2 / 3
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = "Hoeffding's inequality, summed over all arms and all numbers of pulls"
    warmup: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_parameters(self)
        least = math.pi**2 / 3
        rule = "a number >= π²/3, for which it is proved"
        factor = real_number("factor", self.factor, rule, lambda x: x >= least)
        object.__setattr__(self, "factor", factor)

    def radii(self, counts: Wholes, totals: Floats | None = None, pulls: int = 0) -> Floats:  # noqa: ARG002 - the protocol's
        """Return β(m) for each count."""
        m = counts.astype(np.float64)
        level = np.log(self.factor * self.n / self.delta * m * m)
        return np.asarray(self.sigma * np.sqrt(2.0 * level / m))

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return ŷ ± β, cut to the range."""
        return around(self, tally, self.low, self.high)
