"""The ask/tell state machine: contract, errors, state."""

import copy
import json
import math

import numpy as np
import pytest

import oddarm
from oddarm import OddarmError, Search
from oddarm.sources import SimulatedArms
from oddarm.strategies.sigma.rr import RR, RRRun

NAMES = list("abcdefghij")
MEANS = [0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.32, 0.34, 0.36, 0.95]


def drive(search, arms, pulls=math.inf):
    """Tell what is asked, one at a time, until the search is done or has had `pulls` more."""
    end = search.pulls + pulls
    while not search.done and search.pulls < end:
        for arm in search.ask(1):
            search.tell(arm, arms.draw(list(search.names).index(arm)))
    return search


def test_ask_and_tell():
    """Names go out and come in; the search ends with an answer and a ranking of all arms."""
    search = drive(Search(NAMES), SimulatedArms(MEANS))
    result = search.result()
    assert result.ranking[0] == "j"
    assert sorted(result.ranking) == NAMES
    assert result.verdict == search.verdict == "confirmed"
    assert result.outliers == ["j"]
    assert search.ask() == []


def test_more_arms_than_are_planned_for():
    """With more than 100,000 arms "adaptive" is GOLD's interval form; every result says so."""
    search = Search(100_001)
    assert search.strategy == oddarm.strategies.Gold(form="intervals")
    assert search.until == "ranked"
    sentence = (
        "With 100,001 arms, more than the 100,000 that the adaptive strategy plans for, GOLD's "
        "interval form was chosen: it ranks the arms and confirms nothing."
    )
    assert search.result().summary.endswith(sentence)
    assert Search(100_000).strategy == oddarm.strategies.Adaptive()
    loaded = Search.from_dict(search.to_dict())
    assert (loaded.strategy, loaded.supposes) == (search.strategy, [sentence])
    assert Search(100_001, oddarm.strategies.Adaptive()).strategy.name == "adaptive"


@pytest.mark.parametrize(
    ("options", "quoted"),
    [
        ({"min_gap": 0.2}, "min_gap == 0.2"),
        ({"until": "found"}, "until == 'found'"),
        ({"rewards": oddarm.rewards.Bernoulli(pools=(5,) * 100_001)}, "finite pools"),
    ],
)
def test_more_arms_than_are_planned_for_and_a_question_beyond_gold(options, quoted):
    """What GOLD cannot answer is refused with the remedy, and left to an explicit strategy."""
    with pytest.raises(oddarm.errors.ParameterError, match=quoted) as refused:
        Search(100_001, **options)
    assert "strategy=oddarm.strategies.Adaptive()" in str(refused.value)
    assert Search(100_001, oddarm.strategies.Adaptive(), **options).n == 100_001


def test_arms_by_number():
    """A number of arms stands for the names 0, 1 and so on."""
    search = Search(10)
    assert search.ask() == list(range(10))
    search.tell(np.int64(3), True)
    assert search.tally.counts[3] == 1


def test_a_natural_round_is_a_sweep():
    """ask() gives what is left of the sweep; ask(limit) cuts it and goes on from there."""
    search = Search(NAMES)
    assert search.ask(4) == list("abcd")
    assert search.ask() == list("efghij")
    assert search.ask(12) == [*NAMES, "a", "b"]


def test_result_at_any_time():
    """There is a result before the first reward, in the middle and after the end."""
    search = Search(NAMES)
    empty = search.result()
    assert empty.verdict == "running"
    assert empty.arms[0].mean is None
    assert empty.outliers == []
    assert (empty.low[0], empty.high[0]) == (0, 1)
    json.loads(empty.to_json())
    search.tell("c", [1, 0, 1])
    assert search.result().pulls == 3


def test_budget():
    """The search is done at the very reward that exhausts the budget, with verdict budget."""
    search = Search(NAMES, max_pulls=25)
    drive(search, SimulatedArms(MEANS))
    assert search.pulls == 25
    assert search.verdict == search.result().verdict == "budget"
    assert set(search.result().statuses) == {"undecided"}
    assert Search(NAMES, max_pulls=4).ask() == list("abcd")


def test_late_rewards_are_counted_and_change_no_decision():
    """What comes after the end is data, not an error, and no verdict is taken back."""
    search = drive(Search(NAMES), SimulatedArms(MEANS))
    before = search.result()
    search.tell("a", np.ones(10_000))
    after = search.result()
    assert after.pulls == before.pulls + 10_000
    assert after.outliers == before.outliers
    assert after.verdict == before.verdict
    assert after.ranking[0] == before.ranking[0]


