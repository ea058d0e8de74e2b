"""The absolute rule: answers against sampled truths, plans that reach their aim, and searches."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from verification.question import NEAR, wrong_near
from verification.report import Check

import oddarm
import reference.absolute as literal
import reference.adaptive as relative
import reference.brute_force as brute_force
from oddarm.definitions.interval_gaps import largest_possible_gap
from oddarm.definitions.truth import Truth
from oddarm.kernels.blocks import Arms, Rules
from oddarm.sources import RecordedSource, SimulatedArms
from oddarm.strategies.adaptive.absolute import apart_at, certain_answer, plan_answer, plan_links


def known(low, high, means, pulls=None):
    """Return arms known by intervals and estimates, without the evidence of pairs."""
    orders = (np.argsort(x, kind="stable") for x in (low, high, means))
    return Arms(low, high, means, *orders, np.zeros(len(low), dtype=bool), pulls=pulls)


def rules_of(gap, sure_gap, most):
    """Return the absolute rule."""
    return Rules(floor=gap, sure_gap=sure_gap, max_members=most, min_segment=most + 1)


def random_question(rng):
    """Return true means, a gap, the gap less the slack, and the most outliers: whole numbers."""
    n = int(rng.integers(3, 10))
    most = int(rng.integers(1, (n - 1) // 2 + 1))
    gap = int(rng.integers(2, 30))
    sure = int(rng.integers(gap // 3, gap + 1))
    kind = rng.integers(4)
    if kind == 0:  # anything
        means = rng.integers(0, 100, n)
    elif kind == 1:  # ties, and gaps that are exactly those of the question
        means = np.cumsum(rng.choice([0, 1, sure, sure + 1, gap, gap + 1], n))
    else:  # a bulk, and a few arms apart
        means = rng.integers(0, gap, n)
        means[: rng.integers(0, most + 1 + (kind == 3))] += rng.choice([2, 3, -4]) * gap
    return rng.permutation(means).astype(float), float(gap), float(sure), most


def intervals_around(rng, means, radius):
    """Return intervals that contain the means, points, nested and touching ones among them."""
    low = means - rng.integers(0, radius + 1, len(means))
    high = means + rng.integers(0, radius + 1, len(means))
    if rng.random() < 0.2:  # one contains all
        arm = rng.integers(len(means))
        low[arm], high[arm] = low.min() - 1, high.max() + 1
    return low, high


def test_pieces_of_the_literal_rule_are_those_of_the_definition():
    """The sampled version of the rule agrees with the union of all sets that are apart."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        means, gap, _, most = random_question(rng)
        (found,) = literal.apart(means[None, :], gap, most)
        assert frozenset(np.flatnonzero(found)) == brute_force.apart(means.tolist(), gap, most)
        order = np.argsort(means, kind="stable")
        assert apart_at(means, order, gap, most)[0].tolist() == found.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_no_truth_within_the_intervals_contradicts_an_answer(seed):
    """O(min_gap) ⊆ A ⊆ O((1 - slack)·min_gap) for every sampled truth, whatever the estimates."""
    rng = np.random.default_rng([2, seed])
    seen = dict.fromkeys(("confirmed", "none", "scattered", "running"), 0)
    for _ in range(1200):
        means, gap, sure, most = random_question(rng)
        low, high = intervals_around(rng, means, int(rng.choice([0, 1, 3, 8, 20])))
        estimates = rng.uniform(low, high)
        answer = certain_answer(known(low, high, estimates), rules_of(gap, sure, most))
        seen[answer.verdict] += 1
        if answer.verdict != "running":
            sampled = literal.truths(low, high, gap, most, rng, 240)
            told = answer.verdict, answer.members, sampled, gap, sure, most
            assert literal.contradictions(*told) == 0
    assert min(seen.values()) > 50


