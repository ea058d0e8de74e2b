"""Ctrl-C: a real signal to a real process, and never in the middle of a tell."""

import json
import os
import signal
import subprocess
import sys

import pytest

import oddarm
from indexed import NAMES, Indexed
from oddarm import Search
from oddarm.runner.interrupts import Interrupts

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


@pytest.mark.parametrize("how", ["serial", "threads", "coroutine"])
def test_a_signal_ends_with_a_partial_result(tmp_path, how):
    """SIGINT ends the search at once with what is known, saved and ready to go on."""
    path = tmp_path / "search.json"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    verdict, pulls = json.loads(out)
    assert verdict == "running"
    assert pulls >= 40
    search = Search.load(path)
    assert search.pulls == pulls
    assert not search.done


def test_a_signal_waits_until_the_reward_is_told():
    """A signal in the middle of a tell is raised after it: the search is never half changed."""
    tell = Search.tell
    told = []

    class Watched(Search):
        def tell(self, arm, reward):
            if self.pulls == 33:
                os.kill(os.getpid(), signal.SIGINT)
            tell(self, arm, reward)
            told.append(self.pulls)

    search = Watched(NAMES)
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
