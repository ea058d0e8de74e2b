"""The fixed strategy: equal pulls, one look, the rules of the adaptive strategy."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import binom

import oddarm
from oddarm import OddarmError, Search
from oddarm.definitions.truth import Truth
from oddarm.sources import RecordedSource
from oddarm.strategies import Fixed

CLEAR = [0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.9]


def told(search, rates, seed=0, batch=None):
    """Pull what is asked for until the search is done."""
    rng = np.random.default_rng(seed)
    while not search.done:
        arms = search.ask_indices(batch)
        assert len(arms)
        search.tell_indices(arms, rng.random(len(arms)) < np.take(rates, arms))
    return search.result()


def test_every_arm_is_pulled_equally_often_in_sweeps():
    """The arms come in the given order, each once a sweep, and the search ends after the look."""
    search = Search(list("abcd"), Fixed(pulls=2), max_outliers=1)
    assert search.ask(3) == ["a", "b", "c"]
    assert search.ask(100) == ["d", "a", "b", "c", "d"]
    for arm in "abcd" * 2:
        search.tell(arm, 0)
    assert search.done
    assert (search.result().counts == 2).all()


@pytest.mark.parametrize("budget", [7, 30, 700])
def test_the_budget_is_divided(budget):
    """Without a number of pulls, the arms share the budget, the first ones the remainder."""
    result = told(Search(7, "fixed", max_outliers=1, max_pulls=budget), CLEAR)
    assert result.pulls == budget
    assert result.counts.max() - result.counts.min() <= 1


def test_without_a_number_it_says_what_to_pass():
    """Neither pulls nor a budget, or a budget below one pull for each arm, is an error."""
    with pytest.raises(OddarmError, match="max_pulls, which it divides"):
        Search(7, "fixed", max_outliers=1)
    with pytest.raises(OddarmError, match="max_pulls=7 or more"):
        Search(7, "fixed", max_outliers=1, max_pulls=6)
    with pytest.raises(OddarmError, match="intervals for one look"):
        Search(7, Fixed(3), max_outliers=1, bound="paper")
    with pytest.raises(OddarmError, match="pulls"):
        Fixed(0)


def test_pools_give_what_they_have():
    """Arms with fewer rewards give all of them; drawn completely, the answer is exact."""
    log = {"a": [0] * 5, "b": [0, 0, 1], "c": [1] * 40, "d": [0] * 6}
    result = oddarm.find(RecordedSource(log), strategy="fixed", max_outliers=1, max_pulls=None)
    assert result.counts.tolist() == [5, 3, 40, 6]
    assert (result.low == result.high).all()
    assert result.verdict == "none"  # (1 - 1/3) is not 3.5 times 1/3
    few = oddarm.find(RecordedSource(log), strategy=Fixed(4), max_outliers=1, max_pulls=None)
    assert few.counts.tolist() == [4, 3, 4, 4]
    assert few.verdict == "budget"


def test_it_looks_once():
    """Before the look nothing is known, and rewards that come after it change nothing."""
    search = Search(7, Fixed(pulls=400), max_outliers=1)
    rng = np.random.default_rng(1)
    for arm in range(6):
        search.tell(arm, rng.random(400) < CLEAR[arm])
    before = search.result()
    assert before.verdict == "running"
    assert (before.low == 0).all()
    assert (before.high == 1).all()
    search.tell(6, rng.random(400) < CLEAR[6])
    after = search.result()
    assert (after.verdict, after.outliers) == ("confirmed", [6])
    search.tell(6, np.zeros(5000))
    late = search.result()
    assert (late.verdict, late.outliers) == ("confirmed", [6])
    assert np.array_equal(late.low, after.low)


def test_what_is_open_stays_open():
    """With too few pulls the verdict is "budget", nothing is asked for, and nothing is certain."""
    search = Search(7, Fixed(pulls=3), max_outliers=1)
    result = told(search, CLEAR)
    assert result.verdict == "budget"
    assert result.outliers == []
    assert search.ask(5) == []
    loaded = Search.from_dict(search.to_dict())
    assert loaded.result().to_dict() == result.to_dict()


def test_an_arm_that_fails_leaves_the_others_their_share():
    """The other arms keep their numbers of pulls, and the look comes within the budget."""
    search = Search(list("abcdefg"), "fixed", max_outliers=1, max_pulls=7000)
    search.tell("b", np.zeros(300))
    search.set_aside("b", "gone")
    rng = np.random.default_rng(3)
    while not search.done:
        for arm in search.ask(600):
            search.tell(arm, float(rng.random() < CLEAR["abcdefg".index(arm)]))
    result = search.result()
    assert (result.verdict, result.outliers) == ("confirmed", ["g"])
    assert result.counts.tolist() == [1000, 300, 1000, 1000, 1000, 1000, 1000]


def test_lost_pulls_are_asked_for_again():
    """Pulls that were asked for and never told come again."""
    search = Search(4, Fixed(pulls=3), max_outliers=1)
    assert len(search.ask(12)) == 12
    assert search.ask(4) == [0, 1, 2, 3]


@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_answers_are_wrong_no_more_often_than_promised(delta):
    """At any number of pulls, few answers are wrong; many looks decide."""
    rng, wrong, decided, runs = np.random.default_rng(5), 0, 0, 200
    for k in range(runs):
        n = 11
        means = np.append(rng.uniform(0.2, 0.3, n - 1), rng.choice([0.25, 0.95]))
        pulls = int(rng.choice([30, 300, 3000]))
        options = {"max_outliers": 1, "delta": delta, "slack": 0.0}
        search = Search(n, Fixed(pulls=pulls), **options)
        result = told(search, means, seed=k, batch=10_000)
        right = Truth.of(means, search.problem).confirms(result.verdict, result.outliers, "found")
        wrong += right is False
        decided += result.verdict == "confirmed"
    assert wrong <= binom.ppf(1 - 1e-4, runs, delta)
    assert decided > 20


def test_pulls_in_flight_are_not_asked_for_twice():
    """With more workers than pulls, every arm is pulled as often as was fixed, and no more."""
    rates = [0.1, 0.1, 0.1, 0.1, 0.9]
    with ThreadPoolExecutor(8) as threads:
        result = oddarm.find(
            lambda arm: rates[arm] > 0.5,
            5,
            Fixed(pulls=5),
            executor=threads,
            in_flight=60,
            max_outliers=1,
        )
    assert result.counts.tolist() == [5] * 5
    assert result.provenance["delta_proved"]


def test_rewards_beyond_the_fixed_number_are_not_proved():
    """If more is told before the look, how much may depend on the rewards: the result says so."""
    search = Search(3, Fixed(pulls=20), max_outliers=1)
    for arm, count in ((0, 25), (1, 20), (2, 20)):
        search.tell(arm, [1] * count)
    result = search.result()
    assert not result.provenance["delta_proved"]
    assert "more rewards were told" in result.provenance["delta_reason"]
    assert not Search.from_dict(search.to_dict()).result().provenance["delta_proved"]


def test_a_budget_by_cost_pays_for_the_look():
    """What is left of a budget by cost is not spent on arms that it does not pay for."""
    search = Search(4, Fixed(), max_outliers=1, costs=[10, 1, 1, 1], max_cost=1993)
    while not search.done:
        for arm in search.ask():
            search.tell(arm, arm == 3)
    assert search.verdict in ("confirmed", "none")
