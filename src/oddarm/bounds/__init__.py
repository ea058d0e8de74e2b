"""Intervals for arms' means, valid at all times at once, or narrower ones for one look.

| rewards | endless | finite pool | one look | one look at a finite pool |
|---|---|---|---|---|
| 0/1 | `BetaMixture`, `CentredBeta` | `PoolBeta` | `ClopperPearson` | `PoolClopperPearson` |
| bounded | `Bernstein` | `PoolBernstein` | `BoundedSample` | `PoolSerfling` |
| sub-Gaussian | `NormalMixture` | - | `SubGaussianSample` | - |

`NormalMixture` is also the radius of rigorous GOLD for bounded rewards. `PaperBounded` and
`PaperBernoulli` are the paper's own radii, as printed. `IteratedLog` is that of MaxGap as printed,
`HoeffdingUnion` that of ROAI.
"""

from __future__ import annotations

from oddarm._checks import error_probability, whole_number
from oddarm.bounds.base import Bound, RadiusBound, at_level
from oddarm.bounds.bernstein import Bernstein
from oddarm.bounds.beta_mixture import BetaMixture
from oddarm.bounds.centred_beta import CentredBeta
from oddarm.bounds.fixed_sample import (
    BoundedSample,
    ClopperPearson,
    PoolClopperPearson,
    PoolSerfling,
    SubGaussianSample,
)
from oddarm.bounds.hoeffding_union import HoeffdingUnion
from oddarm.bounds.iterated_log import IteratedLog
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
    "BoundedSample",
    "CentredBeta",
    "ClopperPearson",
    "HoeffdingUnion",
    "IteratedLog",
    "NormalMixture",
    "PaperBernoulli",
    "PaperBounded",
    "PoolBernstein",
    "PoolBeta",
    "PoolClopperPearson",
    "PoolSerfling",
    "RadiusBound",
    "RunningIntervals",
    "SubGaussianSample",
    "at_level",
    "interval_bound",
    "one_look_bound",
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


def one_look_bound(rewards: Rewards, n: int, delta: float) -> Bound:
    """Return the intervals for one look at fixed numbers of rewards, each arm at δ/n."""
    alpha = error_probability("delta", delta) / whole_number("n", n, 1)
    if isinstance(rewards, SubGaussian):
        return SubGaussianSample(alpha, rewards.sigma)
    if isinstance(rewards, Bernoulli):
        return ClopperPearson(alpha) if rewards.pools is None else PoolClopperPearson(alpha)
    if rewards.pools is None:
        return BoundedSample(alpha, rewards.low, rewards.high)
    return PoolSerfling(alpha, rewards.low, rewards.high)


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
