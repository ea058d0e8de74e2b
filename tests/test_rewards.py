"""Reward models: what they accept and what they refuse."""

import math

import numpy as np
import pytest

import oddarm
from oddarm import OddarmError, rewards
from oddarm.errors import RewardError, RewardRangeError


def test_names_and_pairs():
    """A name or a pair stands for a model."""
    assert rewards.as_rewards("bernoulli") == rewards.Bernoulli()
    assert rewards.as_rewards((0, 5)) == rewards.Bounded(minimum=0, maximum=5)
    assert rewards.as_rewards([-1, 1]).sigma == 1
    model = rewards.SubGaussian(scale=2)
    assert rewards.as_rewards(model) is model


@pytest.mark.parametrize(
    "model",
    [
        rewards.Bernoulli(),
        rewards.Bernoulli(pools=(3, 4)),
        rewards.Bounded(minimum=-1, maximum=2.5),
        rewards.Clipped(-1, 2.5),
        rewards.Clipped(0, 500, pools=(3, 4)),
        rewards.SubGaussian(scale=0.3),
    ],
)
def test_round_trip(model):
    """A model comes back from JSON values as it was."""
    assert rewards.as_rewards(model.to_dict()) == model


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("poisson", "rewards == 'poisson', must be 'bernoulli'"),
        ((1, 1), "must be finite and low < high"),
        ((0, math.inf), "must be finite"),
        ((0, 1e300), r"must be finite, from -1e\+100 to 1e\+100"),
        ((0, 1e-300), "must be wider"),
        ((0, 1, 2), "must be 'bernoulli', a pair"),
        (3, "rewards == 3"),
    ],
)
def test_refuses_unknown_models(spec, words):
    """What is no model is quoted with what would be one."""
    with pytest.raises(OddarmError, match=words):
        rewards.as_rewards(spec)


def test_refuses_bad_scales_and_pools():
    """A scale must be positive, a pool not empty."""
    with pytest.raises(OddarmError, match="scale == 0"):
        rewards.SubGaussian(scale=0)
    with pytest.raises(OddarmError, match="a size in pools == 0"):
        rewards.Bernoulli(pools=(3, 0))
    with pytest.raises(OddarmError, match="a finite pool has a range"):
        rewards.SubGaussian(scale=1, pools=(3,))
    with pytest.raises(OddarmError, match="from 1e-100 to"):
        rewards.SubGaussian(scale=1e-200)
    with pytest.raises(OddarmError, match="a size in pools"):
        rewards.Bernoulli(pools=(5, 2**53 + 1))


@pytest.mark.parametrize(
    ("model", "value", "words"),
    [
        (rewards.Bernoulli(), 0.5, r"reward 0.5, must be 0 or 1"),
        (rewards.Bernoulli(), [0, 1, 2], r"reward 2.0 at position 2 of 3"),
        (rewards.Bernoulli(), math.nan, "reward nan, must be finite"),
        (rewards.Bounded(minimum=0, maximum=1), 1.01, r"must be in \[0, 1\]"),
        (rewards.Bounded(minimum=0, maximum=1), [0.1, -math.inf], "reward -inf at position 1"),
        (rewards.SubGaussian(scale=1), math.inf, "must be finite"),
        (rewards.SubGaussian(scale=1), -1e200, r"must be"),
        (rewards.Bernoulli(), "heads", "reward 'heads', must be a number"),
        (rewards.Bernoulli(), None, "must be"),
    ],
)
def test_refuses_bad_rewards(model, value, words):
    """A bad reward is named, with its position in a batch."""
    with pytest.raises(OddarmError, match=words):
        model.check(value)


