"""The adaptive strategy: what it finds, what it says of it, and how it is driven."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from verification import adaptive
from verification.report import Check

import oddarm
from oddarm.rewards import Bounded, SubGaussian
from oddarm.sources import RecordedSource, SimulatedArms
from oddarm.strategies.adaptive import AdaptiveRun
from oddarm.strategies.adaptive.constants import (
    LEAST_SHARE,
    MANY_ARMS,
    OLD_PLANNER,
    PLANNER,
    SECOND_PLANNER,
    SMALL_STEPS_MOST_ARMS,
    THIRD_PLANNER,
)
from reproduction.shared import shared_sets

MEANS = [0.20, 0.22, 0.25, 0.27, 0.30, 0.32, 0.35, 0.37, 0.40, 0.90]
"""Ten arms of which the last stands apart."""
FLAT = [*MEANS[:9], 0.45]
"""Ten arms of which none does."""
CLUSTERS = [0.10, 0.12, 0.14, 0.50, 0.52, 0.54, 0.56, 0.88, 0.90, 0.92]
"""Ten arms in three clusters, each too large to be outliers."""
RANKED = {"delta": 0.1, "until": "ranked"}
"""The paper's question: which arms rank first?"""
EXACT = 0.0
"""The slack of a search that has one right answer, wherever the line is."""


def drive(search, arms, pulls=math.inf):
    """Tell what is asked, one at a time."""
    end = search.pulls + pulls
    while not search.done and search.pulls < end:
        for arm in search.ask(1):
            search.tell(arm, arms.draw(arm))
    return search


