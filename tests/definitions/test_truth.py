"""Whether an answer is right, when the means are known."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import reference.brute_force as brute_force
from oddarm import Problem
from oddarm.definitions.truth import Truth, ranks_first
from oddarm.problem import exact

NESTED = {"low": 0.2, **{f"host-{k}": 0.3 + 0.01 * k for k in range(8)}, "high": 0.9}
EVEN = {f"host-{k}": Fraction(k, 10) for k in range(10)}


@pytest.fixture
def truth():
    """Two groups: the arm above, and that arm together with the one below."""
    return Truth.of(NESTED, Problem(max_outliers=2))


def test_groups_are_general_and_nested(truth):
    """Groups with members on both sides count, the smallest group first."""
    assert [set(group.members) for group in truth.groups] == [{"high"}, {"high", "low"}]


def test_ties_are_exact():
    """A gap of exactly (1 + ε) times the largest other one makes no group."""
    means = [0.1, 0.2, 0.3, 0.65]
    assert Truth.of(means, Problem(max_outliers=1)).groups == ()
    assert Truth.of([*means[:3], 0.6501], Problem(max_outliers=1)).groups


def test_strictness_is_that_of_the_problem():
    """With |N̂| < c no group has c members."""
    assert len(Truth.of(NESTED, Problem(max_outliers=2, strict=True)).groups) == 1


def test_arms_that_rank_first():
    """The order among the arms that rank first does not matter; one arm in between does."""
    assert ranks_first("cabd", "ac")
    assert not ranks_first("cbad", "ac")


def test_every_group_must_rank_first(truth):
    """A ranking is right if no other arm ranks before a member of any group."""
    others = [arm for arm in NESTED if arm.startswith("host")]
    assert truth.ranks_groups_first(["high", "low", *others])
    assert not truth.ranks_groups_first(["low", "high", *others])
    assert not truth.ranks_groups_first(["high", *others, "low"])


@pytest.mark.parametrize(
    ("verdict", "outliers", "until", "right"),
    [
        ("none", [], "found", False),
        ("confirmed", ["high"], "found", True),
        ("confirmed", ["low", "high"], "found", True),
        ("confirmed", ["high"], "confirmed", False),
        ("confirmed", ["low", "high"], "confirmed", True),
        ("confirmed", ["low"], "found", False),
        ("ranked", ["low"], "ranked", None),
        ("budget", [], "found", None),
    ],
)
def test_verdicts(truth, verdict, outliers, until, right):
    """A confirmed set of arms must be a group, the largest if all groups were asked for."""
    assert truth.confirms(verdict, outliers, until) is right


@pytest.mark.parametrize(
    ("verdict", "right"), [("none", True), ("confirmed", False), ("ranked", None)]
)
def test_without_a_group(verdict, right):
    """If there is no group, saying so is right, and a mere ranking is neither right nor wrong."""
    truth = Truth.of(EVEN, Problem(max_outliers=1))
    assert truth.agrees(verdict, ["host-9"], "found", list(EVEN)) is right


def test_answers_are_right_as_a_whole(truth):
    """An answer is right if verdict, outliers and ranking are; without a verdict, the ranking."""
    ranking = ["high", "low", *(arm for arm in NESTED if arm.startswith("host"))]
    assert truth.agrees("confirmed", ["high"], "found", ranking) is True
    assert truth.agrees("confirmed", ["high"], "found", ranking[::-1]) is False
    assert truth.agrees("confirmed", ["low"], "found", ranking) is False
    assert truth.agrees("budget", [], "found", ranking) is True


SLOPE = [0.1, 0.11, 0.12, 0.13, 0.3, 0.36, 0.45]
"""With gaps of 0.17, 0.06 and 0.09 above four close arms."""


@pytest.mark.parametrize(
    ("verdict", "outliers", "until", "right"),
    [
        ("confirmed", {6}, "found", True),  # 0.09 is 4.5 times 0.02: between the two lines
        ("confirmed", {6}, "confirmed", True),
        ("confirmed", {5, 6}, "found", False),
        ("none", set(), "found", True),
        ("none", set(), "confirmed", True),
    ],
)
def test_between_the_lines_either_answer_is_right(verdict, outliers, until, right):
    """A group at (1 - slack)·ε that is none at ε may be confirmed and may be denied."""
    means = [0.30, 0.32, 0.34, 0.36, 0.38, 0.40, 0.49]
    truth = Truth.of(means, Problem(4.0, max_outliers=2, slack=0.2))
    assert truth.groups == ()
    assert truth.confirms(verdict, outliers, until) is right


def test_all_groups_of_the_problem_are_contained():
    """With until="confirmed", a group at slack is right only if it contains every group at ε."""
    truth = Truth.of(NESTED, Problem(max_outliers=2, slack=0.5))
    assert truth.confirms("confirmed", ["high"], "found") is True
    assert truth.confirms("confirmed", ["high"], "confirmed") is False
    assert truth.confirms("confirmed", ["high", "low"], "confirmed") is True


def test_floor():
    """Groups that are no further away than `min_gap` do not count; slack lowers the floor."""
    problem = Problem(2.5, max_outliers=2, min_gap=0.1)
    truth = Truth.of(NESTED, problem)
    assert [group.members for group in truth.groups] == [("high",)]  # low is exactly 0.1 away
    assert truth.confirms("confirmed", ["low", "high"], "confirmed") is False
    easier = Truth.of(NESTED, replace(problem, slack=0.01))
    assert easier.confirms("confirmed", ["low", "high"], "confirmed") is True
    assert easier.confirms("confirmed", ["high"], "confirmed") is True


@pytest.mark.parametrize(
    ("min_gap", "verdict", "outliers", "right"),
    [
        (0.1, "confirmed", {4, 5, 6}, True),  # one piece; at 0.08 it falls into {4, 5} and {6}
        (0.1, "confirmed", {4, 5}, False),
        (0.1, "confirmed", {3, 4, 5, 6}, False),
        (0.1, "none", set(), False),
        (0.1, "scattered", set(), False),
        (0.2, "none", set(), True),  # 0.17 lies between 0.2 and 0.16
        (0.2, "confirmed", {4, 5, 6}, True),
        (0.2, "confirmed", set(), False),
        (0.2, "budget", set(), None),
    ],
)
def test_absolute_rule(min_gap, verdict, outliers, right):
    """The declared arms contain O(g) and lie within O((1 - slack)·g)."""
    truth = Truth.of(SLOPE, Problem(min_gap=min_gap, max_outliers=3, slack=0.2))
    assert truth.confirms(verdict, outliers, "found") is right
    assert truth.agrees(verdict, outliers, "found", range(7)) is right


def test_scattered():
    """More arms apart than may be outliers: no arms may be declared, unless slack allows it."""
    means = [0.1, 0.11, 0.12, 0.13, 0.3, 0.5, 0.6]
    truth = Truth.of(means, Problem(min_gap=0.09, max_outliers=2))
    assert truth.groups == ()
    assert truth.confirms("scattered", [], "found") is True
    assert truth.confirms("confirmed", [4, 5], "found") is False
    assert truth.confirms("none", [], "found") is False
    wider = Truth.of([*means[:5], 0.5, 0.61], Problem(min_gap=0.18, max_outliers=2, slack=0.4))
    assert wider.groups[0].members == (5, 6)
    assert wider.confirms("confirmed", [5, 6], "found") is True
    assert wider.confirms("scattered", [], "found") is True


def test_answers_are_judged_as_by_brute_force():
    """Every answer about small instances is right if it keeps the promises, read literally."""
    rng = np.random.default_rng(20)
    seen = Counter()
    for _ in range(600):
        n = int(rng.integers(3, 8))
        means = [Fraction(int(k), 10) for k in rng.choice([0, 0, 5, 12], n) + rng.integers(0, 4, n)]
        largest = int(rng.integers(1, (n - 1) // 2 + 1))
        epsilon, min_gap = [(1.0, None), (1.0, 0.4), (None, 0.2), (None, 0.5)][rng.integers(4)]
        slack = float(rng.choice([0.0, 0.2, 0.5]))
        problem = Problem(epsilon, None, largest, min_gap=min_gap, slack=slack)
        truth, right = Truth.of(means, problem), _brute_force(means, problem)
        for size in range(largest + 2):
            for members in combinations(range(n), size):
                for verdict, until in ANSWERS:
                    expected = right(verdict, frozenset(members), until)
                    assert truth.confirms(verdict, members, until) is expected
                    seen[problem.absolute, verdict, until, expected] += 1
    assert len(seen) == 15, seen  # the relative rule does not say "scattered"


ANSWERS = [
    ("none", "found"),
    ("confirmed", "found"),
    ("confirmed", "confirmed"),
    ("scattered", "found"),
]


def _brute_force(means, problem):
    """Return a function that judges answers: verdict, declared arms, until."""
    largest = problem.max_outliers
    shares = (1, 1 - exact(problem.slack))
    if problem.absolute:
        sets = [brute_force.apart(means, share * problem.floor, largest) for share in shares]
        return lambda verdict, declared, _: brute_force.absolute_answer_is_right(
            verdict, declared, *sets, largest
        )
    groups = [
        brute_force.groups(
            means,
            share * exact(problem.epsilon),
            largest,
            largest + 1,
            mixed=True,
            floor=share * problem.floor,
        )
        for share in shares
    ]
    return lambda verdict, declared, until: brute_force.relative_answer_is_right(
        verdict, declared, until, *groups
    )
