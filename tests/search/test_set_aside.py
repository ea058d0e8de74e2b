"""Arms that are set aside: the search goes on without them, with the same promise."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from oddarm import OddarmError, Search
from oddarm.rewards import Bernoulli, Bounded
from oddarm.sources import RecordedSource, SimulatedArms
from oddarm.strategies import STRATEGIES
from support.indexed import MEANS, NAMES, Indexed


def drive(search, source, pulls=None):
    """Tell what is asked, one at a time."""
    end = None if pulls is None else search.pulls + pulls
    while not search.done and search.pulls != end:
        for arm in search.ask(1):
            search.tell(arm, source.draw(arm))
    return search


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_search_goes_on_without_it(strategy):
    """With any strategy, the arm is not asked for again, ranks last, and the rest are searched."""
    source = Indexed()
    search = drive(Search(NAMES, strategy, max_pulls=2500, max_outliers=1), source, 14)
    search.set_aside("c", "no answer")
    told, before = search.pulls, int(search.tally.counts[2])
    asked = set()
    while not search.done:
        for arm in search.ask(1):
            asked.add(arm)
            search.tell(arm, source.draw(arm))
    assert "c" not in asked
    result = search.result()
    assert result.ranking[-1] == "c"
    assert sorted(result.ranking) == NAMES
    assert result.errors == {"c": "no answer"}
    row = result.arms[-1]
    assert (row.status, row.arm) == ("failed", "c")
    assert row.pulls == before
    assert told == 14
    assert result.pulls == int(result.counts.sum()) == search.pulls
    if search.run.proved and result.verdict == "ranked":
        assert result.ranking[0] == "j"


def test_no_arm_is_asked_for_anew():
    """Rewards that the other arms have had still count: a sweep is not begun again."""
    search = Search(NAMES, "rr", max_outliers=1)
    for arm in NAMES[:6]:
        search.tell(arm, 1)
    assert search.ask() == NAMES
    search.set_aside("b", "gone")
    assert search.ask() == NAMES[6:]


def test_the_level_and_the_capacity_stay():
    """Each arm's interval stays at δ/n and the capacity stays c, whole or not."""
    search = Search(25, "gold", rho=0.9, delta=0.1)
    before = search.run.context
    assert before.problem.capacity(before.n) == Fraction(5, 2)
    drive(search, SimulatedArms(np.linspace(0.3, 0.7, 25)), 60)
    for arm in (3, 20):
        search.set_aside(arm, "gone")
    now = search.run.context
    assert now.n == 23
    assert now.problem.capacity(now.n) == Fraction(5, 2)
    assert now.problem.max_members(now.n) == before.problem.max_members(25) == 2
    assert now.problem.min_segment(now.n) == before.problem.min_segment(25) == 3
    assert now.problem.delta / now.n == pytest.approx(0.1 / 25)
    assert search.problem.delta == 0.1


def until_decided(search, broken=None):
    """Tell rewards of 40 arms, of which three differ; one may be broken."""
    while not search.done:
        for arm in search.ask(1):
            if arm == broken:
                search.set_aside(arm, "gone")
            else:
                search.tell(arm, float(arm not in (3, 17, 30)))
    return search


@pytest.mark.parametrize("rewards", ["bernoulli", (0, 1)])
@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_an_arm_that_never_gave_a_reward_costs_little(rewards, epsilon):
    """All evidence stays: a search takes at most a tenth more pulls than one without the arm."""
    options = {"min_gap": 0.8, "slack": 0.5, "max_outliers": 3, "delta": 0.2}
    options |= {"rewards": rewards, "epsilon": epsilon, "until": "found"}
    without = until_decided(Search([arm for arm in range(40) if arm != 5], **options))
    at_once = Search(40, **options)
    at_once.set_aside(5, "gone")
    for search in (until_decided(at_once), until_decided(Search(40, **options), 5)):
        assert search.errors == {5: "gone"}
        assert sorted(search.result().outliers) == [3, 17, 30]
        assert search.pulls <= 1.1 * without.pulls
        again = Search.from_dict(json.loads(json.dumps(search.to_dict())))
        assert again.to_dict() == search.to_dict()
    assert until_decided(at_once).pulls == without.pulls


