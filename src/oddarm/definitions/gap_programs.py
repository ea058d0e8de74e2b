"""The nearest means whose gaps keep given limits: many small convex programs solved at once.

A program fixes the order of some arms and limits each gap between neighbours in that order:

    minimise Σᵢ wᵢ KL(μᵢ, λᵢ)   with   gapⱼ ≥ leastⱼ,  gapⱼ ≥ least_timesⱼ·s,
                                       gapⱼ ≤ mostⱼ + most_timesⱼ·s

over the means λ, ascending in that order, and one common scale s. KL is that of 0/1 rewards. The
method is a log barrier with Newton steps. The Hessian is tridiagonal in λ, with one more row for s,
so a step takes time linear in the number of arms; the systems of all programs are solved as one.

What is returned always keeps the limits; where the minimum is missed, only its cost is too large.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dptsv
from scipy.special import xlogy

from oddarm._typing import Floats

__all__ = ["GapPrograms", "bernoulli_kl", "solve"]

MARGIN = 1e-9
"""Limits are kept with this much to spare, so that rounding does not decide."""
SHRINK = 0.1
"""The barrier's factor from one stage to the next."""
NEWTON_STEPS = 80
"""The most Newton steps."""
CENTRED = 0.3
"""A stage ends once the squared Newton decrement is below this multiple of the barrier's factor."""
HALVINGS = 12


def bernoulli_kl(p: Any, q: Any) -> Any:
    """Return KL(p, q) of 0/1 rewards with means p and q; infinite where p has what q has not.

    Examples:
        >>> float(bernoulli_kl(0.5, 0.5)), round(float(bernoulli_kl(0.05, 0.95)), 2)
        (0.0, 2.65)
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    with np.errstate(divide="ignore"):
        cross = xlogy(p, q) + xlogy(1 - p, 1 - q)
    return np.maximum(xlogy(p, p) + xlogy(1 - p, 1 - p) - cross, 0.0)


@dataclass(frozen=True)
class GapPrograms:
    """Programs with the same number m of arms; one row each.

    Attributes:
        order: The arms by ascending λ, m columns. All else has m - 1 columns, one for each gap.
        least: A gap is at least this.
        least_times: A gap is at least this many times s; 0 for no such limit.
        most: A gap is at most this, plus `most_times` times s; infinite for no limit.
        most_times: See `most`.
    """

    order: NDArray[np.intp]
    least: Floats
    least_times: Floats
    most: Floats
    most_times: Floats

    @classmethod
    def free(cls, order: NDArray[np.intp]) -> GapPrograms:
        """Return programs with these orders and no limits yet."""
        shape = (len(order), order.shape[1] - 1)
        zeros = (np.zeros(shape) for _ in range(3))
        return cls(order, next(zeros), next(zeros), np.full(shape, np.inf), next(zeros))

    def __len__(self) -> int:
        return len(self.order)

    def take(self, rows: Any) -> GapPrograms:
        """Return some of the programs."""
        return GapPrograms(*(getattr(self, field.name)[rows] for field in fields(self)))


def solve(
    programs: GapPrograms, mu: Floats, weights: Floats, tolerance: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the nearest means of each program, in the order of its arms, and which were solved.

    Args:
        programs: The programs.
        mu: The means of all arms.
        weights: Of all arms, > 0.
        tolerance: How much the cost may exceed the minimum, as a share of it. Arms without much
            weight may be anywhere.
    """
    start = _start(programs, mu[programs.order])
    solved = np.flatnonzero(start.feasible)
    means = np.full(programs.order.shape, np.nan)
    if len(solved):
        state = _Newton(
            programs.take(solved), mu, weights, start.means[solved], start.scale[solved]
        )
        state.run(tolerance)
        means[solved] = state.means
    return means, start.feasible


@dataclass(frozen=True)
class _Start:
    """Means strictly within the limits, where there are any."""

    means: Floats
    scale: Floats
    feasible: NDArray[np.bool_]


