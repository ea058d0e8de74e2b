"""The rivals against plain renderings of their definitions, on fixed reward tables."""

import json

import numpy as np
import pytest

import oddarm
import reference.rivals as literal
from oddarm.bounds.sigma import l_of_k
from oddarm.strategies import IB, NRR, ROAILUCB, RR, WRR, MaxGap, MaxGapTop2, ROAIElim
from oddarm.strategies.sigma.wrr import weight

BUDGET = 3000
DELTA = 0.1


@pytest.mark.parametrize(
    ("n", "k", "length", "growth"),
    [(20, 2, 6.68, 3.78), (50, 2, 6.21, 7.28), (50, 2.5, 9.49, 6.33)],
)
def test_published_constants(n, k, length, growth):
    """l(k) and the weight of WRR equal the published check values to the printed digits."""
    assert round(l_of_k(k, n, 0.1), 2) == length
    assert round(weight(k, n, 0.1), 2) == growth


def reward_table(seed, bernoulli):
    """Rewards of 9 to 15 arms, one of them far up, or two in every second table."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 16))
    means = rng.uniform(0.0, 0.1, n)
    means[rng.permutation(n)[: 1 + seed % 2]] = rng.uniform(0.9, 1.0)
    u = rng.random((n, BUDGET))
    if bernoulli:
        return (u < means[:, None]).astype(float)
    reach = np.minimum(means, 1 - means)[:, None]
    return means[:, None] + reach * (2 * u - 1)


CASES = {
    "rr": (RR(k=2), lambda t, b: literal.rr(t, b, DELTA, 2, BUDGET)),
    "rr k=1": (RR(k=1), lambda t, b: literal.rr(t, b, DELTA, 1, BUDGET)),
    "wrr": (WRR(k=2), lambda t, b: literal.wrr(t, b, DELTA, 2, BUDGET)),
    "wrr k=1": (WRR(k=1), lambda t, b: literal.wrr(t, b, DELTA, 1, BUDGET)),
    "nrr": (NRR(k=2), lambda t, b: literal.nrr(t, b, DELTA, 2, BUDGET)),
    "ib": (IB(k=2), lambda t, b: literal.ib(t, b, DELTA, 2, BUDGET)),
    "ib k=0": (IB(k=0), lambda t, b: literal.ib(t, b, DELTA, 0, BUDGET)),
    "roai-elim": (ROAIElim(k=2), lambda t, _: literal.roai(t, DELTA, 2, BUDGET, lucb=False)),
    "roai-lucb": (ROAILUCB(k=2), lambda t, _: literal.roai(t, DELTA, 2, BUDGET, lucb=True)),
    "maxgap": (MaxGap(), lambda t, _: literal.maxgap(t, DELTA, BUDGET, 2, values=1, counts=True)),
    "maxgap-top2": (MaxGapTop2(), lambda t, _: literal.maxgap(t, DELTA, BUDGET, 2, values=2)),
    "maxgap-top2 border": (
        MaxGapTop2(border=True),
        lambda t, _: literal.maxgap(t, DELTA, BUDGET, 2, values=2, border=True),
    ),
}
SLOW = {"ib", "ib k=0", "roai-elim", "roai-lucb", "maxgap-top2 border"}
"""They do not end on the tables above; `test_slow_rivals_end_too` has tables on which they do."""
FIRST_EDITION = {
    "roai-elim": (
        ROAIElim(k=2),
        lambda t, b: literal.first_roai(t, b, DELTA, 2, BUDGET, lucb=False),
    ),
    "roai-lucb": (
        ROAILUCB(k=2),
        lambda t, b: literal.first_roai(t, b, DELTA, 2, BUDGET, lucb=True),
    ),
    "maxgap": (MaxGap(), lambda t, b: literal.maxgap(t, DELTA, BUDGET, 2, values=1, gold=b)),
    "maxgap-top2": (
        MaxGapTop2(),
        lambda t, b: literal.maxgap(t, DELTA, BUDGET, 2, values=2, gold=b),
    ),
}


def begun(strategy, n, bernoulli, *, first_edition=False):
    """Return a new search; of the first edition, as a file that names no edition."""
    search = oddarm.Search(
        n,
        strategy,
        max_outliers=2,
        delta=DELTA,
        bound="paper",
        rewards="bernoulli" if bernoulli else (0, 1),
        max_pulls=BUDGET,
    )
    if not first_edition:
        return search
    state = search.to_dict()
    del state["run"]["edition"]
    return oddarm.Search.from_dict(state)


def check_equal(search, table, pulls, answer):
    """Drive a search, saved and loaded once, and compare its pulls and its answer."""
    ours = []
    while not search.done:
        (arm,) = search.ask(1)
        search.tell(arm, table[arm][search.tally.counts[arm]])
        ours.append(arm)
        if len(ours) == 40:
            search = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
    assert ours == pulls
    if answer is None:
        assert search.verdict == "budget"
    else:
        assert set(search.result().outliers) == answer
        assert search.verdict == ("ranked" if answer else "none")


@pytest.mark.parametrize("bernoulli", [True, False], ids=["bernoulli", "bounded"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_equals_a_plain_rendering(case, seed, bernoulli):
    """Same pulls in the same order, and the same answer."""
    strategy, plain = CASES[case]
    table = reward_table(seed, bernoulli)
    search = begun(strategy, len(table), bernoulli)
    check_equal(search, table, *plain(table.tolist(), bernoulli))


@pytest.mark.parametrize("bernoulli", [True, False], ids=["bernoulli", "bounded"])
@pytest.mark.parametrize("case", FIRST_EDITION)
def test_searches_of_the_first_edition_go_on_as_they_began(case, bernoulli):
    """A search whose file names no edition makes the pulls of the first, with its radii."""
    strategy, plain = FIRST_EDITION[case]
    table = reward_table(1, bernoulli)[:, :600]
    search = begun(strategy, len(table), bernoulli, first_edition=True)
    check_equal(search, table, *plain(table.tolist(), bernoulli))


@pytest.mark.slow
def test_the_comparison_is_not_of_cut_off_runs():
    """Every rival ends within the budget on some of the tables above."""
    for case, (_, plain) in CASES.items():
        ended = [plain(reward_table(s, True).tolist(), True)[1] is not None for s in range(4)]
        assert any(ended) or case in SLOW, case


@pytest.mark.parametrize(
    ("strategy", "means"),
    [
        (ROAIElim(k=2), [0.02, 0.2, 0.35, 0.65, 0.98]),
        (ROAILUCB(k=2), [0.02, 0.2, 0.35, 0.65, 0.98]),
        (IB(k=1), [0.02, 0.1, 0.2, 0.65, 0.98]),
        (MaxGapTop2(border=True), [0.02, 0.1, 0.2, 0.3, 0.98]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.slow
def test_slow_rivals_end_too(strategy, means):
    """Given time, the slow ones end, and equal the plain rendering to the last pull."""
    rng = np.random.default_rng(5)
    table = (rng.random((5, 60_000)) < np.array(means)[:, None]).astype(float)
    rows = table.tolist()
    if isinstance(strategy, IB):
        pulls, answer = literal.ib(rows, True, DELTA, 1, 60_000)
    elif isinstance(strategy, MaxGapTop2):
        pulls, answer = literal.maxgap(rows, DELTA, 60_000, 2, values=2, border=True)
    else:
        lucb = isinstance(strategy, ROAILUCB)
        pulls, answer = literal.roai(rows, DELTA, 2, 60_000, lucb=lucb)
    options = {"max_outliers": 2, "delta": DELTA, "bound": "paper", "max_pulls": 60_000}
    search = oddarm.Search(5, strategy, **options)
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, table[arm][search.tally.counts[arm]])
    assert answer is not None
    assert search.pulls == len(pulls)
    assert set(search.result().outliers) == answer


@pytest.mark.parametrize("strategy", [RR(), WRR(), NRR(), IB(), ROAIElim(), ROAILUCB(), MaxGap()])
@pytest.mark.parametrize("rewards", [(0, 1), oddarm.rewards.SubGaussian(scale=0.5)])
def test_other_rewards(strategy, rewards):
    """Bounded and sub-Gaussian rewards work with the proved intervals."""
    result = oddarm.simulate(
        [0.1, 0.2, 0.3, 0.95], strategy, max_outliers=1, rewards=rewards, max_pulls=60
    )
    assert result.pulls <= 60
    assert result.provenance["bound"] == "anytime"


@pytest.mark.parametrize("bound", ["anytime", "paper"])
@pytest.mark.parametrize("limit", [1, 7, 50, None])
@pytest.mark.parametrize(
    "strategy", [RR(k=1), WRR(k=1), NRR(), IB(k=1), ROAIElim(k=1), ROAILUCB(k=1), MaxGap()]
)
def test_finite_pools_end(strategy, limit, bound):
    """No item is asked for twice, and when all are seen the rule is applied to the exact means."""
    rng = np.random.default_rng(0)
    tied = [np.array([0.0, 0.0, 1.0, 0.0] * 3)] * 5 + [np.ones(12)]
    mixed = [(rng.random(12) < p).astype(float) for p in (0.1, 0.2, 0.3, 0.35, 0.9, 0.4)]
    for pools in (tied, mixed):
        model = oddarm.rewards.Bernoulli(pools=(12,) * 6)
        search = oddarm.Search(6, strategy, max_outliers=1, rewards=model, bound=bound)
        while not search.done:
            asked = search.ask(limit)
            assert asked
            for arm in asked:
                search.tell(arm, pools[arm][search.tally.counts[arm]])
        assert search.tally.counts.max() <= 12
        assert search.verdict in ("ranked", "none")


def test_lost_pulls_of_a_pool_are_asked_for_again():
    """A pull that was asked for and never told is offered again when nothing else is left."""
    model = oddarm.rewards.Bernoulli(pools=(4,) * 5)
    search = oddarm.Search(5, RR(), max_outliers=1, rewards=model)
    assert search.ask(9) == list(range(5))
    assert search.ask(9) == list(range(5))


@pytest.mark.parametrize("limit", [1, 7, 50, None])
def test_every_pull_asked_for_is_counted_once(limit):
    """What is asked for in one call, over several rounds, is what the run takes for asked."""
    search = oddarm.Search(5, RR(), max_outliers=1)
    counts = np.zeros(5, dtype=int)
    for _ in range(4):
        for arm in search.ask(limit):
            counts[arm] += 1
            search.tell(arm, arm % 2)
        assert search.run.asked.tolist() == counts.tolist()


def test_proved_intervals_decide():
    """An arm proved above the threshold is declared even if its mean has since fallen below it."""
    search = oddarm.Search(21, RR(k=0), max_outliers=1)
    run = search.run
    for arm in range(21):
        search.tally.add(arm, np.array([1.0] * 9 + [0.0]) if arm else np.ones(10))
    run.intervals.low[:] = 0.1
    run.intervals.high[:] = 0.2
    run.intervals.low[0], run.intervals.high[0] = 2.0, 2.1  # far beyond any threshold
    assert run.decided() == [0]


@pytest.mark.parametrize(
    ("bound", "rewards"), [("anytime", "bernoulli"), ("paper", "bernoulli"), ("paper", (0, 1))]
)
@pytest.mark.parametrize("strategy", [RR(k=1.5), WRR(k=1.5)])
def test_compiled_simulation_gives_the_same_answers(strategy, bound, rewards):
    """simulate() and ask(1)/tell on the same seed agree in pulls, answer and intervals."""
    means = np.append(np.linspace(0.05, 0.25, 11), 0.95)
    options = {"max_outliers": 1, "bound": bound, "rewards": rewards, "max_pulls": 7000}
    compiled = oddarm.simulate(means, strategy, seed=4, shape="bernoulli", **options)
    arms = oddarm.sources.SimulatedArms(means, rewards, seed=4, shape="bernoulli")
    search = oddarm.Search(12, strategy, seed=4, **options)
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, arms.draw(arm))
    stepwise = search.result()
    assert compiled.counts.tolist() == stepwise.counts.tolist()
    assert compiled.ranking == stepwise.ranking
    assert compiled.verdict == stepwise.verdict
    assert compiled.low == pytest.approx(stepwise.low, abs=1e-15)


@pytest.mark.parametrize(
    ("strategy", "words"), [(RR, "k == -1"), (ROAIElim, "k == -1"), (IB, "k == -1")]
)
def test_refuses_bad_k(strategy, words):
    """K must be a sensible number."""
    with pytest.raises(oddarm.OddarmError, match=words):
        strategy(k=-1)


def test_paper_bound_needs_a_range():
    """The papers' radii are for rewards with a range."""
    for name in ("rr", "ib", "gold"):
        with pytest.raises(oddarm.OddarmError, match="sub-Gaussian"):
            oddarm.Search(
                5, name, max_outliers=1, bound="paper", rewards=oddarm.rewards.SubGaussian(scale=1)
            )