def test_answers_are_right_when_arms_fail_at_random():
    """At δ = 0.5, with arms that fail at any moment, at most half of all searches are wrong.

    All arms are equal, so any outlier is wrong. In half of the searches two arms are broken.
    """
    wrong, runs = 0, 40
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        search = Search(10, min_gap=0.4, max_outliers=2, delta=0.5)
        lasts = [0, 0] if seed % 2 else rng.integers(1, 12, 2).tolist()
        pulls_left = dict(zip(rng.choice(10, 2, replace=False).tolist(), lasts, strict=True))
        while not search.done:
            for arm in search.ask(1):
                if pulls_left.get(arm) == 0:
                    search.set_aside(arm, "gone")
                    continue
                search.tell(arm, float(rng.random() < 0.5))
                if arm in pulls_left:
                    pulls_left[arm] -= 1
        wrong += search.verdict != "none"
    assert wrong <= binom.ppf(0.999, runs, 0.5)


@pytest.mark.parametrize("strategy", ["gold", "wrr", "roai-lucb", "maxgap"])
def test_saved_and_loaded(strategy):
    """A search with arms set aside, saved and loaded, goes on identically."""
    source, other = Indexed(), Indexed()
    searches = []
    for arms in (source, other):
        search = drive(Search(NAMES, strategy, max_outliers=1, max_pulls=1200), arms, 57)
        search.set_aside("h", "gone")
        searches.append(drive(search, arms, 20))
    whole, part = searches
    state = json.loads(json.dumps(part.to_dict(), allow_nan=False))
    loaded = Search.from_dict(state)
    assert loaded.errors == {"h": "gone"}
    assert drive(loaded, other).to_dict() == drive(whole, source).to_dict()
    assert loaded.result().to_dict() == whole.result().to_dict()


def test_state_without_arms_aside_is_read_as_before():
    """State saved by a version that set no arm aside loads."""
    state = Search(NAMES).to_dict()
    del state["aside"]
    assert Search.from_dict(state).errors == {}


def test_late_tells_are_ignored():
    """A reward of an arm that was set aside is neither counted nor an error; a bad one is one."""
    search = drive(Search(NAMES), Indexed(), 40)
    search.set_aside("a", "gone")
    before = search.to_dict()
    search.tell("a", [1, 1])
    assert search.to_dict() == before
    with pytest.raises(OddarmError, match="must be 0 or 1"):
        search.tell("a", 7)


@pytest.mark.parametrize("model", [Bernoulli, Bounded])
def test_finite_pools_end_exactly(model):
    """On pools too: the rest are drawn to the end, and their means are exact."""
    options = {} if model is Bernoulli else {"minimum": 0, "maximum": 1}
    data = {arm: [0, 1] * 8 for arm in NAMES}
    source = RecordedSource(data, rewards=model(**options))
    search = drive(Search(NAMES, "rr", max_outliers=1, rewards=source.rewards), source, 30)
    search.set_aside("d", "gone")
    drive(search, source)
    result = search.result()
    assert result.verdict == "none"
    counts = dict(zip(NAMES, result.counts.tolist(), strict=True))
    assert counts.pop("d") == 3
    assert set(counts.values()) == {16}
    others = [i for i, arm in enumerate(NAMES) if arm != "d"]
    assert np.array_equal(result.low[others], result.high[others])


def test_too_few_left():
    """When too few arms would be left the search stays as it is and says why."""
    search = Search(5, max_outliers=2)
    with pytest.raises(OddarmError, match="4 of 5 arms would be left, must be >= 3 and more"):
        search.set_aside(1, "gone")
    assert search.errors == {}
    assert search.ask() == [0, 1, 2, 3, 4]


def test_nothing_changes_after_the_end():
    """A search that is done stays as it is."""
    search = drive(Search(NAMES), Indexed())
    before = search.to_dict()
    search.set_aside("a", "too late")
    assert search.to_dict() == before


def test_twice_is_once():
    """The first reason stays."""
    search = Search(NAMES)
    search.set_aside("a", "first")
    search.set_aside("a", "second")
    assert search.errors == {"a": "first"}


def test_the_result_says_so():
    """The sentence counts the arms set aside, and JSON lists them."""
    search = Search(NAMES)
    search.set_aside("a", "timeout")
    assert search.result().summary.endswith("1 arm was set aside after errors.")
    search.set_aside("b", "nan")
    result = search.result()
    assert result.summary.endswith("2 arms were set aside after errors.")
    assert json.loads(result.to_json())["errors"] == [
        {"arm": "a", "error": "timeout"},
        {"arm": "b", "error": "nan"},
    ]
    assert result.table(20).count("failed") == 2
    assert result.labels_.sum() == 0


def test_the_promise_holds_for_the_arms_that_are_left():
    """With one arm set aside in the middle, GOLD still ranks the outlier first in every run."""
    for seed in range(6):
        arms = SimulatedArms(MEANS, seed=seed)
        search = drive(Search(10), arms, 150 + 40 * seed)
        if not search.done:
            search.set_aside(seed % 9, "gone")
        assert drive(search, arms).result().ranking[0] == 9
