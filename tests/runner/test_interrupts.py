"""Ctrl-C and SIGTERM: real signals, wherever they strike, never leave a search half changed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future
from itertools import pairwise
from pathlib import Path

import pytest

import oddarm
from oddarm import Search
from oddarm.runner import session
from oddarm.runner.interrupts import Interrupts
from support.indexed import NAMES, Indexed, rewards_later, rewards_of, told_in_order

SCRIPT = """
import asyncio, json, sys, time
from concurrent.futures import ThreadPoolExecutor
import oddarm

how, path = sys.argv[1:]
pulls = 0

def pull(arm):
    global pulls
    pulls += 1
    if pulls == 60:
        print("ready", flush=True)
    time.sleep(0.002 if pulls < 60 else 0.05)
    return arm % 2

async def later(arm):
    global pulls
    pulls += 1
    if pulls == 60:
        print("ready", flush=True)
    await asyncio.sleep(0.002 if pulls < 60 else 0.05)
    return arm % 2

with ThreadPoolExecutor(3) as executor:
    options = {"executor": executor} if how == "threads" else {}
    pull = later if how == "coroutine" else pull
    result = oddarm.find(pull, 20, "gold", save=path, **options)
print(json.dumps([result.verdict, result.pulls]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("how", ["serial", "threads", "coroutine"])
def test_a_signal_ends_with_a_partial_result(tmp_path, how, number):
    """A signal ends the search at once with what is known, saved and ready to go on."""
    path = tmp_path / "search.json"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, err) == (0, "")
    verdict, pulls = json.loads(out)
    assert verdict == "running"
    assert pulls >= 40
    search = Search.load(path)
    assert search.pulls == pulls
    assert not search.done


def test_a_signal_waits_until_the_reward_is_told():
    """A signal in the middle of a tell is raised after it: the search is never half changed."""
    search = Search(NAMES)
    tell = search.core.tell
    told = []

    def watched(arm, rewards):
        if search.pulls == 33:
            os.kill(os.getpid(), signal.SIGINT)
        tell(arm, rewards)
        told.append(search.pulls)

    search.core.tell = watched
    result = oddarm.resume(search, Indexed())
    assert result.pulls == told[-1] == 34
    assert result.verdict == "running"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_of_others_stay():
    """A program with a handler of its own keeps it, and decides."""
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    try:
        with Interrupts().watched():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [True]


class Here(Executor):
    """An executor that pulls at once, in the thread that submits."""

    def submit(self, function, *arguments):
        """Call the function and return what it gave."""
        future = Future()
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return future


class Striker:
    """Sends a signal when the runner, the search or the strategy is at its k-th line.

    Lines are counted from the first pull on; only those of some functions, if they are named.
    """

    def __init__(self, at=None, functions=()):
        self.at, self.functions = at, functions
        self.lines = 0
        self.armed = False

    def __call__(self, frame, event, argument):
        """Trace the frames of the modules that a signal must not interrupt."""
        del event, argument
        path = Path(frame.f_code.co_filename)
        if "oddarm" not in path.parts or path.name in ("__init__.py", "interrupts.py"):
            return None
        if self.functions and frame.f_code.co_name not in self.functions:
            return None
        inside = path.parent.name in ("runner", "strategies") or path.name == "search.py"
        return self.line if inside else None

    def line(self, frame, event, argument):
        """Count a line, and strike."""
        del frame, argument
        if event == "line" and self.armed:
            self.lines += 1
            if self.lines == self.at:
                signal.raise_signal(signal.SIGINT)
        return self.line


class Armed(Indexed):
    """Ten arms; the first pull arms the striker."""

    def __init__(self, striker, how):
        super().__init__(rewards_later if how == "coroutine" else rewards_of)
        self.striker = striker

    def job(self, arm, count=1):
        """Pick the next rewards of an arm."""
        self.striker.armed = True
        return super().job(arm, count)


def struck(how, at, path, strategy, functions=()):
    """Drive a search that is struck once; return it, its source, and the lines counted."""
    search = Search(NAMES, strategy, max_outliers=1, max_pulls=45)
    striker = Striker(at, functions)
    source = Armed(striker, how)
    options = {"executor": Here(), "in_flight": 6} if how == "executor" else {}
    before = sys.gettrace()
    sys.settrace(striker)
    try:
        oddarm.resume(search, source, save=path, **options)
    finally:
        sys.settrace(before)
    return search, source, striker.lines


@pytest.mark.parametrize("strategy", ["adaptive", "rr"])
@pytest.mark.parametrize("how", ["serial", "executor", "coroutine"])
@pytest.mark.slow
def test_struck_at_any_line(how, strategy, tmp_path):
    """Struck in the middle of an ask, a tell or a settling, no reward is told twice or lost."""
    path = tmp_path / "search.json"
    whole, _, lines = struck(how, None, path, strategy)
    step = max(lines // 12, 1) | 1
    for at in range(1, lines, step):
        search, source, _ = struck(how, at, path, strategy)
        assert told_in_order(search)
        assert sum(source.drawn.values()) >= search.pulls
        loaded = Search.load(path)
        assert loaded.to_dict() == search.to_dict()
        oddarm.resume(loaded, Indexed())
        assert told_in_order(loaded)
        assert loaded.pulls == 45
        if how == "serial":
            assert loaded.to_dict() == whole.to_dict()


@pytest.mark.parametrize("how", ["executor", "coroutine"])
def test_struck_while_a_reward_is_told(how, tmp_path):
    """A reward is told and its pull taken off the queue, or neither."""
    path, functions = tmp_path / "search.json", ("take", "_tell")
    _, _, lines = struck(how, None, path, "rr", functions)
    for at in range(1, lines, max(lines // 30, 1) | 1):
        search, source, _ = struck(how, at, path, "rr", functions)
        assert told_in_order(search)
        assert sum(source.drawn.values()) >= search.pulls + len(search.given_back) - 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_loses_nothing(tmp_path, monkeypatch, number):
    """A signal while the first one is handled, even while the search is saved, changes nothing."""
    path = tmp_path / "search.json"
    save = Search.save_indices

    def pull(arm):
        if len(pulled) == 30:
            signal.raise_signal(signal.SIGINT)
        pulled.append(arm)
        return 0

    def saving(search, *arguments):
        signal.raise_signal(number)
        save(search, *arguments)
        signal.raise_signal(number)

    pulled = []
    monkeypatch.setattr(Search, "save_indices", saving)
    assert oddarm.find(pull, NAMES, "rr", save=path).pulls == 0  # it struck the first saving
    monkeypatch.setattr(Search, "save_indices", save)
    search = Search(NAMES, "rr")
    result = oddarm.resume(search, pull, save=path, callbacks=[
        lambda _: len(pulled) == 30 and monkeypatch.setattr(Search, "save_indices", saving)
    ])  # fmt: skip
    assert (result.verdict, result.pulls) == ("running", 30)
    assert Search.load(path).to_dict() == search.to_dict()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_handlers_of_others_wait_for_the_search():
    """A handler of another is called, though not in the middle of a change; it decides."""
    heard = []
    search = Search(NAMES, "rr", max_pulls=40)
    tell = search.core.tell

    def telling(arm, rewards):
        signal.raise_signal(signal.SIGTERM)
        before = len(heard)
        tell(arm, rewards)
        assert len(heard) == before

    search.core.tell = telling
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        assert oddarm.resume(search, Indexed()).pulls == 40
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM] * 40


def test_signals_are_left_alone_in_other_threads():
    """A search in a thread of its own takes over no signal."""
    seen = []
    thread = threading.Thread(target=lambda: seen.append(oddarm.find(Indexed(), max_pulls=20)))
    thread.start()
    thread.join()
    assert seen[0].pulls == 20


@pytest.mark.parametrize("how", ["serial", "executor", "coroutine"])
def test_a_search_that_is_killed_was_saved(tmp_path, monkeypatch, how):
    """While it runs the search is saved with its pulls in flight, so that SIGKILL costs little."""
    monkeypatch.setattr(session, "SECONDS", 0.0)
    monkeypatch.setattr(session, "SHARE", 1e9)
    path, copies = tmp_path / "search.json", []

    class Copying(Armed):
        def job(self, arm, count=1):
            copies.append(path.read_text(encoding="utf-8"))
            return super().job(arm, count)

    whole = Search(NAMES, max_outliers=1, max_pulls=45)
    options = {"executor": Here(), "in_flight": 6} if how == "executor" else {}
    oddarm.resume(whole, Copying(Striker(), how), save=path, **options)
    for copy in copies[::6]:
        loaded = Search.from_dict(json.loads(copy))
        oddarm.resume(loaded, Indexed())
        assert told_in_order(loaded)
        if how == "serial":
            assert loaded.to_dict() == whole.to_dict()


def test_saving_takes_a_small_share_of_the_time(tmp_path, monkeypatch):
    """A search is saved when it begins and ends, and between only after a multiple of the time."""
    saved = []
    now = [0.0]

    def slow(search, *arguments):
        del arguments
        saved.append((now[0], search.pulls))
        now[0] += 1.0

    def pull(arm):
        now[0] += 0.5
        return arm == "j"

    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Search, "save_indices", slow)
    oddarm.find(pull, NAMES, "rr", max_pulls=100, save=tmp_path / "s.json")
    times = [when for when, _ in saved]
    assert times[0] == 0.0
    assert saved[-1][1] == 100
    assert [b - a for a, b in pairwise(times[:-1])] == [21.0] * 2


def test_a_disk_that_is_full_for_a_while_does_not_end_the_search(tmp_path, monkeypatch):
    """Saving in between may fail with a warning; the last saving must succeed."""
    monkeypatch.setattr(session, "SECONDS", 0.0)
    monkeypatch.setattr(session, "SHARE", 1e9)
    save = Search.save_indices

    def full(search, *arguments):
        if search.pulls == 7:
            raise OSError(28, "No space left on device")
        save(search, *arguments)

    monkeypatch.setattr(Search, "save_indices", full)
    path = tmp_path / "search.json"
    with pytest.warns(UserWarning, match="could not be saved"):
        result = oddarm.find(Indexed(), max_pulls=20, save=path)
    assert result.pulls == Search.load(path).pulls == 20


def test_cancelled_in_the_middle(tmp_path):
    """A cancelled find_async gives back what was in flight; resumed, it goes on there."""
    path = tmp_path / "search.json"

    async def main():
        async def pull(arm):
            pulled.append(arm)
            if len(pulled) == 33:
                job.cancel()
            await asyncio.sleep(0)
            return 0

        job = asyncio.ensure_future(oddarm.find_async(pull, NAMES, "rr", save=path))
        with pytest.raises(asyncio.CancelledError):
            await job

    pulled = []
    asyncio.run(main())
    search = Search.load(path)
    assert search.given_back
    assert search.given_back == pulled[-len(search.given_back) :]
