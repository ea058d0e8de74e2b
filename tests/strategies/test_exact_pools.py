"""Finite pools in exact arithmetic: ties are common there, and no rounding may decide one."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import oddarm
import reference.brute_force as brute_force
from oddarm import Problem
from oddarm.rewards import Bernoulli, Bounded
from oddarm.sources import PoolSource, RecordedSource
from oddarm.strategies.adaptive.certify import Stage
from oddarm.strategies.base import Certificate

TIES = {
    "3, 5, 12 of 15": {i: (15, k) for i, k in enumerate((3, 5, 12))},
    "8, 10, 12, 19 of 40": {i: (40, k) for i, k in enumerate((8, 10, 12, 19))},
    "0, 6, 12, 33 of 100": {i: (100, k) for i, k in enumerate((0, 6, 12, 33))},
}
SIZES = (4, 5, 10, 12, 15, 20)
EXACT = 0.0
"""The slack of a search whose line is ε itself."""


@pytest.mark.parametrize("counts", TIES.values(), ids=TIES)
@pytest.mark.parametrize("until", ["found", "confirmed"])
def test_a_gap_exactly_at_the_line_is_not_a_group(counts, until):
    """Where d = (1 + ε) h exactly, nothing is confirmed: the rule is a strict one."""
    for seed in range(5):
        items = {arm: [1] * k + [0] * (size - k) for arm, (size, k) in counts.items()}
        source = PoolSource(items, score=float, seed=seed)
        result = oddarm.find(
            source, epsilon=2.5, max_outliers=1, until=until, delta=0.01, slack=EXACT
        )
        assert (result.verdict, result.outliers) == ("none", [])
        assert all(one.status == "refuted" for one in result.certificates)
        assert all(one.epsilon <= 2.5 for one in result.certificates)


def random_pools(rng, zero_one):
    """Return the rewards of a few arms, whose means are fractions of small denominators."""
    count, size = rng.randint(3, 7), rng.choice(SIZES)
    centre = rng.random()
    pools = []
    for _ in range(count):
        mine = size if rng.random() < 0.6 else rng.choice(SIZES)
        wanted = rng.random() if rng.random() < 0.25 else centre + rng.choice([0, 0, 0.1, 0.2])
        ones = min(max(round(mine * wanted), 0), mine)
        rewards = [1.0] * ones + [0.0] * (mine - ones)
        for _ in range(0 if zero_one else mine):  # tenths are moved, the sum stays
            i, j = rng.sample(range(mine), 2)
            if rewards[i] >= 0.1 and rewards[j] <= 0.9:
                rewards[i], rewards[j] = round(rewards[i] - 0.1, 1), round(rewards[j] + 0.1, 1)
        pools.append((rewards, Fraction(ones, mine)))
    return pools


@pytest.mark.parametrize(("zero_one", "instances"), [(True, 120), (False, 12)])
@pytest.mark.parametrize("until", ["ranked", "found", "confirmed"])
@pytest.mark.slow
def test_answers_equal_brute_force_on_small_pools(zero_one, instances, until):
    """Whatever ties there are, the answer is that of enumeration with rationals."""
    rng = random.Random(f"{zero_one} {until}")
    tied = 0
    for _ in range(instances):
        pools = random_pools(rng, zero_one)
        means = [mean for _, mean in pools]
        most = rng.randint(1, (len(pools) - 1) // 2)
        epsilon = rng.choice([Fraction(k, 10) for k in (1, 5, 10, 15, 20, 25, 50)])
        problem = Problem(float(epsilon), max_outliers=most, strict=most > 1 and rng.random() < 0.3)
        limits = problem.max_members(len(pools)), problem.min_segment(len(pools))
        groups = brute_force.groups(means, epsilon, *limits, mixed=True)
        tied += groups != brute_force.groups(means, epsilon - Fraction(1, 999), *limits, mixed=True)
        source = PoolSource(
            {arm: rewards for arm, (rewards, _) in enumerate(pools)},
            score=float,
            rewards="bernoulli" if zero_one else (0, 1),
            seed=rng.randrange(10**6),
        )
        result = oddarm.find(
            source, epsilon=float(epsilon), max_outliers=most, strict=problem.strict,
            until=until, delta=0.01, slack=EXACT,
        )  # fmt: skip
        if until == "ranked":
            assert all(frozenset(result.ranking[: len(group)]) == group for group in groups)
            assert result.verdict == "ranked" or not groups
            continue
        assert result.verdict == ("confirmed" if groups else "none")
        if groups:
            assert frozenset(result.outliers) in groups
        if groups and until == "confirmed":
            assert frozenset(result.outliers) == max(groups, key=len)
    assert tied >= instances // 40


@pytest.mark.parametrize("counts", TIES.values(), ids=TIES)
@pytest.mark.parametrize("until", ["found", "confirmed"])
def test_rounding_does_not_decide_before_the_pools_are_exhausted(counts, until):
    """Intervals of no width on an exact tie leave it open, whichever way the floats round."""
    sizes = tuple(size for size, _ in counts.values())
    means = np.array([k / size for size, k in counts.values()])
    for shift in (0.0, 0.01, 0.03, 0.07, 0.1):
        rewards = Bernoulli(pools=sizes)
        search = oddarm.Search(
            len(counts), max_outliers=1, until=until, slack=EXACT, rewards=rewards
        )
        run = search.run
        run.low[:] = run.high[:] = run.means[:] = means + shift
        search.tally.counts[:] = 1
        run.decide()
        assert run.verdict == "running"
        assert not any(stage.judgement.verdict for stage in run.stages)


def test_all_exhausted_pools_are_answered_by_their_means():
    """What failed intervals had declared is withdrawn where the means themselves contradict it."""
    ones = [2, 3, 4, 5, 6, 19]
    search = oddarm.Search(6, max_outliers=1, until="confirmed", rewards=Bernoulli(pools=(20,) * 6))
    search.run.stages.append(Stage.after([], np.array([0]), 7, 6))
    for arm, k in enumerate(ones):
        search.tell(arm, [1] * k + [0] * (20 - k))
    result = search.result()
    assert (result.verdict, result.outliers) == ("confirmed", [5])
    assert [one.members for one in result.certificates] == [(5,)]


def test_sums_of_decimals_are_exact():
    """Ten rewards of 0.1 have the mean 1/10, and their gaps are compared as such."""
    pools = {"a": [0.1] * 10, "b": [0.2] * 10, "c": [0.3] * 10, "d": [0.65] * 10}
    source = RecordedSource(pools, rewards=(0, 1))
    result = oddarm.find(source, epsilon=2.5, max_outliers=1, until="confirmed", slack=EXACT)
    assert result.verdict == "none"
    search = oddarm.Search(list(pools), max_outliers=1, rewards=source.rewards)
    for arm, rewards in pools.items():
        search.tell(arm, rewards)
    assert search.tally.exact_means() == [Fraction(k, 100) for k in (10, 20, 30, 65)]
    assert search.tally.totals.tolist() == [1.0, 2.0, 3.0, 6.5]


def test_exact_sums_survive_saving(tmp_path):
    """A search on bounded pools that was saved goes on with the very sums."""
    model = Bounded(minimum=0, maximum=1, pools=(10,) * 4)
    search = oddarm.Search(4, max_outliers=1, rewards=model, until="confirmed")
    search.tell(0, [0.1, 0.2, 0.3])
    search.save(tmp_path / "search.json")
    loaded = oddarm.Search.load(tmp_path / "search.json")
    assert loaded.tally.exact == search.tally.exact
    assert loaded.tally.take([0]).exact == search.tally.exact[:1]


def test_arms_between_small_segments_are_a_group_for_no_epsilon():
    """Arms that leave too few others on one side are refuted, and no ε makes them a group."""
    ones = [*range(10, 16), 500, 501, 900]
    items = {i: [1] * k + [0] * (1000 - k) for i, k in enumerate(ones)}
    source = oddarm.sources.PoolSource(items, score=float)
    result = oddarm.find(source, max_outliers=2, epsilon=0.5, until="confirmed")
    assert oddarm.outlier_groups([k / 1000 for k in ones], 0.0001, max_outliers=2, mixed=True) == []
    assert result.verdict == "none"
    refuted = [one for one in result.certificates if one.status == "refuted"]
    assert refuted
    assert all(one.epsilon == -1.0 for one in refuted)
    assert not any(one.large_segments for one in refuted)


def test_the_certain_epsilon_is_rounded_down():
    """A certificate never claims more than its own numbers say in exact arithmetic."""
    for gap, rest in [(0.5, 0.1), (0.7, 0.2), (7 / 15, 2 / 15), (1.0, 3.0), (0.3, 0.1)]:
        one = Certificate((0,), "confirmed", gap, gap, rest, rest)
        assert 0 <= Fraction(gap) / Fraction(rest) - 1 - Fraction(one.epsilon) < 1e-14
    assert Certificate((0,), "confirmed", 0.1, 1.0, 0.0, 0.0).epsilon == math.inf
    assert Certificate((0,), "undecided", 0.0, 1.0, 0.0, 0.0).epsilon == -1
    assert Certificate((0,), "undecided", 0.1, 1.0, 0.0, math.inf).epsilon == -1


def test_a_comparison_knows_exact_ties():
    """The truth of a comparison is that of the fractions, not of their floats."""
    source = RecordedSource.from_counts(TIES["3, 5, 12 of 15"])
    compared = oddarm.compare(source, ["adaptive"], max_outliers=1, until="confirmed", slack=EXACT)
    assert compared.groups == ()
    assert compared.runs[0].right is True
