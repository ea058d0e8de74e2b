"""The runner: serial, on executors, as coroutines; failures, budgets, pools, resumption."""

import asyncio
import math
import multiprocessing
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import oddarm
from oddarm import OddarmError, Search
from oddarm.errors import SourceError
from oddarm.rewards import Bernoulli
from oddarm.sources import FunctionSource, PoolSource, RecordedSource, SimulatedArms, Source
from support.indexed import (
    MEANS,
    NAMES,
    Indexed,
    pool_totals,
    pools,
    rewards_later,
    rewards_of,
    score,
    told_in_order,
)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Let failed pulls be tried again at once."""
    monkeypatch.setattr("oddarm.runner.queue.PAUSES", (0.0,))


@pytest.fixture(scope="module")
def serial():
    """The answer of one pull after another."""
    return oddarm.find(Indexed(), max_pulls=None)


@pytest.fixture
def threads():
    """A pool of four threads."""
    with ThreadPoolExecutor(4) as executor:
        yield executor


def test_a_function_is_pulled_exactly_as_asked(serial):
    """The serial path is the sequential algorithm: the very result of ask(1) and tell."""
    source = Indexed()
    search = Search(NAMES)
    while not search.done:
        for arm in search.ask(1):
            search.tell(arm, source.draw(arm))
    assert serial.to_dict() == search.result().to_dict()
    assert serial.outliers == ["j"]


def test_threads(serial, threads):
    """On threads the answer is that of the serial run, from the first rewards of each arm."""
    searches = []
    result = oddarm.find(Indexed(), executor=threads, callbacks=[searches.append], max_pulls=None)
    assert (result.verdict, result.outliers) == (serial.verdict, serial.outliers)
    assert told_in_order(searches[-1])


def test_processes(serial):
    """On processes too, where jobs are sent by pickle."""
    spawn = multiprocessing.get_context("spawn")
    searches = []
    with ProcessPoolExecutor(2, mp_context=spawn) as executor:
        result = oddarm.find(
            Indexed(), executor=executor, callbacks=[searches.append], max_pulls=None
        )
    assert (result.verdict, result.outliers) == (serial.verdict, serial.outliers)
    assert told_in_order(searches[-1])


def test_coroutines(serial):
    """Coroutines give the same answer, from find and from find_async."""
    searches = []
    result = oddarm.find(Indexed(rewards_later), callbacks=[searches.append], max_pulls=None)
    inside = asyncio.run(oddarm.find_async(Indexed(rewards_later), max_pulls=None))
    for found in (result, inside):
        assert (found.verdict, found.outliers) == (serial.verdict, serial.outliers)
    assert told_in_order(searches[-1])


def test_rewards_are_told_in_the_order_they_were_picked():
    """However long a reward takes, an arm's rewards are told in order: a slow one is waited for."""
    told = []

    class Slow(Indexed):
        def job(self, arm, count=1):
            first = self.drawn[arm]
            job = super().job(arm, count)

            async def later():
                for _ in range(0 if first % 3 else 25):
                    await asyncio.sleep(0)
                return job()

            return later

        @property
        def asynchronous(self):
            return True

    def note(search):
        told.append(search.tally.totals.copy())
        assert told_in_order(search)

    result = oddarm.find(Slow(), in_flight=12, callbacks=[note])
    assert result.outliers == ["j"]
    assert len(told) > 20


def test_in_flight_is_bounded():
    """No more pulls run at a time than in_flight says; as coroutines, exactly as many."""
    now, most = 0, 0

    async def pull(arm):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return arm == "j"

    oddarm.find(pull, NAMES, in_flight=5)
    assert most == 5
    oddarm.find(pull, NAMES)
    assert most == 8


def test_in_flight_of_an_executor():
    """By default twice the workers are in flight, so that none waits for the search."""
    barrier, most = threading.Lock(), [0, 0]

    def pull(arm):
        with barrier:
            most[0] += 1
            most[1] = max(most)
        time.sleep(0.0005)
        with barrier:
            most[0] -= 1
        return arm == "j"

    with ThreadPoolExecutor(6) as executor:
        oddarm.find(pull, NAMES, executor=executor, in_flight=3, max_pulls=200)
    assert 1 <= most[1] <= 3


