"""Searches for groups of order k: answers, certificates, saved states, and who takes part."""

import json

import numpy as np
import pytest
from scipy.stats import binom

import oddarm
from oddarm import Problem
from oddarm.batch.least import least_of
from oddarm.definitions.truth import Truth
from oddarm.rewards import Bernoulli
from oddarm.sources import PoolSource, RecordedSource
from oddarm.strategies.adaptive.guess import best_group

BULK = [0.20, 0.22, 0.24, 0.25, 0.27, 0.28, 0.30, 0.31, 0.33, 0.35]
NEAR, FAR = [*BULK, 0.45], [*BULK, 0.95]
"""At ε = 2.5 the last arm is a group of order 1 in both: up to order 1, and up to order 9."""


def test_the_order_decides():
    """An arm near the bulk is a group of order 1 and not of order 3; one far away is of both."""
    nobody = oddarm.simulate(NEAR, neighbours=3, seed=1)
    assert nobody.verdict == "none"
    assert "times as wide as any span of 3 gaps among the others" in nobody.summary
    assert oddarm.outlier_groups(NEAR, max_outliers=1)[0].max_neighbours == 1
    result = oddarm.simulate(FAR, neighbours=3, seed=1)
    assert (result.verdict, result.outliers) == ("confirmed", [10])
    assert "times any span of 3 gaps among them" in result.summary
    (certificate,) = result.certificates
    span = max(high - low for low, high in zip(BULK, BULK[3:], strict=False))
    assert certificate.rest_at_least <= span <= certificate.rest_at_most
    assert certificate.epsilon >= 2.0  # 2.5 less the slack
    assert 3 <= certificate.max_neighbours <= 9
    assert json.loads(result.to_json())["certificates"][0]["max_neighbours"] >= 3
    assert result.provenance["neighbours"] == 3


def test_every_certificate_knows_its_largest_order():
    """With order 1 asked for, a certificate has the largest order that the intervals show."""
    result = oddarm.simulate(FAR, epsilon=0.5, until="confirmed", seed=2)
    (certificate,) = result.certificates
    assert 1 <= certificate.max_neighbours <= 9
    look = oddarm.simulate(FAR, "fixed", epsilon=0.5, max_pulls=33_000, seed=2)
    assert [c.max_neighbours for c in look.certificates] == [9]
    assert oddarm.outlier_groups(FAR, 0.5, max_outliers=1)[0].max_neighbours == 9


def test_errors_are_as_rare_as_promised():
    """At δ = ½ near the line, few answers are wrong, with members, without and on both sides."""
    wrong = runs = 0
    rng = np.random.default_rng(2)
    verdicts, neighbours = set(), 2
    for seed in range(24):
        bulk = np.sort(rng.uniform(0.0, 1.0, 7))
        span = max(float(bulk[k + neighbours] - bulk[k]) for k in range(7 - neighbours))
        away = float(rng.choice([1.3, 1.7])) * span  # on either side of 1 + ε
        means = [*bulk.tolist(), float(bulk[-1]) + away]
        options = {"epsilon": 0.5, "max_outliers": 1, "neighbours": neighbours, "delta": 0.5}
        rewards = oddarm.rewards.SubGaussian(scale=0.1)
        result = oddarm.simulate(
            means, seed=seed, slack=0.0, max_pulls=4_000, rewards=rewards, **options
        )
        verdicts.add(result.verdict)
        if result.verdict in ("confirmed", "none"):
            runs += 1
            truth = Truth.of(means, Problem(**options))
            wrong += not truth.confirms(result.verdict, result.outliers, "found")
    assert {"confirmed", "none"} <= verdicts
    assert runs > 12
    assert wrong <= binom.ppf(0.001, runs, 0.5)


def test_exhausted_pools_are_judged_exactly():
    """When all rewards are known, the order of a group is exact, ties included."""
    successes = [2, 3, 4, 5, 6, 16]  # of 20; three gaps in a row span 3/20, and 10/20 is above it
    items = {arm: [1] * k + [0] * (20 - k) for arm, k in enumerate(successes)}
    orders = {0.5: 4, 1.5: 3, 2.3: 3, 2.4: 2, 4.0: 1, 9.0: 0}
    for epsilon, order in orders.items():
        source = PoolSource(items, float, "bernoulli", seed=1)
        options = {"epsilon": epsilon, "max_outliers": 1, "slack": 0, "until": "confirmed"}
        groups = oddarm.outlier_groups([k / 20 for k in successes], epsilon, max_outliers=1)
        assert [group.max_neighbours for group in groups] == ([order] if order else [])
        search = oddarm.Search(6, rewards=source.rewards, **options)
        for arm, rewards in items.items():
            search.tell(arm, rewards)
        found = [c.max_neighbours for c in search.result().certificates]
        assert max(found, default=0) == order
        for neighbours in range(1, 5):
            asked = oddarm.Search(6, rewards=source.rewards, neighbours=neighbours, **options)
            for arm, rewards in items.items():
                asked.tell(arm, rewards)
            assert asked.verdict == ("confirmed" if neighbours <= order else "none")


