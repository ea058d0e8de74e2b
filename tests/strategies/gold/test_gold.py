"""GOLD against a literal rendering of Algorithm 1, and its behaviour off the beaten path."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import oddarm
from oddarm.sources import SimulatedArms
from oddarm.strategies.gold import compiled
from reference.gold import gold as literal

SHAPES = ("bernoulli", "uniform", "grid", "ties", "constant")


def reward_table(seed, shape, n, rho, length=2000):
    """A table of rewards with as many arms far from the rest as the capacity has room for."""
    rng = np.random.default_rng([seed, n])
    means = rng.uniform(0.3, 0.5, n)
    outlying = rng.permutation(n)[: math.ceil(n * (1 - Fraction(str(rho))))]
    means[outlying] = rng.choice([0.0, 0.02, 0.97, 1.0], len(outlying))
    u = rng.random((n, length))
    if shape == "bernoulli":
        return (u < means[:, None]).astype(float), True
    if shape == "constant":  # zero-variance arms, some of them tied
        return np.repeat(means.round(1)[:, None], length, axis=1), False
    if shape == "ties":
        return (u < means.round(1)[:, None]).astype(float), True
    reach = np.minimum(means, 1 - means)
    table = means[:, None] + reach[:, None] * (2 * u - 1)
    return (table.round(2) if shape == "grid" else table), False


def sequential(table, **options):
    """Drive a search with ask(1); return the pull order and the search."""
    search = oddarm.Search(len(table), "gold", **options)
    pulls = []
    while not search.done:
        (arm,) = search.ask(1)
        search.tell(arm, table[arm][search.tally.counts[arm]])
        pulls.append(arm)
    return pulls, search


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.slow
def test_equals_the_literal_algorithm(seed, shape):
    """Pull order, T, every S and the ranking equal those of Algorithm 1, pull by pull."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(11, 26)) if seed < 10 else int(rng.integers(26, 61))
    rho = float(rng.choice([0.7, 0.8, 0.9]))
    table, bernoulli = reward_table(seed, shape, n, rho)
    options = {"epsilon": float(rng.choice([2.5, 5.0, 20.0])), "rho": rho, "delta": 0.1}
    strict = seed == 4
    budget = 10_000  # the literal algorithm is slow; a run that reaches it must still agree
    expected = literal(
        table.tolist(), span=1.0, bernoulli=bernoulli, strict=strict, budget=budget, **options
    )
    pulls, search = sequential(
        table,
        bound="paper",
        rewards="bernoulli" if bernoulli else (0, 1),
        strict=strict,
        max_pulls=budget,
        **options,
    )
    result = search.result()
    assert pulls == expected[0]
    assert search.pulls == expected[1]
    assert np.nan_to_num(result.scores).astype(int).tolist() == expected[2]
    assert result.ranking == expected[3]


@pytest.mark.slow
def test_most_literal_comparisons_run_to_the_end():
    """The comparison above is not one of cut-off runs: four in five end by themselves."""
    ended = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(11, 26))
        rho = float(rng.choice([0.7, 0.8, 0.9]))
        table, _ = reward_table(seed, "bernoulli", n, rho)
        epsilon = float(rng.choice([2.5, 5.0, 20.0]))
        _, search = sequential(table, bound="paper", rho=rho, epsilon=epsilon, max_pulls=10_000)
        ended += search.verdict == "ranked"
    assert ended >= 8


@pytest.mark.parametrize("rewards", ["bernoulli", (0, 1)])
@pytest.mark.parametrize("bound", ["anytime", "paper"])
@pytest.mark.parametrize("n", [11, 20, 50])
@pytest.mark.slow
def test_compiled_simulation_gives_the_same_answers(n, bound, rewards):
    """simulate() and ask(1)/tell on the same seed agree in every number."""
    instance = oddarm.datasets.synthetic("upper", n, 5.0, seed=n)
    options = {"epsilon": 5.0, "bound": bound, "max_pulls": 20_000, "rewards": rewards}
    compiled = oddarm.simulate(instance.means, "gold", seed=5, shape="bernoulli", **options)
    arms = SimulatedArms(instance.means, rewards, seed=5, shape="bernoulli")
    search = oddarm.Search(n, "gold", seed=5, **options)
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, arms.draw(arm))
    stepwise = search.result()
    assert compiled.to_dict() == stepwise.to_dict()


