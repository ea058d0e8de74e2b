"""Pulls that fail: tried again after a pause, unless the error is plainly not the arms'."""

import asyncio
import random
import signal
import time
from collections import Counter
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

import oddarm
from oddarm import Search
from oddarm.errors import SourceError
from oddarm.runner import queue
from support.indexed import MEANS, NAMES, Indexed

HOWS = ["serial", "threads", "coroutine"]


@pytest.fixture
def no_pauses(monkeypatch):
    """Let failed pulls be tried again at once."""
    monkeypatch.setattr(queue, "PAUSES", (0.0,))


def drive(function, how, **options):
    """Find with a function one by one, in threads or as coroutines."""

    async def later(arm):
        await asyncio.sleep(0)
        return function(arm)

    if how == "threads":
        with ThreadPoolExecutor(3) as executor:
            return oddarm.find(function, NAMES, executor=executor, max_outliers=1, **options)
    return oddarm.find(later if how == "coroutine" else function, NAMES, max_outliers=1, **options)


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("how", HOWS)
def test_random_time_outs_cost_no_arm(how):
    """One time-out in twenty pulls is tried again by default, and every arm stays."""
    rng = random.Random(1)

    def pull(arm):
        if rng.random() < 0.05:
            raise TimeoutError("no answer")
        return rng.random() < MEANS[NAMES.index(arm)]

    result = drive(pull, how, max_pulls=None)
    assert (result.errors, result.outliers) == ({}, ["j"])


@pytest.mark.usefixtures("no_pauses")
def test_what_drawing_again_supposes():
    """A call made again is another draw, and the result says so; an item of a pool is the same."""
    answered = {"a"}

    def once(item):
        if not {item, item[0]} & answered:
            answered.add(item)
            raise TimeoutError(f"no answer from {item}")
        return float(item[0] == "j")

    result = oddarm.find(once, NAMES, max_outliers=1)
    assert result.provenance["delta_supposes"] == [queue.DRAWN_AGAIN]
    assert queue.DRAWN_AGAIN in result.summary
    answered &= {"a"}
    items = {name: [f"{name} {k}" for k in range(30)] for name in NAMES}
    result = oddarm.find(oddarm.sources.PoolSource(items, once), max_outliers=1)
    assert (result.outliers, result.provenance["delta_supposes"]) == (["j"], [])


@pytest.mark.usefixtures("no_pauses")
def test_the_default_is_three_retries_everywhere():
    """find, find_async and resume give an arm up after its fourth failure."""
    calls = Counter()

    def pull(arm):
        calls[arm] += 1
        if arm == "c":
            raise OSError
        return arm == "j"

    async def later(arm):
        return pull(arm)

    for search in (
        lambda: oddarm.find(pull, NAMES),
        lambda: asyncio.run(oddarm.find_async(later, NAMES, in_flight=1)),
        lambda: oddarm.resume(Search(NAMES), pull),
    ):
        calls.clear()
        assert list(search().errors) == ["c"]
        assert calls["c"] == 4


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("retries", [0, 3])
def test_a_mistake_in_the_function_ends_the_search_at_once(how, retries):
    """When the first pulls of three arms raise alike, that error is shown, and nothing retried."""
    calls = Counter()

    def pull(arm):
        calls[arm] += 1
        return 1 / (NAMES.index(arm) * 0)

    with pytest.raises(SourceError, match=r"ZeroDivisionError: .*division by zero") as caught:
        drive(pull, how, retries=retries)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    frame = cause.__traceback__
    while frame.tb_next is not None:
        frame = frame.tb_next
    assert frame.tb_frame.f_code.co_name == "pull"
    assert set(calls.values()) == {1}
    assert len(calls) == 3 if how == "serial" else 3 <= len(calls) <= 10
    if retries:
        assert caught.value.result.errors == {}


@pytest.mark.parametrize(
    "error",
    [
        KeyError,
        lambda arm: ConnectionError(f"cannot reach {arm}"),
        lambda arm: TypeError(f"{object()!r} is not what {arm!r} wants"),
    ],
)
def test_names_of_arms_and_addresses_make_no_difference(error):
    """Messages that differ in the arm's name or an object's address are the same error."""

    def pull(arm):
        raise error(arm)

    with pytest.raises(SourceError, match="the first pulls of 'a', 'b' and 'c' failed alike"):
        oddarm.find(pull, NAMES)


