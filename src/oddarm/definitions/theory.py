"""Bounds as functions: what a search may cost at most, and what any search must cost.

The paper's bounds take `as_printed=True` for the paper's own formula and give the corrected one by
default; docs/errata.md says what was corrected and why. `least_pulls` is not the paper's: it is the
limit for every method (docs/limit.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from oddarm._checks import real_number, whole_number
from oddarm.bounds import NormalMixture, radius_bound
from oddarm.definitions.groups import Means, float_means
from oddarm.definitions.limit import Alternative, LeastPulls, is_alternative, least_pulls
from oddarm.options import BoundKind
from oddarm.problem import Problem
from oddarm.rewards import Rewards, as_rewards

__all__ = [
    "Alternative",
    "LeastPulls",
    "is_alternative",
    "least_pulls",
    "lemma_5_2",
    "most_pulls",
    "theorem_5_3",
]

SMALLEST = 1e-50
"""The least gap that is accepted: its square and the square of its inverse are floats."""


def lemma_5_2(
    gap: float,
    *,
    n: int,
    epsilon: float = 2.5,
    delta: float = 0.1,
    span: float = 1.0,
    as_printed: bool = False,
) -> tuple[float, float]:
    """Return bounds on the pulls of two arms while they are still neighbours (Lemma 5.2).

    They hold on the event that all intervals hold, while no arm is terminal, with the Hoeffding
    radius R sqrt(log(1/δ')/(2m)); corrected, log(2/δ').

    Args:
        gap: The distance of the two means, > 0.
        n: Number of arms.
        epsilon: ε of the problem.
        delta: δ of the problem.
        span: R, the width of the reward range.
        as_printed: The paper's closed forms, the lower of which is false. The corrected bounds are
            the roots of the inequalities that its proof starts from, with n³ in place of n²: δ'
            has an n of its own beside the n² of T².

    Examples:
        >>> low, high = lemma_5_2(0.3, n=20)
        >>> round(low), round(high)
        (416, 5450)
        >>> low, high = lemma_5_2(0.3, n=20, as_printed=True)
        >>> round(low), round(high)
        (535, 7565)
    """
    gap, span, n = _positive("gap", gap), _positive("span", span), whole_number("n", n, 2)
    problem = Problem(epsilon=epsilon, delta=delta)
    b, delta = problem.b, problem.delta
    above = 2 * (b + 1) ** 2 * span**2 / gap**2  # D₁
    below = 2 * (b - 1) ** 2 * span**2 / gap**2  # D₂
    if as_printed:
        root = math.sqrt(math.pi**2 * n**2 / (6 * delta))
        return (
            4 * below * math.log(2 * below * root) - 3,
            4 * above * math.log(2 * above * root) + 1,
        )
    constant = math.log(math.pi**2 * n**3 / (3 * delta))
    # Still neighbours at m̂ pulls each, T < n(m̂+1):  m̂ ≤ D₁ (log K + 2 log(m̂+1)).
    upper = _largest_root(lambda m: above * (constant + 2 * math.log(m + 1)) - m)
    # Apart at m̂+1, T ≥ n(m̂-1):  m̂+1 > D₂ (log K + 2 log(m̂-1)).
    lower = _largest_root(lambda m: below * (constant + 2 * math.log(max(m - 1, 1))) - (m + 1))
    return max(lower, 0.0), upper


def theorem_5_3(
    smallest_gap: float,
    *,
    n: int,
    epsilon: float = 2.5,
    delta: float = 0.1,
    span: float = 1.0,
    as_printed: bool = False,
) -> float:
    """Return Theorem 5.3's bound on all pulls of GOLD, from the smallest gap between two arms.

    Printed with Δ̂ in D₃ where its proof has Δ̂², and with the one-sided δ'. The bound is loose:
    GOLD stops when c arms have split off, not when all have; see `most_pulls`.

    Examples:
        >>> f"{theorem_5_3(0.01, n=20):,.0f}"
        '250,444,690'
    """
    smallest_gap, span = _positive("smallest_gap", smallest_gap), _positive("span", span)
    n, problem = whole_number("n", n, 2), Problem(epsilon=epsilon, delta=delta)
    b, delta = problem.b, problem.delta
    power, sides = (1, 6) if as_printed else (2, 3)
    d3 = 2 * (b + 1) ** 2 * span**2 / smallest_gap**power
    spent = 0.5 * math.log(math.pi**2 * n / (sides * delta))
    return 4 * d3 * n * (math.log(2 * d3 * n) + spent) + 2 * (n - 1)


def most_pulls(
    means: Means,
    *,
    epsilon: float = 2.5,
    rho: float | None = None,
    max_outliers: int | None = None,
    delta: float = 0.1,
    strict: bool = False,
    rewards: str | Sequence[float] | Rewards = "bernoulli",
    bound: BoundKind = "anytime",
) -> float:
    """Return the most pulls that GOLD needs for arms with these means, while its intervals hold.

    They do with probability at least 1-δ for `bound="anytime"`; as printed, that is not proved.

    Theorem 5.3 sharpened: two arms are apart once their distance exceeds 2(b+1)β(m), so GOLD is
    over as soon as that holds for the gaps that must open for c arms to be in small communities.
    Infinite if ties keep them together.

    Examples:
        >>> f"{most_pulls([0.1, 0.15, 0.2, 0.25, 0.9], max_outliers=1):,.0f}"
        '1,445'
    """
    problem = Problem(epsilon, rho, max_outliers, delta, strict)
    model, delta = as_rewards(rewards), problem.delta
    y = np.sort(float_means(means)[1])
    n = len(y)
    problem.check(n)
    largest = problem.max_members(n)
    # As printed, GOLD waits for c arms even where c is not a whole number.
    gap = _decisive_gap(y, largest, math.ceil(problem.capacity(n)) if bound == "paper" else largest)
    if gap < SMALLEST * model.sigma:
        return math.inf
    reach = 2 * (problem.b + 1)
    radius_bound(model, n, delta, bound)  # raises what GOLD would raise
    if bound == "anytime":
        mixture = NormalMixture(delta / n, model.sigma, model.low, model.high)
        start, radius = mixture.warmup, mixture.radius
    else:
        start = 1

        def radius(m: float) -> float:
            level = math.log(math.pi**2 * n * (n * m) ** 2 / (6 * delta))
            return (model.high - model.low) * math.sqrt(level / (2 * m))

    return float(n * _first(lambda m: reach * radius(m) < gap, start))


def _positive(name: str, value: float) -> float:
    rule = f"> 0, from {SMALLEST:g} to {1 / SMALLEST:g}: arms with equal means never separate"
    return real_number(name, value, rule, lambda x: SMALLEST <= x <= 1 / SMALLEST)


def _decisive_gap(
    y: np.ndarray[tuple[int], np.dtype[np.float64]], largest: int, enough: int
) -> float:
    """Return the widest gap that, cut with all wider ones, leaves enough arms in small pieces."""
    n = len(y)
    gaps = np.diff(y)
    for width in np.unique(gaps)[::-1]:
        cuts = np.flatnonzero(gaps >= width) + 1
        sizes = np.diff(np.concatenate([[0], cuts, [n]]))
        if sizes[sizes <= largest].sum() >= enough:
            return float(width)
    return 0.0


def _largest_root(f: Callable[[float], float]) -> float:
    """Return where f, positive then negative for large arguments, last crosses zero."""
    high = 2.0
    while f(high) > 0:
        high *= 2
    low = high / 2 if high > 2 else 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return high


def _first(holds: Callable[[int], bool], start: int) -> int:
    """Return the least m ≥ start at which a condition that stays true is true."""
    high = start
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return max(high, start)
