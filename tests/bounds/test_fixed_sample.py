"""Intervals for one look: literal versions, coverage, extremes."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from oddarm import bounds
from oddarm.rewards import Bernoulli, Bounded, SubGaussian
from oddarm.tally import Tally
from reference import fixed_sample

UNIT = Bounded(minimum=0.0, maximum=1.0)


def zero_one(successes, pulls, pools=None):
    """Return a tally of so many successes of so many pulls of each arm."""
    tally = Tally(len(pulls), Bernoulli(pools=pools))
    tally.counts[:], tally.totals[:], tally.pulls = pulls, successes, sum(pulls)
    return tally


def samples(model, rows):
    """Return a tally with an arm for each row of rewards."""
    tally = Tally(len(rows), model)
    for arm, row in enumerate(rows):
        tally.add(arm, np.asarray(row, dtype=float))
    return tally


@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.05 / 80, 1e-6])
def test_clopper_pearson_is_the_binomial_tail(alpha):
    """Both ends are those of exact fractions."""
    cases = [(s, m) for m in (1, 2, 7, 30) for s in {0, 1, m // 3, m}]
    low, high = bounds.ClopperPearson(alpha).interval(zero_one(*zip(*cases, strict=True)))
    literal = [fixed_sample.clopper_pearson(s, m, alpha) for s, m in cases]
    assert low == pytest.approx([end for end, _ in literal], abs=1e-12)
    assert high == pytest.approx([end for _, end in literal], abs=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.05 / 80])
def test_pools_are_the_hypergeometric_tail(alpha):
    """Both ends are those of exact enumeration; a pool drawn completely is known exactly."""
    cases = [(s, m, size) for size in (1, 5, 23) for m in range(size + 1) for s in range(m + 1)]
    s, m, sizes = zip(*cases, strict=True)
    low, high = bounds.PoolClopperPearson(alpha).interval(zero_one(s, m, sizes))
    literal = [fixed_sample.hypergeometric(*case, alpha) for case in cases]
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == literal
    assert all(low[k] == high[k] == s[k] / m[k] for k in range(len(m)) if m[k] == sizes[k] > 0)


@pytest.mark.parametrize("m", [3, 40, 400])
def test_bounded_is_the_definition(m):
    """Both ends are those of the two tests, the mixture integrated number by number."""
    rng = np.random.default_rng(m)
    rows = [rng.random(m), rng.beta(2, 8, m), 0.5 + 0.02 * rng.random(m), rng.random(m) < 0.1]
    low, high = bounds.BoundedSample(0.01).interval(samples(UNIT, rows))
    for k, row in enumerate(rows):
        literal = fixed_sample.bounded([float(x) for x in row], 0.01, max(50.0, m / 16))
        assert (low[k], high[k]) == pytest.approx(literal, abs=1e-7)


def test_bounded_moves_with_the_range():
    """Rewards moved and scaled with their range give the interval moved and scaled."""
    rows = [np.random.default_rng(1).beta(2, 5, 200)]
    low, high = bounds.BoundedSample(0.01).interval(samples(UNIT, rows))
    moved = Bounded(minimum=-3.0, maximum=5.0)
    ends = bounds.BoundedSample(0.01, -3.0, 5.0).interval(samples(moved, [-3 + 8 * rows[0]]))
    assert ends[0] == pytest.approx(-3 + 8 * low)
    assert ends[1] == pytest.approx(-3 + 8 * high)


def test_bounded_is_narrower_than_maurer_and_pontil():
    """Up to 10,000 rewards it is narrower, or at 100,000 at most 10 % wider."""
    for m in (10, 100, 1000, 10_000, 100_000):
        for deviation in (0.5, 0.3, 0.1, 0.03):
            row = 0.5 + deviation * np.where(np.arange(m) % 2, 1, -1)
            low, high = bounds.BoundedSample(0.05 / 80).interval(samples(UNIT, [row]))
            level = math.log(3 * 80 / 0.05)
            theirs = math.sqrt(2 * row.var(ddof=1) * level / m)
            theirs += 2 * level / math.sqrt(m * (m - 1)) + level / (3 * m)
            assert high[0] - low[0] <= 2 * theirs * (1.1 if m == 100_000 else 1)


SHAPES = {
    "0/1 at 0.5": (0.5, lambda rng, shape: rng.random(shape) < 0.5),
    "0/1 at 0.03": (0.03, lambda rng, shape: rng.random(shape) < 0.03),
    "uniform": (0.5, lambda rng, shape: rng.random(shape)),
    "beta(2, 8)": (0.2, lambda rng, shape: rng.beta(2, 8, shape)),
    "rarely far": (0.05, lambda rng, shape: np.where(rng.random(shape) < 0.05, 1.0, 0.0)),
    "constant": (0.7, lambda rng, shape: np.full(shape, 0.7)),  # noqa: ARG005
}


def plausible(errors, runs, limit):
    """Whether so many errors have a chance of 1 in 10,000 or more at the promised limit."""
    return errors <= binom.ppf(1 - 1e-4, runs, limit)


@pytest.mark.parametrize("alpha", [0.5, 0.1])
@pytest.mark.parametrize("m", [1, 5, 60, 1500])
@pytest.mark.parametrize("shape", SHAPES)
def test_endless_intervals_cover(shape, m, alpha):
    """At one look, each interval misses the mean no more often than promised."""
    mean, draw = SHAPES[shape]
    runs = 1000
    rows = np.asarray(draw(np.random.default_rng(7), (runs, m)), dtype=float)
    checked = [(bounds.BoundedSample(alpha), samples(UNIT, rows))]
    if np.isin(rows, (0, 1)).all():
        checked.append((bounds.ClopperPearson(alpha), zero_one(rows.sum(axis=1), [m] * runs)))
    for bound, tally in checked:
        low, high = bound.interval(tally)
        assert (low <= high).all()
        wrong = int(((low > mean + 1e-12) | (high < mean - 1e-12)).sum())
        assert plausible(wrong, runs, alpha), type(bound)


@pytest.mark.parametrize("alpha", [0.5, 0.1])
@pytest.mark.parametrize("m", [1, 20, 55, 60])
def test_pool_intervals_cover(m, alpha):
    """At one look at a part of a pool, the mean of the pool is missed no more than promised."""
    rng, runs, size = np.random.default_rng(8), 500, 60
    for values in (rng.random(size), np.arange(size) < 20, np.arange(size) < 1):
        pool = np.asarray(values, dtype=float)
        rows = rng.permuted(np.tile(pool, (runs, 1)), axis=1)[:, :m]
        model = Bounded(minimum=0.0, maximum=1.0, pools=(size,) * runs)
        checked = [(bounds.PoolSerfling(alpha), samples(model, rows))]
        if np.isin(pool, (0, 1)).all():
            tally = zero_one(rows.sum(axis=1), [m] * runs, (size,) * runs)
            checked.append((bounds.PoolClopperPearson(alpha), tally))
        for bound, tally in checked:
            low, high = bound.interval(tally)
            truth = pool.mean()
            wrong = int(((low > truth + 1e-12) | (high < truth - 1e-12)).sum())
            assert plausible(wrong, runs, alpha), type(bound)
            assert m < size or np.array_equal(low, high)


@pytest.mark.parametrize("alpha", [0.5, 0.1])
def test_sub_gaussian_covers(alpha):
    """Normal rewards are missed no more often than promised."""
    rows = np.random.default_rng(9).normal(3.0, 2.0, (2000, 9))
    low, high = bounds.SubGaussianSample(alpha, 2.0).interval(samples(SubGaussian(scale=2.0), rows))
    assert plausible(int(((low > 3) | (high < 3)).sum()), 2000, alpha)
    assert high - low == pytest.approx(4 * math.sqrt(2 * math.log(2 / alpha) / 9))


@pytest.mark.parametrize(
    "model",
    [
        Bernoulli(),
        UNIT,
        SubGaussian(scale=1.0),
        Bernoulli(pools=(4, 4, 4)),
        Bounded(minimum=0.0, maximum=1.0, pools=(4, 4, 4)),
    ],
)
def test_an_arm_without_rewards_may_have_any_mean(model):
    """Its interval is the range of the rewards, and each arm has δ/n."""
    bound = bounds.one_look_bound(model, 3, 0.06)
    assert bound.alpha == pytest.approx(0.02)
    low, high = bound.interval(Tally(3, model))
    assert (low == model.low).all()
    assert (high == model.high).all()


def test_one_look_is_narrower_than_all_times():
    """For 0/1 and bounded rewards, the interval for one look lies inside the one for all times."""
    rows = (np.random.default_rng(2).random((20, 300)) < 0.2).astype(float)
    for model in (Bernoulli(), UNIT):
        tally = samples(model, rows)
        one, all_ = bounds.one_look_bound(model, 20, 0.05), bounds.interval_bound(model, 20, 0.05)
        assert (one.interval(tally)[0] >= all_.interval(tally)[0]).all()
        assert (one.interval(tally)[1] <= all_.interval(tally)[1]).all()
