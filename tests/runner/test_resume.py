"""A search that is interrupted, saved, loaded and resumed is one that never stopped."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import oddarm
from oddarm import Search
from oddarm.errors import ParameterError, SourceError, StateError
from oddarm.sources import PoolSource, SimulatedArms, Source
from oddarm.strategies import STRATEGIES
from support.indexed import (
    MEANS,
    NAMES,
    Indexed,
    pools,
    rewards_later,
    rewards_of,
    score,
    told_in_order,
)


@cache
def opened(finite):
    """Return a table of bounded rewards, opened once; a resumed search seeks in it."""
    rng = np.random.default_rng(4)
    means = np.repeat(MEANS, 60)
    rewards = np.clip(rng.normal(means, 0.1), 0, 1)
    frame = pa.table({"arm": np.repeat(NAMES, 60), "reward": rewards})
    return oddarm.open_table(frame, "arm", "reward", rewards=(0, 1), replace=not finite)


SOURCES = {
    "function": lambda _: Indexed(),
    "pool": lambda _: PoolSource(pools(40), score),
    "table": lambda strategy: opened(STRATEGIES[strategy].finite),
    "simulated": lambda _: SimulatedArms(MEANS, seed=3),
}


class Stopped(Source):
    """Another source, on which Ctrl-C is pressed when a certain job is picked."""

    def __init__(self, source, stop=None, error=KeyboardInterrupt):
        self.source, self.stop, self.error = source, stop, error
        self.jobs = 0
        self.pulled = []

    @property
    def local(self):
        """Whether the source is drawn from in batches."""
        return self.source.local

    @property
    def arms(self):
        """The arms of the source."""
        return self.source.arms

    @property
    def rewards(self):
        """The rewards of the source."""
        return self.source.rewards

    def draw(self, arm, count=1):
        """Draw from the source."""
        return self.source.draw(arm, count)

    def job(self, arm, count=1):
        """Pick from the source, or stop."""
        self.jobs += 1
        if self.jobs == self.stop:
            raise self.error
        self.pulled.append((arm, count))
        return self.source.job(arm, count)

    def seek(self, arm, drawn):
        """Seek in the source."""
        self.source.seek(arm, drawn)


def begin(kind, strategy, batch=None):
    """Return a new search on a source of a kind, its source, and how to drive it."""
    source = SOURCES[kind](strategy)
    search = Search(
        list(source.arms), strategy, rewards=source.rewards, max_outliers=1, max_pulls=220, seed=2
    )
    return search, source, {"batch": batch}


CASES = [
    (kind, strategy)
    for kind in SOURCES
    for strategy in STRATEGIES
    if kind != "pool" or STRATEGIES[strategy].finite
]


@pytest.mark.parametrize(("kind", "strategy"), CASES)
def test_resumed_is_uninterrupted(kind, strategy, tmp_path):
    """Interrupted at any pull, the search makes the same pulls and ends in the same state."""
    whole, source, options = begin(kind, strategy)
    straight = Stopped(source)
    oddarm.resume(whole, straight, **options)
    stops = np.unique(np.linspace(1, straight.jobs, 4).astype(int)).tolist()
    path = tmp_path / "search.json"
    for stop in stops:
        search, source, options = begin(kind, strategy)
        first = Stopped(source, stop)
        result = oddarm.resume(search, first, save=path, **options)
        assert result.verdict == "running"
        again = Stopped(SOURCES[kind](strategy))
        loaded = Search.load(path)
        oddarm.resume(loaded, again, **options)
        assert first.pulled + again.pulled == straight.pulled
        assert loaded.to_dict() == whole.to_dict()


@pytest.mark.parametrize("batch", [3, 25])
def test_resumed_in_the_middle_of_a_batch(batch, tmp_path):
    """What is left of a batch is drawn first, by the very calls that were left."""
    whole, source, options = begin("function", "adaptive", batch)
    straight = Stopped(source)
    oddarm.resume(whole, straight, **options)
    for stop in (2, 9, 14):
        search, source, options = begin("function", "adaptive", batch)
        first = Stopped(source, stop)
        oddarm.resume(search, first, save=tmp_path / "s.json", **options)
        again = Stopped(Indexed())
        loaded = Search.load(tmp_path / "s.json")
        oddarm.resume(loaded, again, **options)
        assert first.pulled + again.pulled == straight.pulled
        assert loaded.to_dict() == whole.to_dict()


def test_resumed_again_and_again(tmp_path):
    """Interrupted after every few pulls, the search is still the one that never stopped."""
    whole, source, _ = begin("function", "adaptive")
    oddarm.resume(whole, source)
    search, _, _ = begin("function", "adaptive")
    rounds = 0
    while not search.done:
        oddarm.resume(search, Stopped(Indexed(), 8), save=tmp_path / "s.json")
        search = Search.load(tmp_path / "s.json")
        rounds += 1
    assert rounds > 15
    assert search.to_dict() == whole.to_dict()


@pytest.mark.parametrize("how", ["threads", "coroutine"])
def test_pulls_in_flight_are_given_back(how, tmp_path):
    """With many in flight, what was asked for and not told comes first, none twice or lost."""
    path = tmp_path / "search.json"
    function = rewards_later if how == "coroutine" else rewards_of

    class Concurrent(Stopped):
        asynchronous = how == "coroutine"

    with ThreadPoolExecutor(4) as executor:
        options = {"executor": executor} if how == "threads" else {}
        first = Concurrent(Indexed(function), 57)
        oddarm.find(first, strategy="rr", max_pulls=300, save=path, **options)
        search = Search.load(path)
        given_back = search.given_back
        assert 40 <= search.pulls < 57
        assert search.pulls + len(given_back) == 57
        again = Concurrent(Indexed(function))
        oddarm.resume(search, again, **options)
    assert [arm for arm, _ in again.pulled[: len(given_back)]] == given_back
    assert search.pulls == 300
    assert told_in_order(search)


@pytest.mark.parametrize("error", [SourceError("gone"), asyncio.CancelledError()])
def test_other_early_ends(error, tmp_path):
    """A source that fails as a whole and a cancellation end the search like Ctrl-C does."""
    whole = Search(NAMES, max_outliers=1)
    oddarm.resume(whole, Indexed())
    search = Search(NAMES, max_outliers=1)
    source = Stopped(Indexed(), 40, error)
    if isinstance(error, SourceError):
        with pytest.raises(SourceError, match="gone"):
            oddarm.resume(search, source, save=tmp_path / "s.json")
    else:
        assert oddarm.resume(search, source, save=tmp_path / "s.json").verdict == "running"
    assert search.errors == {}
    loaded = Search.load(tmp_path / "s.json")
    oddarm.resume(loaded, Indexed())
    assert loaded.to_dict() == whole.to_dict()


def test_a_larger_budget_goes_on_with_the_round():
    """What the budget cut off a round is asked for first when the budget grows."""
    for limit in (None, 7):
        whole = Search(10, "adaptive", max_outliers=1, max_pulls=300)
        oddarm.resume(whole, SimulatedArms(MEANS), batch=limit)
        part = Search(10, "adaptive", max_outliers=1, max_pulls=133)
        oddarm.resume(part, SimulatedArms(MEANS), batch=limit)
        assert (part.pulls, part.verdict) == (133, "budget")
        part.max_pulls = 300
        oddarm.resume(part, SimulatedArms(MEANS), batch=limit)
        if limit is None:
            assert part.tally.to_dict() == whole.tally.to_dict()
        assert part.pulls == whole.pulls


def test_given_back_pulls_come_first():
    """Asks return what was given back, in order and alone, then what the strategy wants."""
    search = Search(NAMES, "rr")
    assert search.ask() == NAMES
    search.give_back(["c", "a", "c"])
    search.give_back(["b"])
    assert search.given_back == ["b", "c", "a", "c"]
    assert search.ask(2) == ["b", "c"]
    assert search.ask_indices(9).tolist() == [0, 2]
    assert search.given_back == []
    numbered = Search(10, "rr", max_pulls=4)
    assert numbered.ask() == [0, 1, 2, 3]
    numbered.give_back([2, 3])
    assert (numbered.ask(1), numbered.ask()) == ([2], [3, 4, 5, 6])


def test_given_back_pulls_of_failed_arms_and_finished_searches_are_dropped():
    """A failed arm is not asked for, and a search that is done asks for nothing."""
    search = Search(NAMES, max_outliers=1)
    search.give_back(["a", "b", "a"])
    search.set_aside("a", "gone")
    search.give_back(["a"])
    assert search.given_back == ["b"]
    oddarm.resume(search, Indexed())
    search.give_back(["b", "c"])
    assert (search.ask(), search.given_back) == ([], [])
    with pytest.raises(oddarm.errors.UnknownArmError):
        search.give_back(["x"])


def test_given_back_pulls_are_part_of_the_state():
    """They are saved and loaded; pulls in flight can be saved with them without a change."""
    search = Search(NAMES, "rr")
    asked = search.ask(4)
    search.give_back(asked[2:])
    state = json.loads(json.dumps(search.to_dict(in_flight=["b"])))
    assert search.given_back == ["c", "d"]
    assert Search.from_dict(state).given_back == ["b", "c", "d"]
    del state["given_back"]
    assert Search.from_dict(state).given_back == []
    for bad in ([10], [-1], ["a"], 3):
        with pytest.raises(StateError, match="damaged"):
            Search.from_dict({**state, "given_back": bad})


def test_larger_budget(tmp_path, monkeypatch):
    """The answer of a saved search says how to go on, and the call that it names goes on."""
    monkeypatch.setattr("oddarm.strategies.sigma.rr.RRRun.forecast", lambda _: 50)
    state = tmp_path / "state.json"
    ended = oddarm.find(Indexed(), strategy="rr", max_pulls=100, save=state)
    assert (ended.verdict, ended.enough_pulls) == ("budget", 200)
    call = f"oddarm.resume(oddarm.Search.load({str(state)!r}), …, max_pulls=200)"
    assert ended.summary.endswith(f"about 50 to 100 more pulls may decide: {call}.")
    further = oddarm.resume(oddarm.Search.load(state), Indexed(), max_pulls=200)
    assert (further.verdict, further.pulls) == ("budget", 200)
    limited = oddarm.find(Indexed(), strategy="rr", max_pulls=100)
    assert limited.summary.endswith("may decide: raise max_pulls to 200.")


def test_a_second_look_is_refused():
    """After its one look, the strategy "fixed" takes no further budget, and hints at none."""
    coins = SimulatedArms([0.4, 0.5, 0.5, 0.6], seed=1)
    search = Search(4, "fixed", max_outliers=1, max_pulls=40)
    assert oddarm.resume(search, coins).verdict == "budget"
    with pytest.raises(ParameterError, match="a second look would break the promise"):
        oddarm.resume(search, coins, max_pulls=400)


@pytest.mark.parametrize("name", ["max_pulls", "max_cost"])
def test_a_budget_that_is_spent_is_refused(name):
    """A budget below what the search has spent is refused, since it counts the rewards so far."""
    coins = SimulatedArms([0.4, 0.5, 0.5, 0.6], seed=1)
    search = Search(4, max_outliers=1, max_pulls=40)
    oddarm.resume(search, coins)
    with pytest.raises(ParameterError, match=rf"{name} == 10, must be .* spent, 40"):
        oddarm.resume(search, coins, **{name: 10})


@pytest.mark.parametrize(
    ("search", "words"),
    [("s.json", r"pass oddarm\.Search\.load\('s\.json'\)"), (None, "search is a NoneType")],
)
def test_what_is_no_search_is_refused(search, words):
    """A path or a result in place of a search is refused with the call that loads one."""
    with pytest.raises(ParameterError, match=words):
        oddarm.resume(search, len)


def test_a_frame_is_refused_without_its_rows():
    """A frame in place of a source is refused by its kind, with the call that opens it."""
    with pytest.raises(ParameterError, match=r"pull is a list, .* oddarm\.open_table\(data"):
        oddarm.resume(Search(4, max_outliers=1), [1, 2, 3])