def test_answers_say_what_they_are():
    """Each rule has its own sentence, and NRR and IB claim no proof."""
    means = [0.02, 0.03, 0.03, 0.04, 0.04, 0.05, 0.05, 0.98]
    shown = oddarm.simulate(means, "rr", max_outliers=1)
    assert "Of 8 arms, number 7 lies above mean + 2 deviations of all arms" in shown.summary
    assert "not proved" in oddarm.simulate(means, "nrr", max_outliers=1).summary


@pytest.mark.parametrize("name", ["rr", "wrr", "nrr", "ib", "roai-lucb", "roai-elim", "maxgap"])
def test_four_hundred_arms(name):
    """A pull among 400 arms is no burden."""
    means = np.append(np.linspace(0.1, 0.3, 399), 0.9)
    assert oddarm.simulate(means, name, max_pulls=1200).pulls <= 1200


@pytest.mark.parametrize("strategy", [RR, WRR, NRR, IB, ROAIElim, ROAILUCB])
@pytest.mark.parametrize("k", [1e200, 10**400, float("nan")])
def test_refuses_deviations_that_cannot_be_squared(strategy, k):
    """The number of deviations has a square."""
    with pytest.raises(oddarm.OddarmError, match=r"k == .*, must be a finite number"):
        strategy(k=k)