def test_intervals_that_shrink_decide_and_stay_right():
    """Around a fixed truth they decide in the end if there is slack, rightly at every step."""
    rng = np.random.default_rng(3)
    verdicts = []
    for _ in range(150):
        means, gap, sure, most = random_question(rng)
        if sure == gap:
            continue
        low, high = intervals_around(rng, means, 64)
        while True:
            answer = certain_answer(known(low, high, (low + high) / 2), rules_of(gap, sure, most))
            if answer.verdict != "running":
                told = answer.verdict, answer.members, means[None, :], gap, sure, most
                assert literal.contradictions(*told) == 0
                sampled = literal.truths(np.ceil(low), np.floor(high), gap, most, rng, 80)
                told = answer.verdict, answer.members, sampled, gap, sure, most
                assert literal.contradictions(*told) == 0
            if (high - low).max() < 0.1:
                break
            low, high = means - (means - low) / 2, means + (high - means) / 2
        verdicts.append(answer.verdict)
    assert "running" not in verdicts
    assert {"confirmed", "none", "scattered"} == set(verdicts)


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ([0, 0, 0, 10], "running"),  # a gap of exactly min_gap: open without slack
        ([0, 0, 0, 11], "confirmed"),
        ([0, 0, 0, 9], "none"),
        ([0, 0, 11, 22], "scattered"),
        ([0, 11, 22, 33], "scattered"),
        ([5, 5, 5, 5], "none"),
    ],
)
def test_answers_of_exact_means(means, verdict):
    """Without slack a gap must be wider than min_gap to part, and no wider to link."""
    means = np.array(means, dtype=float)
    answer = certain_answer(known(means, means, means), rules_of(10.0, 10.0, 1))
    assert answer.verdict == ("none" if verdict == "running" else verdict)


