"""Evidence against a whole truth: what the kernel calls certain, and the bets it relies on."""

import json
import math
import random

import numpy as np
import pytest
from verification.group_truths import compared_with_bets

import oddarm
from oddarm.sources import SimulatedArms
from oddarm.strategies.adaptive import joint as joint_plans
from oddarm.strategies.adaptive import run
from tests.reference import joint


@pytest.mark.parametrize("zero_one", [True, False])
def test_every_truth_that_contradicts_what_is_certain_is_rejected(zero_one):
    """What the kernel calls certain at some odds is so by the bets, against any such truth."""
    compared, least = 0, math.inf
    for seed in range(40):
        some, excess = compared_with_bets(seed, 40, zero_one)
        compared, least = compared + some, min(least, excess)
    assert compared > 300
    assert -1e-6 <= least < 3.0  # the bound is not much less than the weakest evidence


@pytest.mark.parametrize("seed", range(5))
def test_a_pull_leaves_the_expected_capital_as_it_is(seed):
    """Under the means that are tested, the expected evidence after a pull is that before it."""
    rng = random.Random(seed)
    means = [rng.random() for _ in range(5)]
    data = [(rng.randrange(20), rng.randrange(20)) for _ in means]
    before = joint.evidence(data, means)
    for arm, mean in enumerate(means):
        successes, failures = data[arm]
        after = 0.0
        for chance, more in (
            (mean, (successes + 1, failures)),
            (1 - mean, (successes, failures + 1)),
        ):
            after += chance * joint.evidence([*data[:arm], more, *data[arm + 1 :]], means)
        assert after == pytest.approx(before, rel=1e-9)


def test_stakes_sum_to_at_most_one():
    """Before any reward the evidence is at most 1, whatever the means."""
    rng = random.Random(1)
    for n in (3, 5, 12):
        means = [rng.random() for _ in range(n)]
        assert 0.3 < joint.evidence([(0, 0)] * n, means) <= 1.0


def test_a_group_is_found_with_far_fewer_pulls():
    """Evidence of several arms at once confirms a group that takes intervals 75,000 pulls."""
    means = oddarm.datasets.synthetic("upper", 20, 5.0, seed=0).means
    result = oddarm.simulate(means, epsilon=2.5, slack=0, delta=0.1, until="found", seed=0)
    assert sorted(result.outliers) == [9, 14]
    assert result.pulls < 40_000


def test_a_larger_group_is_excluded_and_the_group_confirmed_with_far_fewer_pulls():
    """Until "confirmed", evidence of several arms shows what takes intervals 40,000 pulls."""
    means = oddarm.datasets.synthetic("upper", 20, 5.0, seed=0).means
    result = oddarm.simulate(means, epsilon=2.5, delta=0.1, until="confirmed", seed=0)
    assert sorted(result.outliers) == [9, 14]
    assert result.pulls < 25_000


def test_a_budget_ends_early_if_evidence_of_several_arms_confirms():
    """With a budget, too, an answer by evidence against a whole truth is given at once."""
    means = [0.20, 0.22, 0.24, 0.25, 0.27, 0.28, 0.30, 0.31, 0.33, 0.35, 0.95]
    result = oddarm.simulate(means, max_outliers=1, until="budget", max_pulls=10_000, seed=1)
    assert (result.verdict, result.outliers) == ("confirmed", [10])
    (certificate,) = result.certificates
    assert certificate.confirmed_at == 2.0  # beyond what intervals and pairs say
    assert certificate.gap_at_least < 3.0 * certificate.rest_at_most


def test_an_ask_for_many_pulls_weighs_groups_at_most_twice(monkeypatch):
    """However many pulls an ask wants, it looks for the weakest truths at most twice."""
    looks = []
    look_at = run.look_at
    monkeypatch.setattr(run, "look_at", lambda *args: looks.append(1) or look_at(*args))
    means = oddarm.datasets.synthetic("upper", 20, 5.0, seed=0).means
    source, search = SimulatedArms(means, seed=1), oddarm.Search(20, delta=0.1)
    for limit in [100] * 20 + [5000, 7, 3000]:
        looks.clear()
        asked = search.ask_indices(limit)
        assert len(asked) == limit
        if limit > 100:
            assert len(looks) <= 2
        search.tell_indices(asked, np.array([source.draw(int(arm)) for arm in asked]))


def test_no_truth_to_reject_leaves_no_pulls_to_forecast():
    """If the intervals exclude every truth that contradicts the guess, the forecast is 0 pulls."""
    nothing = joint_plans.Outlook(np.zeros(3, dtype=bool), np.empty(0), np.empty((0, 3)))
    assert joint_plans.further_pulls(nothing, np.full(3, 9.0), None) == 0


@pytest.mark.parametrize(("kind", "seed"), [("intermediate", 1002), ("mixed", 1)])
def test_arms_that_are_sure_to_be_near_1_get_few_pulls(kind, seed):
    """An arm whose rewards are all 1 tells little against any truth, and is pulled little."""
    means = oddarm.datasets.synthetic(kind, 20, 2.5, seed=seed).means
    result = oddarm.simulate(means, delta=0.1, until="found", seed=seed)
    assert result.verdict == "confirmed"
    assert result.counts[means > 0.999].sum() < 0.05 * result.pulls


def test_an_interrupted_search_goes_on_as_if_it_had_not_been():
    """A search that is saved and restored again and again pulls the same arms to the end."""
    means = [0.20, 0.22, 0.24, 0.25, 0.27, 0.28, 0.30, 0.31, 0.33, 0.35, 0.95]
    ends = []
    for every in (10**9, 1):
        source = SimulatedArms(means, seed=4)
        search = oddarm.Search(11, max_outliers=1, slack=0, delta=0.1, until="found")
        asks = 0
        while search.verdict == "running":
            asks += 1
            if asks % every == 0:
                search = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
            for arm in search.ask():
                search.tell(arm, source.draw(arm))
        ends.append(search.to_dict())
    assert ends[0] == ends[1]
    assert search.verdict == "confirmed"


def test_a_search_saved_before_there_was_such_evidence_keeps_its_shares():
    """A state without a share of δ for it goes on with intervals and pairs, as it began."""
    search = oddarm.Search(11, max_outliers=1, delta=0.1, until="found")
    assert search.run.joint_delta == pytest.approx(0.035)
    state = search.to_dict()
    del state["run"]["planner"], state["run"]["joint"]
    state["run"]["pairs"] = 0.06
    again = oddarm.Search.from_dict(state).run
    assert (again.joint_delta, again.pair_delta) == (0, pytest.approx(0.06))
    assert again.to_dict().keys() == state["run"].keys()


@pytest.mark.parametrize(
    "means",
    [
        [0.30, 0.32, 0.34, 0.46, 0.48, 0.50, 0.7376],
        [0.10, 0.12, 0.22, 0.24, 0.436, 0.632, 0.65, 0.74, 0.76],
    ],
)
def test_what_is_nearly_a_group_is_not_confirmed(means):
    """Outliers 1 % short of the line are confirmed in few of many searches, even at δ = 0.5."""
    options = {"epsilon": 1.0, "max_outliers": 1, "slack": 0, "delta": 0.5, "until": "found"}
    runs = [oddarm.simulate(means, seed=k, max_pulls=5000, **options) for k in range(12)]
    assert sum(run.verdict == "confirmed" for run in runs) <= 2