def drive_late(search, arms, limit, rng):
    """Tell batches out of order, a quarter of each only after the next; return the pulls."""
    late = []
    while not search.done:
        batch = [*late, *search.ask(limit)]
        rng.shuffle(batch)
        late, now = batch[: len(batch) // 4], batch[len(batch) // 4 :]
        for arm in now:
            search.tell(arm, arms.draw(arm))
    return search.pulls


def first(result, count):
    """Return the arms that rank first."""
    return set(result.ranking[:count])


def test_a_large_ask_is_planned_at_once(monkeypatch):
    """A few plans give as many pulls as wanted, whether or not those in flight look sufficient."""
    n = 600
    rng, means = np.random.default_rng(0), np.linspace(0.2, 0.4, n)
    means[-1] = 0.9
    plans, plan = [], AdaptiveRun._plan
    monkeypatch.setattr(AdaptiveRun, "_plan", lambda *given: plans.append(1) or plan(*given))
    search = oddarm.Search(n, "adaptive", max_outliers=2, **RANKED)
    first = np.repeat(np.arange(n), 20)
    search.tell_indices(first, rng.random(len(first)) < means[first])
    for _ in range(3):
        arms = search.ask_indices(2000)
        assert len(arms) == len(search.ask_indices(2000)) == 2000  # the second ones are lost
        assert len(plans) < 100
        plans.clear()
        search.tell_indices(arms, (rng.random(len(arms)) < means[arms]).astype(float))


@pytest.mark.parametrize("outliers", [5, 4, 2, 1])
@pytest.mark.parametrize("kind", ["upper", "lower", "intermediate", "mixed"])
@pytest.mark.slow
def test_outliers_rank_first(kind, outliers):
    """As many as may be, fewer, or one: wherever they lie, they rank first."""
    if kind == "mixed" and outliers == 1:
        kind = "upper"
    for seed in range(2):
        instance = oddarm.datasets.synthetic(kind, 50, 5.0, outliers=outliers, seed=seed)
        result = oddarm.simulate(instance.means, "adaptive", epsilon=5.0, seed=seed, **RANKED)
        assert result.verdict == "ranked"
        assert first(result, outliers) == set(instance.outliers)
        assert set(instance.outliers) <= set(result.candidates)


@pytest.mark.parametrize("until", ["found", "confirmed"])
@pytest.mark.parametrize("kind", ["upper", "lower", "intermediate", "mixed"])
def test_groups_are_confirmed(kind, until):
    """A group is confirmed as it is, and its certificate holds for the true means."""
    instance = oddarm.datasets.synthetic(kind, 20, 2.5, seed=3)
    result = oddarm.simulate(instance.means, "adaptive", until=until, slack=EXACT, seed=3)
    assert result.verdict == "confirmed"
    assert set(result.outliers) == set(instance.outliers)
    (group,) = oddarm.outlier_groups(instance.means, 2.5, mixed=True)
    (one,) = [c for c in result.certificates if c.status == "confirmed"]
    rest = group.gap / (1 + group.max_epsilon)
    assert set(one.members) == set(group.members)
    assert one.gap_at_least <= group.gap <= one.gap_at_most
    assert one.rest_at_least <= rest <= one.rest_at_most
    assert 2.5 <= one.epsilon <= group.max_epsilon


@pytest.mark.parametrize("until", ["found", "confirmed"])
def test_none_is_an_answer(until):
    """Where no arm stands apart that is said, and every candidate is refuted."""
    result = oddarm.simulate(FLAT, "adaptive", max_outliers=1, until=until)
    assert (result.verdict, result.outliers) == ("none", [])
    assert set(result.statuses) == {"normal"}
    assert all(c.status == "refuted" for c in result.certificates)


def test_refuted_and_confirmed_sets_are_told_apart():
    """An arm nearer to the rest is no outlier beside one that is."""
    means = [0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.42, 0.90]
    result = oddarm.simulate(
        means, "adaptive", max_outliers=2, epsilon=5.0, until="confirmed", slack=EXACT
    )
    (group,) = oddarm.outlier_groups(means, 5.0, max_outliers=2, mixed=True)
    assert group.members == (9,)
    assert (result.verdict, result.outliers) == ("confirmed", [9])
    assert {c.members: c.status for c in result.certificates}[(9,)] == "confirmed"


def test_ranked_without_a_group_ends():
    """The ranking alone says nothing of whether there is a group; it ends all the same."""
    result = oddarm.simulate(FLAT, "adaptive", max_outliers=1, **RANKED)
    assert result.verdict in ("ranked", "none")
    assert result.pulls < 100_000


@pytest.mark.parametrize(
    ("means", "most", "expected"),
    [
        ([0.5] * 9 + [0.6] * 9 + [0.97] * 2, 2, {18, 19}),  # ties among normals and outliers
        ([0.4] * 9 + [0.9], 1, {9}),
        ([0.0] * 9 + [1.0], 1, {9}),  # zero variance
        ([1.0] * 5 + [0.0] * 5 + [0.5], 1, {10}),
        ([0.001] * 9 + [0.015], 1, {9}),  # very small rates
        ([*np.linspace(0.0008, 0.0012, 18), 0.015, 0.02], 2, {18, 19}),
        ([0.3, 0.4, 0.95], 1, {2}),  # as few arms as there can be
        ([0.3, 0.9, 0.95], 1, {0}),
    ],
)
def test_unusual_means(means, most, expected):
    """Ties, arms that never vary, very small rates and three arms are no trouble."""
    result = oddarm.simulate(means, "adaptive", max_outliers=most, max_pulls=200_000, **RANKED)
    assert result.verdict == "ranked"
    assert first(result, len(expected)) == expected


def test_arms_that_never_vary_are_confirmed():
    """Means of exactly 0 and 1 are confirmed."""
    result = oddarm.simulate([0.0] * 9 + [1.0], "adaptive", max_outliers=1, until="found")
    assert (result.verdict, result.outliers) == ("confirmed", [9])


@pytest.mark.slow
def test_many_arms():
    """Three outliers rank first where arms are so many that large asks are planned at once."""
    means = [*np.linspace(0.1, 0.4, 597), 0.9, 0.95, 0.97]
    assert len(means) > MANY_ARMS
    result = oddarm.simulate(means, "adaptive", max_outliers=3, **RANKED)
    assert result.verdict == "ranked"
    assert first(result, 3) == {597, 598, 599}


@pytest.mark.parametrize("rewards", [Bounded(minimum=0, maximum=1), SubGaussian(scale=0.2)])
@pytest.mark.parametrize(("means", "outliers"), [(MEANS, [9]), (CLUSTERS, [])])
def test_other_rewards(rewards, means, outliers):
    """Rewards within a range, and without one, are searched with intervals of their own."""
    result = oddarm.simulate(
        means, "adaptive", rewards=rewards, max_outliers=1, until="found", epsilon=2.5
    )
    assert result.outliers == outliers
    assert result.verdict == ("confirmed" if outliers else "none")


def pools(means, size, zero_one, seed=4):
    """Return recorded rewards of arms with about these means, some of few rewards."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(size // 4, size, len(means))
    if zero_one:
        return {
            f"arm-{i}": (np.arange(m) < round(p * m)).astype(float)
            for i, (p, m) in enumerate(zip(means, sizes, strict=True))
        }
    return {
        f"arm-{i}": rng.beta(20 * p, 20 * (1 - p), m).round(3)
        for i, (p, m) in enumerate(zip(means, sizes, strict=True))
    }


@pytest.mark.parametrize("zero_one", [True, False])
@pytest.mark.parametrize("means", [MEANS, FLAT])
def test_finite_pools_are_right_exactly(means, zero_one):
    """Without replacement the search ends, is right, and asks no arm for more than it has."""
    recorded = pools(means, 300, zero_one)
    source = RecordedSource(recorded, rewards="bernoulli" if zero_one else (0, 1), seed=1)
    search = oddarm.Search(
        source.arms,
        max_outliers=1,
        until="confirmed",
        slack=EXACT,
        rewards=source.rewards,
    )
    asked = dict.fromkeys(recorded, 0)
    while not search.done:
        batch = search.ask(25)
        assert batch
        for arm in batch:
            asked[arm] += 1
            search.tell(arm, source.draw(arm))
    assert all(asked[arm] <= len(values) for arm, values in recorded.items())
    exact = {arm: values.mean() for arm, values in recorded.items()}
    groups = oddarm.outlier_groups(exact, 2.5, max_outliers=1, mixed=True)
    assert search.result().outliers == [arm for g in groups for arm in g.members]
    assert search.verdict == ("confirmed" if groups else "none")


def test_a_tie_of_pools_is_decided_by_exhaustion():
    """A gap that is exactly at the line is known only when all is drawn; then it is no group."""
    ones = [20, 30, 40, 50, 85]  # of 100 each: a gap of 35, 3.5 times 10
    source = RecordedSource.from_counts({k: (100, k) for k in ones})
    result = oddarm.find(source, max_outliers=1, until="confirmed", slack=EXACT)
    assert (result.verdict, result.outliers) == ("none", [])
    assert result.pulls <= 500


def test_the_radii_of_the_paper_are_refused():
    """Its intervals must hold at all times, which those of the paper do not."""
    with pytest.raises(oddarm.OddarmError, match=r"bound == 'paper' .* pass bound='anytime'"):
        oddarm.Search(20, "adaptive", bound="paper")


@pytest.mark.parametrize("until", ["ranked", "found", "confirmed"])
@pytest.mark.slow
def test_verdicts_are_final(until):
    """What is told after the end is counted and changes neither answer nor intervals."""
    search = drive(oddarm.Search(10, "adaptive", max_outliers=1, until=until), SimulatedArms(MEANS))
    before = search.result()
    for arm in range(10):
        search.tell(arm, np.full(500, arm % 2))
    after = search.result()
    assert after.pulls == before.pulls + 5000
    assert (after.verdict, after.outliers) == (before.verdict, before.outliers)
    assert after.certificates == before.certificates
    assert after.low.tolist() == before.low.tolist()
    assert after.high.tolist() == before.high.tolist()


def test_the_intervals_shown_are_those_that_decided():
    """Where intervals decide, a new run that knows nothing but those shown decides the same."""
    means, rewards = [0.1 * k for k in range(10)] + [2.0], oddarm.rewards.SubGaussian(scale=0.3)
    options = {"max_outliers": 1, "until": "confirmed", "rewards": rewards}
    result = oddarm.simulate(means, "adaptive", **options, seed=5)
    search = oddarm.Search(11, "adaptive", **options)
    search.run.low[:], search.run.high[:] = result.low, result.high
    search.run.means[:] = result.means
    search.tally.counts[:], search.tally.totals[:] = 1, result.means
    search.run.decide()
    assert search.verdict == "confirmed"
    assert set(search.declared()) == set(result.outliers)


@pytest.mark.parametrize("until", ["ranked", "found", "confirmed"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_compiled_simulation_gives_the_same_answers(seed, until):
    """simulate() and ask(1)/tell on the same rewards agree in every number."""
    instance = oddarm.datasets.synthetic("upper", 20, 5.0, outliers=seed % 2 + 1, seed=seed)
    for cap in (None, 87, 1001):
        options = {"epsilon": 5.0, "until": until, "max_pulls": cap or 20_000}
        compiled = oddarm.simulate(instance.means, "adaptive", seed=seed, **options)
        arms = SimulatedArms(instance.means, seed=seed)
        search = drive(oddarm.Search(20, "adaptive", seed=seed, **options), arms)
        assert search.result().to_dict() == compiled.to_dict()


@pytest.mark.parametrize("until", ["ranked", "found"])
def test_a_search_advanced_by_both_paths_ends_the_same(until):
    """A run may change between compiled and interpreted code at any pull."""
    from oddarm.strategies.adaptive import compiled

    instance = oddarm.datasets.synthetic("intermediate", 20, 5.0, seed=2)
    options = {"epsilon": 5.0, "until": until, "seed": 1, "max_pulls": 20_000}
    whole = oddarm.simulate(instance.means, "adaptive", **options)
    arms = SimulatedArms(instance.means, seed=1)
    search = oddarm.Search(20, "adaptive", **options)
    while not search.done:
        drive(search, arms, 137)
        if not search.done and compiled.fits(search.run, arms):
            compiled.advance(search.run, arms, min(search.pulls + 101, 20_000))
    assert search.result().to_dict() == whole.to_dict()


def test_looking_changes_nothing():
    """A result in the middle leaves no trace, one by one or in batches with rewards in flight.

    Looked at after every batch, the search still ends.
    """
    for limit in (1, 40):
        states = []
        for look in (False, True):
            arms, rng = SimulatedArms(MEANS, seed=3), np.random.default_rng(0)
            search, late = oddarm.Search(10, max_outliers=1, max_pulls=20_000, **RANKED), []
            while not search.done:
                batch = [*late, *search.ask(limit)]
                rng.shuffle(batch)
                late, now = batch[: limit // 4], batch[limit // 4 :]
                for arm in now:
                    search.tell(arm, arms.draw(arm))
                if look:
                    search.result()
            states.append(search.to_dict())
        assert states[0] == states[1]
        assert states[0]["run"]["verdict"] == "ranked"


def test_saved_in_the_middle_of_a_round():
    """Saved with part of a round asked and part of that told, it goes on identically."""
    arms = SimulatedArms(MEANS, seed=6)
    search = drive(oddarm.Search(10, "adaptive", max_outliers=1, **RANKED), arms, 200)
    while int(search.run.round.quota.sum()) < 8:
        drive(search, arms, 1)
    asked = search.ask(5)
    for arm in asked[:2]:
        search.tell(arm, arms.draw(arm))
    assert search.run.round.quota.any()
    assert search.run.round.waiting
    other = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
    drawn = arms.drawn.copy()
    ends = []
    for one in (search, other):
        arms.drawn[:] = drawn
        for arm in asked[2:]:
            one.tell(arm, arms.draw(arm))
        ends.append(drive(one, arms).to_dict())
    assert ends[0] == ends[1]
    assert other.verdict == "ranked"


@pytest.mark.slow
def test_batches_with_late_rewards_cost_little_more():
    """With 200 asked at once, told late and out of order, it is right at 1.3 times the pulls."""
    ratios = []
    for seed in range(10):
        instance = oddarm.datasets.synthetic("upper", 50, 2.5, seed=seed)
        alone = oddarm.simulate(instance.means, "adaptive", seed=seed, **RANKED).pulls
        search = oddarm.Search(50, "adaptive", seed=seed, **RANKED)
        arms = SimulatedArms(instance.means, seed=seed)
        pulls = drive_late(search, arms, 200, np.random.default_rng(seed))
        assert first(search.result(), 5) == set(instance.outliers)
        ratios.append(pulls / alone)
    assert math.exp(np.mean(np.log(ratios))) < 1.3


def test_natural_rounds_need_no_limit():
    """Asked without a limit it gives a round at a time, and ends."""
    search, arms = oddarm.Search(10, max_outliers=1, **RANKED), SimulatedArms(MEANS)
    rounds = 0
    while not search.done:
        for arm in search.ask():
            search.tell(arm, arms.draw(arm))
        rounds += 1
    assert search.result().ranking[0] == 9
    assert rounds < 200


def test_rewards_that_were_not_asked_for_count():
    """All rewards at once, arm by arm, decide without a single ask."""
    search, arms = (
        oddarm.Search(10, "adaptive", max_outliers=1, until="found"),
        SimulatedArms(MEANS),
    )
    for arm in range(10):
        search.tell(arm, arms.draw(arm, 20_000))
    assert (search.verdict, search.declared()) == ("confirmed", [9])


@pytest.mark.slow
def test_a_short_form_of_the_verification():
    """Every error rate holds, and every cost is printed beside what was aimed at."""
    with ThreadPoolExecutor(1) as pool:
        found = list(adaptive.measure(pool, runs=4, seeds=2, sizes=(20,)))
    assert [str(one) for one in found if not one.holds] == []
    assert sum("aim" in str(one) for one in found) == 19
    assert sum(isinstance(one, Check) for one in found) == 96


MOST_ROWS = 2_000_000
"""Sets with more rewards are not replayed here."""


def problems_at_hand(shared_data):
    """Return every event set, and the two smallest instances of each family of counts."""
    families = shared_sets(shared_data).values()
    smallest = [sorted(some, key=lambda p: sum(p.sizes))[:2] for some in families]
    return [p for some in smallest for p in some if sum(p.sizes) <= MOST_ROWS]


def source_of(problem, shared_data, replace):
    """Return the rewards of a problem to draw from."""
    if isinstance(problem.rewards, oddarm.rewards.Bernoulli):
        counts = zip(problem.arms, zip(problem.sizes, problem.successes, strict=True), strict=True)
        return RecordedSource.from_counts(dict(counts), replace=replace)
    import pyarrow.parquet as parquet

    table = parquet.read_table(shared_data / f"{problem.name}.parquet").to_pandas()
    recorded = {str(arm): rows.to_numpy() for arm, rows in table.groupby("arm")["reward"]}
    return RecordedSource(recorded, replace=replace, rewards=problem.rewards)


def members(problem):
    """Return the members of all groups of the exact means."""
    means = dict(zip(problem.arms, problem.exact_means, strict=True))
    return {arm for g in oddarm.outlier_groups(means, 2.5, mixed=True) for arm in g.members}


@pytest.mark.slow
def test_real_pools_are_right_exactly(shared_data):
    """Replayed without replacement, every set is confirmed rightly, or said to have none."""
    answers = []
    for problem in problems_at_hand(shared_data):
        source = source_of(problem, shared_data, replace=False)
        result = oddarm.find(source, epsilon=2.5, until="confirmed", delta=0.1, slack=EXACT)
        truth = members(problem)
        assert set(result.outliers) == truth, problem.name
        assert result.verdict == ("confirmed" if truth else "none"), problem.name
        answers.append(result.verdict)
    assert answers.count("none") == 7
    assert answers.count("confirmed") == 11


@pytest.mark.slow
def test_real_rates_rank_the_group_first(shared_data):
    """Replayed with replacement, the members of the groups rank first."""
    ended = 0
    for problem in problems_at_hand(shared_data):
        truth = members(problem)
        if not truth:
            continue
        source = source_of(problem, shared_data, replace=True)
        result = oddarm.find(source, epsilon=2.5, max_pulls=400_000, **RANKED)
        if result.verdict != "budget":
            assert first(result, len(truth)) == truth, problem.name
            ended += 1
    assert ended >= 4


BULK = [0.30, 0.32, 0.33, 0.35, 0.36, 0.38, 0.39, 0.41, 0.42]


def bounded_search(planner=PLANNER, **options):
    """Return a search of Beta rewards until a group is found, and a function that draws one."""
    means = [*BULK, 0.80]
    rngs = [np.random.default_rng([5, arm]) for arm in range(len(means))]
    options = {"rewards": (0, 1), "max_outliers": 1, "delta": 0.1, "until": "found", **options}
    search = oddarm.Search(len(means), **options)
    if planner != PLANNER:
        state = json.loads(json.dumps(search.to_dict()))
        state["run"] |= {"planner": planner, "joint": 0.0, "pairs": 0.0}
        if planner == OLD_PLANNER:
            del state["run"]["planner"], state["run"]["joint"]
        search = oddarm.Search.from_dict(state)
    return search, lambda arm: rngs[arm].beta(4 * means[arm], 4 * (1 - means[arm]))


def go_on(search, draw, judging=False):
    """Tell rewards until the search is done, or a group is to be judged."""
    while not search.done and not (judging and search.run.stages):
        for arm in search.ask():
            search.tell(arm, draw(arm))


def test_a_run_keeps_its_planner():
    """A search decides and plans as it began when saved again, started over or without an arm."""
    for planner in (OLD_PLANNER, SECOND_PLANNER, THIRD_PLANNER, PLANNER):
        search, draw = bounded_search(planner, slack=0)
        go_on(search, draw, judging=True)
        search = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
        assert search.run.planner == planner
        search.core.start_over()
        assert search.run.planner == planner
        assert (search.run.pair_delta > 0) == (planner == PLANNER)
        search.set_aside(4, "it broke")
        assert search.run.planner == planner
        assert oddarm.Search.from_dict(search.to_dict()).run.planner == planner


@pytest.mark.parametrize("planner", [SECOND_PLANNER, PLANNER])
def test_many_arms_go_on_identically(planner):
    """A search of many arms that was saved and loaded asks for the same arms, by its planner."""
    rng = np.random.default_rng(3)
    means = rng.uniform(0.2, 0.4, SMALL_STEPS_MOST_ARMS + 1)
    means[:5] = 0.9
    state = oddarm.Search(len(means), max_outliers=10).to_dict()
    state["run"]["planner"] = planner
    search = oddarm.Search.from_dict(state)
    while not search.run.stages:
        arms = search.ask_indices()
        search.tell_indices(arms, rng.random(len(arms)) < means[arms])
    other = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
    assert search.run.planner == other.run.planner == planner
    for _ in range(2):
        arms = search.ask_indices()
        assert arms.tolist() == other.ask_indices().tolist()
        rewards = rng.random(len(arms)) < means[arms]
        search.tell_indices(arms, rewards)
        other.tell_indices(arms, rewards)


def test_chains_confirm_bounded_rewards_with_fewer_pulls():
    """By intervals alone both planners find the group, the later with a twentieth fewer pulls."""
    pulls = []
    for planner in (OLD_PLANNER, SECOND_PLANNER):
        search, draw = bounded_search(planner, slack=0)
        go_on(search, draw)
        assert (search.verdict, search.result().outliers) == ("confirmed", [9])
        pulls.append(search.pulls)
    assert pulls[1] < 0.95 * pulls[0]


@pytest.mark.parametrize("slack", [0, 0.2])
def test_every_arm_is_known_somewhat_while_intervals_judge_a_group(slack):
    """Each arm then has a tenth of the mean pulls, or comes nearer to it with each round."""
    search, draw = bounded_search(SECOND_PLANNER, slack=slack)
    go_on(search, draw, judging=True)
    while not search.done:
        behind = np.flatnonzero(search.tally.counts < LEAST_SHARE * search.tally.counts.mean())
        asked = search.ask()
        assert {*behind} <= {*asked}
        for arm in asked:
            search.tell(arm, draw(arm))
    assert search.tally.counts.min() >= LEAST_SHARE * search.tally.counts.mean() / 1.15


def test_many_arms_with_few_rows_take_few_rounds(monkeypatch):
    """Where nearly all planned arms have no rows left, a round draws rows of the others too."""
    rounds, begin_round = [], AdaptiveRun.begin_round
    monkeypatch.setattr(
        AdaptiveRun, "begin_round", lambda run, *args: rounds.append(1) or begin_round(run, *args)
    )
    rng, n = np.random.default_rng(2), SMALL_STEPS_MOST_ARMS + 100
    frame = pd.DataFrame({"arm": np.repeat(np.arange(n), 12), "reward": rng.integers(0, 2, 12 * n)})
    result = oddarm.find(frame, arm="arm", reward="reward", rewards="bernoulli")
    assert (result.verdict, result.pulls) == ("rows", 12 * n)
    assert len(rounds) < 40
