"""Uniform: equal pulls, and the answers of the adaptive strategy."""

import numpy as np
import pytest

import oddarm
from reference.uniform import uniform

MEANS = [0.20, 0.22, 0.25, 0.28, 0.30, 0.33, 0.70]
RULES = {"absolute": {"min_gap": 0.2}, "ranked": {"until": "ranked"}, "relative": {"epsilon": 1}}


@pytest.mark.parametrize("rewards", ["bernoulli", oddarm.rewards.SubGaussian(scale=0.2)])
@pytest.mark.parametrize("rule", RULES)
def test_answers_as_an_adaptive_search_told_sweep_by_sweep(rule, rewards):
    """Pulls, verdict, outliers and intervals are those of plain sweeps, compiled or not."""
    options = {"max_outliers": 1, **RULES[rule]}
    plain = uniform(MEANS, rewards, 3, **options).result()
    ours = oddarm.simulate(MEANS, "uniform", rewards=rewards, seed=3, **options)
    assert (ours.verdict, ours.outliers, ours.ranking) == (
        plain.verdict,
        plain.outliers,
        plain.ranking,
    )
    assert ours.counts.tolist() == plain.counts.tolist()
    assert ours.low == pytest.approx(plain.low, abs=1e-12)


def test_every_arm_is_pulled_equally_often():
    """However pulls are asked for, the most pulled arm is ahead by 2 % and one pull at most."""
    search = oddarm.Search(7, "uniform", max_outliers=1, min_gap=0.2)
    arms = oddarm.sources.SimulatedArms(MEANS)
    rng = np.random.default_rng(0)
    while not search.done:
        for arm in search.ask(int(rng.integers(1, 20))):
            search.tell(arm, arms.draw(arm))
        counts = search.tally.counts
        assert counts.max() <= 1.02 * counts.min() + 3
    assert search.result().outliers == [6]


def test_arms_with_fewer_rows_wait_for_nobody():
    """An arm whose rows are used up is not asked for again; the others go on."""
    rewards = oddarm.rewards.Bernoulli(rows=(5, 40, 40, 40))
    search = oddarm.Search(4, "uniform", max_outliers=1, min_gap=0.3, rewards=rewards)
    while not search.done:
        for arm in search.ask(3):
            search.tell(arm, arm % 2)
    assert search.tally.counts.max() <= 40
    assert search.tally.counts[0] == 5