@pytest.mark.parametrize("options", [{}, {"epsilon": 2.5}, {"until": "found"}])
def test_min_gap_is_refused_at_once(options):
    """A strategy that only ranks refuses min_gap, whatever else is given, and says what to do."""
    with pytest.raises(oddarm.errors.ParameterError) as refused:
        oddarm.Search(4, "gold", max_outliers=1, min_gap=0.1, **options)
    assert str(refused.value) == (
        "min_gap == 0.1 with strategy 'gold', which does not know it: pass strategy='adaptive', or "
        "epsilon instead of min_gap."
    )


GAUSSIAN = oddarm.rewards.SubGaussian(scale=0.1)


@pytest.mark.parametrize(
    ("bound", "rewards"),
    [
        ("anytime", "bernoulli"),
        ("paper", "bernoulli"),
        ("paper", GAUSSIAN),
        ("anytime", GAUSSIAN),
    ],
)
@pytest.mark.parametrize(
    "strategy", [MaxGap(), MaxGapTop2(), MaxGapTop2(border=True), ROAIElim(k=2), ROAILUCB(k=2)]
)
def test_compiled_rounds_make_the_same_pulls(strategy, bound, rewards):
    """simulate() and ask(1)/tell on the same seed agree to the last bit, whatever the rewards."""
    means = [0.1, 0.12, 0.15, 0.5, 0.2, 0.95, 0.21, 0.12, 0.3]
    options = {"max_outliers": 2, "bound": bound, "rewards": rewards, "max_pulls": 900}
    compiled = oddarm.simulate(means, strategy, seed=4, **options)
    arms = oddarm.sources.SimulatedArms(means, rewards, seed=4)
    search = oddarm.Search(9, strategy, seed=4, **options)
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, arms.draw(arm))
    assert compiled.counts.tolist() == search.result().counts.tolist()
    assert compiled.to_dict() == search.result().to_dict()