def test_order_of_tells_does_not_matter_within_a_round():
    """Rewards told in another order, or late, lead to a valid end."""
    rng = np.random.default_rng(0)
    arms = SimulatedArms(MEANS)
    search = Search(NAMES)
    late = []
    while not search.done:
        round_ = [*late, *search.ask()]
        rng.shuffle(round_)
        late, now = round_[:3], round_[3:]
        for arm in now:
            search.tell(arm, arms.draw(NAMES.index(arm)))
    assert search.result().outliers == ["j"]


@pytest.mark.parametrize("bound", ["anytime", "paper"])
@pytest.mark.parametrize("rewards", ["bernoulli", (0, 1)])
@pytest.mark.parametrize("pulls", [0, 7, 10, 11, 345])
def test_saved_search_continues_identically(tmp_path, pulls, rewards, bound):
    """Saved at any pull and loaded, a search asks and ends as if it had never stopped."""
    options = {"rewards": rewards, "bound": bound, "epsilon": 5.0, "max_pulls": 6000}
    options["strategy"] = "gold"  # the others: `oddarm.testing.check_strategy`
    whole = drive(Search(NAMES, **options), SimulatedArms(MEANS, rewards))
    arms = SimulatedArms(MEANS, rewards)
    search = drive(Search(NAMES, **options), arms, pulls)
    search.save(tmp_path / "search.json")
    loaded = Search.load(tmp_path / "search.json")
    assert loaded.pulls == pulls
    drive(loaded, arms)
    assert loaded.result().to_dict() == whole.result().to_dict()
    assert loaded.to_dict() == whole.to_dict()


@pytest.mark.parametrize("form", ["edges", "intervals"])
def test_a_copy_goes_on_by_itself(form):
    """A search copied in the middle of a round decides as the other, and neither sees the other."""
    means = [*np.linspace(0.4, 0.5, 10), 0.95]

    def pull(search, pulls):
        arms = SimulatedArms(means, seed=3)
        arms.drawn[:] = search.tally.counts
        while not search.done and search.pulls < pulls:
            (arm,) = search.ask(1)
            search.tell(arm, int(arms.draw(arm)[0]))
        return search.result().to_dict()

    search = Search(len(means), oddarm.strategies.Gold(form=form), max_outliers=1)
    pull(search, 500)
    other, before = copy.deepcopy(search), search.to_dict()
    found = pull(other, 100_000)
    assert search.to_dict() == before
    assert pull(search, 100_000) == found
    assert found["verdict"] == "ranked"


def test_names_survive_saving(tmp_path):
    """Tuples, numbers and numpy strings come back as names that can be told."""
    names = [("a", 1), ("b", (2, 3)), 5, "x", np.str_("y")]
    search = Search(names, max_outliers=1)
    search.tell(("b", (2, 3)), 1)
    search.save(tmp_path / "s.json")
    loaded = Search.load(tmp_path / "s.json")
    loaded.tell(("b", (2, 3)), 1)
    assert loaded.result().counts.tolist() == [0, 2, 0, 0, 0]


def test_state_errors(tmp_path):
    """What is no saved search, or a damaged or foreign one, is refused with a reason."""
    path = tmp_path / "s.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(OddarmError, match="is not JSON"):
        Search.load(path)
    with pytest.raises(OddarmError, match="not the saved state"):
        Search.from_dict({"format": "other"})
    state = Search(NAMES).to_dict()
    with pytest.raises(OddarmError, match="state version == 99, must be 1"):
        Search.from_dict({**state, "version": 99})
    with pytest.raises(OddarmError, match="damaged"):
        Search.from_dict({k: v for k, v in state.items() if k != "tally"})
    with pytest.raises(OddarmError, match="a list of 12 entries, must be a list of 10"):
        Search.from_dict({**state, "tally": Search(12).tally.to_dict()})
    with pytest.raises(OddarmError, match="name arms by strings"):
        Search([object(), object(), object()], max_outliers=1).save(path)


