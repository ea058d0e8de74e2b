"""The odds for an answer or a best guess: how they are found, and what they are odds for."""

from itertools import pairwise

import numpy as np
import pytest

import oddarm
from oddarm.bounds import at_level, interval_bound
from oddarm.rewards import Bernoulli, Bounded, SubGaussian
from oddarm.sources import SimulatedArms
from oddarm.strategies.adaptive.evidence import MOST_ODDS, odds_for
from oddarm.tally import Tally


def told(means, pulls, **options):
    """Return a run that knows these sample means of so many rewards, and has decided nothing."""
    options = {"max_outliers": 1, "slack": 0.0, "until": "found", **options}
    search = oddarm.Search(len(means), "adaptive", **options)
    search.tally.counts[:] = pulls
    search.tally.totals[:] = np.round(np.array(means) * pulls, 6)
    return search.run


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.05, 1e-6, 1e-11])
def test_odds_are_found_and_never_overstated(delta):
    """The claim is certain at the odds returned, and no more than 1.4 % of them are missing."""
    odds = odds_for(lambda level: level >= delta)
    assert 1 / delta / 1.014 <= odds <= 1 / delta


def test_odds_end_somewhere():
    """What is never certain has odds of 1, what always is has the most odds looked for."""
    assert odds_for(lambda _: False) == 1
    assert odds_for(lambda _: True) == MOST_ODDS


@pytest.mark.parametrize("model", ["bernoulli", SubGaussian(scale=0.3)])
def test_a_block_that_is_not_judged_is_no_evidence_for_nobody(model):
    """An arm that is certainly the furthest out may be a group: the odds for nobody are 1."""
    floor = {"min_gap": 0.1, "epsilon": 2.5, "rewards": model}
    run = told([0.3] * 5 + [0.398], 4000, **floor)
    assert run.guess(np.arange(6)) == []
    assert run.evidence() == 1
    assert told([0.3] * 5 + [0.34], 4000, **floor).evidence() > 5


@pytest.mark.parametrize("options", [{"min_gap": 0.2}, {"min_gap": 0.2, "epsilon": 2.5}])
def test_evidence_grows_with_what_speaks_for_the_guess(options):
    """More of the same rewards, or a wider gap, give more odds; a gap at the line gives 1."""
    by_pulls = [told([0.3] * 5 + [0.6], pulls, **options).evidence() for pulls in (200, 800, 3200)]
    assert by_pulls == sorted(by_pulls)
    assert by_pulls[-1] > 15
    by_gap = [told([0.3] * 5 + [0.5 + far], 2000, **options).evidence() for far in (0, 0.05, 0.2)]
    assert by_gap[0] == 1
    assert by_gap == sorted(by_gap)


@pytest.mark.parametrize("options", [{"min_gap": 0.2}, {"epsilon": 2.5}])
def test_an_answer_has_the_odds_that_were_asked_for(options):
    """A decided search says at least 1/δ; one without rewards says 1."""
    means = [0.3, 0.31, 0.32, 0.33, 0.9]
    for delta in (0.3, 0.01):
        result = oddarm.simulate(means, max_outliers=1, delta=delta, **options)
        assert result.verdict == "confirmed"
        assert result.evidence >= 1 / delta
    assert oddarm.Search(5, max_outliers=1, **options).result().evidence == 1


@pytest.mark.parametrize(
    "model",
    [
        Bernoulli(),
        Bounded(minimum=0, maximum=1),
        SubGaussian(scale=0.5),
        Bernoulli(pools=(200,)),
        Bounded(minimum=0, maximum=1, pools=(200,)),
    ],
)
def test_bets_are_the_same_at_all_levels(model):
    """A value that is rejected at a level is rejected at every larger one."""
    tally = Tally(1, model)
    tally.add(0, np.random.default_rng(1).integers(0, 2, 100).astype(float))
    bound = interval_bound(model, 10, 0.05)
    ends = [at_level(bound, alpha).interval(tally) for alpha in (1e-9, 1e-4, 0.005, 0.2, 0.9)]
    for (low, high), (inner_low, inner_high) in pairwise(ends):
        assert low <= inner_low < inner_high <= high
    assert ends[0][0] < ends[-1][0]


@pytest.mark.parametrize("options", [{"min_gap": 0.2}, {"epsilon": 2.5, "min_gap": 0.2}])
@pytest.mark.parametrize("model", ["bernoulli", SubGaussian(scale=0.5)])
def test_forecasts_know_all_rewards(options, model):
    """In the middle of a round a forecast counts the rewards told, and changes nothing."""
    means = [0.3, 0.3, 0.35, 0.35, 0.4, 0.7]
    search = oddarm.Search(6, max_outliers=1, rewards=model, **options)
    arms = SimulatedArms(means, search.rewards, seed=4)
    asked = search.ask(200)
    for arm in asked[:-1]:  # the round is not complete
        search.tell(arm, arms.draw(arm))
    run = search.run
    assert run.dirty.any()
    before, said = search.to_dict(), run.forecast()
    assert search.to_dict() == before
    other = oddarm.Search(6, max_outliers=1, rewards=model, **options)
    arms = SimulatedArms(means, search.rewards, seed=4)
    for arm in range(6):
        other.tell(arm, arms.draw(arm, int(search.tally.counts[arm])))
    assert not other.run.dirty.any()
    assert said is not None
    assert other.run.forecast() == said


def test_arms_that_have_failed_weigh_in_the_odds():
    """Which arms are left may depend on rewards, so an arm weighs what it weighed among all."""
    search = oddarm.Search(20, min_gap=0.2, max_outliers=2, delta=0.05)
    for arm in range(13):
        search.set_aside(arm, "gone")
    rng = np.random.default_rng(1)
    for arm in range(13, 20):
        search.tell(arm, (rng.random(600) < (0.9 if arm == 19 else 0.3)).astype(float))
    odds, run, guess = search.result().evidence, search.run, np.arange(7) == 6
    for times, certain in ((1.0, True), (1.05, False)):
        share = 1 / (times * odds * 0.05)  # of the level of one arm of twenty at δ = 0.05
        rules = run._rules(share=share)
        assert run._is_certain(guess, run._arms_at(share), rules) is certain
