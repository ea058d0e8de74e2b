"""The ledger against a plain count of what was asked for, told and lost."""

import copy
import pickle
import random
from collections import Counter

import numpy as np
import pytest

from oddarm import Search
from oddarm.ledger import Ledger
from oddarm.rewards import Bernoulli
from oddarm.tally import Tally

SIZES = (3, 5, 8, 2)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("budget", [None, 11, 50])
@pytest.mark.parametrize("pools", [None, SIZES])
def test_told_and_in_flight_stay_within_budget_and_pools(seed, budget, pools):
    """Whatever is asked for, told or lost, pulls never exceed the budget nor an arm its pool."""
    rng = random.Random(seed)
    tally = Tally(4, Bernoulli(pools=pools))
    ledger = Ledger(tally, budget)
    flying: list[int] = []
    for _ in range(60):
        wanted = [rng.randrange(4) for _ in range(rng.randrange(6))]
        before = list(ledger.given_back)
        admitted = ledger.admit(wanted)
        beyond = list(ledger.given_back)[: len(ledger.given_back) - len(before)]
        assert Counter(admitted) + Counter(beyond) <= Counter(wanted)
        if pools is None:
            assert [*admitted, *beyond] == wanted
        ledger.send(admitted)
        flying += admitted
        rng.shuffle(flying)
        for _ in range(rng.randrange(len(flying) + 1)):
            arm = flying.pop()
            ledger.settle([arm])
            if rng.random() < 0.7:
                tally.add(arm, np.ones(1))
        assert ledger.in_flight == len(flying)
        assert [ledger.in_flight_of(arm) for arm in range(4)] == [flying.count(i) for i in range(4)]
        if budget is not None:
            assert tally.pulls + len(flying) <= budget
            assert ledger.room == budget - tally.pulls - len(flying)
        if pools is not None:
            assert all(ledger.room_of(arm) >= 0 for arm in range(4))


def test_pulls_beyond_the_budget_are_given_back_in_order():
    """What the budget cuts off comes first when the budget grows, before what was given back."""
    ledger = Ledger(Tally(4, Bernoulli()), 2)
    ledger.give_back([3])
    assert ledger.admit([0, 1, 2, 0]) == [0, 1]
    assert ledger.take_back(None) == [2, 0, 3]
    ledger.send([0, 1])
    assert (ledger.room, ledger.admit([2])) == (0, [])
    ledger.max_pulls = 4
    assert (ledger.room, ledger.take_back(5)) == (2, [2])


def test_an_arm_that_failed_is_forgotten_once():
    """Its pulls do not count any more, and settling one of them later changes nothing."""
    ledger = Ledger(Tally(4, Bernoulli()), 10)
    ledger.send([0, 1, 0])
    ledger.give_back([0, 2])
    ledger.drop(0)
    ledger.settle([0])
    assert (ledger.in_flight, list(ledger.given_back)) == (1, [2])
    ledger.settle_all()
    assert ledger.room == 10


def test_pulls_in_flight_take_room_of_a_search():
    """A caller that says what is in flight is asked for no more than the budget leaves."""
    search = Search(10, "rr", max_pulls=12)
    core = search.core
    first = core.ask(None)
    core.ledger.send(first)
    assert core.ask(None) == [0, 1]
    core.ledger.send([0, 1])
    assert core.ask(None) == []
    assert search.verdict == "running"
    core.ledger.settle([9])
    assert core.ask(3) == [2]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_has_no_pulls_in_flight(copied):
    """A copy of a search that a runner drives has its whole budget: nobody tells it of the rest."""
    search = Search(8, max_outliers=1, max_pulls=30)
    search.core.ledger.send(search.core.ask(5))
    other = copied(search)
    while not other.done:
        for arm in other.ask(1):
            other.tell(arm, arm % 2)
    assert other.pulls == 30
    assert search.core.ledger.in_flight == 5


def test_pulls_given_back_to_a_used_up_pool_are_passed_over():
    """If a pool was told in another way meanwhile, the search goes on with other arms."""
    search = Search(list("abcd"), max_outliers=1, rewards=Bernoulli(pools=(2,) * 4))
    assert search.ask(1) == ["a"]
    search.give_back(["a"])
    search.tell("a", [0, 1])
    assert search.ask(1) == ["b"]
