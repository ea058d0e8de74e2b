"""What a saved state may hold: kinds, files, rules between fields, and files of older versions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from verification.saved import MOMENTS, at_moment, drive, kinds
from verification.states import outcomes

import oddarm
from oddarm import Search
from oddarm.errors import StateError
from oddarm.rewards import Bernoulli, Bounded, SubGaussian
from oddarm.state import (
    Arms,
    Flag,
    Flags,
    Nothing,
    OrNone,
    Real,
    Reals,
    Whole,
    Wholes,
    Word,
    parse,
)
from oddarm.strategies import STRATEGIES, Adaptive, Gold
from oddarm.strategies.adaptive.certify import Judgement, Stage

BOUNDED = Path(__file__).parent / "fixtures" / "bounded-planner-2.json"
FIXTURES = sorted((Path(__file__).parent / "fixtures" / "states").glob("*.json"))


def state_of(strategy="adaptive", moment="late", **options):
    """Return a saved search as JSON values."""
    strategy = (
        strategy if isinstance(strategy, oddarm.strategies.Strategy) else STRATEGIES[strategy]()
    )
    options = {"rewards": Bernoulli(), "until": "ranked", **options}
    return json.loads(json.dumps(at_moment(strategy, options, moment).to_dict()))


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_sound_state_loads(moment):
    """What any strategy saves with any rewards, at any moment of a search, says the same loaded."""
    for name, strategy, options in kinds():
        search = at_moment(strategy, options, moment)
        loaded = Search.from_dict(json.loads(json.dumps(search.to_dict())))
        assert loaded.result().to_json() == search.result().to_json(), name
        assert loaded.ask_indices(9).tolist() == search.ask_indices(9).tolist(), name


@pytest.mark.parametrize("rule", ["absolute", "relative"])
def test_searches_of_bounded_rewards_go_on_by_intervals_alone(rule):
    """A state from before bounded rewards had evidence of several arms asks and ends as it did."""
    saved = json.loads(BOUNDED.read_text(encoding="utf-8"))[rule]
    search = Search.from_dict(saved["state"])
    for step in saved["steps"]:
        assert search.ask() == step["asked"]
        for arm, reward in zip(step["asked"], step["told"], strict=True):
            search.tell(arm, reward)
        search = Search.from_dict(json.loads(json.dumps(search.to_dict())))
    assert (search.pulls, search.verdict) == (saved["pulls"], saved["verdict"])


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_states_of_0_1_load_identically(path):
    """A state that 0.1.0 saved loads, asks for the arms that it asked for, and ends as it did."""
    for name, saved in json.loads(path.read_text(encoding="utf-8")).items():
        search = Search.from_dict(saved["state"])
        for step in saved["steps"]:
            assert search.ask(step["limit"]) == step["asked"], name
            for arm, reward in zip(step["asked"], step["told"], strict=True):
                if reward is not None:
                    search.tell(arm, reward)
        result = search.result()
        assert (search.pulls, search.verdict) == (saved["pulls"], saved["verdict"]), name
        begun = "The search was begun by oddarm 0.1.0: it has no slack and no min_gap."
        assert result.summary.count(begun) == 1
        again = Search.from_dict(search.to_dict())
        assert again.result().summary == result.summary
        assert (again.until, again.problem) == (search.until, search.problem)
        assert (search.problem.slack, search.problem.min_gap) == (0.0, None)
        # Sums of bounded rewards are now counted from the least one, which moves the last bit: the
        # two arms beside the median, which are equally far from it, may change places.
        sure = slice(-2) if "bounded" in name else slice(None)
        if search.until == "ranked" or search.done:  # else the best guess, whose rule has changed
            assert result.ranking[sure] == saved["ranking"][sure], name
        if saved["low"] is not None:
            assert result.low.tolist() == pytest.approx(saved["low"]), name


@pytest.mark.slow
def test_damaged_files_are_loaded_or_refused():
    """Of 250 mutated files each is loaded and can be used, or refused with StateError."""
    found = outcomes(250)
    assert {k: told for k, told in found.items() if told not in ("loaded", "refused")} == {}
    assert len(found) == 250


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Flag(), True),
        (Word("a", "b"), "b"),
        (Whole(0, 5), 5),
        (Real(0, 1), 0.5),
        (OrNone(Whole()), None),
        (Arms(3), [2, 0]),
        (Nothing(), None),
    ],
)
def test_plain_values_come_back(kind, value):
    """A value that fits its kind comes back from JSON as it was."""
    assert kind.decode(json.loads(json.dumps(kind.encode(value))), "x") == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Wholes(3), np.array([1, 0, 2**60])),
        (Flags(2), np.array([True, False])),
        (Reals(3, -math.inf, math.inf, nan=True), np.array([math.nan, math.inf, 1e-300])),
        (Reals((2, 2), -math.inf, math.inf), np.array([[0.1, -math.inf], [math.inf, 3.0]])),
        (Reals(2, plain=True), np.array([0.1, 7.0])),
    ],
)
def test_arrays_come_back(kind, value):
    """An array comes back to the last bit, with its type and shape, infinities and nan too."""
    back = kind.decode(json.loads(json.dumps(kind.encode(value), allow_nan=False)), "x")
    assert back.dtype == value.dtype
    assert back.flags.c_contiguous
    assert back.flags.writeable
    np.testing.assert_array_equal(back, value)


TWO = Reals(2, 0, 1, plain=True)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Flag(), 1, "x == 1, must be true or false"),
        (Word("a", "b"), "c", "x == 'c', must be one of a, b"),
        (Word(), None, "x == None, must be text"),
        (Whole(0, 5), 6, "x == 6, must be a whole number from 0 to 5"),
        (Whole(0, 5), True, "x == True, must be a whole number"),
        (Whole(0, 5), 2.0, "x == 2.0, must be a whole number"),
        (Whole(0, 5), 10**400, "x == a whole number of 1329 bits, must be"),
        (Real(0, 1), math.nan, "x == nan, must be a number from 0 to 1"),
        (Real(), math.inf, "x == inf, must be a number"),
        (Real(), "1", "x == '1', must be a number"),
        (Nothing(), 0, "x == 0, must be null"),
        (Arms(3), [0, 3], "entry 1 of x == 3, must be a number from 0 to 2"),
        (Arms(3), [1, 1], "must be a list without repeated arms"),
        (Arms(3), [True], "an entry of x == True, must be a whole number"),
        (TWO, [0.5], "x == a list of 1 entries, must be a list of 2 entries"),
        (TWO, {"0": 1}, "x == an object of 1 names, must be a list"),
        (TWO, [0.5, [0.5]], "an entry of x == a list of 1 entries, must be a number"),
        (TWO, [0.5, "0.5"], "an entry of x == '0.5', must be a number"),
        (TWO, [0.5, "nan"], "x == 'nan', must be numbers"),
        (TWO, [0.5, 1.5], "entry 1 of x == 1.5, must be a number from 0 to 1"),
        (TWO, [0.5, 10**400], "must be a number"),
        (Wholes(1, plain=True), [2**63], "must be a whole number from 0 to"),
        (Wholes(1, plain=True), [0.0], "an entry of x == 0.0, must be a whole number"),
        (Flags(1, plain=True), [0], "an entry of x == 0, must be true or false"),
        (Wholes(1), {"array": "|O", "data": [1]}, "x.array == '|O', must be '<i8'"),
        (Wholes(1), {"array": "<i8"}, "x.data == None, must be a list of 1 entries"),
        (Reals((2, 1)), {"array": "<f8", "data": [[1], [1, 2]]}, "must be a list of 1 entries"),
    ],
)
def test_what_breaks_a_rule_is_named(kind, value, words):
    """A value that breaks its rule is refused by a sentence with the field, the value, the rule."""
    with pytest.raises(StateError) as caught:
        kind.decode(value, "x")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b"\x80", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": 1, "a": 2}', "'a' twice"),
        (b"[NaN]", "the number NaN"),
        (b"[-Infinity]", "the number -Infinity"),
        (b"[1e400]", "1e400, which is too large"),
        (b"[" + b"9" * 10_000 + b"]", "not JSON"),
        (b"[]", "not the saved state"),
        (b'{"format": "oddarm.search", "version": 1}', "tally == None"),
    ],
)
def test_files_that_are_not_states(tmp_path, text, words):
    """A file that is not the JSON of a state is refused with StateError, which names the file."""
    path = tmp_path / "search.json"
    path.write_bytes(text)
    with pytest.raises(StateError, match=r"search\.json: ") as caught:
        Search.load(path)
    assert words in str(caught.value)


def test_a_huge_number_of_arms_takes_no_memory():
    """A state that says a trillion arms, with the tally of ten, is refused before any is made."""
    state = Search(10).to_dict()
    with pytest.raises(StateError, match="must be a list of 1000000000000 entries"):
        Search.from_dict({**state, "arms": 10**12})


@pytest.mark.parametrize("name", [[["a"] * 2] * 2, "deep"])
def test_names_of_arms_are_of_few_tuples(name):
    """A name is a tuple where JSON has a list; one that is nested deeply is refused."""
    state = Search(["a", "b", "c"], max_outliers=1).to_dict()
    if name == "deep":
        for _ in range(200):
            name = [name]
        with pytest.raises(StateError, match="names with tuples nested at most 50 deep"):
            Search.from_dict({**state, "arms": ["a", "b", name]})
        return
    assert Search.from_dict({**state, "arms": ["a", "b", name]}).names[2] == (("a",) * 2,) * 2


@pytest.mark.parametrize("name", ["low", "high", "dirty", "asked", "quota", "goal", "stages"])
def test_short_arrays_are_refused(name):
    """An array that is shorter than the arms never reaches compiled code."""
    state = state_of()
    state["run"][name]["data"] = state["run"][name]["data"][:3]
    with pytest.raises(StateError, match=rf"run\.{name}\.data == a list of 3 entries, must be"):
        Search.from_dict(state)


@pytest.mark.parametrize(
    "strategy", sorted({*STRATEGIES} - {"adaptive", "uniform", "fixed", "gold"})
)
def test_short_intervals_are_refused(strategy):
    """Intervals of fewer arms than there are never reach the compiled code that narrows them."""
    state = state_of(strategy, moment="begun")
    for end in ("low", "high"):
        del state["run"]["intervals"][end]["data"][3:]
    with pytest.raises(StateError, match=r"run\.intervals\.low\.data == a list of 3 entries"):
        Search.from_dict(state)


@pytest.mark.parametrize("form", ["edges", "intervals"])
def test_gold_with_every_arm_terminal_is_refused(form):
    """A run of GOLD that goes on has an arm in play: else an ask would look for one for ever."""
    state = state_of(Gold(form=form))
    state["run"]["stage"]["data"] = list(range(1, 9))
    state["run"]["score"]["data"] = list(range(1, 9))
    with pytest.raises(StateError, match="the run is over if enough arms are terminal"):
        Search.from_dict(state)


@pytest.mark.parametrize(
    ("model", "field", "value", "words"),
    [
        (Bernoulli(), "totals", 1e6, "in the range of its rewards"),
        (Bernoulli(), "totals", 0.5, "whole numbers"),
        (Bernoulli(), "counts", 0, "without pulls has no rewards"),
        (Bernoulli(), "counts", 2**60, "from 0 to 9007199254740991"),
        (Bounded(minimum=-1, maximum=3), "totals", -1e3, "in the range of its rewards"),
        (Bounded(minimum=-1, maximum=3), "scatter", -1.0, "number >= 0.0"),
        (Bounded(minimum=-1, maximum=3), "scatter", 1e9, "no further apart than their range"),
        (SubGaussian(scale=1), "totals", 1e300, "in the range of its rewards"),
        (Bernoulli(pools=(40,) * 8), "counts", 41, "from 0 to 40"),
    ],
)
def test_sums_that_no_rewards_have(model, field, value, words):
    """A tally that rewards of the model cannot have is refused."""
    state = state_of(moment="middle", rewards=model)
    state["tally"][field][7] = value
    with pytest.raises(StateError) as caught:
        Search.from_dict(state)
    assert words in str(caught.value)


@pytest.mark.parametrize("row", range(5))
def test_sums_of_draws_that_no_rewards_have(row):
    """The sums of bounded rewards drawn from pools are in the bounds that follow from the range."""
    state = state_of(moment="middle", rewards=Bounded(minimum=-1, maximum=3, pools=(40,) * 8))
    state["tally"]["drawn"][row][7] = 1e12
    with pytest.raises(StateError, match="draws are"):
        Search.from_dict(state)


@pytest.mark.parametrize(
    ("strategy", "changes", "words"),
    [
        ("adaptive", {"low": 1.0}, "ends crossed"),
        ("adaptive", {"stages": 2}, "numbered without gaps"),
        ("adaptive", {"stages": 1}, "declared arm has the pulls after which"),
        ("adaptive", {"verdicts": 1}, "no more is judged than declared"),
        ("adaptive", {"verdict": "confirmed"}, "verdict fits"),
        ("adaptive", {"share": 13}, "run.share == 13, must be a whole number from 0 to 12"),
        ("adaptive", {"pairs": 0.5}, "run.pairs == 0.5, must be a number from 0.0 to"),
        ("gold", {"score": 5}, "terminal arms are those with a score"),
        ("gold", {"judged": 10**6}, "run.judged.data == 1000000, must be a number from 0 to"),
        ("gold", {"position": 8}, "from 0 to 7"),
        ("rr", {"answer": [1]}, "arms are declared if the verdict is 'ranked'"),
        ("rr", {"verdict": "ranked"}, "arms are declared if the verdict is 'ranked'"),
        ("rr", {"queue": [8]}, "entry 0 of run.queue == 8"),
        ("wrr", {"quota": 1e9}, "raised a quota by more than the weight"),
        ("wrr", {"position": -2}, "from -1 to 7"),
        ("ib", {"taken": [0, 1, 2, 3, 4, 5, 6, 7]}, "has an arm left"),
        ("maxgap", {"split": 0.5}, "has not found the split"),
        ("nrr", {"latest": [1, 1]}, "repeated arms"),
    ],
)
def test_rules_between_fields(strategy, changes, words):
    """A run whose fields do not fit each other, or the tally, is refused with the rule."""
    state = state_of(strategy, moment="begun" if strategy == "nrr" else "middle")
    for name, value in changes.items():
        if isinstance(state["run"][name], dict):
            state["run"][name]["data"][-1] = value
        else:
            state["run"][name] = value
    with pytest.raises(StateError) as caught:
        Search.from_dict(state)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("moment", "changes", "words"),
    [
        ("late", {"stages": 1, "when": 9.0}, "nothing is declared before the answer"),
        ("late", {"verdict": "ranked"}, "verdict fits"),
        ("late", {"verdict": "scattered"}, "at most 2 arms are declared, unless"),
        ("done", {"verdict": "none"}, "verdict fits"),
        ("done", {"verdict": "scattered"}, "at most 2 arms are declared, unless"),
        ("done", {"when": "nan"}, "declared arm has the pulls after which"),
    ],
)
def test_rules_between_fields_of_the_absolute_rule(moment, changes, words):
    """A run by the absolute rule declares its answer at the end, and more arms if scattered."""
    state = state_of(moment=moment, until="found", min_gap=0.3, slack=0.2)
    for name, value in changes.items():
        if isinstance(state["run"][name], dict):
            state["run"][name]["data"][-1] = value
        else:
            state["run"][name] = value
    with pytest.raises(StateError) as caught:
        Search.from_dict(state)
    assert words in str(caught.value)


def test_scattered_states_have_more_arms_than_may_be_outliers():
    """A scattered answer loads with all its arms, and is refused as any other verdict."""
    pools = Bernoulli(pools=(40,) * 8)
    state = state_of(moment="done", rewards=pools, until="found", min_gap=0.01, slack=0.9)
    assert Search.from_dict(state).verdict == "scattered"
    assert sum(state["run"]["stages"]["data"]) > 2
    for verdict in ("running", "confirmed", "none", "ranked"):
        damaged = {**state, "run": {**state["run"], "verdict": verdict}}
        with pytest.raises(StateError, match="at most 2 arms are declared"):
            Search.from_dict(damaged)


@pytest.mark.parametrize(
    ("rho", "words"),
    [("1e999999999", "a number or a fraction"), ("1/0", "fraction"), ("0.2", "must be > 0.5")],
)
def test_shares_as_text(rho, words):
    """A share of normal arms saved as text is a fraction of few digits, or is refused at once."""
    state = Search(20).to_dict()
    state["problem"]["rho"] = rho
    with pytest.raises(StateError) as caught:
        Search.from_dict(state)
    assert words in str(caught.value)


def test_judged_infinities_are_saved():
    """What is certain of a group may be infinite, and comes back so."""
    search = at_moment(Adaptive(), {"rewards": Bernoulli(), "until": "found"}, "middle")
    (stage,) = search.run.stages = [Stage.after([], np.array([1]), 7, search.n)]
    stage.judgement = Judgement(0, (0.0, math.inf, 0.0, 0.5))
    again = Search.from_dict(parse(json.dumps(search.to_dict(), allow_nan=False)))
    assert again.run.stages[0].judgement == stage.judgement


@pytest.mark.parametrize("strategy", [name for name, cls in STRATEGIES.items() if cls.finite])
def test_exhausted_pools_end_a_search(strategy):
    """When every reward of every pool is told and nothing is decided, an ask ends the search."""
    state = state_of(strategy, moment="begun", rewards=Bernoulli(pools=(6,) * 8))
    state["tally"]["counts"] = [6] * 8
    state["tally"]["totals"] = [3.0] * 8
    search = Search.from_dict(state)
    assert not search.done
    for _ in range(8):
        search.ask()
    assert search.done
    search.result()


def test_a_round_of_an_enormous_search_is_asked_for_in_parts():
    """A round of billions of pulls is returned a million at a time, with the rest to follow."""
    state = state_of(moment="middle")
    state["run"]["quota"]["data"] = [10**9] * 8
    search = Search.from_dict(state)
    assert len(search.run.ask(None)) == 1_000_000
    assert search.run.round.quota.sum() == 8 * 10**9 - 1_000_000


def test_a_run_without_fields_has_its_verdict_saved():
    """A run of one's own that declares no fields starts anew on the tally it is loaded with."""
    from oddarm.strategies.base import Run
    from oddarm.strategies.sigma.rr import RR, RRRun

    class Plain(RRRun):
        fields = Run.fields
        rules = Run.rules

    class Mine(RR):
        name = "mine"

        def start(self, context):
            return Plain(context, self.k)

    search = drive(Search(list("abcdefgh"), Mine(), max_outliers=2), 20)
    state = search.to_dict()
    assert state["run"] == {"verdict": "running"}
    again = Search.from_dict(state, strategy=Mine())
    assert again.pulls == 20
    assert again.ask() == list("abcdefgh")
