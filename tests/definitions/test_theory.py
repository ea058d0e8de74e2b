"""The paper's bounds as functions."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import oddarm
from oddarm.bounds import NormalMixture
from oddarm.definitions.theory import lemma_5_2, most_pulls, theorem_5_3


def gap_for(d2, epsilon, span=1.0):
    """Return the gap at which D₂ has a given value."""
    b = oddarm.Problem(epsilon=epsilon).b
    return math.sqrt(2 * (b - 1) ** 2 * span**2 / d2)


def test_printed_lower_bound_is_false():
    """At D₂ = 10 and n = 20 the stated bound is 292.7, the root of its own inequality 191."""
    low, _ = lemma_5_2(gap_for(10, 2.5), n=20, epsilon=2.5, delta=0.1, as_printed=True)
    assert low == pytest.approx(292.7, abs=0.05)
    constant = 10 * math.log(math.pi**2 * 20**2 / 0.6) - 2
    root = brentq(lambda x: x - 20 * math.log(x) - constant, 20, 1e4)
    assert round(root) == 191


@pytest.mark.parametrize("gap", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("n", [20, 100])
def test_corrected_bounds_are_roots(gap, n):
    """The corrected bounds solve the inequalities that they come from."""
    b = oddarm.Problem(epsilon=2.5).b
    d1, d2 = 2 * (b + 1) ** 2 / gap**2, 2 * (b - 1) ** 2 / gap**2
    constant = math.log(math.pi**2 * n**3 / 0.3)
    low, high = lemma_5_2(gap, n=n)
    assert low < high
    assert high == pytest.approx(d1 * (constant + 2 * math.log(high + 1)))
    assert low + 1 == pytest.approx(d2 * (constant + 2 * math.log(max(low - 1, 1))))


def test_two_arms_separate_between_the_bounds():
    """Noise-free arms part where a Hoeffding radius with log(2/δ') says, within the bounds."""
    n, gap, delta = 20, 0.4, 0.1
    b = oddarm.Problem(epsilon=2.5).b

    def radius(m):
        return math.sqrt(math.log(math.pi**2 * n * (n * m) ** 2 / (3 * delta)) / (2 * m))

    last = max(m for m in range(1, 20_000) if gap <= 2 * b * radius(m))
    low, high = lemma_5_2(gap, n=n, delta=delta)
    assert low <= last <= high


def test_theorem_5_3_needs_the_square():
    """As printed, with Δ̂ in place of Δ̂², the bound is exceeded by an ordinary run."""
    means = np.linspace(0.40, 0.44, 5)
    printed = theorem_5_3(0.01, n=5, as_printed=True)
    corrected = theorem_5_3(0.01, n=5)
    result = oddarm.simulate(means, "gold", max_outliers=1, bound="paper")
    assert printed < result.pulls < corrected


@pytest.mark.parametrize("kind", ["upper", "intermediate", "mixed"])
@pytest.mark.parametrize("bound", ["anytime", "paper"])
def test_no_run_costs_more_than_most_pulls(kind, bound):
    """most_pulls bounds the cost of simulated runs."""
    for seed in range(10):
        instance = oddarm.datasets.synthetic(kind, 20, 2.5, seed=seed)
        most = most_pulls(instance.means, bound=bound)
        assert oddarm.simulate(instance.means, "gold", bound=bound, seed=seed).pulls <= most


def test_most_pulls_is_where_the_radius_fits_the_gap():
    """For one outlier the bound is n times the first m with 2(b+1)β(m) below its gap."""
    means = [0.1, 0.12, 0.14, 0.16, 0.8]
    bound = NormalMixture(0.1 / 5, 0.5, 0, 1)
    reach = 2 * (oddarm.Problem().b + 1)
    m = next(m for m in range(1, 10**6) if reach * bound.radius(m) < 0.64)
    assert most_pulls(means, max_outliers=1) == 5 * m


def test_ties_may_cost_forever():
    """If ties keep c arms from splitting off, nothing bounds the cost."""
    assert most_pulls([0.5] * 10, max_outliers=1) == math.inf


def test_refuses_what_gold_refuses():
    """The radii as printed need a range."""
    with pytest.raises(oddarm.OddarmError, match="sub-Gaussian"):
        most_pulls(
            [0.1, 0.2, 0.9],
            max_outliers=1,
            bound="paper",
            rewards=oddarm.rewards.SubGaussian(scale=1),
        )


@pytest.mark.parametrize("function", [lemma_5_2, theorem_5_3])
def test_refuses_a_gap_of_nought(function):
    """Arms with equal means never separate."""
    with pytest.raises(oddarm.OddarmError, match="must be > 0"):
        function(0.0, n=20)
