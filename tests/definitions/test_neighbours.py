"""Groups and arms of order k: the gap is compared with spans of k gaps in a row."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import oddarm
import reference.brute_force as brute_force
from oddarm import Problem, outlier_arms, outlier_groups
from oddarm.definitions.groups import distances
from oddarm.definitions.truth import Truth

EDGE = [0.20, 0.22, 0.25, 0.26, 0.29, 0.31, 0.32, 0.35, 0.47]
"""A bulk, and an arm beside it that is a group of order 1 alone at ε = 2.5."""


def instances(count, seed, most=9, distinct=False):
    """Yield means on a grid, a capacity, an ε, a floor or None, and an order."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(3, most + 1))
        scale = int(rng.choice([1, 3, 7, 100]))
        bulk = np.cumsum(rng.integers(int(distinct), 4, n))
        bulk += rng.choice([0, 12, 40], n, p=[0.7, 0.2, 0.1]).cumsum()
        means = [Fraction(int(k), scale) for k in rng.permutation(bulk)]
        largest = int(rng.integers(1, (n - 1) // 2 + 1))
        epsilon = rng.choice([Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(5, 2)])
        floor = float(rng.choice([1, 15])) if rng.random() < 0.4 else None
        yield rng, means, largest, epsilon, floor, int(rng.integers(1, n - 1))


def test_groups_equal_brute_force():
    """Groups of order k, contiguous and general, are those of enumeration, and know their order."""
    found = {True: 0, False: 0}
    fewer = 0
    for rng, means, largest, epsilon, floor, k in instances(2000, 1):
        mixed = bool(rng.integers(2))
        got = outlier_groups(
            means, epsilon, mixed=mixed, max_outliers=largest, min_gap=floor, neighbours=k
        )
        limits = epsilon, largest, largest + 1
        at = [
            brute_force.groups(means, *limits, mixed=mixed, floor=Fraction(floor or 0), k=j)
            for j in range(1, len(means) - 1)
        ]
        assert {frozenset(group.members) for group in got} == at[k - 1]
        assert all(set(one.members) < set(two.members) for one, two in pairwise(got))
        assert all(larger <= smaller for smaller, larger in pairwise(at))
        fewer += len(at[k - 1]) < len(at[0])
        for group in got:
            assert group.max_neighbours == sum(frozenset(group.members) in groups for groups in at)
            gap, inner = distances(means, group.members, k)
            assert group.gap == float(gap)
            assert group.max_epsilon == (float(gap / inner - 1) if inner else math.inf)
        found[mixed] += len(got)
    assert min(found.values()) > 200
    assert fewer > 50


def test_arms_equal_brute_force():
    """Single outlier arms of order k are those found over all subsets of arms above and below."""
    found = fewer = 0
    for _, means, largest, epsilon, _, k in instances(400, 2, most=8):
        got = set(outlier_arms(means, float(epsilon), max_outliers=largest, neighbours=k))
        assert got == brute_force.arms(means, epsilon, largest, largest + 1, k)
        first = set(outlier_arms(means, float(epsilon), max_outliers=largest))
        assert got <= first
        found += len(got)
        fewer += got < first
    assert found > 100
    assert fewer > 20


def test_the_letter_agrees_where_segments_are_long():
    """In a segment of more than k arms, the longest span is the largest ◊^k of the paper."""
    short = 0
    for _, means, _, _, _, k in instances(1000, 3, distinct=True):
        letter = max(brute_force.diamond(mean, means, k) for mean in means)
        assert letter == brute_force.widest_span(means, k)
        some = means[: k + 1 - len(means) % 2]
        letter = max(brute_force.diamond(mean, some, k) for mean in some)
        if len(some) > k:
            assert letter == brute_force.widest_span(some, k)
        elif len(some) > 1:
            assert letter == 0 < brute_force.widest_span(some, 1)  # any gap would be wide enough
            short += 1
    assert short > 200


def test_an_arm_at_the_edge():
    """An arm three times as far away as its neighbours from each other is one of order 1 alone."""
    (group,) = outlier_groups(EDGE, max_outliers=1)
    assert (group.members, group.max_neighbours) == ((8,), 1)
    assert outlier_groups(EDGE, max_outliers=1, neighbours=2) == []
    assert outlier_arms(EDGE, max_outliers=1, neighbours=2) == []
    (far,) = outlier_groups([*EDGE[:8], 0.95], max_outliers=1, neighbours=7)
    assert far.max_neighbours == 7  # that is all: the eight others as a whole
    (apart,) = outlier_groups(EDGE, min_gap=0.1, max_outliers=1)
    assert apart.max_neighbours == 0


def test_a_group_as_a_whole_at_every_order():
    """If the others together span too little, no number of neighbours changes that."""
    means = [0.1, 0.1, 0.1, 0.9]
    (group,) = outlier_groups(means, max_outliers=1)
    assert (group.max_neighbours, group.max_epsilon) == (2, math.inf)


def test_orders_that_make_no_sense():
    """The absolute rule has no orders, and an arm has only so many neighbours."""
    with pytest.raises(oddarm.errors.ParameterError, match="neighbours == 2 with min_gap alone"):
        outlier_groups(EDGE, min_gap=0.1, max_outliers=1, neighbours=2)
    with pytest.raises(
        oddarm.errors.ParameterError, match="neighbours == 8 with 9 arms, must be at most 7"
    ):
        outlier_groups(EDGE, max_outliers=1, neighbours=8)
    for wrong in (0, 1.5, True, "2"):
        with pytest.raises(oddarm.OddarmError, match="neighbours"):
            outlier_groups(EDGE, max_outliers=1, neighbours=wrong)


def test_answers_are_judged_at_their_order():
    """Whether an answer is right depends on the order that was asked for."""
    for neighbours, verdict in ((1, "confirmed"), (2, "none")):
        truth = Truth.of(EDGE, Problem(max_outliers=1, neighbours=neighbours))
        for answer, declared in (("confirmed", [8]), ("none", [])):
            assert truth.confirms(answer, declared, "found") == (answer == verdict)


def test_problems_are_saved_with_their_order():
    """A problem that is saved keeps its order; one that names none has order 1."""
    problem = Problem(max_outliers=1, neighbours=3)
    assert Problem.from_dict(problem.to_dict()) == problem
    saved = Problem(max_outliers=1).to_dict()
    del saved["neighbours"]
    assert Problem.from_dict(saved).neighbours == 1


@pytest.mark.parametrize("shape", ["normal", "exponential"])
@pytest.mark.parametrize("neighbours", [1, 2, 4])
def test_chance_counts_groups_of_that_order(shape, neighbours):
    """The share of bulks with a group of order k is that of `outlier_groups`, one by one."""
    from oddarm.definitions.chance import SHAPES

    options = {"epsilon": 0.8, "max_outliers": 3, "neighbours": neighbours}
    bulks = SHAPES[shape](np.random.default_rng(3), (400, 12))
    expected = sum(bool(outlier_groups(means, mixed=True, **options)) for means in bulks)
    found = oddarm.chance(12, shape=shape, runs=400, seed=3, **options)
    assert found.share == expected / 400 > 0