def planned_questions(count, seed, slack=0.3):
    """Yield arms with estimates, pulls and prices, and the rule."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(3, 12))
        most = int(rng.integers(1, (n - 1) // 2 + 1))
        gap = float(rng.uniform(0.05, 0.3))
        means = rng.uniform(0.2, 0.2 + gap * rng.choice([0.0, 0.5, 2.0, 6.0]), n)
        means[: rng.integers(0, most + 2)] += gap * rng.uniform(1.0, 4.0)
        counts = rng.integers(5, rng.choice([30, 300, 3000]), n).astype(float)
        radius = rng.uniform(0.3, 1.5, (2, n)) / np.sqrt(counts)
        arms = known(means - radius[0], means + radius[1], means, counts)
        yield rng, arms, rules_of(gap, (1 - slack) * gap, most)


def shrunk(arms, factors):
    """Return the arms as they will be after the planned pulls if the estimates hold."""
    root = np.sqrt(factors)
    low = arms.means - (arms.means - arms.low) / root
    high = arms.means + (arms.high - arms.means) / root
    return known(low, high, arms.means, arms.pulls)


def test_an_answer_is_certain_once_its_plan_is_fulfilled():
    """With the planned pulls and estimates that hold there is an answer; no factor is below 1."""
    decided = 0
    for _, arms, rules in planned_questions(400, 4):
        plan = plan_answer(arms, rules, arms.pulls)
        assert plan.cost < math.inf
        assert plan.factors.min() >= 1
        assert plan.cost == pytest.approx(arms.pulls @ (plan.factors - 1))
        then = shrunk(arms, plan.factors * (1 + 1e-6))
        assert certain_answer(then, rules).verdict != "running"
        decided += certain_answer(arms, rules).verdict == "running"
    assert decided > 150


def test_four_fifths_of_a_plan_are_rarely_enough():
    """Fewer pulls than planned leave the question open in most cases: plans waste little."""
    enough = total = 0
    for _, arms, rules in planned_questions(300, 5):
        plan = plan_answer(arms, rules, arms.pulls)
        if plan.cost > 100:
            fewer = 1 + 0.8 * (plan.factors - 1)
            enough += certain_answer(shrunk(arms, fewer), rules).verdict != "running"
            total += 1
    assert total > 100
    assert enough < 0.1 * total


def test_plans_keep_to_prices():
    """What a plan spends on an arm falls, in sum, when pulls of the arm become dearer."""
    spent = {1.0: 0.0, 20.0: 0.0}
    for rng, arms, rules in planned_questions(150, 6):
        arm = int(rng.integers(len(arms.low)))
        for price in spent:
            pulls = arms.pulls.copy()
            pulls[arm] *= price
            plan = plan_answer(replace(arms, pulls=pulls), rules, arms.pulls)
            assert plan.cost == pytest.approx(pulls @ (plan.factors - 1))
            spent[price] += arms.pulls[arm] * (plan.factors[arm] - 1)
    assert spent[20.0] < 0.8 * spent[1.0]


def test_plans_link_a_block_if_that_is_possible():
    """A block without gaps near the scale is linked by the plan, and every hub is needed."""
    rng = np.random.default_rng(7)
    idle = raised = 0
    for _ in range(300):
        n = int(rng.integers(2, 12))
        means = np.sort(rng.uniform(0, rng.choice([0.05, 0.3]), n))
        scale = float(max(np.diff(means).max() / rng.uniform(0.3, 0.85), 0.02))
        counts = rng.integers(5, 500, n).astype(float)
        radius = rng.uniform(0.3, 1.5, (2, n)) / np.sqrt(counts)
        arms = known(means - radius[0], means + radius[1], means, counts)
        factors = np.ones(n)
        plan_links(arms, np.arange(n), factors, scale)
        assert np.isfinite(factors).all()
        assert (factors >= 1).all()
        then = shrunk(arms, factors)
        assert largest_possible_gap(then.low, then.high) <= scale
        for arm in np.flatnonzero(factors > 1.5):
            fewer = factors.copy()
            fewer[arm] = 1.0
            then = shrunk(arms, fewer)
            idle += largest_possible_gap(then.low, then.high) <= scale
            raised += 1
    assert raised > 500
    assert idle < 0.1 * raised


def test_a_block_with_a_wider_gap_cannot_be_linked():
    """If the estimates have a gap above the scale, no pulls are enough."""
    means = np.array([0.1, 0.12, 0.14, 0.4, 0.42])
    arms = known(means - 0.1, means + 0.1, means, np.full(5, 50.0))
    factors = np.ones(5)
    plan_links(arms, np.arange(5), factors, 0.2)
    assert np.isinf(factors).all()


@pytest.mark.parametrize("options", [{}, {"epsilon": 1.5}])
def test_nobody_can_be_further_away_than_the_widest_gap(options):
    """If nobody is an outlier, no truth has a small piece beyond the widest gap; one is near it."""
    rng = np.random.default_rng(8)
    ended = near = 0
    for _ in range(250):
        means, gap, _, most = random_question(rng)
        low, high = intervals_around(rng, means, int(rng.choice([0, 1, 3, 8])))
        asked = {"min_gap": gap, "max_outliers": most, "slack": 0.2, "rewards": (-999, 999)}
        search = oddarm.Search(len(means), "adaptive", until="found", **asked, **options)
        run = search.run
        run.low[:], run.high[:], run.means[:] = low, high, rng.uniform(low, high)
        search.tally.counts[:] = 1
        run.decide()
        if run.verdict == "none":
            sampled = literal.truths(low, high, gap, most, rng, 400)
            widest = run.widest_gap()
            if not options:
                assert widest <= gap * (1 + 1e-9)
                assert not literal.apart(sampled, widest, most).any()
            else:
                groups = relative.subsets(len(means), most)
                assert not any(
                    relative.are_groups(sampled, member, 1.5, most + 1, widest).any()
                    for member in groups
                )
            near += bool(literal.apart(sampled, 0.7 * widest - 1, most).any())
            ended += 1
    assert ended > 50
    assert near > 0.5 * ended


LINES = {
    "all equal": [0.3] * 5,
    "gap exactly min_gap": [*[0.3] * 5, 0.6],
    "gap exactly (1 - slack)·min_gap": [*[0.3] * 5, 0.54],
    "ratio exactly 1 + ε": [0.1, 0.2, 0.3, 0.4, 0.8],
    "ratio exactly 1 + (1 - slack)·ε": [0.1, 0.2, 0.3, 0.4, 0.74],
    "every gap exactly min_gap": [0.05, 0.35, 0.65, 0.95],
    "every gap exactly (1 - slack)·min_gap": [0.02, 0.26, 0.5, 0.74, 0.98],
    "two bulks": [*[0.2] * 3, *[0.5] * 3, 0.8],
    "constant rewards": [0.0, 0.0, 0.0, 1.0],
}
RULES = {"absolute": {"min_gap": 0.3}, "floor": {"min_gap": 0.3, "epsilon": 3.0}}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", LINES)
def test_searches_with_slack_end_on_every_line(name, rule):
    """With slack and a floor a search ends with a right answer, ties and exact lines included."""
    for most in (1, 2):
        if len(LINES[name]) > 2 * most:
            options = {"slack": 0.2, "max_outliers": most, "max_pulls": 2_000_000, **RULES[rule]}
            result = oddarm.simulate(LINES[name], until="found", seed=most, **options)
            truth = Truth.of(LINES[name], result.problem)
            assert truth.confirms(result.verdict, result.outliers, "found")


def test_everyone_may_lie_apart():
    """Rewards told at once can show that every arm lies apart: the answer is scattered."""
    search = oddarm.Search(4, "adaptive", min_gap=0.2, max_outliers=1)
    arms = SimulatedArms([0.0, 0.33, 0.66, 1.0], seed=1)
    rewards = np.concatenate([arms.draw(arm, 3000) for arm in range(4)])
    search.tell_indices(np.repeat(np.arange(4), 3000), rewards)
    result = search.result()
    assert (result.verdict, result.outliers) == ("scattered", [])
    assert sorted(result.candidates) == [0, 1, 2, 3]
    assert result.evidence > 1000
    again = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
    assert again.result().to_dict() == result.to_dict()


def pools_of(successes, size, seed):
    """Return recorded 0/1 rewards to draw without replacement."""
    rng = np.random.default_rng(seed)
    recorded = {
        f"arm-{k}": rng.permutation((np.arange(size) < good).astype(float))
        for k, good in enumerate(successes)
    }
    return RecordedSource(recorded)


@pytest.mark.parametrize(
    ("successes", "size", "options", "verdict"),
    [
        ([3, 3, 3, 3, 6], 15, {"min_gap": 0.2}, "none"),  # a gap of exactly 3/15
        ([3, 3, 3, 3, 7], 15, {"min_gap": 0.2}, "confirmed"),
        ([3, 3, 3, 6, 9], 15, {"min_gap": 0.2}, "none"),
        ([3, 3, 3, 7, 11], 15, {"min_gap": 0.2}, "scattered"),
        ([0, 1, 2, 3], 3, {"min_gap": 0.3}, "scattered"),  # everyone
        ([1, 2, 3, 4, 7], 10, {"min_gap": 0.3}, "none"),  # 0.7 - 0.4 < 0.3 in floats
        ([1, 2, 3, 4, 8], 10, {"min_gap": 0.3}, "confirmed"),
        ([3, 4, 5, 5, 12], 15, {"min_gap": 0.2, "epsilon": 6.0}, "none"),  # exactly 7 times 1/15
        ([3, 4, 5, 5, 12], 15, {"min_gap": 0.2, "epsilon": 5.5}, "confirmed"),
        ([3, 3, 3, 3, 6], 15, {"min_gap": 0.2, "epsilon": 1.0}, "none"),
    ],
)
@pytest.mark.parametrize("slack", [0.0, 0.2])
def test_exhausted_pools_are_decided_exactly(successes, size, options, verdict, slack):
    """Ties of finite pools are compared as fractions; slack lets a search end earlier, rightly."""
    for seed in range(3):
        source = pools_of(successes, size, seed)
        options = {**options, "max_outliers": 1, "slack": slack, "until": "found"}
        result = oddarm.find(source, delta=1e-9, **options)
        exact = {f"arm-{k}": Fraction(good, size) for k, good in enumerate(successes)}
        truth = Truth.of(exact, result.problem)
        assert truth.confirms(result.verdict, result.outliers, "found")
        if slack == 0:
            assert result.verdict == verdict


def states_along(means, options, model, cuts):
    """Return the final states of a search that was saved and loaded after so many pulls each."""
    ends = []
    for saved in ((), cuts):
        search = oddarm.Search(len(means), "adaptive", rewards=model, **options)
        arms, left = SimulatedArms(means, search.rewards, seed=2), list(saved)
        while not search.done:
            if left and search.pulls >= left[0]:
                left.pop(0)
                search = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
            for arm in search.ask(3):
                if not search.done:
                    search.tell(arm, arms.draw(arm))
        ends.append(json.loads(json.dumps(search.to_dict())))
        again = oddarm.Search.from_dict(json.loads(json.dumps(ends[-1])))
        assert json.dumps(again.to_dict()) == json.dumps(ends[-1])
        assert again.result().to_dict() == search.result().to_dict()
    return ends


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ([0.2, 0.2, 0.25, 0.3, 0.8], "confirmed"),
        ([0.2, 0.2, 0.25, 0.3, 0.4], "none"),
        ([0.05, 0.05, 0.5, 0.95], "scattered"),
    ],
)
def test_saved_searches_go_on_to_the_bit(means, verdict):
    """Saved and loaded in the middle and at the end, a search ends in the very same state."""
    options = {"min_gap": 0.3, "max_outliers": 1, "slack": 0.2}
    whole, parts = states_along(means, options, "bernoulli", (7, 60, 200, 400))
    assert whole == parts
    assert whole["run"]["verdict"] == verdict


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", ["bounded", "subgaussian"])
def test_other_rewards(model, rule):
    """Bounded and sub-Gaussian rewards are searched by every rule."""
    rewards = {
        "bounded": oddarm.rewards.Bounded(minimum=0, maximum=1),
        "subgaussian": oddarm.rewards.SubGaussian(scale=0.2),
    }[model]
    for means in ([0.2, 0.22, 0.25, 0.26, 0.85], [0.2, 0.22, 0.25, 0.26, 0.4]):
        options = {"max_outliers": 1, "rewards": rewards, "slack": 0.2, **RULES[rule]}
        result = oddarm.simulate(means, until="found", max_pulls=100_000, **options)
        truth = Truth.of(means, result.problem)
        assert truth.confirms(result.verdict, result.outliers, "found")
        assert result.evidence >= 1 / result.problem.delta


@pytest.mark.parametrize("kind", NEAR)
@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.slow
def test_answers_near_the_line_are_right(kind, delta):
    """Random instances near the line are answered wrongly in at most δ of the runs."""
    wrong = sum(wrong_near(kind, delta, seed)[0] for seed in range(30))
    assert Check(kind, wrong, 30, delta).holds


def test_the_widest_gap_of_small_pieces_beside_each_other():
    """A gap is possible beside a piece that is too large to be odd, to the letter."""
    search = oddarm.Search(8, min_gap=0.35, max_outliers=2, strict=True, slack=0.1, rewards=(0, 1))
    for arm, mean in enumerate([0.1] * 5 + [0.4, 0.7, 0.7]):
        search.tell(arm, [mean] * 20_000)
    result = search.result()
    assert result.verdict == "none"
    assert 0.3 <= result.widest_gap <= 0.35