def test_an_answer_by_counts_claims_no_proof():
    """MaxGapUCB ends once two arms have five times the pulls of all others, and says so."""
    means = [0.10, 0.12, 0.14, 0.50, 0.52, 0.93]
    result = oddarm.simulate(means, "maxgap", max_outliers=1, rewards=GAUSSIAN)
    both = result.counts[4] + result.counts[5]
    assert result.outliers == [5]
    assert 5 * (result.pulls - both) <= both < 5 * (result.pulls - both) + 6
    assert not result.provenance["delta_proved"]
    assert "two arms had 5 times the pulls of all the others" in result.summary


def test_pulls_that_were_not_asked_for_decide_nothing():
    """Many rewards of two arms that do not lie beside the largest gap are no reason to stop."""
    search = oddarm.Search(6, "maxgap", max_outliers=1, rewards=GAUSSIAN)
    for arm, mean in enumerate([0.10, 0.12, 0.14, 0.50, 0.52, 0.93]):
        search.tell(arm, [mean] * (100 if arm in (0, 1) else 2))
    assert search.verdict == "running"


def test_the_two_arms_beside_the_gap_can_be_certain():
    """With border=True the arms beside the gap are settled, for more pulls, and rank next to it."""
    means = [0.10, 0.12, 0.30, 0.36, 0.80, 0.84, 0.90]
    options = {"max_outliers": 3, "rewards": GAUSSIAN}
    split = oddarm.simulate(means, "maxgap-top2", **options)
    both = oddarm.simulate(means, MaxGapTop2(border=True), **options)
    assert split.pulls < both.pulls
    assert (split.outliers[-1], both.outliers[-1], both.ranking[3]) == (4, 4, 3)
    assert both.provenance["delta_proved"]


def test_roai_is_proved_with_its_own_radius():
    """The radius of ROAI holds at all times by a union bound; that of MaxGap has no known proof."""
    means = [0.1, 0.15, 0.2, 0.95]
    for name, proved in (("roai-lucb", True), ("roai-elim", True), ("maxgap-top2", False)):
        result = oddarm.simulate(
            means, name, max_outliers=1, bound="paper", rewards=GAUSSIAN, max_pulls=300
        )
        assert result.provenance["delta_proved"] is proved
