"""Asking and telling by arrays of positions."""

import json

import numpy as np
import pytest

import oddarm
from oddarm import OddarmError, Search
from oddarm.strategies import STRATEGIES, Gold
from oddarm.strategies.gold import GoldRun

NAMES = list("abcdefghij")


@pytest.mark.parametrize("strategy", ["gold", "rr", "adaptive", Gold(form="intervals")])
def test_positions_are_those_of_the_names(strategy):
    """ask_indices gives the positions of what ask gives, within the limit and the budget."""
    names, positions = (Search(NAMES, strategy, max_pulls=25, seed=1) for _ in range(2))
    for limit in (1, 3, None, 4, 40):
        asked = names.ask(limit)
        arms = positions.ask_indices(limit)
        assert arms.dtype == np.intp
        assert [NAMES[i] for i in arms] == asked
        rewards = (arms % 2).astype(float)
        positions.tell_indices(arms, rewards)
        for arm, reward in zip(asked, rewards.tolist(), strict=True):
            names.tell(arm, reward)
    assert positions.done
    assert len(positions.ask_indices()) == 0
    assert positions.tally.to_dict() == names.tally.to_dict()


@pytest.mark.parametrize("strategy", ["rr", "wrr", "ib", "roai-lucb", "maxgap", "adaptive"])
def test_counts_what_was_asked_over_many_rounds(strategy):
    """Asked for more than a round at once, each arm is noted as often as it was asked for."""
    search = Search(10, strategy, max_outliers=1)
    arms = search.ask_indices()
    search.tell_indices(arms, arms % 2)
    more = search.ask_indices(500)
    assert len(more) == 500
    noted = search.run.asked  # type: ignore[attr-defined]
    assert noted.tolist() == np.bincount(np.append(arms, more), minlength=10).tolist()


@pytest.mark.parametrize("strategy", ["gold", "adaptive", Gold(form="intervals")])
def test_one_by_one_is_the_order_of_many(strategy):
    """Asking for one arm at a time gives the arms of asking for many, in their order."""
    single, many = (Search(10, strategy, max_outliers=1) for _ in range(2))
    for _ in range(4):
        arms = many.ask(30)
        assert [arm for _ in range(30) for arm in single.ask(1)] == arms
        for arm in arms:
            single.tell(arm, arm % 2)
            many.tell(arm, arm % 2)


@pytest.mark.parametrize(
    "rewards", ["bernoulli", (0, 1), oddarm.rewards.Bernoulli(pools=(9,) * 10)]
)
def test_counts_as_single_tells_do(rewards):
    """Repeats are added up in their order, to the same counts and sums as one by one."""
    rng = np.random.default_rng(0)
    arms = rng.permutation(np.repeat(np.arange(10), 5))
    drawn = (rng.random(50) < 0.5).astype(float)
    whole, single = (Search(NAMES, "rr", rewards=rewards, max_outliers=1) for _ in range(2))
    whole.tell_indices(arms, drawn)
    for arm, reward in zip(arms.tolist(), drawn.tolist(), strict=True):
        single.tell(NAMES[arm], reward)
    assert whole.pulls == single.pulls == 50
    assert whole.tally.counts.tolist() == single.tally.counts.tolist()
    assert whole.tally.totals.tolist() == single.tally.totals.tolist()
    if whole.tally.scatter is not None:
        assert whole.tally.scatter == pytest.approx(single.tally.scatter)


def test_gold_judges_no_arm_by_a_pull_that_it_has_not_had():
    """Told many arms at once, GOLD's radius is that of as many pulls as an arm has, or fewer."""
    search, rng = Search(20, "gold", max_outliers=2), np.random.default_rng(0)
    for _ in range(8):
        arms = rng.permutation(np.repeat(np.arange(20), rng.integers(1, 6, 20)))
        search.tell_indices(arms, (rng.random(len(arms)) < 0.5).astype(float))
        assert isinstance(search.run, GoldRun)
        counts, judged = search.tally.counts, search.run.judged
        assert (judged <= counts).all()
        assert judged.min() == counts.min()
        assert judged.max() <= counts.min() + 1


