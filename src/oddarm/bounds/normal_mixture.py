"""Robbins' normal mixture for sub-Gaussian rewards: the radius of rigorous GOLD.

For rewards with sub-Gaussian scale σ, M(m) = exp(λ Σ(x-y) - λ²σ²m/2) is a supermartingale for
every λ. Mixing λ over a centred normal distribution with precision rσ² and applying Ville's
inequality gives, at all m at once with probability at least 1-α (Howard, Ramdas, McAuliffe, Sekhon
2021, section 3.2):

    |ŷ - y| ≤ β(m) = (σ/m) sqrt((m + r) log((m + r) / (r α²))).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oddarm._typing import Floats, Wholes
from oddarm.bounds.base import RadiusBound, check_parameters
from oddarm.tally import Tally

__all__ = ["NormalMixture"]

BEST_AT = 2000
"""The number of pulls at which the radius is tightest.

At 10 times as many it is 3 to 4 % wider than one made for that number, at a tenth 13 to 17 %.
"""


@dataclass(frozen=True)
class NormalMixture(RadiusBound):
    """The time-uniform radius that depends on an arm's pulls alone.

    Args:
        alpha: Error probability of one arm, over all times.
        sigma: Sub-Gaussian scale of a reward; (high - low)/2 for bounded ones.
        low: Least reward, for cutting the interval.
        high: Greatest reward.
        tuned_for: The error probability for which the interval is tightest; `alpha` by default.

    Examples:
        >>> bound = NormalMixture(alpha=0.002, sigma=0.5)
        >>> [float(round(bound.radius(m), 4)) for m in (100, 10_000)]
        [0.2751, 0.0206]
    """

    alpha: float
    sigma: float
    low: float = -math.inf
    high: float = math.inf
    tuned_for: float | None = None
    proved: ClassVar[bool] = True
    reason: ClassVar[str] = "Ville's inequality for the normal mixture, at delta/n for each arm"

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def warmup(self) -> int:
        """16 pulls where rewards have no range; else one (see docs/guarantees.md)."""
        return 1 if math.isfinite(self.high - self.low) else 16

    @property
    def r(self) -> float:
        """The mixing precision, in pulls, that makes the radius tightest at BEST_AT pulls."""
        level = 2 * math.log(1 / (self.tuned_for or self.alpha))
        return BEST_AT / (level + math.log1p(level))

    def radius(self, m: float) -> float:
        """Return β(m) for m ≥ 1."""
        r = self.r
        level = math.log((m + r) / r) - 2.0 * math.log(self.alpha)
        return self.sigma * math.sqrt((m + r) * level) / m

    def radii(
        self,
        counts: Wholes,
        totals: Floats | None = None,  # noqa: ARG002 - the protocol's
        pulls: int = 0,  # noqa: ARG002
    ) -> Floats:
        """Return β(m) for each count."""
        levels, places = np.unique(counts, return_inverse=True)
        return np.array([self.radius(m) if m else math.inf for m in levels.tolist()])[places]

    def interval(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return ŷ ± β, cut to the range."""
        radius = self.radii(tally.counts)
        means = np.where(tally.counts == 0, 0.0, tally.means)
        return np.maximum(means - radius, self.low), np.minimum(means + radius, self.high)
