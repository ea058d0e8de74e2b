"""Evidence that nobody but some arms lies apart, against all truths in which somebody does."""

import math

import numpy as np
import pytest
from verification.soundness import contradictions

import oddarm
from oddarm.kernels.pieces import Told, nobody_else_apart, plan_bulk
from reference.pieces import capital_against, pieces


def test_bets_gain_nothing_if_the_truth_is_right():
    """Whichever arm is pulled, the capital against a truth is expected to stay as it is."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        n, gap = int(rng.integers(3, 7)), float(rng.uniform(0.05, 0.4))
        truth = rng.uniform(0.02, 0.98, n).tolist()
        data = [(int(rng.integers(0, 30)), int(rng.integers(0, 30))) for _ in range(n)]
        most = int(rng.integers(1, n))
        now = capital_against(data, truth, gap, most)
        if now is None:
            continue
        arm = int(rng.integers(n))
        (ones, zeros), after = data[arm], []
        for more in ((ones, zeros + 1), (ones + 1, zeros)):
            told = [*data[:arm], more, *data[arm + 1 :]]
            after.append(capital_against(told, truth, gap, most))
        rate = truth[arm]
        assert rate * after[1] + (1 - rate) * after[0] == pytest.approx(now, rel=1e-9)
        assert capital_against([(0, 0)] * n, truth, gap, most) == pytest.approx(1)


@pytest.mark.parametrize("zero_one", [True, False])
def test_what_is_certain_holds_in_every_truth_that_is_left(zero_one):
    """If it is certain that nobody else is apart, the bets reject each truth in which one is."""
    certain, compared, wrong = contradictions(range(150), zero_one)
    assert certain > 40
    assert compared > 3000
    assert wrong == 0


def test_a_truth_beside_the_data_is_not_rejected():
    """While a truth with another arm apart fits the rewards, nothing is certain."""
    counts = np.full(6, 400.0)
    means = np.array([0.2, 0.2, 0.2, 0.2, 0.35, 0.7])
    alone = np.arange(6) == 5
    assert not nobody_else_apart(Told(means * counts, counts), alone, 0.14, 2, 0.05)
    assert nobody_else_apart(Told(means * counts, counts), alone, 0.3, 2, 0.05)


def test_nothing_is_certain_without_rewards():
    """Before the first reward every truth is possible."""
    nothing = np.zeros(5)
    assert not nobody_else_apart(Told(nothing, nothing), nothing > 0, 0.2, 1, 0.5)


def test_is_the_same_upside_down():
    """Rewards and their complements decide alike."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        counts = rng.integers(10, 200, 7).astype(np.float64)
        totals = rng.binomial(counts.astype(int), 0.3).astype(np.float64)
        member, gap = rng.random(7) < 0.2, float(rng.uniform(0.1, 0.5))
        limits = member, gap, max(int(member.sum()), 1), 0.1
        assert nobody_else_apart(Told(totals, counts), *limits) == nobody_else_apart(
            Told(counts - totals, counts), *limits
        )


@pytest.mark.parametrize("max_members", [1, 2, 4])
def test_a_plan_that_is_fulfilled_decides(max_members):
    """With what was planned, and a fifth more, it is certain, if the estimates are right.

    The pulls that set the member apart are planned for elsewhere.
    """
    means = np.append(np.linspace(0.1, 0.2, 12), 0.6)
    member, factors = means > 0.5, np.ones(13)
    counts = np.where(member, 150.0, 30.0)
    rule = 0.15, max_members, 0.05
    while True:
        before = factors.copy()
        assert plan_bulk(Told(means * counts, counts), member, rule, np.ones(13), factors)
        if (factors == before).all():
            break
    pulls = 1.2 * factors * counts
    assert nobody_else_apart(Told(means * pulls, pulls), member, *rule)
    assert pulls[:12].sum() < 12_000


def test_dear_arms_are_planned_for_less():
    """Where one arm can do for another, the price of a pull decides."""
    means, counts = np.full(12, 0.3), np.full(12, 50.0)
    nobody, prices = np.zeros(12, dtype=np.bool_), np.where(np.arange(12) < 6, 1.0, 30.0)
    same, dear = np.ones(12), np.ones(12)
    plan_bulk(Told(means * counts, counts), nobody, (0.1, 2, 0.05), np.ones(12), same)
    plan_bulk(Told(means * counts, counts), nobody, (0.1, 2, 0.05), prices, dear)
    assert prices @ (dear * counts) <= prices @ (same * counts)


def test_pieces_of_the_reference():
    """Arms are cut where gaps are wider than the line, and only there."""
    assert pieces([0.1, 0.5, 0.2, 0.9], 0.3) == [{0, 2, 1}, {3}]


@pytest.mark.parametrize("seed", range(4))
def test_a_search_ends_sooner_than_by_intervals(seed, monkeypatch):
    """Twenty equal arms are known to have no outlier with half the pulls that intervals need."""
    options = {"min_gap": 0.15, "max_outliers": 2, "delta": 0.05, "seed": seed}
    joint = oddarm.simulate([0.3] * 20, "adaptive", **options)
    run = "oddarm.strategies.adaptive.absolute_run.AbsoluteRun"
    monkeypatch.setattr(f"{run}.joint_shares", (0.0, 0.6))
    alone = oddarm.simulate([0.3] * 20, "adaptive", **options)
    assert joint.verdict == alone.verdict == "none"
    assert joint.pulls < 0.6 * alone.pulls


@pytest.mark.parametrize("seed", range(3))
def test_nobody_can_be_further_away_than_was_asked(seed):
    """If nobody is apart, no gap around outliers can still be wider than `min_gap`."""
    result = oddarm.simulate([0.3] * 15, "adaptive", min_gap=0.15, max_outliers=2, seed=seed)
    assert result.verdict == "none"
    assert 0 < result.widest_gap <= 0.15


def test_odds_grow_with_the_evidence():
    """The odds for nobody are those at which the evidence decides, and at least those asked for."""
    result = oddarm.simulate([0.3] * 10, "adaptive", min_gap=0.2, max_outliers=1, seed=1)
    assert result.verdict == "none"
    assert result.evidence >= 1 / result.problem.delta
    assert math.isfinite(result.evidence)
