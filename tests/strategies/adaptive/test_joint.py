"""Evidence against a whole truth: what the kernel calls certain, and the bets it relies on."""

import json
import math
import random

import pytest
from verification.group_truths import compared_with_bets

import oddarm
from oddarm.sources import SimulatedArms
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
