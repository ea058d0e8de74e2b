"""The paper's synthetic instances (section 6.1): uniform normal arms with injected outliers.

Normal means are drawn from all of [0, 1], so outliers beside them lie outside. The finished
instance is therefore scaled into [0, 1]. The definition is by ratios of gaps, which scaling keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from oddarm._checks import whole_number
from oddarm._typing import Floats
from oddarm.definitions.groups import outlier_groups
from oddarm.errors import ParameterError
from oddarm.problem import Problem

__all__ = ["CONFIGURATIONS", "Instance", "InstanceKind", "configuration", "synthetic"]

InstanceKind = Literal["upper", "lower", "intermediate", "mixed"]

SIZES = (20, 50, 100, 200, 400)
EPSILONS = (2.5, 5.0)
KINDS: tuple[InstanceKind, ...] = ("upper", "intermediate", "lower", "mixed")

CONFIGURATIONS: dict[str, tuple[InstanceKind, int, float]] = {
    f"{kind}-{n}-{epsilon:g}": (kind, n, epsilon)
    for kind in KINDS
    for n in SIZES
    for epsilon in EPSILONS
}
"""Named configurations: the paper's 20 (upper and intermediate), and lower and mixed ones."""


@dataclass(frozen=True, eq=False)
class Instance:
    """Arms with known means and known outliers.

    Attributes:
        means: The mean of each arm.
        outliers: The indices of the outliers, ascending.
        kind: Where they lie.
        problem: The problem of which they are a group.
    """

    means: Floats
    outliers: tuple[int, ...]
    kind: InstanceKind
    problem: Problem


def configuration(name: str, seed: int = 0, outliers: int | None = None) -> Instance:
    """Return an instance of a named configuration, such as "upper-20-2.5"."""
    if name not in CONFIGURATIONS:
        raise ParameterError(
            f"configuration == {name!r}, must be KIND-N-EPSILON such as upper-20-2.5 or "
            "intermediate-100-5, with KIND of upper, lower, intermediate, mixed; "
            "N of 20, 50, 100, 200, 400; EPSILON of 2.5, 5."
        )
    kind, n, epsilon = CONFIGURATIONS[name]
    return synthetic(kind, n, epsilon, seed=seed, outliers=outliers)


def synthetic(
    kind: InstanceKind,
    n: int,
    epsilon: float = 2.5,
    rho: float = 0.9,
    *,
    outliers: int | None = None,
    seed: int = 0,
    scale: bool = True,
) -> Instance:
    """Return a random instance with an (ε, ρ)-outlier group of the given kind.

    Args:
        kind: "upper", "lower", "intermediate", or "mixed" (some above and some below).
        n: Number of arms.
        epsilon: ε of the group; its gap exceeds the needed one by 5 to 50 %.
        rho: ρ of the group.
        outliers: How many; default the capacity c.
        seed: Any whole number ≥ 0.
        scale: Scale into [0, 1]. Without it, as in the paper's text, the outliers must fit into
            [0, 1] beside the normal arms, which they nearly never do.

    Examples:
        >>> instance = synthetic("intermediate", 20, epsilon=2.5, seed=3)
        >>> len(instance.outliers), instance.means.round(2)[list(instance.outliers)].tolist()
        (2, [0.44, 0.38])
    """
    seed, n = whole_number("seed", seed, 0), whole_number("n", n, 3, 10**8)
    problem = Problem(epsilon=epsilon, rho=rho)
    problem.check(n)
    assert problem.epsilon is not None
    epsilon = problem.epsilon
    most, side = problem.max_members(n), problem.min_segment(n)
    k = most if outliers is None else whole_number("outliers", outliers, 1)
    if k > most:
        raise ParameterError(f"outliers == {k!r}, must be from 1 to {most} for {n} arms.")
    if kind not in KINDS:
        raise ParameterError(f"kind == {kind!r}, must be one of {', '.join(KINDS)}.")
    if kind == "mixed" and k < 2:
        raise ParameterError(f"outliers == {k} of kind 'mixed', must be >= 2: one on each side.")
    if kind == "intermediate" and n - k < 2 * side:
        raise ParameterError(
            f"{n} arms with {k} intermediate outliers, must be >= {2 * side + k}: "
            "each side needs more than c arms."
        )
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    normal = np.sort(rng.random(n - k))
    wider = float(1 + epsilon)
    if kind == "intermediate":
        means, first = _intermediate(rng, normal, k, side, wider)
    else:
        means, first = _outside(rng, normal, k, kind, wider), n - k
    low, high = float(means.min()), float(means.max())
    if scale:
        start, width = min(low, 0.0), max(high, 1.0) - min(low, 0.0)
        means = (means - start) / width
    elif low < 0 or high > 1:
        raise ParameterError(
            f"{k} {kind} outliers find no room in [0, 1] beside normal arms drawn from all of it: "
            f"they would reach from {low:.3g} to {high:.3g}; pass scale=True."
        )
    order = rng.permutation(n)
    means = means[order]
    chosen = tuple(np.flatnonzero((first <= order) & (order < first + k)).tolist())
    groups = outlier_groups(means, epsilon, rho, mixed=kind == "mixed")
    if not any(set(g.members) == set(chosen) for g in groups):
        raise ParameterError(
            f"epsilon == {epsilon!r}, must be nearer to 1: rounding hides the gaps of {n} arms."
        )
    return Instance(means, chosen, kind, problem)


def _distance(rng: np.random.Generator, gaps: Floats, wider: float) -> float:
    """Return a distance that exceeds the needed (1 + ε) times the widest gap by 5 to 50 %."""
    return float(wider * gaps.max(initial=0.0) * rng.uniform(1.05, 1.5))


def _outside(
    rng: np.random.Generator, normal: Floats, k: int, kind: InstanceKind, wider: float
) -> Floats:
    """Return the normal arms, then outliers above, below, or on both sides of all of them."""
    distance = _distance(rng, np.diff(normal), wider)
    above = {"upper": k, "lower": 0, "mixed": (k + 1) // 2}[kind]
    offsets = distance * rng.uniform(1.0, 1.5, size=k)
    high = normal[-1] + offsets[:above]
    low = normal[0] - offsets[above:]
    if above:
        high[0] = normal[-1] + distance
    if above < k:
        low[0] = normal[0] - distance
    return np.concatenate([normal, high, low])


def _intermediate(
    rng: np.random.Generator, normal: Floats, k: int, side: int, wider: float
) -> tuple[Floats, int]:
    """Return arms with outliers in a gap between two sides, and the place of the first outlier."""
    cut = int(rng.integers(side, len(normal) - side, endpoint=True))
    gaps = np.diff(normal)
    distance = _distance(rng, np.delete(gaps, cut - 1), wider)
    width = distance * rng.uniform(0.0, 0.5) if k > 1 else 0.0
    inside = normal[cut - 1] + distance + width * rng.random(k)
    upper = normal[cut:] - gaps[cut - 1] + 2 * distance + width
    return np.concatenate([normal[:cut], inside, upper]), cut
