"""The centred Beta mixture: exact identities, its interval, extremes and coverage."""

import math

import numpy as np
import pytest
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import binom
from verification.coverage import look_times, misses

from oddarm.bounds import BetaMixture, CentredBeta
from oddarm.kernels.native import function
from oddarm.rewards import Bernoulli
from oddarm.tally import Tally

RHO, JEFFREYS = 4.0, 0.1  # weight of the centred prior, share of the other: as in centred.c
centred_capital = function("centred_capital", "real real real", "real")
log_capital = function("log_capital", "real real real", "real")

GRID = np.unique(np.concatenate([np.logspace(-9, -1, 400), np.linspace(0.1, 0.9, 801)]))
GRID = np.concatenate([GRID, 1 - GRID[GRID < 0.1][::-1]])


def literal_capitals(s, m, p):
    """Return the log capitals of both priors by their Beta functions."""
    kappa = RHO / (4 * p * (1 - p))
    chance = xlogy(s, p) + xlog1py(m - s, -p)
    centred = betaln(s + kappa * p, m - s + kappa * (1 - p)) - betaln(kappa * p, kappa * (1 - p))
    jeffreys = betaln(s + 0.5, m - s + 0.5) - betaln(0.5, 0.5)
    return centred - chance, jeffreys - chance


@pytest.mark.parametrize(("s", "m"), [(0, 1), (1, 1), (0, 50), (3, 10), (40, 300), (999, 1000)])
def test_capital_equals_its_definition(s, m):
    """The capital is that of the Beta functions, nine tenths on the centred prior."""
    p = np.linspace(0.01, 0.99, 99)
    centred, jeffreys = literal_capitals(s, m, p)
    expected = np.logaddexp(math.log(1 - JEFFREYS) + centred, math.log(JEFFREYS) + jeffreys)
    got = [log_capital(float(s), float(m), x) for x in p]
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.73, 0.999])
def test_capital_is_a_martingale(p):
    """Over all outcomes of the next pull, and of the first 1 to 12, the mean stays the same."""
    for m in range(1, 13):
        outcomes = np.arange(m + 1)
        capital = np.exp([log_capital(float(s), float(m), p) for s in outcomes])
        assert (binom.pmf(outcomes, m, p) * capital).sum() == pytest.approx(1)
        after = np.exp([log_capital(float(s), m + 1.0, p) for s in range(m + 2)])
        assert p * after[1:] + (1 - p) * after[:-1] == pytest.approx(capital)


@pytest.mark.parametrize("m", [1, 2, 5, 30, 1000, 10**6, 10**9])
def test_rates_that_are_not_rejected_are_an_interval(m):
    """Both capitals fall to a least value and rise from there on; at s/m nothing is won."""
    for s in {0, 1, m // 100, m // 3, m // 2, m - 1, m}:
        for capital in (centred_capital, log_capital):
            values = np.array([capital(float(s), float(m), p) for p in GRID])
            least = int(np.argmin(values))
            slack = 1e-9 * np.maximum(np.abs(values[1:]), 1.0)
            rises = np.diff(values)
            assert (rises <= slack)[:least].all()
            assert (rises >= -slack)[least:].all()
            if 0 < s < m:
                assert capital(float(s), float(m), s / m) <= 0


@pytest.mark.parametrize("alpha", [0.05, 0.005, 1e-6])
def test_the_interval_ends_where_the_capital_is_enough(alpha):
    """At either end the capital is 1/α, and not below, unless the end is 0 or 1."""
    bound = CentredBeta(alpha)
    for m in (1, 7, 100, 12_345, 10**7, 10**9):
        for s in {0, 1, m // 50, m // 2, m - 1, m}:
            ends = bound.bounds_for(s, m)
            assert ends[0] <= s / m <= ends[1]
            for end in ends:
                if 0 < end < 1:
                    got = log_capital(float(s), float(m), end)
                    assert got >= bound.level * (1 - 1e-12)
                    if 1e-12 < end < 1 - 1e-12:  # nearer, floats are too coarse
                        assert got == pytest.approx(bound.level, rel=1e-4)
            assert s or not ends[0]
            assert s < m or ends[1] == 1


def test_an_end_too_near_to_zero_or_one_is_zero_or_one():
    """One success in very many pulls rejects no rate that floats can tell from 0; 0 is safe."""
    bound = CentredBeta(0.0005)
    assert bound.bounds_for(1, 10**7)[0] == 0
    assert bound.bounds_for(10**7 - 1, 10**7)[1] == 1


def test_extremes_give_numbers():
    """No successes, no failures, one pull and a thousand million pulls give proper intervals."""
    for alpha in (0.5, 1e-3, 1e-12):
        for m in (1, 2, 10, 10**6, 10**9):
            for s in {0, 1, m // 2, m - 1, m}:
                low, high = CentredBeta(alpha).bounds_for(s, m)
                assert 0 <= low <= s / m <= high <= 1
                assert low < high
    assert CentredBeta(0.01).bounds_for(0, 0) == (0.0, 1.0)
    low, high = CentredBeta(0.005).bounds_for(10**9 // 2, 10**9)
    assert high - low < 3e-4


def test_arms_without_rewards_have_the_whole_range():
    """A tally is read arm by arm; all three ways to ask for an interval agree."""
    tally = Tally(3, Bernoulli())
    tally.add(0, np.ones(4))
    tally.add(2, np.array([0.0, 1.0, 0.0]))
    bound = CentredBeta(0.01)
    low, high = bound.interval(tally)
    assert (low[1], high[1]) == (0.0, 1.0)
    for arm in range(3):
        assert bound.interval_of(tally, arm) == (low[arm], high[arm])
    assert bound.bounds_for(1, 3) == (low[2], high[2])


def test_narrower_than_the_fixed_prior_from_a_few_hundred_pulls():
    """From 300 pulls on it is narrower than the Beta mixture with one prior for all rates."""
    for m in (300, 1000, 10**4, 10**6):
        for p in (0.02, 0.1, 0.3, 0.5, 0.8, 0.98):
            s = round(p * m)
            low, high = CentredBeta(0.005).bounds_for(s, m)
            other = BetaMixture(0.005).bounds_for(np.array([float(s)]), np.array([m]))
            assert high - low < other[1][0] - other[0][0]


@pytest.mark.parametrize("p", [0.002, 0.3, 0.5, 1.0])
def test_covers_the_rate_at_all_times(p):
    """A single miss at any look up to 3,000 pulls is an error; there are at most α of them."""
    runs, alpha = 400, 0.1
    rng = np.random.default_rng(12)
    times = look_times(3000, 100)
    steps = np.diff([0, *times])
    blocks = ((rng.random((runs, k)) < p).astype(float) for k in steps)
    missed = misses(CentredBeta(alpha), Bernoulli(), blocks, p)
    assert missed.sum() <= binom.ppf(0.9999, runs, alpha)
