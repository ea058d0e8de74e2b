"""The interval form of GOLD: against a literal rendering, and against the edge form."""

import json
import math

import numpy as np
import pytest

import oddarm
from oddarm.sources import SimulatedArms
from oddarm.strategies import Gold
from oddarm.strategies.gold import compiled_intervals as compiled
from oddarm.strategies.gold.intervals import interval_communities
from oddarm.testing import check_strategy

FORM = Gold(form="intervals")


def literal(means, seed, *, epsilon, most, delta):
    """Sweep, intersect ŷ ± bβ after each sweep, part what does not overlap; O(n²) per sweep."""
    n = len(means)
    arms = SimulatedArms(means, seed=seed)
    b = (1 + math.exp(1 / 16) + epsilon) / (1 - math.exp(1 / 16) + epsilon)
    radius = oddarm.bounds.NormalMixture(delta / n, 0.5, 0, 1).radius
    totals, low, high = [0.0] * n, [-math.inf] * n, [math.inf] * n
    score, T, m = {}, 0, 0
    while len(score) < most:
        m += 1
        in_play = [i for i in range(n) if i not in score]
        for i in in_play:
            totals[i] += float(arms.draw(i)[0])
            T += 1
            y = totals[i] / m
            low[i] = max(low[i], y - b * radius(m))
            high[i] = min(high[i], y + b * radius(m))
        left = set(in_play)
        while left:
            community, queue = set(), [left.pop()]
            while queue:
                i = queue.pop()
                community.add(i)
                joined = {j for j in left if low[i] <= high[j] and low[j] <= high[i]}
                left -= joined
                queue += joined
            if len(community) <= most:
                score.update(dict.fromkeys(community, T))
    return T, score


@pytest.mark.parametrize("kind", ["upper", "intermediate"])
@pytest.mark.parametrize("seed", range(4))
def test_equals_a_literal_rendering(seed, kind):
    """T and every S equal those of an independent rendering."""
    instance = oddarm.datasets.synthetic(kind, 20, 5.0, seed=seed)
    result = oddarm.simulate(
        instance.means, FORM, epsilon=5.0, max_outliers=2, delta=0.1, seed=seed
    )
    pulls, score = literal(instance.means.tolist(), seed, epsilon=5.0, most=2, delta=0.1)
    assert result.pulls == pulls
    assert {i: int(s) for i, s in enumerate(result.scores) if s > 0} == score


@pytest.mark.parametrize("n", [11, 20, 50])
@pytest.mark.slow
def test_compiled_simulation_gives_the_same_answers(n):
    """simulate() and ask(1)/tell on the same seed agree in every number of the state."""
    instance = oddarm.datasets.synthetic("intermediate", n, 5.0, seed=n)
    arms = SimulatedArms(instance.means, seed=5)
    search = oddarm.Search(n, FORM, epsilon=5.0, seed=5, max_pulls=20_000)
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, arms.draw(arm))
    compiled = oddarm.simulate(instance.means, FORM, epsilon=5.0, seed=5, max_pulls=20_000)
    assert compiled.to_dict() == search.result().to_dict()


def test_changes_between_compiled_and_interpreted_at_any_pull():
    """A run advanced by both paths in turn ends as the compiled one does."""
    instance = oddarm.datasets.synthetic("intermediate", 20, 5.0, seed=2)
    whole = oddarm.simulate(instance.means, FORM, epsilon=5.0, seed=1)
    arms = SimulatedArms(instance.means, seed=1)
    search = oddarm.Search(20, FORM, epsilon=5.0, seed=1)
    while not search.done:
        for _ in range(37):
            for arm in search.ask(1):
                search.tell(arm, arms.draw(arm))
        if not search.done and compiled.fits(search.run, arms):
            compiled.advance(search.run, arms, search.pulls + 101)
    assert search.result().to_dict() == whole.to_dict()


def test_agrees_with_the_edge_form():
    """It finds the same outliers, at about the same cost: never a round later, some earlier."""
    for seed in range(12):
        kind = ("upper", "lower", "intermediate")[seed % 3]
        instance = oddarm.datasets.synthetic(kind, 50, 5.0, seed=seed)
        edges = oddarm.simulate(instance.means, "gold", epsilon=5.0, seed=seed)
        intervals = oddarm.simulate(instance.means, FORM, epsilon=5.0, seed=seed)
        assert set(edges.candidates) == set(intervals.candidates) == set(instance.outliers)
        assert 0.85 * edges.pulls <= intervals.pulls <= edges.pulls + 50


def test_keeps_the_contract_of_a_strategy():
    """It ends, takes batches and late tells, and goes on after saving as any strategy does."""
    check_strategy(FORM)


