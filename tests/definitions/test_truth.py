"""Whether an answer is right, when the means are known."""

from fractions import Fraction

import pytest

from oddarm import Problem
from oddarm.definitions.truth import Truth, ranks_first

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
