"""Searches whose pulls have prices: what they may cost, and what they cost."""

import copy
import json
import pickle
import random
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oddarm
from oddarm import Search
from oddarm.errors import ParameterError, StateError
from oddarm.ledger import Ledger
from oddarm.rewards import Bernoulli
from oddarm.sources import SimulatedArms
from oddarm.strategies import STRATEGIES
from oddarm.tally import Tally

MEANS = [0.2, 0.2, 0.22, 0.2, 0.25, 0.2, 0.2, 0.9]
PRICES = [1.0, 10.0, 1.0, 10.0, 1.0, 2.5, 1.0, 10.0]
OPTIONS = {"max_outliers": 1, "until": "ranked"}
ROUNDING = 1 + 1e-9


def driven(search, arms, limit=1):
    """Ask and tell until the search is done."""
    while not search.done:
        for arm, count in Counter(search.ask(limit)).items():
            search.tell(arm, arms.draw(search.index_of(arm), count))
    return search


@settings(max_examples=150, deadline=None)
@given(
    prices=st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4),
    max_cost=st.floats(1e-2, 1e4),
    budget=st.none() | st.integers(1, 40),
    pools=st.none() | st.just((3, 5, 8, 2)),
    seed=st.integers(0, 2**32),
)
def test_told_and_in_flight_cost_at_most_max_cost(prices, max_cost, budget, pools, seed):
    """Whatever is asked for, told or lost, all that is allowed costs at most max_cost."""
    rng = random.Random(seed)
    tally = Tally(4, Bernoulli(pools=pools))
    ledger = Ledger(tally, budget, np.array(prices), max_cost)
    flying: list[int] = []
    for _ in range(40):
        wanted = [rng.randrange(4) for _ in range(rng.randrange(6))]
        owed = Counter(ledger.given_back) + ledger.refused
        admitted = ledger.admit(wanted)
        now_owed = Counter(ledger.given_back) + ledger.refused
        assert now_owed >= owed
        kept = Counter(admitted) + (now_owed - owed)
        assert kept <= Counter(wanted)
        if pools is None:
            assert kept == Counter(wanted), "none is lost"
        ledger.send(admitted)
        flying += admitted
        rng.shuffle(flying)
        for _ in range(rng.randrange(len(flying) + 1)):
            arm = flying.pop()
            ledger.settle([arm])
            if rng.random() < 0.7:
                tally.add(arm, np.ones(1))
        told = sum(count * price for count, price in zip(tally.counts, prices, strict=True))
        paid = told + sum(prices[arm] for arm in flying)
        assert paid <= max_cost * ROUNDING
        assert ledger.cost == pytest.approx(told)
        assert ledger.cost_room == pytest.approx(max_cost - paid, abs=1e-9 * max_cost)
        room = ledger.room
        assert room is not None
        assert room <= (max_cost * ROUNDING - paid) / min(prices) + 1e-6
        if budget is not None:
            assert tally.pulls + len(flying) <= budget
        assert ledger.sure * max(prices) <= max_cost * ROUNDING - paid + 1e-6 * max_cost


@settings(max_examples=60, deadline=None)
@given(
    strategy=st.sampled_from(["adaptive", "gold", "rr", "ib", "maxgap"]),
    prices=st.lists(st.floats(0.01, 100), min_size=8, max_size=8),
    max_cost=st.floats(0.05, 2000),
    seed=st.integers(0, 2**32),
)
def test_a_search_with_costs_ends_within_them(strategy, prices, max_cost, seed):
    """Asks of any size, pulls given back, saved and copied: the search ends and never overspends.

    A model counts what was asked for; a search that asks for nothing is done.
    """
    rng = random.Random(seed)
    arms = SimulatedArms(MEANS, seed=seed)
    search = Search(8, strategy, costs=prices, max_cost=max_cost, max_pulls=400, **OPTIONS)
    told = Counter()
    while not search.done:
        asked = search.ask(rng.choice([None, 1, 1, 3, 50]))
        assert asked or search.done, "a search that asks for nothing is done"
        planned = told + Counter(asked)
        spent = sum(prices[arm] * count for arm, count in planned.items())
        assert spent <= max_cost * ROUNDING
        kept = rng.randrange(len(asked) + 1) if asked and rng.random() < 0.3 else len(asked)
        search.give_back(asked[kept:])
        for arm in asked[:kept]:
            search.tell(arm, arms.draw(arm))
        told.update(asked[:kept])
        if rng.random() < 0.2:
            search = Search.from_dict(json.loads(json.dumps(search.to_dict())))
        if rng.random() < 0.2:
            search = copy.deepcopy(search)
    result = search.result()
    assert result.cost == pytest.approx(sum(prices[arm] * count for arm, count in told.items()))
    assert result.verdict != "running"
    if result.verdict == "budget" and result.pulls < 400 and strategy == "adaptive":
        assert max_cost - result.cost < max(prices) * ROUNDING