def _start(programs: GapPrograms, mu: Floats) -> _Start:
    """Choose s so that the means span most of what they may, about the middle of the true ones."""
    count, m = programs.order.shape
    little = 0.2 / m

    def gaps(scale: Floats) -> tuple[Floats, Floats]:
        s = scale[:, None]
        low = np.maximum(programs.least, programs.least_times * s) + MARGIN
        room = programs.most + programs.most_times * s - MARGIN - low
        return low + 0.5 * np.minimum(room, little), room.min(axis=1, initial=np.inf)

    low, high = np.full(count, -18.0), np.zeros(count)  # log s
    least, room = gaps(np.exp(low))
    shortest = least.sum(axis=1)
    spread = np.ptp(mu, axis=1)
    wanted = np.clip(np.maximum(spread, 1.3 * shortest), shortest, 0.95)
    for _ in range(40):
        middle = (low + high) / 2
        short = gaps(np.exp(middle))[0].sum(axis=1) < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    scale = np.clip(np.exp(low), 1e-7, 0.99)
    widths, room = gaps(scale)
    total = widths.sum(axis=1)
    feasible = (total < 0.995) & (room > 0)
    centre = (mu.min(axis=1) + mu.max(axis=1)) / 2
    edge = np.minimum(0.01, (1 - total) / 4)
    first = np.clip(centre - total / 2, edge, np.maximum(1 - total - edge, edge))
    means = first[:, None] + np.concatenate([np.zeros((count, 1)), widths.cumsum(axis=1)], axis=1)
    return _Start(means, scale, feasible)


