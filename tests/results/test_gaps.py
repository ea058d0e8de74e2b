"""Where a result is certain to have gaps, and the communities between them."""

from dataclasses import replace

import numpy as np
import pytest

import oddarm
from oddarm.results.gaps import certain_gaps, communities, gaps_around_outliers
from oddarm.strategies.base import Certificate


@pytest.fixture
def result():
    """Four arms, the last one above a gap that no interval reaches."""
    found = oddarm.Search(4, max_outliers=1).result()
    low, high = np.array([0.1, 0.3, 0.2, 0.8]), np.array([0.3, 0.5, 0.4, 0.9])
    return replace(found, means=(low + high) / 2, low=low, high=high, counts=np.full(4, 10))


def certificate(members, gap):
    """Return a certificate with a gap that is certain."""
    return Certificate(members, "confirmed", gap, 1.0, 0.0, 0.1)


def test_gaps_between_intervals_are_certain(result):
    """What no interval reaches is a gap, from where the lower ones end to where the upper begin."""
    (gap,) = certain_gaps(result)
    assert (gap.below, gap.start) == (3, 0.5)
    assert gap.stop == pytest.approx(0.8)
    assert communities(result).tolist() == [0, 0, 0, 1]


def test_gaps_of_certificates_are_certain(result):
    """A certificate tells of gaps between arms whose intervals overlap, and of wider ones."""
    result = replace(result, certificates=[certificate((0,), 0.05), certificate((3,), 0.32)])
    lower, upper = certain_gaps(result)
    assert (lower.below, upper.below) == (1, 3)
    assert (lower.start, lower.stop) == pytest.approx((0.225, 0.275))
    assert (upper.start, upper.stop) == pytest.approx((0.465, 0.785))
    assert communities(result).tolist() == [0, 1, 1, 2]


def test_no_gap_is_drawn_over_a_mean(result):
    """A gap that is wider than the space between the means fills it, and keeps its width."""
    result = replace(result, certificates=[certificate((3,), 0.6)])
    (gap,) = certain_gaps(result)
    assert (gap.width, gap.start, gap.stop) == (0.6, 0.4, pytest.approx(0.85))
    moved = replace(result, certificates=[], means=np.array([0.2, 0.55, 0.3, 0.7]))
    (gap,) = certain_gaps(moved)
    assert (gap.start, gap.stop) == (0.55, 0.7)
    assert gap.width == pytest.approx(0.3)
    overlapping = replace(moved, means=np.array([0.2, 0.7, 0.3, 0.6]))
    (gap,) = certain_gaps(overlapping)
    assert gap.start == gap.stop == pytest.approx(0.65)


def test_the_wider_of_two_is_told(result):
    """A certificate that tells less than the intervals changes nothing."""
    before = certain_gaps(result)
    assert certain_gaps(replace(result, certificates=[certificate((3,), 0.1)])) == before


def test_the_wider_of_two_certificates_counts(result):
    """Of two certificates that tell of one place, in either order, the wider gap is taken."""
    both = [certificate((3,), 0.32), certificate((1, 3), 0.31)]
    for certificates in (both, both[::-1]):
        gaps = certain_gaps(replace(result, certificates=certificates))
        assert [(gap.below, gap.width) for gap in gaps] == [(2, 0.31), (3, 0.32)]


def test_gaps_around_outliers(result):
    """Gaps between outliers and others are told from those among outliers or among others."""
    result = replace(result, certificates=[certificate((0,), 0.05), certificate((1, 3), 0.1)])
    gaps, community = certain_gaps(result), communities(result)
    assert community.tolist() == [0, 2, 1, 3]

    def below(*outliers):
        outlier = np.isin(np.arange(4), outliers)
        return [gap.below for gap in gaps_around_outliers(gaps, community, outlier)]

    assert below() == below(0, 1, 2, 3) == []
    assert below(3) == [3]
    assert below(1, 3) == [2]
    assert below(0, 3) == [1, 3]
    assert below(1) == [2, 3]


def test_failed_arms_are_in_no_community(result):
    """An arm that has failed neither fills a gap nor belongs anywhere."""
    result = replace(result, statuses=["normal", "failed", "normal", "outlier"])
    assert communities(result).tolist() == [0, -1, 0, 1]
    (gap,) = certain_gaps(result)
    assert (gap.below, gap.start) == (2, 0.4)