def test_ten_times_a_tenth_is_one():
    """Rounding of the sum keeps no pull away that max_cost pays for."""
    for n in (3, 7, 9):
        search = Search(n, "rr", costs=[0.1] * n, max_cost=1.0, **OPTIONS)
        driven(search, SimulatedArms(MEANS[:n]) if n < 9 else SimulatedArms([*MEANS, 0.3]))
        assert (search.pulls, search.verdict) == (10, "budget")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_costs_max_cost_counts_pulls(strategy):
    """If every pull costs 1, max_cost is max_pulls."""
    options = {**OPTIONS, "seed": 1}
    by_cost = oddarm.simulate(MEANS, strategy, max_cost=157, **options)
    by_pulls = oddarm.simulate(MEANS, strategy, max_pulls=157, **options)
    assert by_cost.counts.tolist() == by_pulls.counts.tolist()
    assert by_cost.verdict == by_pulls.verdict
    assert by_cost.cost == by_cost.pulls


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("max_cost", [40, 157.5, 1000])
def test_simulations_end_where_searches_do(strategy, max_cost):
    """Compiled or not, a simulation with costs makes the pulls of ask(1) and tell."""
    options = {**OPTIONS, "costs": PRICES, "max_cost": max_cost, "seed": 3}
    result = oddarm.simulate(MEANS, strategy, **options)
    search = driven(Search(8, strategy, **options), SimulatedArms(MEANS, seed=3))
    assert result.counts.tolist() == search.tally.counts.tolist()
    assert (result.verdict, result.cost) == (search.verdict, search.result().cost)
    assert result.cost <= max_cost


def told_all(search, arms):
    """Tell a reward of each of the arms."""
    for arm in arms:
        search.tell(arm, 1)


def test_a_cheaper_arm_is_asked_for_in_place_of_one_that_costs_too_much():
    """A pull that costs more than is left is kept for a larger budget; others go on."""
    prices = {"a": 1, "b": 5, "c": 1, "d": 1}
    search = Search(list("abcd"), "rr", costs=prices, max_cost=12, **OPTIONS)
    for expected in ("abcd", "acd", "a"):
        assert search.ask() == list(expected)
        told_all(search, expected)
    assert (search.verdict, search.ask(), search.result().cost) == ("budget", [], 12)
    search.max_cost = 30
    assert not search.done
    assert search.ask() == list("bbcd")


def test_a_search_that_wants_only_what_it_cannot_pay_is_done():
    """When the run asks only for arms that cost too much, cheaper ones do not keep it going."""
    search = Search(4, "rr", costs=[1, 1, 1, 9], max_cost=10, **OPTIONS)
    assert search.ask(2) == [0, 1]
    told_all(search, [0, 1, 1])  # one that was not asked for counts too
    assert search.ask(2) == [2]
    told_all(search, [2])
    assert not search.done
    assert search.ask(1) == []  # it needs a reward of the last arm first
    assert (search.verdict, search.result().cost) == ("budget", 4)
    assert Search.from_dict(search.to_dict()).verdict == "budget"
    assert pickle.loads(pickle.dumps(search)).verdict == "budget"
    search.max_cost = 12
    assert (search.ask(), search.verdict) == ([], "budget")
    search.max_cost = 13
    assert (search.verdict, search.ask(1)) == ("running", [3])


def test_in_flight_pulls_are_waited_for():
    """While pulls are in flight, which may be lost, one that costs too much ends nothing."""
    search = Search(4, "rr", costs=[1, 1, 1, 9], max_cost=11, **OPTIONS)
    core = search.core
    sent = core.ask(3)
    core.ledger.send(sent)
    assert core.ask(1) == []
    assert search.verdict == "running"
    core.ledger.settle([2])
    core.give_back([2])
    assert core.ask(2) == [3]
    core.ledger.send([3])
    assert core.ask(2) == []
    core.ledger.settle([0, 1, 3])
    told_all(search, [0, 1, 3])
    assert (search.verdict, search.result().cost) == ("budget", 11)


def test_an_arm_that_failed_is_not_waited_for():
    """What was refused of an arm is forgotten with the arm, and what it was told stays paid."""
    search = Search(5, "rr", costs=[1, 1, 1, 9, 9], max_cost=16, **OPTIONS)
    assert search.ask() == [0, 1, 2, 3]
    told_all(search, [0, 1, 2, 3])
    search.set_aside(4, "gone")
    assert search.ask() == [0, 1, 2]
    told_all(search, [0, 1, 2])
    assert search.ask() == [0]
    told_all(search, [0])
    assert (search.result().cost, search.verdict) == (16, "budget")


