"""The parameters of a problem, and their exact arithmetic."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from oddarm import OddarmError, Problem
from oddarm.problem import MIN_GOLD_EPSILON, exact


def test_capacity_is_exact():
    """20 arms at ρ = 0.9 leave room for exactly two, not for 1.9999999999999996."""
    assert Problem(rho=0.9).capacity(20) == 2
    assert Problem(rho=0.9).max_members(20) == 2
    assert Problem(rho=0.7).capacity(10) == 3
    assert Problem(rho=Fraction(2, 3)).capacity(9) == 3
    assert Problem(rho=Decimal("0.8")).capacity(15) == 3
    assert Problem(rho=np.float64(0.9)).capacity(30) == 3


@pytest.mark.parametrize(("n", "largest", "strict_largest", "side"), [(20, 2, 1, 3), (47, 4, 4, 5)])
def test_sizes(n, largest, strict_largest, side):
    """A group has at most c members (fewer than c if strict), a side more than c."""
    assert Problem().max_members(n) == largest
    assert Problem(strict=True).max_members(n) == strict_largest
    assert Problem().min_segment(n) == Problem(strict=True).min_segment(n) == side


def test_max_outliers_is_the_capacity():
    """A count takes the place of ρ."""
    problem = Problem(max_outliers=np.int64(3))
    assert problem.capacity(50) == 3
    assert problem.rho is None


def test_coefficient():
    """B = (1 + e^(1/16) + ε) / (1 - e^(1/16) + ε), and (b+1)/(b-1) = (1+ε)/e^(1/16)."""
    problem = Problem(epsilon=5)
    assert problem.b == pytest.approx((6 + math.exp(1 / 16)) / (6 - math.exp(1 / 16)))
    assert (problem.b + 1) / (problem.b - 1) == pytest.approx(6 / math.exp(1 / 16))
    assert pytest.approx(0.0644944589) == MIN_GOLD_EPSILON


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0}, "epsilon == 0, must be a finite number > 0"),
        ({"epsilon": math.nan}, "epsilon == nan"),
        ({"epsilon": math.inf}, "epsilon == inf"),
        ({"epsilon": "wide"}, "epsilon == 'wide'"),
        ({"epsilon": 10**400}, "epsilon == 1000"),
        ({"rho": 0.5}, "rho == 0.5, must be > 0.5 and < 1"),
        ({"rho": 1}, "rho == 1, must be"),
        ({"rho": math.nan}, "rho == nan"),
        ({"delta": 0}, "delta == 0, must be > 0 and < 1"),
        ({"delta": 1.0}, "delta == 1.0"),
        ({"delta": 1e-320}, "delta == .*, must be > 0 and < 1, at least 1e-100"),
        ({"max_outliers": 0}, "max_outliers == 0, must be a whole number >= 1"),
        ({"max_outliers": 2.5}, "max_outliers == 2.5"),
        ({"max_outliers": True}, "max_outliers == True"),
        ({"max_outliers": 2, "rho": 0.9}, "pass only one"),
    ],
)
def test_refuses_bad_parameters(arguments, words):
    """Each bad parameter is quoted with its rule."""
    with pytest.raises(OddarmError, match=words):
        Problem(**arguments)


@pytest.mark.parametrize(
    ("problem", "n", "words"),
    [
        (Problem(rho=0.9), 9, r"9 arms at rho == 0.9 leave room for 0.9 outliers, must be >= 1"),
        (Problem(rho=0.9), 9, r"pass max_outliers=1, or more arms\.$"),
        (Problem(rho=0.9, strict=True), 10, r"must be > 1 \(strict\): pass max_outliers=2"),
        (Problem(max_outliers=3), 6, "pass at most 2, or at least 7 arms"),
        (Problem(max_outliers=1, strict=True), 9, "max_outliers=2"),
    ],
)
def test_too_few_arms(problem, n, words):
    """When nothing can be found, the user is told which number to change."""
    with pytest.raises(OddarmError, match=words):
        problem.check(n)


@pytest.mark.parametrize(
    "problem", [Problem(), Problem(rho=Fraction(2, 3)), Problem(max_outliers=4)]
)
def test_round_trip(problem):
    """A problem comes back from JSON values as it was."""
    assert Problem.from_dict(problem.to_dict()).capacity(99) == problem.capacity(99)


def test_exact_reads_numbers_as_printed():
    """Floats are decimals, fractions stay fractions."""
    assert exact(0.1) == Fraction(1, 10)
    assert exact(np.float64(2.5)) == Fraction(5, 2)
    assert exact(np.int64(3)) == 3
    with pytest.raises(ValueError, match="nan"):
        exact(math.nan)