def test_local_sources_are_drawn_in_batches(serial):
    """A source that costs nothing is drawn in one call per arm and batch, with the same answer."""
    calls = Counter()

    class Counted(SimulatedArms):
        def draw(self, arm, count=1):
            calls[arm] += 1
            return super().draw(arm, count)

    means = [*np.linspace(0.4, 0.5, 19), 0.7]
    result = oddarm.find(Counted(means), max_outliers=1)
    alone = oddarm.simulate(means, max_outliers=1)
    assert result.outliers == alone.outliers == [19]
    assert sum(calls.values()) < result.pulls / 3
    assert result.pulls < 1.1 * alone.pulls
    calls.clear()
    oddarm.find(Counted(means), strategy="gold", batch=2000, max_pulls=10_000)
    assert sum(calls.values()) == 100
    assert serial.outliers == ["j"]


def test_batches_of_a_function():
    """With batch, several rewards are asked for at a time, and those of one arm are one call."""
    sizes = []

    class Sized(Indexed):
        def job(self, arm, count=1):
            sizes.append(count)
            return super().job(arm, count)

    result = oddarm.find(Sized(), strategy="gold", batch=30, max_pulls=300)
    assert result.pulls == 300
    assert sizes == [3] * 100


@pytest.mark.parametrize("limit", [7, 23, 100, 101])
def test_max_pulls_is_never_exceeded(limit, threads):
    """The budget counts what is in flight, so that it is met exactly."""
    drawn = []

    class Noted(Indexed):
        def job(self, arm, count=1):
            drawn.append(count)
            return super().job(arm, count)

    for options in ({}, {"executor": threads, "in_flight": 12}, {"executor": threads, "batch": 9}):
        drawn.clear()
        result = oddarm.find(Noted(), max_pulls=limit, **options)
        assert (result.pulls, result.verdict) == (limit, "budget")
        assert sum(drawn) == limit


@pytest.mark.parametrize("limit", [9.5, 40, 300])
@pytest.mark.parametrize("strategy", ["adaptive", "rr"])
def test_max_cost_is_never_exceeded(limit, strategy, threads):
    """The budget counts what is in flight, and its end is an answer, however pulls are drawn."""
    prices = dict(zip(NAMES, [1, 7, 1, 7, 1, 0.5, 1, 7, 1, 7], strict=True))
    drawn = []

    def pull(arm):
        drawn.append(arm)
        return rewards_of(arm, drawn.count(arm), 1)[0]

    async def later(arm):
        await asyncio.sleep(0)
        return pull(arm)

    options = {"costs": prices, "max_cost": limit, "strategy": strategy}
    for function, how in (
        (pull, {}),
        (pull, {"batch": 9}),
        (pull, {"executor": threads, "in_flight": 12}),
        (later, {"in_flight": 5}),
    ):
        drawn.clear()
        result = oddarm.find(function, NAMES, **options, **how)
        assert sum(prices[arm] for arm in drawn) == result.cost <= limit
        assert result.verdict == "budget"
        assert result.pulls == len(drawn)
    drawn.clear()
    search = Search(NAMES, **options)
    assert oddarm.resume(search, pull).cost <= limit
    search.max_cost = limit + 60
    result = oddarm.resume(search, pull)
    assert limit < sum(prices[arm] for arm in drawn) == result.cost <= limit + 60
    local = oddarm.find(SimulatedArms(dict(zip(NAMES, MEANS, strict=True))), **options)
    assert local.cost <= limit


@pytest.mark.parametrize("strategy", ["rr", "wrr", "roai-elim", "roai-lucb", "maxgap"])
@pytest.mark.parametrize("how", ["serial", "batch", "threads"])
def test_pools_are_drawn_to_the_end(strategy, how, threads):
    """On pools that tell nothing apart, every item is scored once and the search ends."""
    seen = Counter()

    def scored(item):
        seen[item] += 1
        return item % 2

    source = PoolSource({arm: range(24 * k, 24 * k + 24) for k, arm in enumerate(NAMES)}, scored)
    options = {"serial": {}, "batch": {"batch": 17}, "threads": {"executor": threads}}[how]
    result = oddarm.find(source, strategy=strategy, max_outliers=1, **options)
    assert result.verdict in ("ranked", "none")
    assert seen.total() == result.pulls
    assert set(seen.values()) == {1}
    if result.pulls == 240:
        assert (result.counts == 24).all()
        assert np.allclose(result.means, 0.5)


