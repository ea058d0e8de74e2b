"""Intervals for arms' means, valid at all times at once.

| rewards | endless | finite pool |
|---|---|---|
| 0/1 | `BetaMixture`, `CentredBeta` | `PoolBeta` |
| bounded | `Bernstein` | `PoolBernstein` |
| sub-Gaussian | `NormalMixture` | - |

`NormalMixture` is also the radius of rigorous GOLD for bounded rewards. `PaperBounded` and
`PaperBernoulli` are the paper's own radii, as printed.
"""

from __future__ import annotations

from oddarm._checks import error_probability, whole_number
from oddarm.bounds.base import Bound, RadiusBound, at_level
from oddarm.bounds.bernstein import Bernstein
from oddarm.bounds.beta_mixture import BetaMixture
from oddarm.bounds.centred_beta import CentredBeta
from oddarm.bounds.normal_mixture import NormalMixture
from oddarm.bounds.paper import PaperBernoulli, PaperBounded
from oddarm.bounds.pool_bernstein import PoolBernstein
from oddarm.bounds.pool_beta import PoolBeta
from oddarm.bounds.running import RunningIntervals
from oddarm.errors import ParameterError
from oddarm.options import BoundKind
from oddarm.rewards import Bernoulli, Rewards, SubGaussian

__all__ = [
    "Bernstein",
    "BetaMixture",
    "Bound",
    "BoundKind",
    "CentredBeta",
    "NormalMixture",
    "PaperBernoulli",
    "PaperBounded",
    "PoolBernstein",
    "PoolBeta",
    "RadiusBound",
    "RunningIntervals",
    "at_level",
    "interval_bound",
    "radius_bound",
]


def interval_bound(rewards: Rewards, n: int, delta: float) -> Bound:
    """Return the tightest rigorous interval for the reward model, each arm at δ/n."""
    alpha = error_probability("delta", delta) / whole_number("n", n, 1)
    if isinstance(rewards, SubGaussian):
        return NormalMixture(alpha, rewards.sigma)
    if isinstance(rewards, Bernoulli):
        return BetaMixture(alpha) if rewards.pools is None else PoolBeta(alpha)
    if rewards.pools is None:
        return Bernstein(alpha, rewards.low, rewards.high)
    return PoolBernstein(alpha, rewards.low, rewards.high)


def radius_bound(rewards: Rewards, n: int, delta: float, kind: BoundKind) -> RadiusBound:
    """Return GOLD's radius: as printed ("paper") or rigorous ("anytime")."""
    delta, n = error_probability("delta", delta), whole_number("n", n, 1)
    if kind == "anytime":
        return NormalMixture(delta / n, rewards.sigma, rewards.low, rewards.high)
    if isinstance(rewards, SubGaussian):
        raise ParameterError(
            "bound == 'paper' with sub-Gaussian rewards: the paper's radii are for Bernoulli and "
            "bounded rewards, pass bound='anytime'."
        )
    if isinstance(rewards, Bernoulli):
        return PaperBernoulli(delta, n)
    return PaperBounded(delta, n, rewards.low, rewards.high)