@pytest.mark.parametrize(
    ("model", "value", "remedy"),
    [
        (rewards.Bernoulli(), 0.5, "rewards=(0, 1)."),
        (rewards.Bernoulli(), 3, "rewards=(1, 5)."),
        (rewards.Bernoulli(), 87.25, "rewards=(0, 100)."),
        (rewards.Bernoulli(), [1, -2, 7], "rewards=(-5, 5)."),
        (rewards.Bounded(minimum=1, maximum=5), 1234567.25, "rewards=(1, 1234567.25), or"),
        (rewards.Clipped(0, 0.5), math.nan, None),
    ],
)
def test_a_number_outside_the_range_names_a_range_that_holds_it(model, value, remedy):
    """The error about a number outside the range shows a range to declare; nan has none."""
    kind = RewardRangeError if remedy else RewardError
    with pytest.raises(kind) as caught:
        model.check(value)
    assert type(caught.value) is kind
    assert (remedy or "must be finite") in str(caught.value)


def test_accepts_what_counts_as_a_number():
    """Booleans, integers and arrays of any shape are rewards."""
    model = rewards.Bernoulli()
    assert model.check(True).tolist() == [1.0]
    assert model.check(np.array([[0, 1], [1, 1]])).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "model",
    [rewards.Bernoulli(), rewards.Bounded(minimum=-1, maximum=2), rewards.SubGaussian(scale=1)],
)
@pytest.mark.parametrize("odd", [None, math.nan, math.inf, -math.inf, 0.5, 3, -1.5, 10**400])
def test_what_is_allowed_at_once_passes_the_check(model, odd):
    """`allow` says yes only where `check` does, wherever the odd one stands."""
    for place in range(3):
        values = [0, 1.0, 1]
        if odd is not None:
            values[place] = odd
        try:
            model.check(values)
        except OddarmError:
            assert not model.allow(values)
        else:
            assert model.allow(values)


def test_clipped_rewards_count_as_the_nearer_end():
    """A value beyond the range counts as the nearer end, also an infinite one."""
    model = rewards.Clipped(0, 500)
    assert model.check([-3, 20.5, 501, math.inf, -math.inf, 1e300]).tolist() == [
        0, 20.5, 500, 500, 0, 500,
    ]  # fmt: skip
    assert model.check(1_000).tolist() == [500]
    assert model.allow([0, 500.0])
    assert not model.allow([501])


@pytest.mark.parametrize("value", [math.nan, [1, math.nan], "slow", None, 1j])
def test_clipped_rewards_are_numbers(value):
    """Clipping refuses nan and what is not a number."""
    with pytest.raises(OddarmError, match="must be"):
        rewards.Clipped(0, 500).check(value)


def test_clipped_ranges_are_checked():
    """The range of clipped rewards keeps the rules of every range."""
    with pytest.raises(OddarmError, match="low < high"):
        rewards.Clipped(5, 5)
    with pytest.raises(OddarmError, match="must be finite"):
        rewards.Clipped(0, math.inf)


def test_clipped_rewards_have_bounded_intervals():
    """A search of clipped rewards keeps the sums and the intervals of the range."""
    clipped = oddarm.Search(3, rewards=rewards.Clipped(0, 10), max_outliers=1)
    bounded = oddarm.Search(3, rewards=(0, 10), max_outliers=1)
    for arm in range(3):
        clipped.tell(arm, [-1, 4, 25.5, math.inf])
        bounded.tell(arm, [0, 4, 10, 10])
    assert clipped.result().low.tolist() == bounded.result().low.tolist()
    assert clipped.result().high.tolist() == bounded.result().high.tolist()
    again = oddarm.Search.from_dict(clipped.to_dict())
    again.tell(0, math.inf)
    assert again.rewards == clipped.rewards
    assert again.tally.totals[0] == 34


def latencies(seed):
    """Return a function that draws log-normal latencies of 20 hosts, the last 4.4 times slower."""
    rng = np.random.default_rng(seed)
    medians = [*np.linspace(45, 55, 19), 220]
    return lambda host: rng.lognormal(math.log(medians[host]), 0.5)


@pytest.mark.slow
def test_a_slow_host_is_found_with_2000_calls():
    """One host that is 4.4 times slower is confirmed with at most 2,000 calls, in 19 of 20 runs."""
    results = [
        oddarm.find(latencies(seed), 20, rewards=rewards.Clipped(0, 250), min_gap=80,
                    max_outliers=1, max_pulls=2_000)
        for seed in range(40)
    ]  # fmt: skip
    assert sum(result.outliers == [19] for result in results) >= 38