def test_arrays_are_the_same_as_single_tells():
    """Whole rounds told as arrays give the state that telling one by one gives."""
    means = np.array([0.1, 0.12, 0.15, 0.17, 0.9, 0.13])
    searches = [oddarm.Search(6, FORM, max_outliers=1) for _ in range(2)]
    rng = np.random.default_rng(0)
    while not searches[0].done:
        arms = searches[0].ask_indices()
        assert searches[1].ask() == arms.tolist()
        rewards = (rng.random(len(arms)) < means[arms]).astype(float)
        searches[0].tell_indices(arms, rewards)
        for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
            searches[1].tell(arm, reward)
    assert searches[0].to_dict() == searches[1].to_dict()
    assert searches[0].result().candidates == [4]


def test_batches_keep_the_order_of_separation():
    """All rewards told at once, arm by arm, rank a group before arms that separate later."""
    rng = np.random.default_rng(3)
    means = np.array([0.05, 0.06, 0.07, 0.08, 0.5, 0.92, 0.93, 0.94, 0.95])
    search = oddarm.Search(9, FORM, max_outliers=1)
    for arm in (8, 7, 6, 5, 4, 3, 2, 1, 0):
        search.tell(arm, (rng.random(2_000_000) < means[arm]).astype(float))
    assert search.verdict == "ranked"
    assert search.result().ranking[0] == 4


def test_arms_far_apart_without_a_range():
    """Where all arms separate at the first look, the widest gap still decides."""
    model = oddarm.rewards.SubGaussian(scale=0.01)
    means = [0.0, 1.0, 2.0, 50.0, 98.0, 99.0, 100.0]
    result = oddarm.simulate(means, FORM, rewards=model, max_outliers=1)
    assert result.candidates == [3]
    assert result.pulls == 16 * 7


def test_many_arms():
    """A hundred thousand arms are searched to the end, and the result is made at once."""
    means = np.random.default_rng(0).uniform(0.1, 0.2, 100_000)
    means[777] = 0.999
    result = oddarm.simulate(means, FORM, max_outliers=1)
    assert result.candidates == [777]
    assert result.order[0] == 777
    assert isinstance(result.names, range)


def test_goes_on_after_saving(tmp_path):
    """Saved in the middle of a sweep and loaded, it ends as if it had never stopped."""
    instance = oddarm.datasets.synthetic("upper", 20, 5.0, seed=4)
    whole = oddarm.simulate(instance.means, FORM, epsilon=5.0, seed=3)
    arms = SimulatedArms(instance.means, seed=3)
    search = oddarm.Search(20, FORM, epsilon=5.0, seed=3)
    while search.pulls < 1234:
        for arm in search.ask(1):
            search.tell(arm, arms.draw(arm))
    search.save(tmp_path / "search.json")
    json.loads((tmp_path / "search.json").read_text())
    search = oddarm.Search.load(tmp_path / "search.json")
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, arms.draw(arm))
    assert search.result().to_dict() == whole.to_dict()


def test_refuses_what_it_cannot_do():
    """The radii as printed and an unknown form are refused with the remedy."""
    with pytest.raises(oddarm.OddarmError, match="pass bound='anytime' or form='edges'"):
        oddarm.Search(20, FORM, bound="paper")
    with pytest.raises(oddarm.OddarmError, match="form == 'heaps', must be 'edges' or"):
        Gold(form="heaps")


def brute_communities(low, high):
    """Merge for each interval the groups that it overlaps."""
    groups = [{i} for i in range(len(low))]
    for i in range(len(low)):
        near = [g for g in groups if any(low[i] <= high[j] and low[j] <= high[i] for j in g)]
        groups = [g for g in groups if g not in near] + [set().union(*near)]
    return {frozenset(group) for group in groups}


def random_intervals(seed):
    """Return the ends of some intervals, some of them tied."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    centre = rng.random(n).round(int(rng.integers(1, 4)))
    reach = rng.choice([0.05, 0.1, 0.3])
    return centre - reach * rng.random(n), centre + reach * rng.random(n)


@pytest.mark.parametrize("seed", range(20))
def test_communities_are_joined_by_overlaps(seed):
    """The communities of intervals are those of brute force, each by ascending lower ends."""
    low, high = random_intervals(seed)
    found = interval_communities(low, high)
    assert {frozenset(members.tolist()) for members in found} == brute_communities(low, high)
    assert all((np.diff(low[members]) >= 0).all() for members in found)


@pytest.mark.parametrize("seed", range(20))
def test_a_chain_holds_each_community_together(seed):
    """Each community in play has a chain of its arms that overlap and that the others overlap."""
    low, high = random_intervals(seed)
    run = oddarm.Search(len(low), FORM, max_outliers=1).run
    run.low[:], run.high[:] = low, high
    chains = compiled.chains_of(run)
    large = [group for group in brute_communities(low, high) if len(group) > 1]
    found = np.split(chains.arms, chains.first[1:]) if large else []
    assert len(found) == len(large)
    for chain in found:
        (group,) = [group for group in large if chain[0] in group]
        assert group.issuperset(chain.tolist())
        before, after = chain[:-1], chain[1:]
        assert ((low[before] <= high[after]) & (low[after] <= high[before])).all()
        for arm in group:
            assert ((low[chain] <= high[arm]) & (low[arm] <= high[chain])).any()
