"""Odd-arm identification: as written out plainly, and right as often as it promises."""

import numpy as np
import pytest

import oddarm
from reference.odd import odd

EQUAL = [0.3, 0.3, 0.3, 0.8, 0.3, 0.3, 0.3]


@pytest.mark.parametrize("seed", range(3))
def test_equals_a_plain_rendering(seed):
    """The same shares of pulls, the same end and the same arm as the likelihoods written out."""
    rng = np.random.default_rng(seed)
    table = (rng.random((7, 600)) < np.array(EQUAL)[:, None]).astype(float)
    pulls, arm = odd(table.tolist(), 0.05, 600)
    search = oddarm.Search(7, "odd", max_outliers=1, max_pulls=600)
    ours = []
    while not search.done:
        (asked,) = search.ask(1)
        search.tell(asked, table[asked][search.tally.counts[asked]])
        ours.append(asked)
    assert ours == pulls
    assert search.result().outliers == [arm] == [3]


@pytest.mark.parametrize(
    ("rewards", "means"),
    [
        ("bernoulli", [0.4, 0.4, 0.4, 0.6, 0.4]),
        ((0, 1), [0.4, 0.4, 0.4, 0.6, 0.4]),
        (oddarm.rewards.SubGaussian(scale=0.4), [0.4, 0.4, 0.4, 0.6, 0.4]),
    ],
    ids=["bernoulli", "bounded", "normal"],
)
def test_wrong_as_seldom_as_promised(rewards, means):
    """At δ = 0.5 at most half of 40 runs are wrong, and far fewer in fact."""
    results = [
        oddarm.simulate(means, "odd", max_outliers=1, delta=0.5, rewards=rewards, seed=seed)
        for seed in range(40)
    ]
    assert all(result.provenance["delta_proved"] for result in results)
    assert sum(result.outliers != [3] for result in results) <= 20


def test_finite_pools_are_refused():
    """The proof is for independent rewards, so a finite pool is an error that says what to do."""
    rewards = oddarm.rewards.Bernoulli(pools=(9, 9, 9))
    with pytest.raises(oddarm.OddarmError, match="finite pools with strategy 'odd'"):
        oddarm.Search(3, "odd", max_outliers=1, rewards=rewards)