class _Newton:
    """Newton's method on all programs at once; a program that is done is left alone."""

    def __init__(
        self, programs: GapPrograms, mu: Floats, weights: Floats, means: Floats, scale: Floats
    ) -> None:
        self.programs = programs
        self.mu = mu[programs.order]
        self.weights = weights[programs.order]
        self.means = means
        self.scale = scale
        self.bounded = np.isfinite(programs.most)
        self.scaled = programs.least_times > 0
        self.held = programs.least + np.where(programs.least > 0, MARGIN, 0.0)
        entropy = xlogy(self.mu, self.mu) + xlogy(1 - self.mu, 1 - self.mu)
        self.entropy = (self.weights * entropy).sum(axis=1)
        self.cost = self._value(means, scale, np.zeros(len(means)))[1]

    def run(self, tolerance: float) -> None:
        """Take steps until each program's cost is near its minimum."""
        means, scale = self.means.copy(), self.scale.copy()
        active = np.arange(len(means))
        terms = 4.0 * means.shape[1] + 2
        barrier = np.maximum(self.cost, 1e-12) / means.shape[1]
        for _ in range(NEWTON_STEPS):
            decrement = self._step(barrier)
            centred = decrement < CENTRED * barrier
            final = barrier * terms <= tolerance * np.maximum(self.cost, 1e-14)
            done = centred & (final | (barrier < 1e-16))
            barrier = np.where(centred & ~done, SHRINK * barrier, barrier)
            if done.any():
                means[active[done]], scale[active[done]] = self.means[done], self.scale[done]
                stay = ~done
                active, barrier = active[stay], barrier[stay]
                if not len(active):
                    break
                self._keep(stay)
        else:
            means[active], scale[active] = self.means, self.scale
        self.means, self.scale = means, scale

    def _keep(self, rows: NDArray[np.bool_]) -> None:
        self.programs = self.programs.take(rows)
        for name in (
            "mu",
            "weights",
            "means",
            "scale",
            "bounded",
            "scaled",
            "held",
            "entropy",
            "cost",
        ):
            setattr(self, name, getattr(self, name)[rows])

    def _slacks(self, means: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
        """Return how far each limit is from being met exactly; 1 where there is none."""
        gaps, s, programs = np.diff(means, axis=1), scale[:, None], self.programs
        with np.errstate(invalid="ignore"):
            above = np.where(self.scaled, gaps - programs.least_times * s - MARGIN, 1.0)
            below = np.where(
                self.bounded, programs.most + programs.most_times * s - gaps - MARGIN, 1.0
            )
        return above, below, gaps - self.held

    def _value(self, means: Floats, scale: Floats, barrier: Floats) -> tuple[Floats, Floats]:
        """Return the barrier function, infinite beyond a limit, and the cost alone."""
        parts = [*self._slacks(means, scale), scale[:, None], 1 - scale[:, None]]
        least = [part.min(axis=1) for part in (*parts, means, 1 - means)]
        inside = np.minimum.reduce(least) > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            failing, succeeding = np.log(1 - means), np.log(means)
            logs = sum(np.log(part).sum(axis=1) for part in parts)
            logs = logs + (failing + succeeding).sum(axis=1)
            fit = self.weights * (self.mu * succeeding + (1 - self.mu) * failing)
            cost: Floats = self.entropy - fit.sum(axis=1)
            value: Floats = cost - barrier * logs
        return np.where(inside, value, np.inf), cost

    def _step(self, barrier: Floats) -> Floats:
        """Take a Newton step in every program and return the squared decrements before it."""
        t, x, s = barrier[:, None], self.means, self.scale
        programs = self.programs
        above, below, apart = self._slacks(x, s)
        up = np.where(self.scaled, 1 / above, 0.0)
        down = np.where(self.bounded, 1 / below, 0.0)
        out = 1 / apart
        by_gap = -t * (up - down + out)
        gap_gap = t * (up**2 + down**2 + out**2)
        gap_scale = -t * (programs.least_times * up**2 + programs.most_times * down**2)
        by_scale = barrier * (
            (programs.least_times * up - programs.most_times * down).sum(axis=1)
            - 1 / s
            + 1 / (1 - s)
        )
        scale_scale = barrier * (
            ((programs.least_times * up) ** 2 + (programs.most_times * down) ** 2).sum(axis=1)
            + 1 / s**2
            + 1 / (1 - s) ** 2
        )
        gradient = self.weights * (x - self.mu) / (x * (1 - x)) - t * (1 / x - 1 / (1 - x))
        diagonal = self.weights * (self.mu / x**2 + (1 - self.mu) / (1 - x) ** 2)
        diagonal += t * (1 / x**2 + 1 / (1 - x) ** 2)
        column = np.zeros_like(x)
        gradient[:, 1:] += by_gap
        gradient[:, :-1] -= by_gap
        column[:, 1:] += gap_scale
        column[:, :-1] -= gap_scale
        diagonal[:, 1:] += gap_gap
        diagonal[:, :-1] += gap_gap
        first, second = _tridiagonal(diagonal, -gap_gap, gradient, column)
        bend = scale_scale - (column * second).sum(axis=1)
        bend = np.maximum(bend, 1e-12 * scale_scale)
        of_scale = ((column * first).sum(axis=1) - by_scale) / bend
        of_means = -first - second * of_scale[:, None]
        decrement: Floats = -(gradient * of_means).sum(axis=1) - by_scale * of_scale
        self._move(of_means, of_scale, barrier, decrement)
        return np.maximum(decrement, 0.0)

    def _move(self, of_means: Floats, of_scale: Floats, barrier: Floats, decrement: Floats) -> None:
        """Go along the step as far as the barrier function falls."""
        gaps = np.diff(of_means, axis=1)
        moves = [
            np.where(self.scaled, gaps - self.programs.least_times * of_scale[:, None], 0.0),
            np.where(self.bounded, self.programs.most_times * of_scale[:, None] - gaps, 0.0),
            gaps, of_means, -of_means, of_scale[:, None], -of_scale[:, None],
        ]  # fmt: skip
        slacks = [*self._slacks(self.means, self.scale), self.means, 1 - self.means]
        slacks += [self.scale[:, None], 1 - self.scale[:, None]]
        steepest = np.maximum.reduce(
            [(-move / slack).max(axis=1) for move, slack in zip(moves, slacks, strict=True)]
        )
        length = np.minimum(1.0, 0.95 / np.maximum(steepest, 1e-300))
        before, _ = self._value(self.means, self.scale, barrier)
        for _ in range(HALVINGS):
            means = self.means + length[:, None] * of_means
            scale = self.scale + length * of_scale
            value, cost = self._value(means, scale, barrier)
            worse = ~(value <= before - 0.01 * length * decrement + 1e-12 * np.abs(before))
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
        kept = ~worse
        self.means[kept], self.scale[kept], self.cost[kept] = means[kept], scale[kept], cost[kept]


def _tridiagonal(
    diagonal: Floats, beside: Floats, one: Floats, other: Floats
) -> tuple[Floats, Floats]:
    """Solve all tridiagonal systems with two right sides each, as one long system."""
    count, m = diagonal.shape
    joined = np.zeros((count, m))
    joined[:, :-1] = beside
    right = np.stack([one.ravel(), other.ravel()], axis=1)
    _, _, found, info = dptsv(diagonal.ravel(), joined.ravel()[:-1], right)
    if info != 0:  # rounding: a matrix that is barely positive
        _, _, found, info = dptsv(1.000001 * diagonal.ravel(), joined.ravel()[:-1], right)
    if info != 0:
        return np.zeros_like(diagonal), np.zeros_like(diagonal)
    return found[:, 0].reshape(count, m), found[:, 1].reshape(count, m)
