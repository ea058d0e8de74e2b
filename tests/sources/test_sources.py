"""Sources: what they draw, and what they refuse."""

import asyncio
from collections import Counter

import numpy as np
import pytest

import oddarm
from oddarm import OddarmError
from oddarm.rewards import Bernoulli, Bounded, SubGaussian
from oddarm.sources import FunctionSource, PoolSource, RecordedSource, SimulatedArms, Source
from oddarm.testing import SOURCE_CHECKS, check_source

LOG = {arm: (np.arange(n) % 3 == 0).astype(float) for arm, n in [("a", 40), ("b", 55), ("c", 9)]}


def constant(arm):
    """Return a reward that tells the arm."""
    return float(arm == "b")


async def later(arm):
    """Return the same as a coroutine."""
    return float(arm == "b")


async def judged(item):
    """Score an item as a coroutine."""
    return item % 2


def items():
    """Return numbered items, the same of each arm."""
    return {arm: range(30) for arm in "abc"}


SOURCES = {
    "function": lambda: FunctionSource(constant, ["a", "b", "c"]),
    "coroutine": lambda: FunctionSource(later, ["a", "b", "c"]),
    "numbered": lambda: FunctionSource(float, 3, rewards=(0, 2)),
    "pool": lambda: PoolSource(items(), score=float, rewards=(0, 30), seed=1),
    "judged pool": lambda: PoolSource(items(), score=judged),
    "recorded": lambda: RecordedSource(LOG),
    "replaced": lambda: RecordedSource(LOG, replace=True, seed=2),
    "counts": lambda: RecordedSource.from_counts({"a": (40, 3), "b": (7, 7), "c": (12, 0)}),
    "counts replaced": lambda: RecordedSource.from_counts(
        {"a": (40, 3), "b": (7, 7), "c": (12, 0)}, replace=True
    ),
    "simulated": lambda: SimulatedArms([0.1, 0.5, 0.9], seed=3),
    "normal": lambda: SimulatedArms([0.1, 0.5, 0.9], rewards=SubGaussian(scale=1)),
}


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SOURCES)
def test_sources_keep_the_contract(name, check):
    """Every source of oddarm passes every check for sources."""
    check(SOURCES[name])


@pytest.mark.parametrize("name", ["function", "coroutine", "pool", "recorded", "simulated"])
def test_jobs_can_be_sent(name):
    """Jobs of functions and data that pickle can go to other processes; a source is copied."""
    check_source(SOURCES[name](), processes=True)


class Broken(RecordedSource):
    """A source with one fault at a time."""

    fault = ""

    def draw(self, arm, count=1):
        """Draw wrongly."""
        if self.fault == "deaf" and arm not in self.arms:
            return [1.0]
        if self.fault == "greedy":
            return super().draw(arm, count + 1)
        if self.fault == "bad":
            return super().draw(arm, count) + 0.5
        if self.fault == "doubling" and count == 1:
            return super().draw(arm, 1) * 0
        return super().draw(arm, count)

    def seek(self, arm, drawn):
        """Go to the wrong place."""
        super().seek(arm, drawn if self.fault != "lost" else 0)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("deaf", "does not have"),
        ("greedy", "gave 2 rewards, not 1"),
        ("bad", "must be 0 or 1"),
        ("doubling", "gives other rewards"),
        ("lost", "leads to other rewards"),
    ],
)
def test_check_source_finds_faults(fault, words):
    """A source that breaks the contract fails a check that says how."""
    ones = {arm: np.tile([1, 0, 1, 1, 0], 4) for arm in "abc"}

    def make():
        source = Broken(ones)
        source.fault = fault
        return source

    with pytest.raises((AssertionError, OddarmError), match=words):
        check_source(make)


def test_every_item_once_in_an_order_of_the_arms_own():
    """Pools give each item once; the positions drawn differ from arm to arm and by seed."""
    source = PoolSource(items(), score=float, rewards=(0, 30), seed=4)
    orders = {arm: source.draw(arm, 30).tolist() for arm in "abc"}
    for order in orders.values():
        assert sorted(order) == list(range(30))
    assert len({tuple(order) for order in orders.values()}) == 3
    other = PoolSource(items(), score=float, rewards=(0, 30), seed=5)
    assert other.draw("a", 30).tolist() != orders["a"]


def test_recorded_orders_are_independent():
    """Recorded rewards are drawn at positions of each arm's own, with and without replacement."""
    same = {arm: np.arange(50.0) for arm in "abc"}
    for replace in (False, True):
        source = RecordedSource(same, replace, rewards=(0, 50))
        drawn = [tuple(source.draw(arm, 50)) for arm in "abc"]
        assert len(set(drawn)) == 3
        assert all(len(set(order)) == 50 for order in drawn) is not replace


