"""A bet against a mean, written down reward by reward (kernels/bets.h)."""

import math

import numpy as np

LONGER = (1.0, 6.0)
"""By what factors the steps of a bet on rewards in a range are longer, each with its part."""


def capital(told, value, step, way):
    """Return what a bet that a mean is a step away from `value` has become; it began at 1.

    `told` has the numbers of ones and of zeros, or an array of rewards between 0 and 1.
    """
    if isinstance(told, tuple):
        ones, zeros = told
        return _product(np.array([1.0, 0.0]), np.array([ones, zeros]), value, step, way)
    once = np.ones(len(told))
    return sum(_product(told, once, value, step * k, way) for k in LONGER) / len(LONGER)


def _product(rewards, times, value, step, way):
    value = min(max(value, 1e-12), 1 - 1e-12)
    if way < 0:
        other = max(value - step, value / 16)
    else:
        other = 1 - max(1 - value - step, (1 - value) / 16)
    one, zero = other / value, (1 - other) / (1 - value)
    log = float(times @ np.log(rewards * one + (1 - rewards) * zero))
    return math.exp(min(log, 500.0))  # so much is beyond any doubt
