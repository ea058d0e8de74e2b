"""The limit for three arms of which one may be an outlier, on a grid of all truths."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def grid(step: float) -> Floats:
    """Return all truths of three arms on a grid."""
    axis = np.arange(step, 1 - step / 2, step)
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)


def group_of(truths: Floats, epsilon: float, min_gap: float) -> NDArray[np.intp]:
    """Return by Definition 2 which arm is the group of each truth; -1 if there is none."""
    order = np.argsort(truths, axis=1)
    low, middle, high = np.take_along_axis(truths, order, axis=1).T
    above, below = high - middle, middle - low
    top = (above > (1 + epsilon) * below) & (above > min_gap)
    bottom = (below > (1 + epsilon) * above) & (below > min_gap)
    return np.where(top, order[:, 2], np.where(bottom, order[:, 0], -1))


def apart(truths: Floats, min_gap: float) -> Bools:
    """Return for each arm of each truth whether no other arm is within `min_gap` of it."""
    alone = [
        np.all([np.abs(truths[:, i] - truths[:, j]) > min_gap for j in range(3) if j != i], axis=0)
        for i in range(3)
    ]
    return np.stack(alone, axis=1)


def kl(p: Floats, q: Floats) -> Floats:
    """Return KL of 0/1 rewards with means strictly between 0 and 1."""
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


def characteristic_time(means: list[float], wrong: Callable[[Floats], Bools], step: float) -> float:
    """Return T* against all truths of the grid under which the answer is wrong."""
    mu = np.array(means)
    truths = grid(step)
    costs = kl(mu, truths[wrong(truths)])
    used = costs[np.argsort(costs.sum(axis=1))[:50]]
    while True:
        answer = linprog(
            [0, 0, 0, -1],
            A_ub=np.column_stack([-used, np.ones(len(used))]),
            b_ub=np.zeros(len(used)),
            A_eq=[[1, 1, 1, 0]],
            b_eq=[1],
            bounds=[(0, None)] * 3 + [(None, None)],
        )
        shares, rate = answer.x[:3], answer.x[3]
        far = costs @ shares
        if far.min() >= rate * (1 - 1e-6):
            return float(1 / rate)
        used = np.concatenate([used, costs[np.argsort(far)[:50]]])
