"""The best guess at the end of a budget, and the pulls that are spent on it."""

import json

import numpy as np
import pytest
from verification import budget
from verification.budget import Cell

import oddarm
from oddarm.rewards import Bernoulli, Bounded, SubGaussian
from oddarm.sources import SimulatedArms
from oddarm.strategies.adaptive import compiled
from oddarm.strategies.adaptive import guess as guessing
from oddarm.strategies.adaptive.guess import best_group, pulls_for, room_to_move

NORMAL = [0.30, 0.31, 0.33, 0.34, 0.36, 0.37, 0.39, 0.40]


def guessed(means, most=2, factor=3.5, floor=0.0, required=()):
    """Return the members of the best group."""
    must = np.zeros(len(means), dtype=bool)
    must[list(required)] = True
    guess = best_group(np.array(means), most, most + 1, factor, floor, must)
    return np.flatnonzero(guess.members).tolist()


def pieces(means, line):
    """Return the sets of arms between gaps that are wider than a line."""
    order = np.argsort(means, kind="stable")
    cuts = np.flatnonzero(np.diff(np.array(means)[order]) > line) + 1
    return {frozenset(piece.tolist()) for piece in np.split(order, cuts)}


def drive(search, arms, limit=1, most=10**9):
    """Tell what is asked for, a batch at a time; return the batches."""
    batches = []
    while not search.done and search.pulls < most:
        batches.append(search.ask(limit))
        for arm in batches[-1]:
            search.tell(arm, arms.draw(arm))
    return batches


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([0.8], [8]),
        ([0.05], [8]),
        ([0.8, 0.75], [8, 9]),
        ([0.8, 0.05], [8, 9]),  # on both sides
        ([0.7, 0.9], [8, 9]),  # far from each other
        ([0.6, 0.65, 0.9], [10]),  # three are too many
    ],
)
def test_the_guess_is_the_set_that_is_furthest_from_the_others(others, expected):
    """It may lie above, below, or on both sides, in one piece or more."""
    assert guessed([*NORMAL, *others]) == expected


def test_the_second_best_set_is_the_challenger():
    """Each of the two sets has a line, between the gaps that it cuts and those that it does not."""
    means, nobody = np.array([*NORMAL, 0.9, 0.6]), np.zeros(10, dtype=bool)
    guess = best_group(means, 2, 3, 3.5, 0.0, nobody)
    assert np.flatnonzero(guess.members).tolist() == [8, 9]
    assert [round(line, 2) for line in guess.lines] == [0.11, 0.25]
    assert best_group(means, 2, 3, 3.5, 0.25, nobody).lines == pytest.approx((0.25,))


def test_a_guess_in_between():
    """A piece between two segments is guessed; a piece with too few arms beside it is not."""
    low, high = [0.10, 0.12, 0.14], [0.80, 0.82, 0.84]
    assert guessed([*low, 0.45, *high]) == [3]
    assert guessed([*low, *low, 0.45, *high[:1]], most=2) == [6, 7]


def test_a_guess_exceeds_the_floor_and_contains_what_is_declared():
    """If no set is further than the floor, nobody is guessed but arms that are declared."""
    means = [*NORMAL, 0.6, 0.1]
    assert guessed(means, floor=0.15) == [8, 9]
    assert guessed(means, floor=0.25) == []
    assert guessed(means, floor=0.25, required=[9]) == [9]
    assert guessed([*NORMAL, 0.55, 0.9], most=1, required=[8]) == [8]


def test_ties_are_not_weighed(monkeypatch):
    """Where thousands of arms have equal means, as in a column of ids, the guess is quick."""
    weighed = []
    measured = guessing._measured
    monkeypatch.setattr(
        guessing, "_measured", lambda *cut: weighed.append(len(cut[0])) or measured(*cut)
    )
    means = np.repeat([0.0, 0.9, 1.0], [4000, 3, 997])
    found = best_group(means, 500, 501, 3.5, 0.0, np.zeros(5000, dtype=bool))
    assert len(weighed) <= 3
    assert (found.members == (means == 0.9)).all()


def test_the_guess_is_a_group_if_there_is_one():
    """Among random means with groups, the best set is one of the groups."""
    rng, found = np.random.default_rng(1), 0
    for _ in range(400):
        means = rng.random(12) * rng.choice([0.3, 1.0], 12)
        groups = oddarm.outlier_groups(means, 0.5, max_outliers=3, mixed=True)
        if groups:
            found += 1
            assert guessed(means, 3, 1.5) in [sorted(group.members) for group in groups]
    assert found > 50