@pytest.mark.parametrize("strategy", ["adaptive", "gold", "rr"])
@pytest.mark.parametrize("limit", [None, 1])
def test_a_larger_budget_goes_on_where_it_ended(strategy, limit):
    """With equal prices, a search stopped by max_cost makes the pulls of one that was not."""
    options = {**OPTIONS, "costs": [2.5] * 8, "seed": 2}
    whole = driven(Search(8, strategy, max_cost=500, **options), SimulatedArms(MEANS), limit)
    arms = SimulatedArms(MEANS)
    part = driven(Search(8, strategy, max_cost=131, **options), arms, limit)
    assert (part.pulls, part.verdict) == (52, "budget")
    part = Search.from_dict(part.to_dict())
    part.max_cost = 500
    driven(part, arms, limit)
    assert part.tally.to_dict() == whole.tally.to_dict()


def test_plans_go_where_pulls_are_cheap():
    """A search that knows the prices pays less than one that does not."""
    means, prices = [*np.linspace(0.2, 0.4, 18), 0.8, 0.85], np.tile([1.0, 10.0], 10)
    options = {"max_outliers": 2, "epsilon": 1.0, "until": "found", "runs": 8}
    known = oddarm.simulate(means, costs=prices.tolist(), **options)
    unknown = oddarm.simulate(means, **options)
    paid = sum(result.cost for result in known)
    assert paid < 0.9 * sum(float(result.counts @ prices) for result in unknown)
    assert all(set(result.ranking[:2]) == {18, 19} for result in known)


def test_the_unit_of_the_prices_does_not_matter():
    """The same prices in another currency give the same pulls."""
    options = {**OPTIONS, "seed": 4}
    cents = [100 * price for price in PRICES]
    one = oddarm.simulate(MEANS, costs=PRICES, **options)
    other = oddarm.simulate(MEANS, costs=cents, **options)
    assert one.counts.tolist() == other.counts.tolist()
    assert other.cost == pytest.approx(100 * one.cost)


def test_prices_are_checked():
    """Each arm has one price, a finite number above 0; so is max_cost."""
    for costs, words in (
        ([1, 2], "costs has 2 numbers for 3 arms"),
        ({"a": 1, "b": 1}, "no cost for arm 'c'"),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, "a cost for unknown arm 'd'"),
        (pd.Series([1, 1, 1], list("abd")), "no cost for arm 'c'"),
        ([1, 0, 1], "the cost of arm 'b' == 0"),
        ([1, float("nan"), 1], "the cost of arm 'b' == nan"),
        ([1, 1e16, 1], "the cost of arm 'b' == 1e"),
        (5, "costs == 5, must be a sequence of numbers or a mapping from arm to cost"),
        ("abc", "costs == 'abc', must be a sequence of numbers or a mapping"),
    ):
        with pytest.raises(ParameterError, match=words):
            Search(list("abc"), costs=costs, max_outliers=1)
    for most in (0, -1, float("inf"), float("nan"), "1"):
        with pytest.raises(ParameterError, match="max_cost == "):
            Search(3, max_cost=most, max_outliers=1)
    search = Search(3, max_cost=5, max_outliers=1)
    with pytest.raises(ParameterError, match="max_cost == 0"):
        search.max_cost = 0


@pytest.mark.parametrize(
    "costs",
    [
        pd.Series([3, 2, 1], ["c", "b", "a"]),
        pd.Series([1, 2, 3]),
        pl.Series([1, 2, 3]),
        {"b": 2, "c": 3, "a": 1},
        np.array([1, 2, 3]),
    ],
    ids=["index", "default index", "polars", "dict", "array"],
)
def test_prices_go_by_name_where_there_are_names(costs):
    """A mapping and the index of a pandas Series name the arms; all else goes by position."""
    search = Search(["a", "b", "c"], costs=costs, max_outliers=1)
    assert search.costs.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("key", "value"),
    [("costs", [1, 2]), ("costs", [1, 1, "x"]), ("costs", [1, 1, 0]), ("max_cost", "1"),
     ("max_cost", -1), ("refused", [3]), ("refused", 1), ("ended_at", "x")],
)  # fmt: skip
def test_damaged_costs_are_refused(key, value):
    """A saved search whose costs break a rule is refused."""
    state = Search(3, costs=[1, 2, 3], max_cost=9, max_outliers=1).to_dict()
    with pytest.raises(StateError):
        Search.from_dict({**state, key: value})
