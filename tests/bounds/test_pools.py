"""Intervals of finite pools: the compiled ends against slow and exact ones."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.special import betaln, gammaln

from oddarm import bounds
from oddarm.rewards import Bernoulli, Bounded
from oddarm.tally import Tally


def log_ratio(k, size, s, m, prior):
    """Return the log of the prior-posterior ratio at k ones, as the module writes it."""
    f = m - s
    evidence = betaln(s + prior, f + prior) - betaln(prior, prior)
    all_ = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
    left = gammaln(size - m + 1) - gammaln(k - s + 1) - gammaln(size - m - k + s + 1)
    return evidence + all_ - left


def ends(alpha, prior, size, s, m):
    """Return the ends of the interval as numbers of ones."""
    tally = Tally(1, Bernoulli(pools=(size,)))
    tally.counts[:], tally.totals[:] = m, s
    low, high = bounds.PoolBeta(alpha, prior).interval(tally)
    one = bounds.PoolBeta(alpha, prior).interval_of(tally, 0)
    assert one == (low[0], high[0])
    return round(low[0] * size), round(high[0] * size)


@some.composite
def draws(draw, largest):
    """A pool of up to `largest` and what was drawn from it: its size, ones and draws."""
    size = draw(some.integers(1, largest))
    m = draw(some.integers(0, size) | some.just(size))
    s = draw(some.integers(0, m) | some.sampled_from([0, m]))
    return size, s, m


LEVELS = some.sampled_from([0.1, 0.05, 0.05 / 193, 1e-6])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(draws(10**6), LEVELS, some.sampled_from([0.5, 1.0]))
def test_ends_are_the_outermost_that_are_kept(drawn, alpha, prior):
    """Both ends are kept and the next number of ones is not, as the formula says literally."""
    size, s, m = drawn
    low, high = ends(alpha, prior, size, s, m)
    fewest, most = s, size - (m - s)
    assert fewest <= low <= high <= most
    level, noise = -math.log(alpha), 1e-7  # log Γ of a million is known to about 1e-9
    assert log_ratio(low, size, s, m, prior) < level + noise
    assert log_ratio(high, size, s, m, prior) < level + noise
    if low > fewest:
        assert log_ratio(low - 1, size, s, m, prior) > level - noise
    if high < most:
        assert log_ratio(high + 1, size, s, m, prior) > level - noise


@settings(max_examples=200, deadline=None, derandomize=True)
@given(draws(60), LEVELS)
def test_ends_of_small_pools_are_exact(drawn, alpha):
    """Enumeration in whole numbers gives the same ends for the prior ½."""
    size, s, m = drawn
    f = m - s
    # B(s+½, f+½) / B(½, ½) = (2s)! (2f)! / (4^m s! f! m!)
    evidence = Fraction(
        math.factorial(2 * s) * math.factorial(2 * f),
        4**m * math.factorial(s) * math.factorial(f) * math.factorial(m),
    )
    kept = [
        k
        for k in range(s, size - f + 1)
        if evidence * math.comb(size, k) * Fraction(alpha) < math.comb(size - m, k - s)
    ]
    assert ends(alpha, 0.5, size, s, m) == (kept[0], kept[-1])


@pytest.mark.parametrize(
    ("size", "s", "m", "expected"),
    [
        (1, 0, 0, (0, 1)),
        (1, 0, 1, (0, 0)),
        (1, 1, 1, (1, 1)),
        (50, 0, 0, (0, 50)),
        (50, 17, 50, (17, 17)),
        (50, 0, 49, (0, 1)),
        (50, 49, 49, (49, 50)),
        (10**6, 0, 10**6, (0, 0)),
        (10**6, 10**6, 10**6, (10**6, 10**6)),
        (10**6, 250_000, 10**6 - 1, (250_000, 250_001)),
    ],
)
def test_fresh_and_nearly_exhausted_pools(size, s, m, expected):
    """A fresh pool may have any number of ones; one with a draw left has two candidates."""
    assert ends(0.05, 0.5, size, s, m) == expected


def test_ends_mirror_each_other():
    """Zeros and ones are treated alike."""
    for size, s, m in [(100, 0, 20), (999, 3, 400), (10**6, 1000, 5000)]:
        low, high = ends(0.01, 0.5, size, s, m)
        assert ends(0.01, 0.5, size, m - s, m) == (size - high, size - low)


def test_the_intersection_of_all_times_is_kept():
    """The running interval only narrows, pull by pull, and ends at the mean of the pool."""
    pool = (np.random.default_rng(3).random(300) < 0.3).astype(float)
    tally = Tally(1, Bernoulli(pools=(300,)))
    running = bounds.RunningIntervals(bounds.PoolBeta(0.05), tally)
    low, high = 0.0, 1.0
    for reward in pool:
        tally.add(0, np.array([reward], dtype=float))
        running.update(0)
        now = bounds.PoolBeta(0.05).interval_of(tally, 0)
        low, high = max(low, now[0]), min(high, now[1])
        assert (running.low[0], running.high[0]) == (low, high)
    assert low == high == pytest.approx(pool.mean())


@pytest.mark.parametrize("m", [1, 2, 40, 999, 1000])
def test_one_bounded_pool_equals_all(m):
    """The quick way for one arm gives the interval of the way for all, to nine digits."""
    rng = np.random.default_rng(m)
    tally = Tally(5, Bounded(minimum=-1.0, maximum=3.0, pools=(1000,) * 5))
    for arm, width in enumerate([0.0, 1e-6, 0.1, 1.0, 4.0]):
        tally.add(arm, np.clip(-1.0 + width * rng.random(m), -1.0, 3.0))
    bound = bounds.PoolBernstein(0.01, -1.0, 3.0)
    low, high = bound.interval(tally)
    for arm in range(5):
        tolerance = 1e-8 * (high[arm] - low[arm]) + 1e-12
        assert bound.interval_of(tally, arm) == pytest.approx((low[arm], high[arm]), abs=tolerance)
    assert bound.interval_of(Tally(1, Bounded(minimum=-1.0, maximum=3.0, pools=(9,))), 0) == (-1, 3)
