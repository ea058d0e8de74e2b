"""Communities of intervals, and the covers that show them whole."""

import numpy as np
import pytest

from oddarm.cover import cover_of, interval_communities


def brute_communities(low, high):
    """Merge for each interval the groups that it touches."""
    groups = [{i} for i in range(len(low))]
    for i in range(len(low)):
        touched = [g for g in groups if any(low[i] <= high[j] and low[j] <= high[i] for j in g)]
        groups = [g for g in groups if g not in touched] + [set().union(*touched)]
    return {frozenset(group) for group in groups}


@pytest.mark.parametrize("seed", range(20))
def test_communities_and_covers(seed):
    """Communities are those of brute force; a cover that holds means that none has split."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    centre = rng.random(n).round(int(rng.integers(1, 4)))  # some ends are tied
    low, high = centre - 0.3 * rng.random(n), centre + 0.3 * rng.random(n)
    found = interval_communities(low, high)
    cover = cover_of(found, low, high)
    assert cover.holds(low, high)
    held = 0
    for _ in range(30):
        groups = {frozenset(members.tolist()) for members in found}
        assert groups == brute_communities(low, high)
        low = np.minimum(low + 0.02 * rng.random(n), centre)
        high = np.maximum(high - 0.02 * rng.random(n), centre)
        if cover.holds(low, high):
            held += 1
        else:
            found = interval_communities(low, high)
            cover = cover_of(found, low, high)
    assert 0 < held < 30


def test_arms_that_do_not_count_have_all_numbers():
    """An arm with an endless interval changes nothing in what a cover says."""
    low, high = np.array([0.0, 1.0, 5.0, 6.0]), np.array([1.5, 2.0, 6.5, 7.0])
    cover = cover_of(interval_communities(low, high), low, high)
    assert len(cover.first) == 2
    low[0], high[0] = -np.inf, np.inf
    assert cover.holds(low, high)
    low[1] = high[1] = 2.0
    low[3] = 6.6
    assert not cover.holds(low, high)