def test_pool_totals_on_threads(threads):
    """Scored on threads, each pool's tally is the exact sum of its items."""
    source = PoolSource(pools(9), score)
    tie = oddarm.find(source, strategy=oddarm.strategies.RR(k=2.4), max_outliers=1,
                      executor=threads)  # fmt: skip
    full = tie.counts == 9
    assert full.any()
    assert np.allclose((tie.means * tie.counts)[full], np.array(pool_totals(9))[full])


def test_failing_arms_are_set_aside(threads):
    """An arm whose pulls raise fails with its error, and the others are searched."""

    def pull(arm):
        if arm == "c":
            raise ConnectionError("no route to host")
        return rng.random() < MEANS[NAMES.index(arm)]

    for options in ({}, {"executor": threads}):
        rng = np.random.default_rng(1)
        result = oddarm.find(pull, NAMES, **options, max_pulls=None)
        assert result.outliers == ["j"]
        assert result.errors == {"c": "ConnectionError: no route to host"}
        assert result.ranking[-1] == "c"
        assert result.counts[2] == 0


def test_failing_coroutines():
    """Coroutines that raise likewise."""

    async def pull(arm):
        await asyncio.sleep(0)
        if arm in "ce":
            raise TimeoutError
        return arm == "j"

    result = oddarm.find(pull, NAMES, in_flight=6)
    assert set(result.errors) == {"c", "e"}
    assert result.outliers == ["j"]


@pytest.mark.parametrize("bad", [math.nan, "many", [], None])
def test_bad_rewards_are_failures(bad):
    """A value that is not a number is a failed pull, with the rule in the error."""
    result = oddarm.find(lambda arm: bad if arm == "b" else arm == "j", NAMES)
    assert list(result.errors) == ["b"]
    assert "must" in result.errors["b"]
    assert result.outliers == ["j"]


def test_retries(threads):
    """A pull that fails is tried again as often as asked, with the same items of a pool."""
    failures = Counter()

    def flaky(item):
        failures[item] += 1
        if item >= 12 and failures[item] <= 2:
            raise OSError("try again")
        return 0

    for options in ({}, {"executor": threads}):
        failures.clear()
        items = {arm: range(12 * k, 12 * k + 12) for k, arm in enumerate(NAMES)}
        source = PoolSource(items, flaky)
        result = oddarm.find(source, strategy="maxgap", max_outliers=1, retries=2, **options)
        assert result.errors == {}
        assert {item: 1 if item < 12 else 3 for item in failures} == failures
        assert result.pulls == len(failures) == 120
        once = oddarm.find(lambda arm: 1 / (arm != "a"), NAMES, retries=3, **options, max_pulls=50)
        assert list(once.errors) == ["a"]


def test_a_nan_in_flight_is_tried_again_in_its_turn():
    """A bad reward is drawn again, the same item, before the later ones of its arm are told."""
    tries = Counter()

    async def scored(item):
        tries[item] += 1
        return math.nan if item[1] == 5 and tries[item] == 1 else score(item)

    source = PoolSource(pools(12), scored)
    result = oddarm.find(source, strategy=oddarm.strategies.NRR(k=9), max_outliers=1, delta=0.002,
                         retries=1)  # fmt: skip
    assert result.errors == {}
    assert result.counts.tolist() == [12] * 10
    assert {item: 2 if item[1] == 5 else 1 for item in tries} == tries
    assert np.allclose(result.means * 12, pool_totals(12))


@pytest.mark.parametrize("how", ["serial", "threads", "coroutine"])
def test_too_many_failures(how, threads):
    """When too few arms are left, the error says so, has the first cause and a partial result."""

    def pull(arm):
        if arm not in "aj":
            raise ValueError(f"cannot reach {arm}")
        return 0

    async def later(arm):
        return pull(arm)

    options = {"executor": threads} if how == "threads" else {}
    with pytest.raises(SourceError, match="too few arms are left for a search") as caught:
        oddarm.find(later if how == "coroutine" else pull, NAMES, max_outliers=3, **options)
    error = caught.value
    assert "pulls of 4 of 10 arms failed" in str(error)
    assert str(error.__cause__).startswith("cannot reach ")
    assert len(error.result.errors) == 3
    assert error.result.verdict == "running"


