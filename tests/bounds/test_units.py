"""Bounds know no units: shifted and scaled rewards have shifted and scaled intervals."""

import numpy as np
import pytest

import oddarm
from oddarm import bounds
from oddarm.bounds.sigma import SigmaBounded
from oddarm.rewards import Bounded, SubGaussian
from oddarm.sources import RecordedSource
from oddarm.tally import Tally

SIZE = 400
UNITS = [(1e6, 1.0), (-1e6, 1.0), (1e9, 2.0), (0.0, 1e60), (0.0, 1e-60), (-5e59, 1e60), (3.0, 7.0)]
BOUNDED = {
    "Bernstein": lambda low, high: bounds.Bernstein(0.01, low, high),
    "NormalMixture": lambda low, high: bounds.NormalMixture(0.01, (high - low) / 2, low, high),
    "PaperBounded": lambda low, high: bounds.PaperBounded(0.01, 4, low, high),
    "SigmaBounded": lambda low, high: SigmaBounded(2.0, 0.01, 4, low, high),
    "PoolBernstein": lambda low, high: bounds.PoolBernstein(0.01, low, high),
}


def rewards():
    """Return rewards of four arms in [0, 1], in units that floats of any offset here can hold."""
    rng = np.random.default_rng(6)
    shapes = [rng.random(SIZE), rng.beta(2, 30, SIZE), np.full(SIZE, 0.375), rng.random(SIZE) < 0.1]
    return [np.round(np.asarray(shape) * 1024) / 1024 for shape in shapes]


def tallies(model, start, unit):
    """Yield tallies after some numbers of rewards, told in uneven parts."""
    tally, told = Tally(4, model), 0
    for upto in (1, 2, 10, 150, 399, SIZE):
        for arm, values in enumerate(rewards()):
            tally.add(arm, start + unit * values[told:upto])
        told = upto
        yield tally


@pytest.mark.parametrize(("start", "unit"), UNITS)
@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_are_equivariant(name, start, unit):
    """The interval of a + b·x is that of x, times b, plus a, to nine digits of the range."""
    pools = (SIZE,) * 4 if name == "PoolBernstein" else None
    plain = tallies(Bounded(minimum=0, maximum=1, pools=pools), 0.0, 1.0)
    model = Bounded(minimum=start, maximum=start + unit, pools=pools)
    bound, other = BOUNDED[name](0.0, 1.0), BOUNDED[name](model.low, model.high)
    accuracy = max(1e-9, 4 * np.spacing(abs(start)) / unit)
    for tally, moved in zip(plain, tallies(model, start, unit), strict=True):
        low, high = other.interval(moved)
        expected = bound.interval(tally)
        assert (low - start) / unit == pytest.approx(expected[0], abs=accuracy)
        assert (high - start) / unit == pytest.approx(expected[1], abs=accuracy)
        for arm in range(4):
            ends = (np.array(other.interval_of(moved, arm)) - start) / unit
            assert ends == pytest.approx(bound.interval_of(tally, arm), abs=accuracy)


@pytest.mark.parametrize(("start", "unit"), UNITS)
def test_sub_gaussian_radii_are_equivariant(start, unit):
    """The same for rewards without a range."""
    plain, model = tallies(SubGaussian(scale=1), 0.0, 1.0), SubGaussian(scale=unit)
    for tally, moved in zip(plain, tallies(model, start, unit), strict=True):
        low, high = bounds.NormalMixture(0.01, unit).interval(moved)
        expected = bounds.NormalMixture(0.01, 1.0).interval(tally)
        accuracy = max(1e-9, 400 * np.spacing(abs(start)) / unit)
        assert (low - start) / unit == pytest.approx(expected[0], abs=accuracy)
        assert (high - start) / unit == pytest.approx(expected[1], abs=accuracy)


def test_an_offset_does_not_bias_the_mean():
    """Very many equal rewards beside a large offset have their own mean, to the last digit."""
    tally = Tally(1, Bounded(minimum=1e9, maximum=1e9 + 2))
    for _ in range(100):
        tally.add(0, np.full(1000, 1e9 + 0.3))
    assert tally.means[0] == 1e9 + 0.3
    assert tally.scatter[0] < 1e-9


@pytest.mark.parametrize(("start", "unit"), [(1e6, 1.0), (0.0, 1e60), (0.0, 1e-60)])
def test_a_search_knows_no_units(start, unit):
    """Pools of shifted and scaled rewards have the same outliers."""
    rng = np.random.default_rng(2)
    pools = {k: np.round(rng.random(60) * 256) / 2048 + k / 32 for k in (0, 1, 2, 3, 24)}
    answers = []
    for first, step in ((0.0, 1.0), (start, unit)):
        moved = {k: first + step * values for k, values in pools.items()}
        source = RecordedSource(moved, rewards=(first, first + step))
        result = oddarm.find(source, max_outliers=1, until="confirmed")
        answers.append((result.verdict, result.outliers))
    assert answers == [("confirmed", [24])] * 2