@pytest.mark.parametrize("rewards", ["bernoulli", (0, 1)])
def test_a_saved_search_goes_on_at_its_order(rewards):
    """A search that is saved and loaded in the middle ends as one that was not."""
    options = {"neighbours": 3, "rewards": rewards, "seed": 1}
    source = oddarm.sources.SimulatedArms(FAR, rewards, seed=4)
    rows = {arm: source.draw(arm, 20_000) for arm in range(len(FAR))}

    def ended(saved_after):
        search, used = oddarm.Search(len(FAR), **options), [0] * len(FAR)
        while not search.done:
            for arm in search.ask():
                search.tell(arm, rows[arm][used[arm]])
                used[arm] += 1
            if saved_after and search.pulls > saved_after:
                search = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
                saved_after *= 3
        return search.result()

    once, again = ended(0), ended(200)
    assert once.to_dict()["certificates"] == again.to_dict()["certificates"]
    assert (once.verdict, once.pulls) == (again.verdict, again.pulls) == ("confirmed", once.pulls)


def test_failed_arms_leave_fewer_neighbours():
    """When arms fail, an order beyond all neighbours that are left is that of all of them."""
    search = oddarm.Search(6, max_outliers=1, neighbours=4)
    for arm in range(6):
        search.tell(arm, [0.0] * 20)
    search.set_aside(5, "no answer")
    assert search.run.context.problem.neighbours == 3
    assert search.problem.neighbours == 4
    search.result()


def test_the_guess_is_for_the_order():
    """Of two sets, the guess is the one that exceeds the spans of the others by more.

    Without the arm at 0.94, the widest gap among the others is 0.2 in place of 0.3, but the longest
    span of two gaps is 0.4 in any case.
    """
    means = np.array([0.0, 0.2, 0.4, 0.6, 0.62, 0.64, 0.94, 1.39])
    options = 2, 3, 3.0, 0.0, np.zeros(8, dtype=bool)
    for neighbours, expected in ((1, [6, 7]), (2, [7])):
        found = best_group(means, *options, neighbours).members
        assert np.flatnonzero(found).tolist() == expected


def test_strategies_that_only_rank_do_not_know_it():
    """They refuse it in a sentence, and plans and comparisons leave them out."""
    with pytest.raises(
        oddarm.errors.ParameterError, match="neighbours == 2 with strategy 'gold', which does not"
    ):
        oddarm.Search(10, "gold", neighbours=2)
    log = RecordedSource({arm: [arm == 4] * 30 for arm in range(5)})
    compared = oddarm.compare(log, neighbours=2, max_outliers=1)
    assert {run.strategy for run in compared.runs} == {"adaptive", "fixed", "uniform"}
    assert "neighbours == 2" in compared.left_out["gold"]
    planned = oddarm.plan(FAR, runs=1, neighbours=2, cap=2_000)
    assert {cost.strategy for cost in planned.costs} == {"adaptive", "fixed"}
    assert planned.least == {}


def test_the_limit_is_known_for_order_1_alone():
    """What any method must pay is not computed for other orders."""
    means = dict(enumerate(FAR))
    assert least_of(means, Bernoulli(), Problem(neighbours=2), ["found"]) == {}


def test_with_min_gap_alone_it_means_nothing():
    """The absolute rule refuses it, and its certificates have no order."""
    with pytest.raises(oddarm.errors.ParameterError, match="pass epsilon too, or leave out"):
        oddarm.Search(10, min_gap=0.1, neighbours=2)
    result = oddarm.simulate(FAR, min_gap=0.2, seed=1)
    assert [certificate.max_neighbours for certificate in result.certificates] == [0]
    both = oddarm.simulate(FAR, epsilon=2.5, min_gap=0.2, neighbours=2, seed=1)
    assert both.verdict == "confirmed"