def test_a_search_advanced_by_both_paths_ends_the_same():
    """A run may change between compiled and interpreted code at any pull."""
    instance = oddarm.datasets.synthetic("intermediate", 20, 5.0, seed=2)
    whole = oddarm.simulate(instance.means, "gold", epsilon=5.0, seed=1)
    arms = SimulatedArms(instance.means, seed=1)
    search = oddarm.Search(20, "gold", epsilon=5.0, seed=1)
    while not search.done:
        for _ in range(37):
            for arm in search.ask(1):
                search.tell(arm, arms.draw(arm))
        if not search.done and compiled.fits(search.run, arms):
            compiled.advance(search.run, arms, search.pulls + 101)
    assert search.result().to_dict() == whole.to_dict()


def test_whole_sweeps_rank_the_same_arms_first():
    """ask() by natural rounds finds the same outliers, with a sweep's surplus at most."""
    instance = oddarm.datasets.synthetic("upper", 20, 5.0, seed=4)
    arms = SimulatedArms(instance.means, seed=3)
    search = oddarm.Search(20, "gold", epsilon=5.0)
    while not search.done:
        for arm in search.ask():
            search.tell(arm, arms.draw(arm))
    one_by_one = oddarm.simulate(instance.means, "gold", epsilon=5.0, seed=3)
    assert set(search.result().candidates) == set(instance.outliers) == set(one_by_one.candidates)
    assert one_by_one.pulls <= search.pulls <= one_by_one.pulls + 20


def test_an_arm_told_far_ahead_does_not_separate_early():
    """Rewards out of turn are data, but an arm is judged at most one pull ahead of the slowest."""
    search = oddarm.Search(5, "gold", max_outliers=1)
    for arm in range(5):
        search.tell(arm, 0)
    search.tell(0, np.zeros(5000))
    search.tell(1, np.ones(5000))
    assert not search.result().candidates
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, float(arm == 1))
    assert search.result().candidates == [1]


@pytest.mark.parametrize("seed", range(5))
def test_judged_pulls_in_any_order(seed):
    """However rewards are told, an arm with m pulls is judged by min(m, slowest + 1)."""
    rng = np.random.default_rng(seed)
    means = np.array([0.1, 0.12, 0.15, 0.2, 0.9])
    search = oddarm.Search(5, "gold", max_outliers=1)
    search.tell_indices(np.arange(5), rng.random(5) < means)
    while not search.done:
        few = rng.choice(5, size=rng.integers(1, 6), replace=False)
        arms = rng.choice(few, size=rng.integers(1, 30))
        kind = rng.integers(3)
        if kind == 0:
            search.tell_indices(arms, rng.random(len(arms)) < means[arms])
        elif kind == 1:
            search.tell(int(arms[0]), rng.random(len(arms)) < means[arms[0]])
        else:
            for arm in arms.tolist():
                search.tell(arm, float(rng.random() < means[arm]))
        if not search.done:
            run = search.run
            in_play = run.stage == 0
            counts, judged = run.tally.counts[in_play], run.judged[in_play]
            np.testing.assert_array_equal(judged, np.minimum(counts, counts.min() + 1))
            np.testing.assert_array_equal(run.beta[in_play], run.radius.radii(judged))
    assert search.result().candidates == [4]


def test_batches_keep_the_order_of_separation():
    """All rewards told at once, arm by arm, rank a group before arms that separate later."""
    rng = np.random.default_rng(3)
    means = np.array([0.05, 0.06, 0.07, 0.08, 0.5, 0.92, 0.93, 0.94, 0.95])
    for order in (range(9), [4, 0, 8, 1, 7, 2, 6, 3, 5], [8, 7, 6, 5, 4, 3, 2, 1, 0]):
        search = oddarm.Search(9, "gold", max_outliers=1)
        for arm in order:
            search.tell(arm, (rng.random(2_000_000) < means[arm]).astype(float))
        assert search.verdict == "ranked"
        assert search.result().ranking[0] == 4