@pytest.mark.parametrize(
    ("arms", "options", "words"),
    [
        (NAMES, {"strategy": "gold", "epsilon": 0.06}, "epsilon == 0.06, must be > e"),
        (NAMES, {"rho": 0.4}, "rho == 0.4, must be > 0.5"),
        (NAMES, {"delta": 1.5}, "delta == 1.5, must be > 0 and < 1"),
        (NAMES[:5], {}, "5 arms at rho == 0.9 leave room for 0.5 outliers"),
        (["a", "b", "a"], {"max_outliers": 1}, "arm 'a' is named twice"),
        ([["a"], ["b"], ["c"]], {"max_outliers": 1}, r"arm \['a'\] is not hashable"),
        (2, {"max_outliers": 1}, "arms == 2, must be a whole number >= 3"),
        (["a", "b"], {"max_outliers": 1}, "2 arms, must be >= 3"),
        ("abc", {"max_outliers": 1}, "arms == 'abc', must be a sequence"),
        (3.5, {"max_outliers": 1}, "arms == 3.5, must be a sequence"),
        (NAMES, {"strategy": "silver"}, "strategy == 'silver', must be one of"),
        (NAMES, {"bound": "tight"}, "bound == 'tight', must be 'anytime' or 'paper'"),
        (NAMES, {"until": "tired"}, "until == 'tired'"),
        (NAMES, {"max_pulls": 0}, "max_pulls == 0, must be a whole number >= 1"),
        (NAMES, {"rewards": oddarm.rewards.Bernoulli(pools=(3,))}, "1 sizes for 10 arms"),
    ],
)
def test_refuses_bad_settings(arms, options, words):
    """Every bad setting is a ValueError that quotes the value and says the rule."""
    with pytest.raises(OddarmError, match=words) as caught:
        Search(arms, **options)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("arm", "reward", "words"),
    [
        ("z", 1, "arm 'z' is not one of the 10 arms of this search, such as 'a'"),
        (["a"], 1, r"arm \['a'\] is not one of"),
        ("a", math.nan, "reward nan, must be finite"),
        ("a", math.inf, "reward inf, must be finite"),
        ("a", 0.5, "reward 0.5, must be 0 or 1"),
        ("a", [0, 1, 1, 2], "reward 2.0 at position 3 of 4"),
    ],
)
def test_a_bad_tell_leaves_the_search_as_it_was(arm, reward, words):
    """A refused reward changes nothing; a batch with one bad reward is refused whole."""
    search = drive(Search(NAMES), SimulatedArms(MEANS), 333)
    before = search.to_dict()
    with pytest.raises(OddarmError, match=words):
        search.tell(arm, reward)
    assert search.to_dict() == before


def test_unknown_arm_by_number():
    """With numbered arms, the range is named."""
    with pytest.raises(OddarmError, match="arm 10, must be a whole number from 0 to 9"):
        Search(10).tell(10, 1)
    with pytest.raises(OddarmError, match="arm 'a', must be a whole number"):
        Search(10).tell("a", 1)


def test_bad_limit():
    """A limit is a whole number of at least one."""
    with pytest.raises(OddarmError, match="limit == 0"):
        Search(NAMES).ask(0)


def test_an_empty_batch_is_nothing():
    """No rewards, no change."""
    search = Search(NAMES)
    search.tell("a", [])
    assert search.pulls == 0


def test_repr():
    """A search tells what it is."""
    assert repr(Search(NAMES)) == "<Search adaptive: 10 arms, 0 pulls, running>"


def test_provenance_says_whether_delta_is_proved():
    """The result of a bound without proof says so."""
    assert Search(NAMES).result().provenance["delta_proved"] is True
    paper = Search(NAMES, "gold", bound="paper").result().provenance
    assert paper["delta_proved"] is False
    assert "approximation" in paper["delta_reason"]


def test_a_strategy_of_ones_own():
    """An instance of a strategy works in place of its name."""
    search = Search(NAMES, oddarm.strategies.Gold())
    assert search.strategy.name == "gold"


def test_saving_destroys_nothing_else(tmp_path):
    """A file that holds something else is not overwritten, and stays as it was."""
    search = oddarm.Search(4, max_outliers=1)
    data = tmp_path / "data.csv"
    data.write_text("host,slow\na,1\n")
    (tmp_path / "link.json").symlink_to(data)
    for path in (data, tmp_path / "link.json", tmp_path):
        with pytest.raises(oddarm.errors.StateError, match="is there already and is not a saved"):
            search.save(path)
    assert data.read_text() == "host,slow\na,1\n"
    for _ in range(2):
        search.save(tmp_path / "search.json")
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        search.save(tmp_path / "nowhere" / "search.json")


@pytest.mark.parametrize("kind", [str, int])
def test_arms_of_an_array(kind):
    """A numpy array of names is a list of names, not a number of arms."""
    names = [kind(k) for k in range(5)]
    search = Search(np.array(names), max_outliers=1)
    assert search.ask(5) == names


def test_a_budget_that_is_set_later_is_checked():
    """The budget of a search may be raised, and must stay a whole number."""
    search = Search(5, max_outliers=1, max_pulls=10)
    search.max_pulls = 20
    for budget in (0, 2.5):
        with pytest.raises(OddarmError, match="max_pulls"):
            search.max_pulls = budget
    assert search.max_pulls == 20


def test_a_run_that_gives_numpy_numbers():
    """Arms are plain numbers, whatever kind a strategy of one's own gives."""

    class Run(RRRun):
        def ask(self, limit):
            return list(np.array(super().ask(limit)))

    class Mine(RR):
        def start(self, context):
            return Run(context, self.k)

    arms = Search(5, Mine(), max_outliers=1).core.ask(3)
    assert [type(arm) for arm in arms] == [int] * 3