def test_a_source_that_fails_to_pick():
    """A source that raises when a job is made has failed to pull that arm."""

    class Torn(Indexed):
        def job(self, arm, count=1):
            if arm == "d" and self.drawn[arm] >= 5:
                raise OSError("table dropped")
            return super().job(arm, count)

    result = oddarm.find(Torn(), max_pulls=None)
    assert result.errors == {"d": "OSError: table dropped"}
    assert result.outliers == ["j"]
    assert result.counts[3] == 5


def test_a_source_with_fewer_rewards_than_it_says():
    """A finite arm that ends early fails, and the search does not wait for ever."""
    data = {arm: np.tile([0, 1], 10) for arm in NAMES}

    class Short(RecordedSource):
        def draw(self, arm, count=1):
            return [] if arm == "a" and self._drawn[0] >= 7 else super().draw(arm, count)

    result = oddarm.find(Short(data), strategy="rr", max_outliers=1)
    assert "gave no reward" in result.errors["a"]
    assert result.verdict == "none"


def test_a_broken_executor():
    """An executor that takes no more work ends the search, with what is known."""
    with ThreadPoolExecutor(1) as executor:
        pass
    with pytest.raises(SourceError, match="the executor takes no more work") as caught:
        oddarm.find(Indexed(), executor=executor)
    assert caught.value.result.pulls == 0


def test_callbacks():
    """Callbacks see the search after each batch of tells, in the given order."""
    seen = []
    result = oddarm.find(
        Indexed(),
        max_pulls=20,
        callbacks=[lambda s: seen.append(s.pulls), lambda s: seen.append(-s.pulls)],
    )
    assert seen == [sign * k for k in range(1, 21) for sign in (1, -1)]
    seen.clear()
    oddarm.find(SimulatedArms(MEANS), max_pulls=30, callbacks=[lambda s: seen.append(s.pulls)])
    assert seen == [10, 20, 30]
    assert result.pulls == 20


@pytest.mark.parametrize("how", ["serial", "threads", "coroutine"])
def test_interrupted_and_resumed(tmp_path, how, threads):
    """KeyboardInterrupt in a pull gives a partial result; saved, it is resumed without a loss."""

    def stop(*job):
        if job[0] == "f" and job[1] == 12:
            raise KeyboardInterrupt
        return rewards_of(*job)

    async def stop_later(*job):
        await asyncio.sleep(0)
        return stop(*job)

    class Stopped(Indexed):
        @property
        def asynchronous(self):
            return how == "coroutine"

    path = tmp_path / "search.json"
    options = {"executor": threads} if how == "threads" else {}
    source = Stopped(stop_later if how == "coroutine" else stop)
    result = oddarm.find(source, strategy="gold", save=path, **options)
    assert result.verdict == "running"
    assert result.summary.startswith("Best guess after ")
    assert 100 <= result.pulls < 140
    loaded = Search.load(path)
    assert loaded.pulls == result.pulls
    assert told_in_order(loaded)
    whole = oddarm.find(Indexed(), strategy="gold")
    source.function = rewards_later if how == "coroutine" else rewards_of
    end = oddarm.resume(loaded, source, save=path, **options)
    assert (end.verdict, end.outliers) == (whole.verdict, whole.outliers)
    assert told_in_order(loaded)
    assert Search.load(path).done
    assert abs(end.pulls - whole.pulls) <= 20


def test_resume_with_a_function():
    """A function goes on where the search is; failed arms stay failed."""
    search = Search(NAMES)
    search.set_aside("a", "gone")
    result = oddarm.resume(search, lambda arm: arm == "j")
    assert result.outliers == ["j"]
    assert result.errors == {"a": "gone"}


def test_cancelled_find_async(tmp_path):
    """Cancelled, find_async cancels its pulls, saves, and passes the cancellation on."""
    path = tmp_path / "search.json"

    async def main():
        running = []

        async def pull(arm):
            running.append(asyncio.current_task())
            if len(running) == 40:
                job.cancel()
            await asyncio.sleep(0)
            return arm == "j"

        job = asyncio.ensure_future(oddarm.find_async(pull, NAMES, save=path))
        with pytest.raises(asyncio.CancelledError):
            await job
        return all(task.done() for task in running)

    assert asyncio.run(main())
    assert 20 < Search.load(path).pulls <= 48