@pytest.mark.parametrize(
    ("arms", "rewards", "words"),
    [
        ([0, 10], [0, 1], "arm 10, must be a whole number from 0 to 9"),
        ([0, -1], [0, 1], "arm -1, must be"),
        ([0.0, 1.0], [0, 1], "array of float64"),
        ([[0], [1]], [0, 1], "of 2 dimensions"),
        ([0, 1, 2], [0, 1], "2 rewards for 3 arms"),
        ([0, 1], [0, 0.5], "must be 0 or 1"),
        ([0, 1], [0, np.nan], "must be finite"),
        ([3] * 6, [1] * 6, "6 more rewards for an arm with 5 of its pool of 5"),
    ],
)
def test_refuses_bad_arrays_whole(arms, rewards, words):
    """A bad array is refused with the rule, and nothing of it is counted."""
    search = Search(10, "rr", rewards=oddarm.rewards.Bernoulli(pools=(5,) * 10), max_outliers=1)
    before = json.dumps(search.to_dict())
    with pytest.raises(OddarmError, match=words):
        search.tell_indices(arms, rewards)
    assert json.dumps(search.to_dict()) == before


def test_empty_arrays_do_nothing():
    """No arms and no rewards are no error."""
    search = Search(10)
    search.tell_indices([], [])
    assert search.pulls == 0


def test_arms_set_aside():
    """Positions stay those of all arms; rewards of an arm that was set aside are ignored."""
    search = Search(NAMES, "gold", max_outliers=1)
    search.set_aside("c", "broken")
    arms = search.ask_indices()
    assert arms.tolist() == [0, 1, 3, 4, 5, 6, 7, 8, 9]
    search.tell_indices([2, 3, 3], [1, 1, 0])
    assert search.tally.counts.tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0]
    assert search.run.tally.counts.tolist() == [0, 0, 2, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_rewards_of_none_but_arms_set_aside(strategy):
    """Late rewards of arms that were all set aside are ignored by every strategy."""
    search = Search(NAMES, strategy, max_outliers=1, max_pulls=1000)
    search.set_aside("c", "broken")
    before = json.dumps(search.to_dict())
    search.tell_indices([2, 2], [1, 0])
    search.tell("c", [1, 0])
    assert json.dumps(search.to_dict()) == before


def test_after_the_end_rewards_change_no_decision():
    """What is told when the search is done is counted and decides nothing."""
    search = Search(10, "gold", max_outliers=1, max_pulls=10)
    search.tell_indices(np.arange(10), np.zeros(10))
    assert search.verdict == "budget"
    search.tell_indices(np.arange(10), np.ones(10))
    assert search.pulls == 20
    assert search.verdict == "budget"


def test_a_million_arms_need_no_names():
    """A search over a number of arms makes no object for each of them."""
    search = Search(1_000_000, Gold(form="intervals"))
    assert isinstance(search.names, range)
    arms = search.ask_indices()
    search.tell_indices(arms, np.zeros(len(arms), dtype=bool))
    result = search.result()
    assert "arms" not in vars(result)
    assert "ranking" not in vars(result)
    assert result.pulls == 1_000_000


@pytest.mark.parametrize("rule", [{"min_gap": 0.3}, {"epsilon": 2.5}])
@pytest.mark.parametrize("kind", ["rows", "pools"])
@pytest.mark.parametrize("rewards", ["bernoulli", (-1, 2)])
@pytest.mark.parametrize("strategy", ["adaptive", "gold", "rr", "fixed"])
def test_told_in_turn_is_told_arm_by_arm(strategy, rewards, kind, rule):
    """Rewards of many arms told in turn leave the state of arms told singly, and stop with it."""
    if (strategy in ("gold", "rr") and "min_gap" in rule) or (strategy, kind) == ("gold", "pools"):
        pytest.skip("a rule or pools that it does not take")
    rng = np.random.default_rng(5)
    sizes = tuple(rng.integers(30, 60, 40).tolist())
    model = oddarm.rewards.as_rewards(rewards)
    model = model.of_sizes(sizes, "all" if kind == "pools" else "sample")
    means = np.where(np.arange(40) < 2, 0.9, 0.2)
    in_turn, singly = (
        Search(40, strategy, rewards=model, max_outliers=3, seed=1, **rule) for _ in range(2)
    )
    for limit in [None, 130, None, 7] * 50:
        arms, counts = np.unique(in_turn.core.ask(limit), return_counts=True)
        singly.core.ask(limit)
        if in_turn.done:
            break
        named = np.repeat(arms, counts)
        rewards = (rng.random(len(named)) < means[named]) * 1.0
        parts = np.split(rewards, np.cumsum(counts)[:-1])
        told = in_turn.core.tell_in_turn(arms, counts, rewards)
        for arm, part in list(zip(arms.tolist(), parts, strict=True))[:told]:
            assert not singly.done
            singly.core.tell(arm, part)
        assert told == len(arms) or singly.done
        assert in_turn.to_dict() == singly.to_dict()
    assert in_turn.done
    assert singly.done