@pytest.mark.parametrize("how", HOWS)
def test_a_reward_outside_the_range_ends_the_search_at_once(how):
    """Ratings from 1 to 5 without a range end at the first that is not 1; nothing is retried."""
    rng, told = random.Random(1), []

    def rate(_):
        told.append(1 if len(told) < 30 else 2 + rng.randrange(4))
        return told[-1]

    words = r"arm '[a-j]' gave reward [2-5]\.0, must be 0 or 1 .* as in rewards=\(1, 5\)\."
    with pytest.raises(SourceError, match=words) as caught:
        drive(rate, how)
    assert caught.value.result.errors == {}
    assert len(told) == 31 if how == "serial" else len(told) <= 50


def test_what_is_not_a_number_ends_the_search_if_no_pull_gives_one():
    """A function that returns nothing is found out by its first three arms."""
    calls = []
    with pytest.raises(SourceError, match=r"failed alike \(reward None, must be a number\)"):
        oddarm.find(calls.append, NAMES)
    assert len(calls) == 3


@pytest.mark.usefixtures("no_pauses")
def test_errors_that_differ_are_the_arms_own():
    """Arms that fail for reasons of their own, or after another succeeded, are marked as failed."""

    def pull(arm):
        if arm in "abd":
            raise [OSError, ValueError, KeyError]["abd".index(arm)]("broken")
        return arm == "j"

    assert set(oddarm.find(pull, NAMES).errors) == set("abd")

    def late(arm):
        if arm in "bcd":
            raise OSError("broken")
        return arm == "j"

    assert set(oddarm.find(late, NAMES).errors) == set("bcd")


@pytest.mark.usefixtures("no_pauses")
def test_an_arm_that_is_asked_for_alone_is_given_up_too():
    """A search that asks for one arm only does not ask for ever while its pulls fail."""
    search = Search(NAMES, max_outliers=1)
    search.give_back("aaaaaaaa")

    def pull(arm):
        if arm == "a":
            raise OSError("broken")
        return arm == "j"

    assert list(oddarm.resume(search, pull).errors) == ["a"]


def test_pauses_grow():
    """The second, third and later tries wait longer and longer, up to a limit."""
    pulls = queue.PullQueue(Search(NAMES), Indexed(), None, 1, 6)
    pull = pulls.next()
    pulls.take(pull, 0)
    pull = pulls.next()
    waits = []
    for _ in range(5):
        before = time.monotonic()
        pulls.fail(pull, OSError("again"))
        after = time.monotonic()
        waits.append(pull.due - (before + after) / 2)
        assert abs(pull.due - before - waits[-1]) <= after - before
        assert pulls.next() is None
        assert 0 <= pulls.pause() <= waits[-1] + 1
        pull.due = 0.0
        assert pulls.next() is pull
    assert waits == pytest.approx([0.1, 0.4, 1.6, 1.6, 1.6], abs=0.09)


@pytest.mark.parametrize("how", ["threads", "coroutine"])
def test_a_pause_does_not_hold_up_other_pulls(monkeypatch, how):
    """While one pull waits for an hour to be tried again, others are made."""
    monkeypatch.setattr(queue, "PAUSES", (3600.0,))
    calls = Counter()

    def pull(arm):
        calls[arm] += 1
        if arm == "b" and calls[arm] == 2:
            raise TimeoutError
        return arm == "a"

    def stop(search):
        if search.pulls >= 30:
            raise KeyboardInterrupt

    result = drive(pull, how, strategy="rr", callbacks=[stop])
    assert (result.pulls >= 30, result.verdict, result.counts[1]) == (True, "running", 1)


@pytest.mark.parametrize("how", HOWS)
def test_ctrl_c_ends_a_pause_at_once(monkeypatch, how):
    """Ctrl-C during a pause of an hour gives the partial result."""
    monkeypatch.setattr(queue, "PAUSES", (3600.0,))

    def pull(arm):
        if arm == "b":
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            raise TimeoutError
        return arm == "j"

    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        result = drive(pull, how, strategy="rr")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert (result.verdict, result.errors) == ("running", {})


def test_a_cancelled_pull_says_nothing_about_its_arm():
    """A pull that is cancelled on its executor or as a task ends the search; no arm fails."""

    class Cancels(ThreadPoolExecutor):
        def submit(self, *arguments):
            future = super().submit(*arguments)
            if self._work_queue.qsize() > 3:
                future.cancel()
            return future

    def slow(arm):
        time.sleep(0.005)
        return arm == "j"

    with (
        Cancels(1) as executor,
        pytest.raises(SourceError, match="CancelledError") as caught,
    ):
        oddarm.find(slow, NAMES, executor=executor, in_flight=9)
    assert isinstance(caught.value.__cause__, CancelledError)
    assert caught.value.result.errors == {}

    async def cancelled(arm):
        if arm == "d":
            raise asyncio.CancelledError
        return arm == "j"

    result = oddarm.find(cancelled, NAMES)
    assert (result.verdict, result.errors) == ("running", {})
