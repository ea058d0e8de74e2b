"""The four distributions of the paper's Figure 1; the k-sigma rule is right on one of them.

The figure's points are not published, so each distribution is drawn to do what the introduction
says of it. All four have an (ε=5, ρ=95 %)-outlier group, which is checked. The k-sigma rule, which
names the arms above mean + k·(standard deviation), is right on (a) at k = 2 and wrong at 1 and 3;
on (b), (c) and (d) it is right at none of the three.

Normal arms are quantiles with a little noise: independent draws leave gaps in the tails that no
outlier at ε = 5 could exceed within a readable picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from oddarm import Problem, outlier_groups

__all__ = ["Illustration", "illustration", "illustrations"]

Floats = NDArray[np.float64]

ARMS = 100
PROBLEM = Problem(epsilon=5.0, rho=0.95)
WIDER = 1.05 * float(PROBLEM.ratio)  # the gap around the outliers, 5 % beyond the needed one


@dataclass(frozen=True, eq=False)
class Illustration:
    """Arms of one panel of Figure 1.

    Attributes:
        letter: The panel: "a", "b", "c" or "d".
        title: What the panel shows.
        means: The mean of each arm, in [0, 1].
        outliers: The indices of the outliers, ascending.
        problem: The problem of which they are a group.
    """

    letter: str
    title: str
    means: Floats
    outliers: tuple[int, ...]
    problem: Problem


def illustration(letter: str, seed: int = 0) -> Illustration:
    """Return one panel of the paper's Figure 1.

    Args:
        letter: "a" (normal, two high outliers), "b" (flat, one high outlier), "c" (skewed, one low
            outlier) or "d" (two clusters, two outliers between them).
        seed: Any whole number ≥ 0.

    Examples:
        >>> panel = illustration("d")
        >>> panel.title, len(panel.means), panel.means[list(panel.outliers)].round(2).tolist()
        ('two clusters, two outliers between them', 100, [0.48, 0.52])
    """
    title, build = _PANELS[letter]
    rng = np.random.default_rng([seed, ord(letter)])
    normal, outliers = build(rng)
    means = np.concatenate([normal, outliers])
    low, high = means.min(), means.max()
    order = rng.permutation(ARMS)
    means = (0.05 + 0.9 * (means - low) / (high - low))[order]
    chosen = tuple(np.flatnonzero(order >= len(normal)).tolist())
    groups = outlier_groups(means, PROBLEM.epsilon, PROBLEM.rho)
    if not any(set(group.members) == set(chosen) for group in groups):
        raise AssertionError(f"panel {letter} of seed {seed} has no such group")
    return Illustration(letter, title, means, chosen, PROBLEM)


def illustrations(seed: int = 0) -> tuple[Illustration, ...]:
    """Return all four panels, in order."""
    return tuple(illustration(letter, seed) for letter in _PANELS)


def _normal(rng: np.random.Generator) -> tuple[Floats, Floats]:
    # Two standard deviations to either side: the density beyond leaves gaps too wide for ε = 5.
    bell = NormalDist()
    low, high = bell.cdf(-2.0), bell.cdf(2.0)
    shares = low + (high - low) * _shares(rng, ARMS - 2)
    arms = np.array([bell.inv_cdf(share) for share in shares])
    first = arms[-1] + WIDER * np.diff(arms).max()
    return arms, np.array([first, first + 1.6 + 0.2 * rng.random()])


def _flat(rng: np.random.Generator) -> tuple[Floats, Floats]:
    arms = _shares(rng, ARMS - 1)
    return arms, np.array([arms[-1] + WIDER * np.diff(arms).max()])


def _skewed(rng: np.random.Generator) -> tuple[Floats, Floats]:
    # An exponential law, cut where its tail gets thin.
    arms = -np.log1p(-0.9 * _shares(rng, ARMS - 1))
    return arms, np.array([arms[0] - WIDER * np.diff(arms).max()])


def _clusters(rng: np.random.Generator) -> tuple[Floats, Floats]:
    below, above = 0.3 * _shares(rng, 58), 0.3 * _shares(rng, ARMS - 60)
    gap = 1.4 * WIDER * max(np.diff(below).max(), np.diff(above).max())
    inside = below[-1] + gap + np.array([0.0, 0.03 + 0.01 * rng.random()])
    return np.concatenate([below, inside[-1] + gap + above - above[0]]), inside


def _shares(rng: np.random.Generator, count: int) -> Floats:
    """Return ascending shares in (0, 1), one in the middle fifth of each of `count` equal parts."""
    return (np.arange(count) + rng.uniform(0.4, 0.6, size=count)) / count


_PANELS: dict[str, tuple[str, Callable[[np.random.Generator], tuple[Floats, Floats]]]] = {
    "a": ("normal, two high outliers", _normal),
    "b": ("flat, one high outlier", _flat),
    "c": ("skewed, one low outlier", _skewed),
    "d": ("two clusters, two outliers between them", _clusters),
}
