"""Gaps made certain by the evidence of two neighbours at once."""

import json

import numpy as np
import pytest
from scipy.stats import binom
from verification.group_truths import rewards_between, sums_of

import oddarm
import reference.pairs as literal
from oddarm.kernels.blocks import Arms
from oddarm.kernels.intervals import centred_intervals
from oddarm.kernels.pairs import certain_gap as certain_gap_of

DELTA = 0.07
LEVEL = 12.0
"""The log capital at which the intervals of these tests end."""


def sample(rng, n, low, high, zero_one=True):
    """Return the rewards, their sums and intervals of arms with rates in two clusters."""
    cut = int(rng.integers(1, n))
    rates = np.concatenate([rng.uniform(0.02, low, cut), rng.uniform(high, 0.98, n - cut)])
    counts = rng.integers(30, 250, n)
    if zero_one:
        totals, scatter = rng.binomial(counts, rates).astype(float), None
        data = list(zip(totals, counts - totals, strict=True))
    else:
        data = [rewards_between(rng, *arm) for arm in zip(rates, counts, strict=True)]
        totals, scatter = sums_of(data).totals, sums_of(data).scatter
    ends = np.empty(n), np.empty(n)
    centred_intervals(totals, counts, LEVEL, *ends)
    return data, (totals, counts, scatter), *ends


def widest_cut(means):
    """Return the order of estimates, where the widest gap is, and its width."""
    order = np.argsort(means, kind="stable")
    gaps = np.diff(means[order])
    return order, int(np.argmax(gaps)) + 1, float(gaps.max())


def certain_gap(told, low, high, order, at, estimate, delta):
    """Return the certain gap at a place of an order."""
    orders = np.argsort(low, kind="stable"), np.argsort(high, kind="stable"), order
    none = np.zeros(len(low), dtype=bool)
    arms = Arms(low, high, (low + high) / 2, *orders, none, *told)
    return certain_gap_of(arms, at, estimate, delta)


@pytest.mark.parametrize("zero_one", [True, False])
def test_no_means_with_a_narrower_gap_are_left(zero_one):
    """Whatever means are neither rejected by pairs nor by intervals have at least that gap."""
    rng = np.random.default_rng(1)
    positive = tried = 0
    for _ in range(100):
        n = int(rng.integers(2, 7))
        data, told, low, high = sample(rng, n, 0.35, 0.65, zero_one)
        means = np.clip(told[0] / told[1], low, high)
        order, at, estimate = widest_cut(means)
        gap = certain_gap(told, low, high, order, at, estimate, DELTA)
        if gap == 0:
            continue
        positive += 1
        for _ in range(60):
            # Two arms from either side of the gap are moved towards each other, or across.
            values = np.clip(means, 0.001, 0.999)
            one, two = rng.choice(order[:at]), rng.choice(order[at:])
            middle = rng.uniform(means[one], means[two])
            width = gap * rng.uniform(-0.2, 1.0)
            values[one], values[two] = middle - width / 2, middle + width / 2
            if np.any(values < low) or np.any(values > high):
                continue
            apart = values[order[at:]].min() - values[order[:at]].max()
            if apart < gap * (1 - 1e-9):
                tried += 1
                assert literal.total_capital(data, values) >= 1 / DELTA
    assert positive > 20
    assert tried > 500


def test_little_is_given_away():
    """The next wider gap is not rejected by bets on its scale, at some place."""
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(60):
        data, told, low, high = sample(rng, 2, 0.4, 0.55)
        means = np.clip(told[0] / told[1], low, high)
        order, at, estimate = widest_cut(means)
        gap = certain_gap(told, low, high, order, at, estimate, DELTA)
        if not 0.1 * estimate < gap < estimate:
            continue
        one, two = order
        values = np.array(means)
        least = np.inf
        for middle in np.linspace(means[one], means[two], 200):
            width = 1.06 * gap
            values[one], values[two] = middle - width / 2, middle + width / 2
            if low[one] <= values[one] <= high[one] and low[two] <= values[two] <= high[two]:
                least = min(least, literal.on_its_scale(data, one, two, values))
        assert least < 1.6 / DELTA
        found += 1
    assert found > 10


def test_a_bet_against_a_mean_grows_with_its_distance():
    """The capital against x grows with x when it bets below, and falls when it bets above."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        told = tuple(rng.integers(0, 60, 2)) if rng.random() < 0.5 else rng.beta(1, 2, 30)
        step = {float(rng.uniform(0.001, 0.5)): 1.0}
        values = np.linspace(0.001, 0.999, 300)
        below = [literal.capital(told, x, -1, step) for x in values]
        above = [literal.capital(told, x, 1, step) for x in values]
        assert np.all(np.diff(np.log(below)) >= -1e-9)
        assert np.all(np.diff(np.log(above)) <= 1e-9)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.slow
def test_true_means_are_seldom_rejected(n):
    """The capital against the true means, at any time, exceeds 1/δ in at most δ of all runs."""
    rng = np.random.default_rng(4)
    runs, failed = 200, 0
    for _ in range(runs):
        means = np.sort(rng.uniform(0.02, 0.98, n))
        counts, totals = np.zeros(n), np.zeros(n)
        for _ in range(40):
            arm = int(np.argmax(np.abs(totals - counts * means) + rng.random(n)))
            counts[arm] += 1  # the arm that has strayed furthest is pulled
            totals[arm] += rng.random() < means[arm]
            data = list(zip(totals, counts - totals, strict=True))
            if literal.total_capital(data, means) >= 1 / DELTA:
                failed += 1
                break
    assert failed <= binom.ppf(0.9999, runs, DELTA)


def test_the_stakes_of_all_gaps_are_at_most_one():
    """Before any reward the capital against any means is at most 1."""
    rng = np.random.default_rng(5)
    for n in (2, 3, 10, 50):
        means = rng.uniform(0.001, 0.999, n)
        assert literal.total_capital([(0, 0)] * n, means) <= 1 + 1e-12


def test_without_pulls_nothing_is_certain():
    """Arms of which nothing is known have no certain gap."""
    zeros, order = np.zeros(4), np.arange(4)
    counts = np.zeros(4, dtype=np.int64)
    assert certain_gap((zeros, counts), zeros, np.ones(4), order, 2, 0.3, DELTA) == 0


@pytest.mark.parametrize(("told", "kept"), [(11, True), (12, False)])
def test_pairs_are_kept_if_no_reward_is_lost(told, kept):
    """An arm that fails before its first reward costs no evidence of pairs; a later one all."""
    search = oddarm.Search(12, "adaptive", seed=1)
    pair_delta = search.run.pair_delta
    for arm in range(told):
        search.tell(arm, 1)
    search.set_aside(11, "broken")
    for one in (search, oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))):
        assert one.run.pair_delta == (pair_delta if kept else 0.0)
    search.set_aside(10, "broken, too")
    assert search.run.pair_delta == 0


def test_evidence_stays_when_a_run_starts_over_with_the_same_arms():
    """The true means are rejected as seldom, whatever decided the pulls: nothing is given up."""
    search = oddarm.Search(12, "adaptive", min_gap=0.3, seed=1)
    for arm in range(12):
        search.tell(arm, [1.0, 0.0, 0.0] if arm else [1.0, 1.0, 1.0])
    run = search.run
    search.core.start_over()
    assert search.run is not run
    assert search.run.pair_delta == run.pair_delta > 0
    assert search.run.joint_delta == run.joint_delta > 0
