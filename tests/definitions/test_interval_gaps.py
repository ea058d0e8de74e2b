"""Gaps between arms known by intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference.rivals as literal
from oddarm.definitions.interval_gaps import certified_cuts, largest_possible_gap, possible_gaps

ends = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda e: (e[0], e[0] + e[1])),
    min_size=2,
    max_size=9,
)


@settings(max_examples=500, deadline=None)
@given(ends)
def test_possible_gaps_equal_the_plain_definition(intervals):
    """The fast bound on each arm's gap is the one found by trying every position."""
    low, high = (np.array(side, dtype=float) for side in zip(*intervals, strict=True))
    expected = [literal.gap_above(intervals, i) for i in range(len(intervals))]
    assert possible_gaps(low, high).tolist() == expected


@settings(max_examples=200, deadline=None)
@given(ends, st.randoms(use_true_random=False))
def test_no_configuration_has_a_larger_gap(intervals, rng):
    """Means inside their intervals never have a gap beyond the bound, nor below a certified one."""
    low, high = (np.array(side, dtype=float) for side in zip(*intervals, strict=True))
    most = largest_possible_gap(low, high)
    for _ in range(20):
        y = np.array([rng.choice([a, b, rng.uniform(a, b)]) for a, b in intervals])
        assert np.diff(np.sort(y)).max() <= most + 1e-9
        for cut in certified_cuts(low, high):
            order = np.argsort(low, kind="stable")
            below, above = y[order[: cut.below]], y[order[cut.below :]]
            assert above.min() - below.max() >= cut.gap - 1e-9


@pytest.mark.parametrize("n", [0, 1])
def test_no_gap_without_two_arms(n):
    """One arm has no neighbour."""
    assert largest_possible_gap(np.zeros(n), np.ones(n)) == 0