def test_what_cannot_be_saved_fails_first(tmp_path):
    """A search whose names JSON cannot hold is refused before the first pull."""
    pulled = []
    with pytest.raises(OddarmError, match="name arms by strings"):
        oddarm.find(pulled.append, [object(), object(), object()], max_outliers=1,
                    save=tmp_path / "s.json")  # fmt: skip
    assert pulled == []


def test_a_source_brings_arms_and_rewards():
    """Arms and rewards are the source's unless others are given; a part of the arms will do."""
    source = RecordedSource({arm: [0, 1, k % 2] * 9 for k, arm in enumerate("abcde")})
    result = oddarm.find(source, strategy="rr", max_outliers=1)
    assert sorted(result.ranking) == list("abcde")
    part = oddarm.find(
        RecordedSource({arm: [0, 1] * k for k, arm in enumerate("abcde", 3)}),
        ["e", "c", "d"], "rr", max_outliers=1,
    )  # fmt: skip
    assert part.provenance["rewards"]["pools"] == [14, 10, 12]
    wide = oddarm.find(SimulatedArms(MEANS), rewards=(0, 2), max_pulls=50)
    assert wide.provenance["rewards"]["maximum"] == 2


def test_a_strategy_that_asks_for_nothing():
    """A strategy that asks for nothing though it is not done is an error, not an endless loop."""

    class Lazy(oddarm.strategies.Gold):
        def start(self, context):
            run = super().start(context)
            run.ask = lambda limit: []  # noqa: ARG005
            return run

    for options in ({"pull": Indexed()}, {"pull": Indexed(rewards_later)}):
        with pytest.raises(SourceError, match="asks for nothing though the search is not done"):
            oddarm.find(**options, strategy=Lazy())


async def coroutine(arm):
    """Return a reward."""
    return arm == "j"


@pytest.mark.parametrize(
    ("pull", "options", "words"),
    [
        (3, {"arms": NAMES}, "pull == 3, must be a function"),
        (len, {}, "arms is missing"),
        (len, {"arms": NAMES, "retries": -1}, "retries == -1, must be a whole number >= 0"),
        (len, {"arms": NAMES, "batch": 0}, "batch == 0, must be a whole number >= 1"),
        (len, {"arms": NAMES, "in_flight": 4}, "in_flight == 4 with pulls one by one"),
        (coroutine, {"arms": NAMES, "in_flight": 0}, "in_flight == 0, must be a whole"),
        (coroutine, {"arms": NAMES, "executor": ThreadPoolExecutor(1)}, "drop the executor"),
        (SimulatedArms(MEANS), {"executor": ThreadPoolExecutor(1)}, "drop the executor"),
        (SimulatedArms(MEANS), {"arms": NAMES}, "arm 'a' is not one of the 10 arms of the source"),
        (RecordedSource({"a": [1], "b": [1], "c": [1]}), {"arms": ["a", "b", "x"]}, "arm 'x'"),
    ],
)
def test_refuses(pull, options, words):
    """Bad options are refused before the first pull."""
    with pytest.raises(OddarmError, match=words):
        oddarm.find(pull, **options)


def test_event_loops():
    """Find in a running loop and find_async of a plain function name the other."""

    async def main():
        with pytest.raises(OddarmError, match=r"await oddarm\.find_async"):
            oddarm.find(coroutine, NAMES)
        with pytest.raises(OddarmError, match=r"call oddarm\.find"):
            await oddarm.find_async(len, NAMES)

    asyncio.run(main())


def test_resume_on_another_source():
    """A source that lacks an arm of the search is refused."""
    with pytest.raises(OddarmError, match="arm 'a' is not one of the 10 arms of the source"):
        oddarm.resume(Search(NAMES), SimulatedArms(MEANS))


def test_resume_on_a_finite_source_that_cannot_seek():
    """A finite source that cannot go to a reward cannot be resumed on."""

    class Plain(Source):
        arms = NAMES
        rewards = Bernoulli(pools=(5,) * 10)

        def draw(self, arm, count=1):
            return [arm == "j"] * count

    search = Search(NAMES, "rr", rewards=Plain.rewards)
    with pytest.raises(SourceError, match="cannot be resumed on Plain"):
        oddarm.resume(search, Plain())


def test_function_source_by_hand():
    """A source of a function is driven as the function is."""
    rng = np.random.default_rng(0)
    source = FunctionSource(lambda arm: rng.random() < MEANS[arm], 10)
    assert oddarm.find(source, max_pulls=None).outliers == [9]