def test_an_arm_has_room_up_to_where_the_pieces_change():
    """Moved by less than its room no arm changes the pieces; by more, in one direction, it does."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        means, line = rng.random(9), rng.uniform(0.02, 0.3)
        before = pieces(means, line)
        for arm, room in enumerate(room_to_move(means, line).tolist()):
            changed = {}
            for move in (0.999 * room, 1.001 * room):
                for sign in (-1, 1):
                    moved = means.copy()
                    moved[arm] += sign * move
                    changed[move, sign] = pieces(moved, line) != before
            assert list(changed.values())[:2] == [False, False]
            assert any(list(changed.values())[2:])


def test_pulls_go_to_arms_that_are_placed_worst():
    """Equal intervals: the less room, the more pulls; an arm without an interval has none."""
    counts, widths = np.full(4, 100.0), np.array([0.1, 0.1, 0.1, 0.0])
    pulls = pulls_for(counts, widths, np.array([0.02, 0.1, 0.4, 0.01]), None, 1)
    assert pulls[0] > pulls[1] >= pulls[2]
    assert pulls[3] == 0
    assert pulls.sum() == 20
    assert pulls_for(counts, widths, np.full(4, 0.1), None, 4000).sum() == 4000
    assert not pulls_for(counts, np.zeros(4), np.ones(4), None, 1).any()


def test_a_dear_arm_is_pulled_less():
    """At equal room, pulls are in inverse proportion to the root of the price."""
    same = np.full(2, 0.1)
    pulls = pulls_for(np.full(2, 1.0), same, same, np.array([1.0, 16.0]), 10_000)
    assert pulls[0] == pytest.approx(4 * pulls[1], rel=0.01)


MEANS = [*NORMAL, 0.46, 0.22]
RULES = [{"max_outliers": 2}, {"max_outliers": 2, "min_gap": 0.05}]


@pytest.mark.parametrize("rule", RULES, ids=["relative", "absolute"])
def test_the_budget_is_spent_to_the_pull(rule):
    """The verdict is "budget", with candidates, which rank first, evidence and a forecast."""
    result = oddarm.simulate(MEANS, until="budget", max_pulls=3456, seed=4, **rule)
    assert (result.verdict, result.pulls, result.outliers) == ("budget", 3456, [])
    assert set(result.candidates) == set(result.ranking[: len(result.candidates)])
    assert result.evidence >= 1
    assert result.forecast > 0
    assert [row.status for row in result.arms].count("candidate") == len(result.candidates)


@pytest.mark.parametrize("rule", [{}, {"min_gap": 0.3}], ids=["relative", "absolute"])
def test_what_is_certain_ends_the_search(rule):
    """An answer that is certain before the budget ends is given as by until="found"."""
    means = [0.3] * 8 + [0.9, 0.95]
    result = oddarm.simulate(means, until="budget", max_pulls=10**6, max_outliers=2, **rule)
    assert (result.verdict, sorted(result.outliers)) == ("confirmed", [8, 9])
    assert result.pulls < 10_000


@pytest.mark.parametrize("rule", RULES, ids=["relative", "absolute"])
def test_compiled_and_interpreted_pulls_are_the_same(rule):
    """A run may change between compiled and interpreted code at any pull."""
    options = {"until": "budget", "max_pulls": 3000, "seed": 4, **rule}
    whole = oddarm.simulate(MEANS, **options)
    arms, search = SimulatedArms(MEANS, seed=4), oddarm.Search(10, **options)
    while not search.done:
        drive(search, arms, most=search.pulls + 137)
        if not search.done and compiled.fits(search.run, arms):
            compiled.advance(search.run, arms, min(search.pulls + 101, 3000))
    assert search.result().to_dict() == whole.to_dict()


def test_saved_and_resumed_it_asks_for_the_same_pulls():
    """A search that was saved in the middle of a round goes on as if it had never stopped."""
    options = {"until": "budget", "max_pulls": 2000, "max_outliers": 2, "seed": 5}
    asked = []
    for saved in (False, True):
        arms, search = SimulatedArms(MEANS, seed=5), oddarm.Search(10, **options)
        drive(search, arms, most=777)
        if saved:
            search = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
        asked.append(drive(search, arms))
        assert search.verdict == "budget"
    assert asked[0] == asked[1]


def test_a_raised_budget_goes_on():
    """Two budgets, one after the other, lead where their sum does."""
    options = {"until": "budget", "max_outliers": 2, "seed": 5}
    arms, search = SimulatedArms(MEANS, seed=5), oddarm.Search(10, max_pulls=700, **options)
    drive(search, arms)
    search.max_pulls = 2000
    drive(search, arms)
    whole = oddarm.simulate(MEANS, max_pulls=2000, **options)
    assert search.result().candidates == whole.candidates
    assert [row.pulls for row in search.result().arms] == [row.pulls for row in whole.arms]


@pytest.mark.parametrize("n", [10, 600])
def test_batches_are_as_large_as_asked_for(n):
    """Every batch but the first and the last is full, in proportions near those of small ones.

    The first has only the pulls that every arm gets before anything is planned.
    """
    means = np.linspace(0.2, 0.4, n)
    means[-1] = 0.5
    counts = []
    for limit in (20 * n, 3 * n):
        search = oddarm.Search(n, until="budget", max_pulls=100 * n, max_outliers=2)
        batches = drive(search, SimulatedArms(means), limit)
        assert {len(batch) for batch in batches[1:-1]} == {limit}
        counts.append(search.tally.counts)
    spread = np.abs(counts[0] - counts[1]).sum() / (100 * n)
    assert spread < 0.6


def test_pools_are_exhausted_and_then_exact():
    """No pool gives more than it has; when all are used up, the answer is exact."""
    sizes = [30, 40, 50, 60, 70, 80, 90, 100, 110, 20]
    ones = [round(size * mean) for size, mean in zip(sizes, [*NORMAL, 0.46, 0.9], strict=True)]
    for most, verdict in ((400, "budget"), (10_000, "confirmed")):
        rng = np.random.default_rng(3)
        pools = [
            rng.permutation([1.0] * k + [0.0] * (size - k)).tolist()
            for size, k in zip(sizes, ones, strict=True)
        ]
        search = oddarm.Search(
            10, rewards=Bernoulli(pools=sizes), until="budget", max_pulls=most, max_outliers=1
        )
        while not search.done:
            for arm in search.ask(7):
                search.tell(arm, pools[arm].pop())
        assert search.verdict == verdict
        assert set(search.result().outliers or search.result().candidates) == {9}


def test_an_arm_that_fails_is_left_out():
    """The search goes on with the others, within the budget."""
    search = oddarm.Search(10, until="budget", max_pulls=2000, max_outliers=1)
    arms = SimulatedArms([*NORMAL, 0.9, 0.55])
    drive(search, arms, most=200)
    search.set_aside(8, "unreachable")
    later = drive(search, arms)
    assert 8 not in {arm for batch in later for arm in batch}
    assert (search.verdict, search.pulls) == ("budget", 2000)
    assert search.result().candidates == [9]


def test_a_budget_of_money():
    """No more is spent than max_cost, and dear arms are pulled less than as cheap ones."""
    counts = {}
    for price in (1.0, 25.0):
        prices = [1.0] * 8 + [price, 1.0]
        search = oddarm.Search(
            10, until="budget", max_cost=4000, costs=prices, max_outliers=2, seed=4
        )
        drive(search, SimulatedArms(MEANS, seed=4))
        result = search.result()
        assert result.verdict == "budget"
        assert 4000 - 25 < result.cost <= 4000
        counts[price] = search.tally.counts[8] / search.pulls
    assert counts[25.0] < 0.6 * counts[1.0]


@pytest.mark.parametrize(
    "rewards",
    [Bounded(minimum=-2.0, maximum=2.0), SubGaussian(scale=0.3)],
    ids=["bounded", "normal"],
)
def test_other_rewards(rewards):
    """The widths of intervals of any kind say where a pull is needed."""
    means = [*np.linspace(0.0, 0.4, 14), 0.9, -0.5]
    result = oddarm.simulate(
        means, rewards=rewards, until="budget", max_pulls=1600, max_outliers=2, seed=3
    )
    assert (result.pulls, sorted(result.candidates)) == (1600, [14, 15])
    pulls = {row.arm: row.pulls for row in result.arms}
    assert min(pulls.values()) >= 40
    assert max(pulls.values()) > 130


def test_it_is_right_more_often_than_uniform():
    """Twenty hard instances of the paper's kind with 40 pulls per arm: by more than a few."""
    cell = Cell("intermediate", 50, 2.5)
    right = [budget.guesses_right(cell, (40,), seed)[40] for seed in range(20)]
    adaptive, uniform = (sum(r[way] for r in right) for way in ("adaptive", "uniform"))
    assert adaptive >= uniform + 5


def test_the_verification_names_what_a_search_does():
    """One budget after the other, it has the outliers or candidates of a search of its own."""
    cell = Cell("intermediate", 20, 2.5)
    means, _ = cell.instance(1)
    named = budget.adaptive_guesses(cell, means, (20, 50), 1)
    for pulls, guess in zip((20, 50), named, strict=True):
        result = oddarm.simulate(means, until="budget", max_pulls=20 * pulls, seed=1, **cell.rule)
        assert set(result.outliers or result.candidates) == guess


def test_a_short_form_of_the_verification():
    """The verification's table has every cell, and adaptive does not lose."""

    class Here:
        def map(self, job, seeds, chunksize):
            del chunksize
            return map(job, seeds)

    lines = list(budget.measure(Here(), 2, (20,), (30,)))
    assert all(line.holds for line in lines)
    assert sum("n = 20" in str(line) for line in lines) == 11