def test_arms_far_apart_without_a_range():
    """Where all arms separate at the first look, the widest gap still decides."""
    model = oddarm.rewards.SubGaussian(scale=0.01)
    means = [0.0, 1.0, 2.0, 50.0, 98.0, 99.0, 100.0]
    result = oddarm.simulate(means, "gold", rewards=model, max_outliers=1)
    assert result.candidates == [3]
    assert result.pulls == 16 * 7


def test_capacity_that_is_no_whole_number():
    """As printed, GOLD waits for an arm more than any group has; the rigorous version does not."""
    means = [*np.linspace(0.2, 0.3, 10), 0.95]
    assert len(oddarm.simulate(means, "gold", rho=0.9).candidates) == 1
    assert (
        oddarm.simulate(means, "gold", rho=0.9, bound="paper", max_pulls=50_000).verdict == "budget"
    )


def test_all_arms_may_become_terminal_at_one_pull():
    """When one pull cuts the last edges of all, the search is over, and nothing breaks."""
    radius = oddarm.bounds.NormalMixture(0.1 / 3, 0.5, 0, 1).radius
    b = oddarm.Problem().b
    low, high = 2 * b * radius(300), b * (radius(300) + radius(299))
    d = (low + high) / 2
    search = oddarm.Search(3, "gold", max_outliers=1, rewards=(0, 1), delta=0.1)
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, [0.0, 2 * d, d][arm])
    assert search.pulls == 900
    assert len(search.result().candidates) == 3


def test_ties_and_zero_variance_arms():
    """Arms that always pay the same, many of them tied, do no harm."""
    means = [0.5] * 9 + [1.0]
    result = oddarm.simulate(means, "gold", rewards=(0, 1), max_outliers=1)
    assert result.ranking[0] == 9


def test_sub_gaussian_rewards_warm_up():
    """Rewards without a range get 16 pulls an arm before the graph is built."""
    result = oddarm.simulate(
        [0.0, 1.0, 2.0, 3.0, 1e6],
        "gold",
        rewards=oddarm.rewards.SubGaussian(scale=1.0),
        max_outliers=1,
    )
    assert result.candidates == [4]
    assert result.counts.min() >= 16


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0.05}, "epsilon == 0.05, must be > e"),
        ({"until": "confirmed"}, "only ranks"),
        ({"bound": "paper", "rewards": oddarm.rewards.SubGaussian(scale=1)}, "sub-Gaussian"),
        ({"rewards": oddarm.rewards.Bernoulli(pools=(5,) * 20)}, "finite pools"),
    ],
)
def test_refuses_what_it_cannot_do(options, words):
    """A setting outside GOLD's theory is refused with the rule and the remedy."""
    with pytest.raises(oddarm.OddarmError, match=words):
        oddarm.Search(20, "gold", **options)


def test_late_rewards_after_the_budget_judge_nothing():
    """What is told once the budget is used up is counted, and leaves the run as it was."""
    rng = random.Random(2)
    search = oddarm.Search(10, "gold", max_outliers=2, max_pulls=2005)
    while not search.done:
        (arm,) = search.ask(1)
        search.tell(arm, int(rng.random() < 0.3 + 0.02 * arm))
    before = search.run.to_dict()
    for arm in [*range(10), *range(10), 3, 3, 3]:
        search.tell(arm, 1)
    assert search.pulls == 2028
    assert search.run.to_dict() == before


def test_saved_states_may_have_fields_of_before():
    """Fields that older versions saved and this one does not need are ignored."""
    search = oddarm.Search(10, "gold", max_outliers=2, bound="paper")
    search.tell_indices(np.arange(10), np.zeros(10))
    state = search.to_dict()
    run = {**state["run"], "fresh": False, "judged": [0] * 10, "beta": [0.0] * 10}
    assert oddarm.Search.from_dict({**state, "run": run}).to_dict() == state


def test_all_arms_become_terminal_at_once():
    """Where the last edges of all arms are cut together, every arm is terminal and the run ends."""
    search = oddarm.Search(3, "gold", max_outliers=1, epsilon=5.0)
    pulls = 4000
    rewards = [np.zeros(pulls), np.tile([0.0, 1.0], pulls // 2), np.ones(pulls)]
    search.tell_indices(np.repeat([0, 1, 2], pulls), np.concatenate(rewards))
    assert search.verdict == "ranked"
    assert sorted(search.declared()) == [0, 1, 2]
