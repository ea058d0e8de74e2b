"""How often a bulk without outliers has an outlier group by chance."""

import numpy as np
import pytest
from scipy.stats import binomtest

import oddarm
from oddarm.definitions.chance import SHAPES

RULES = [
    {"epsilon": 1.0},
    {"epsilon": 2.5, "max_outliers": 2},
    {"epsilon": 1.0, "min_gap": 0.5},
    {"min_gap": 0.6},
    {"min_gap": 0.4, "rho": 0.7},
]


def count_groups(bulks, **rule):
    """Return how many bulks have a group, in exact arithmetic."""
    return sum(bool(oddarm.outlier_groups(means, mixed=True, **rule)) for means in bulks)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_the_groups_of_the_definition(shape, rule):
    """The share is that of bulks with a group by `outlier_groups`, one by one."""
    bulks = SHAPES[shape](np.random.default_rng(3), (300, 12))
    found = oddarm.chance(12, shape=shape, runs=300, seed=3, **rule)
    assert found.share == count_groups(bulks, **rule) / 300


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_ties_count_as_in_the_definition(rule):
    """Means of a function may be tied; equal gaps do not make a group."""

    def draw(rng, n):
        return rng.integers(0, 12, n) / 4

    rng = np.random.default_rng(4)
    bulks = [draw(rng, 11) for _ in range(300)]
    found = oddarm.chance(11, shape=draw, runs=300, seed=4, **rule)
    assert found.share == count_groups(bulks, **rule) / 300
    assert 0 < found.share < 1


def test_interval_is_that_of_clopper_and_pearson():
    """The interval is the exact binomial one; it ends at 0 and 1 where all runs agree."""
    found = oddarm.chance(20, 1.0, "exponential", runs=500)
    count = round(500 * found.share)
    expected = binomtest(count, 500).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    never = oddarm.chance(20, min_gap=50.0, runs=100)
    assert (never.share, never.low) == (0.0, 0.0)
    assert never.high == pytest.approx(1 - 0.025 ** (1 / 100))
    always = oddarm.chance(20, shape=lambda _, n: np.append(np.zeros(n - 1), 1.0), runs=100)
    assert (always.share, always.high) == (1.0, 1.0)


def test_large_bulks_are_drawn_in_parts(monkeypatch):
    """How many means are drawn at once does not change the answer."""
    whole = oddarm.chance(15, 1.0, runs=50, seed=1)
    monkeypatch.setattr("oddarm.definitions.chance.AT_ONCE", 100)
    assert oddarm.chance(15, 1.0, runs=50, seed=1) == whole


def test_gaps_are_in_standard_deviations():
    """Every shape has a standard deviation of 1."""
    rng = np.random.default_rng(0)
    for draw in SHAPES.values():
        assert draw(rng, 200_000).std() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shape": "cauchy"}, "shape == 'cauchy'"),
        ({"shape": 3}, "shape == 3"),
        ({"shape": lambda _, n: [0.0] * (n + 1)}, "must give 20 finite numbers"),
        ({"shape": lambda _, n: [np.nan] * n}, "must give 20 finite numbers"),
        ({"runs": 0}, "runs == 0"),
        ({"seed": -1}, "seed == -1"),
        ({"max_outliers": 10}, "max_outliers == 10 with 20 arms"),
    ],
)
def test_refuses_what_makes_no_sense(options, words):
    """What cannot be simulated is named."""
    with pytest.raises(oddarm.OddarmError, match=words):
        oddarm.chance(20, **options)