def test_recorded_draws_do_not_depend_on_their_batches():
    """Rewards drawn one by one are those drawn at once."""
    for make in (SOURCES["replaced"], SOURCES["counts"], SOURCES["counts replaced"]):
        at_once = make().draw("a", 40)
        source = make()
        assert np.array_equal(np.concatenate([source.draw("a") for _ in range(40)]), at_once)


def test_replay_with_replacement_has_the_recorded_mean():
    """Drawn with replacement, the mean is that of the record, within five deviations."""
    for source in (
        RecordedSource({"a": [0, 0, 0, 1]}, replace=True),
        RecordedSource.from_counts({"a": (4, 1)}, replace=True),
    ):
        mean = source.draw("a", 100_000).mean()
        assert abs(mean - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 100_000)


def test_a_record_is_not_the_callers_array():
    """Shuffling does not touch the caller's data, nor does changing that change the source."""
    values = np.arange(20.0)
    source = RecordedSource({"a": values}, rewards=(0, 20))
    source.draw("a", 20)
    assert np.array_equal(values, np.arange(20.0))


def test_counts_cost_no_memory_until_drawn():
    """A record by counts of more rewards than memory holds can be drawn with replacement."""
    source = RecordedSource.from_counts({"a": (10**15, 10**14)}, replace=True)
    assert source.draw("a", 1000).mean() == pytest.approx(0.1, abs=0.05)


def test_finite_sources_declare_their_sizes():
    """What is drawn without replacement has pools, what is endless has none."""
    assert SOURCES["pool"]().rewards == Bounded(minimum=0, maximum=30, pools=(30, 30, 30))
    assert SOURCES["recorded"]().rewards == Bernoulli(pools=(40, 55, 9))
    assert SOURCES["replaced"]().rewards == Bernoulli()


def test_an_item_is_scored_once():
    """Scores are asked for once an item, and only for items that are drawn."""
    seen = Counter()

    def scored(item):
        seen[item] += 1
        return 0

    pool = PoolSource({"a": range(10), "b": range(10, 20), "c": range(20, 30)}, scored)
    job = pool.job("a", 4)
    assert not seen
    job()
    pool.draw("a", 20)
    assert seen == Counter(range(10))


def test_pull_may_return_several():
    """A function may give several rewards a call."""
    source = FunctionSource(lambda arm: [0, 1, float(arm == "a")], ["a", "b", "c"])
    assert source.draw("a").tolist() == [0, 1, 1]
    assert source.draw("b", 2).tolist() == [0, 1, 0, 0, 1, 0]


def test_an_object_with_an_async_call_is_a_coroutine_function():
    """What is awaited is found out by how the call is defined."""

    class Judge:
        async def __call__(self, arm):
            await asyncio.sleep(0)
            return arm == "a"

    source = FunctionSource(Judge(), ["a", "b"])
    assert source.asynchronous
    assert source.draw("a", 2).tolist() == [1, 1]


def test_a_finite_source_without_seek_says_so():
    """The default of `seek` is for endless sources."""

    class Plain(Source):
        arms = ("a",)
        rewards = Bernoulli(pools=(3,))

        def draw(self, arm, count=1):
            del arm
            return [1] * count

    with pytest.raises(oddarm.errors.SourceError, match=r"give it a method seek\(arm, drawn\)"):
        Plain().seek("a", 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FunctionSource(3, ["a"]), "pull == 3, must be a function"),
        (lambda: PoolSource({"a": [1]}, 3), "score == 3, must be a function"),
        (lambda: PoolSource({"a": []}, float), "arm 'a' has no items, must have >= 1"),
        (
            lambda: PoolSource({"a": [1]}, float, rewards=SubGaussian(scale=1)),
            "pools with sub-Gaussian rewards",
        ),
        (lambda: RecordedSource({"a": []}), "arm 'a' has no rewards, must have >= 1"),
        (lambda: RecordedSource({"a": [0, 3]}), "arm 'a': reward 3.0 at position 1 of 2"),
        (lambda: RecordedSource.from_counts({"a": (3, 4)}), "arm 'a' has 4 ones among 3 rewards"),
        (lambda: RecordedSource.from_counts({"a": (3.5, 1)}), "size == 3.5, must be a whole"),
        (lambda: SOURCES["recorded"]().draw("z"), "arm 'z' is not one of the 3 arms"),
        (lambda: SOURCES["simulated"]().draw(3), "arm 3, must be a whole number from 0 to 2"),
    ],
)
def test_refuses(make, words):
    """Bad data is refused with an error that quotes it."""
    with pytest.raises(OddarmError, match=words):
        make()
