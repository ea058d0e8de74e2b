"""The gap around the outliers against what it must reach."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import oddarm
from oddarm.results.yardstick import JOINTLY, OVERLAP, case_of
from oddarm.strategies import Certificate

TWO_ODD = {f"team-{k}": [0] * (90 - k) + [1] * (10 + k) for k in range(8)} | {
    "odd-1": [0] * 45 + [1] * 55,
    "odd-2": [0] * 40 + [1] * 60,
}


def width(stretch):
    """Return how wide a stretch of the axis is."""
    return stretch.stop - stretch.start


@pytest.mark.parametrize("rule", [{"min_gap": 0.2}, {"epsilon": 2.5}])
def test_exact_gaps_are_those_of_the_definition(rule):
    """Where all means are known, the gap and the widest of the rest are those of the group."""
    result = oddarm.scan(TWO_ODD, max_outliers=2, rows="all", **rule)
    (group,) = oddarm.outlier_groups(
        {arm: sum(rewards) / 100 for arm, rewards in TWO_ODD.items()}, max_outliers=2, **rule
    )
    case = case_of(result)
    assert width(case.gap) == pytest.approx(group.gap)
    if "epsilon" in rule:
        assert width(case.rest) == pytest.approx(group.gap / (1 + group.max_epsilon))
        assert (case.sure_line, case.line) == pytest.approx((0.03, 0.035))
        assert case.line_words == "3 × 0.01 = 0.03"
        assert "the gap around them is 0.38, the widest gap among the others 0.01" in case.sentence
        assert "it must be more than 3 times as wide (1\u00a0+\u00a0ε less" in case.sentence
    else:
        assert case.rest is None
        assert (case.sure_line, case.line) == pytest.approx((0.16, 0.2))
        assert case.sentence == (
            "They are outliers: the gap around them is 0.38; it must reach min_gap = 0.2 (0.16 "
            "with the slack)."
        )


def test_spans_where_more_neighbours_are_asked_for():
    """With three neighbours the gap is compared with the longest span of three gaps."""
    result = oddarm.scan(TWO_ODD, max_outliers=2, epsilon=2.5, neighbours=3, rows="all")
    case = case_of(result)
    assert width(case.rest) == pytest.approx(0.03)
    assert case.line_words == "3 × 0.03 = 0.09"
    assert "0.38, the widest span of 3 gaps among the others 0.03" in case.sentence


def test_what_is_certain_is_part_of_the_gap():
    """Of a sample, a part of the gap between the means is certain, and that decides."""
    result = oddarm.scan(TWO_ODD, max_outliers=2, min_gap=0.1)
    case = case_of(result)
    start, stop = case.gap.certain
    assert case.gap.start < start < stop < case.gap.stop
    assert stop - start > case.sure_line
    assert case.sentence == (
        "Not certain yet: the gap around them is at least 0.1, enough for min_gap = 0.1 (0.08 with "
        "the slack), but others may lie apart too."
    )
    confirmed = replace(result, verdict="confirmed", outliers=["odd-1", "odd-2"], candidates=[])
    case = case_of(confirmed)
    assert case.gap.words == "at least 0.1"
    assert case.sentence.startswith("They are outliers: the gap around them is at least 0.1; it ")


def test_the_numbers_bear_out_the_comparison():
    """Where the gap hardly exceeds its multiple, there are enough digits to see that it does."""
    result = oddarm.scan(TWO_ODD, max_outliers=2, epsilon=2.5, rows="all")
    members = ("odd-1", "odd-2")
    for gap, rest, shown in (
        (0.0758, 0.02516, "0.0758, the widest gap among the others at most 0.0252"),
        (0.38, 0.01, "0.38, the widest gap among the others at most 0.01"),
    ):
        low, high = result.low - 0.5, result.high + 0.5  # the certificate alone says anything
        certificate = Certificate(members, "confirmed", gap, 1.0, 0.0, rest)
        case = case_of(
            replace(result, low=low, high=high, certificates=[certificate], pulls=result.pulls - 1)
        )
        assert shown in case.sentence


@pytest.mark.parametrize("absolute", [True, False])
def test_nearest_to_being_outliers(absolute):
    """Where nobody is odd, the gap is that around the block which is nearest, by brute force."""
    rng = np.random.default_rng(5)
    rule = {"min_gap": 5.0} if absolute else {"epsilon": 50.0}
    for _ in range(40):
        n, c = int(rng.integers(5, 12)), 2
        result = oddarm.Search(n, max_outliers=c, rewards=(0, 1), **rule).result()
        means = np.sort(rng.random(n))
        result = replace(result, verdict="none", means=means, low=means, high=means)
        scores = {}
        for first, last in itertools.combinations(range(n + 1), 2):
            sides = [side for side in (first, n - last) if side]
            if last - first > c or (not absolute and min(sides) <= c):
                continue
            ends = [means[k] - means[k - 1] for k in (first, last) if 0 < k < n]
            gaps = [np.diff(side).max(initial=0) for side in (means[:first], means[last:])]
            scores[first, last] = min(ends) if absolute else min(ends) / max(gaps)
        first, last = max(scores, key=scores.get)
        ends = [means[k] - means[k - 1] for k in (first, last) if 0 < k < n]
        case = case_of(result)
        assert width(case.gap) == pytest.approx(min(ends))
        assert case.sentence.startswith("Nobody is an outlier: ")


def test_a_gap_that_intervals_reach_into_says_why():
    """A shaded gap overlaps an interval only with a note of why, and has no note otherwise."""
    clear = oddarm.scan(TWO_ODD, max_outliers=2, min_gap=0.1)
    assert case_of(clear).notes == ()
    both = Certificate(("odd-1", "odd-2"), "confirmed", 0.15, 1.0, 0.0, 1.0)
    wider = replace(clear, low=clear.low - 0.2, high=clear.high + 0.2, certificates=[both])
    assert case_of(wider).notes == (OVERLAP,)
    between = oddarm.simulate([0.02, 0.03, 0.04, 0.5, 0.96, 0.97, 0.98], max_outliers=1)
    assert case_of(between).notes == (JOINTLY,)


def test_what_is_missing():
    """A guess says what the gap is and what it must reach; a ranking that it does not decide."""
    few = {arm: rewards[::10] for arm, rewards in TWO_ODD.items()}
    case = case_of(oddarm.scan(few, max_outliers=2, min_gap=0.2))
    assert case.sentence.startswith("Not certain yet: the gap around them is about 0.")
    ranked = oddarm.simulate([0.02, 0.03, 0.04, 0.5, 0.96, 0.97, 0.98], "gold", max_outliers=1)
    sentence = case_of(ranked).sentence
    assert sentence.startswith("A ranking does not decide whether it is an outlier: ")
    assert sentence.endswith("it must be more than 3.5 times as wide.")


def test_scattered():
    """Where too many lie apart, there is a line to reach and no single gap."""
    result = oddarm.simulate([0.1 * k for k in range(1, 10)], min_gap=0.05, max_outliers=2)
    case = case_of(result)
    assert (case.gap, case.rest, case.line) == (None, None, 0.05)
    assert "at most 2 may be outliers" in case.sentence


def test_no_case_before_every_arm_has_a_reward():
    """Means that are not known are compared with nothing; failed arms do not count."""
    search = oddarm.Search(list("abcdef"), max_outliers=1)
    for arm in "abcde":
        search.tell(arm, [0, 1])
    assert case_of(search.result()) is None
    search.set_aside("f", "no answer")
    assert case_of(search.result()) is not None
