"""How often a bulk without outliers has an outlier group by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oddarm._checks import whole_number
from oddarm._typing import Flags, Floats
from oddarm.errors import ParameterError
from oddarm.problem import Problem

__all__ = ["SHAPES", "Chance", "Shape", "chance"]

Draw = Callable[[np.random.Generator, int], ArrayLike]
Shape = str | Draw

SHAPES: dict[str, Callable[..., Floats]] = {
    "uniform": lambda rng, size: rng.uniform(0.0, math.sqrt(12), size),
    "normal": lambda rng, size: rng.standard_normal(size),
    "exponential": lambda rng, size: rng.standard_exponential(size),
}
"""Shapes of a bulk, with a standard deviation of 1."""

AT_ONCE = 1 << 20
"""The most means that are drawn at once."""


@dataclass(frozen=True)
class Chance:
    """How often a bulk has an outlier group by chance.

    Attributes:
        share: The share of simulated bulks that have one.
        low, high: A 95 % interval for the true share (Clopper-Pearson).
        runs: How many bulks were simulated.
    """

    share: float
    low: float
    high: float
    runs: int


def chance(
    n: int,
    epsilon: float | None = None,
    shape: Shape = "normal",
    *,
    min_gap: float | None = None,
    rho: float | None = None,
    max_outliers: int | None = None,
    neighbours: int = 1,
    runs: int = 4_000,
    seed: int = 0,
) -> Chance:
    """Return how often `n` means of one shape have an outlier group, though none is odd.

    No search can tell such a group from a real one: it is in the means, not in the rewards. If it
    comes often, ask for a larger `epsilon`, or for a `min_gap`.

    Args:
        n: How many arms there are.
        epsilon: As for `outlier_groups`; groups may have members above and below at once.
        shape: "uniform", "normal", "exponential", or a function that takes a numpy generator and n
            and returns n means.
        min_gap: As for `outlier_groups`, in units of the standard deviation of the shape; for a
            function, in units of its means.
        rho: The least share of normal arms; default 0.9.
        max_outliers: The most outliers as a count, in place of `rho`.
        neighbours: As for `outlier_groups`.
        runs: How many bulks to simulate.
        seed: Of the simulation.

    Examples:
        >>> found = chance(50, epsilon=5, shape="uniform")
        >>> found.low <= found.share <= found.high < 0.1
        True
        >>> chance(50, min_gap=2.0, shape="uniform").share
        0.0
    """
    problem = Problem(epsilon, rho, max_outliers, min_gap=min_gap, neighbours=neighbours)
    n = whole_number("n", n, least=1)
    problem.check(n)
    runs = whole_number("runs", runs, least=1)
    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    has_group = _has_absolute_group if problem.absolute else _has_relative_group
    found = sum(
        int(has_group(np.diff(np.sort(means)), problem).sum())
        for means in _bulks(shape, rng, n, runs)
    )
    return Chance(found / runs, *_interval(found, runs), runs)


def _bulks(shape: Shape, rng: np.random.Generator, n: int, runs: int) -> Iterator[Floats]:
    """Yield arrays of means, one bulk in each row."""
    if isinstance(shape, str) and shape in SHAPES:
        rows = max(AT_ONCE // n, 1)
        for start in range(0, runs, rows):
            yield SHAPES[shape](rng, (min(rows, runs - start), n))
    elif callable(shape):
        for _ in range(runs):
            yield _checked(shape(rng, n), n)[None, :]
    else:
        raise ParameterError(
            f"shape == {shape!r}, must be {', '.join(map(repr, SHAPES))} or a function that takes "
            "a numpy generator and n and returns n means."
        )


def _checked(drawn: ArrayLike, n: int) -> Floats:
    means = np.asarray(drawn, dtype=np.float64)
    if means.shape != (n,) or not np.isfinite(means).all():
        raise ParameterError(f"shape gave {drawn!r}, must give {n} finite numbers.")
    return means


def _has_relative_group(gaps: Floats, problem: Problem) -> Flags:
    """Return for each row of gaps between neighbours whether it has a general group.

    Cut the j widest gaps, for j = 1, 2, …: pieces of at most c arms are the members, the others
    the segments. They are a group if no cut lies between two segments and the least cut between a
    member and a segment exceeds 1 + ε times the widest gap left in a segment. As long as the next
    gap lies between members, the members stay the same, so it is enough to compare with the next
    gap. The number of members only grows, so a row is over when they are too many.
    """
    n = gaps.shape[1] + 1
    largest, side = problem.max_members(n), problem.min_segment(n)
    order = np.argsort(-gaps, axis=1)
    widest = np.take_along_axis(gaps, order, axis=1)
    floor = float(problem.floor)
    found = np.zeros(len(gaps), dtype=np.bool_)
    rows = np.arange(len(gaps))  # those that are not over
    for j in range(1, n - 1):
        cuts = np.sort(order[rows, :j], axis=1)
        sizes = np.diff(cuts, axis=1, prepend=-1, append=n - 1)
        segment = sizes >= side
        members = np.where(segment, 0, sizes).sum(axis=1)
        border = segment[:, 1:] != segment[:, :-1]
        between = segment[:, 1:] & segment[:, :-1]
        at_cuts = np.take_along_axis(gaps[rows], cuts, axis=1)
        gap = np.where(border, at_cuts, np.inf).min(axis=1)
        wide = (gap > float(problem.ratio) * widest[rows, j]) & (gap > floor)
        good = wide & ~between.any(axis=1) & (members >= 1) & (members <= largest)
        if problem.neighbours > 1:
            for k in np.flatnonzero(good).tolist():
                span = _longest_span(gaps[rows[k]], cuts[k], side, problem.neighbours)
                good[k] = gap[k] > float(problem.ratio) * span
        found[rows[good]] = True
        rows = rows[(members <= largest) & ~good]
        if not len(rows):
            break
    return found


def _longest_span(gaps: Floats, cuts: NDArray[Any], side: int, neighbours: int) -> float:
    """Return the longest span of so many gaps in a row in pieces of at least `side` arms."""
    longest = 0.0
    means = np.concatenate([[0.0], np.cumsum(gaps)])
    for first, end in pairwise([0, *(cuts + 1).tolist(), len(means)]):
        if end - first >= side:
            place = np.arange(first, end)
            spans = means[place] - means[np.maximum(place - neighbours, first)]
            longest = max(longest, float(spans.max()))
    return longest


def _has_absolute_group(gaps: Floats, problem: Problem) -> Flags:
    """Return for each row of gaps whether 1 to c arms are in pieces of at most c arms."""
    count, n = len(gaps), gaps.shape[1] + 1
    largest = problem.max_members(n)
    starts = np.ones((count, n), dtype=np.bool_)  # of pieces; a row starts one
    starts[:, 1:] = gaps > float(problem.floor)
    first = np.flatnonzero(starts)
    sizes = np.diff(first, append=count * n)
    small = np.where(sizes <= largest, sizes, 0)
    members: NDArray[Any] = np.bincount(first // n, weights=small, minlength=count)
    found: Flags = (members >= 1) & (members <= largest)
    return found


def _interval(found: int, runs: int) -> tuple[float, float]:
    """Return the 95 % interval of Clopper and Pearson."""
    from scipy.special import betaincinv  # takes a while to import

    low = float(betaincinv(found, runs - found + 1, 0.025)) if found else 0.0
    high = float(betaincinv(found + 1, runs - found, 0.975)) if found < runs else 1.0
    return low, high
