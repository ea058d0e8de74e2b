"""Does a signal at any moment lose a reward, tell one twice, or change where a search ends?

Real signals strike at random moments of the run. A search that was struck is resumed from its
file. Its rewards must be the first ones of each arm; where pulls are one by one, it must end in
exactly the state of a search that was never struck.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.indexed import MEANS, NAMES, Indexed, pools, rewards_later, score, told_in_order

import oddarm
from oddarm import Search
from oddarm.sources import PoolSource, SimulatedArms, Source
from oddarm.strategies import STRATEGIES
from verification.report import Check

OPTIONS: dict[str, Any] = {"max_outliers": 1, "max_pulls": 120}
COMMAND = [sys.executable, "-m", "oddarm", "find", "flights", "--json"]


def checks(strikes: int = 300, resumed: int = 50, commands: int = 5) -> Iterator[Check]:
    """Yield how many of the strikes did harm."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.json"
        with ThreadPoolExecutor(4) as executor:
            yield _struck(
                "Ctrl-C, executor", strikes, path, Indexed, executor=executor, in_flight=40
            )
        yield _struck("Ctrl-C, one by one", strikes, path, Indexed)
        yield _struck("Ctrl-C, coroutines", strikes, path, lambda: Indexed(rewards_later))
        yield _resumed(resumed, path)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            yield _commands(number, commands, path)


def _struck(
    name: str, strikes: int, path: Path, source: Callable[[], Source], **options: Any
) -> Check:
    """Strike searches while they are asked, told and saved; resume what is in the file."""
    rng = random.Random(0)
    problems: list[str] = []
    seconds = _seconds(lambda: oddarm.find(source(), save=path, **OPTIONS, **options))
    whole = Search(NAMES, **OPTIONS)
    oddarm.resume(whole, Indexed())
    early = 0
    while early < strikes:
        search, drawn = Search(NAMES, **OPTIONS), source()
        try:
            with strike_on(drawn, rng.uniform(0, seconds)):
                oddarm.resume(search, drawn, save=path, **options)
            if search.done:
                continue  # it struck too late
            early += 1
            problems += _harm(search, drawn, path, whole if name.endswith("one") else None)
        except (KeyboardInterrupt, SystemExit):
            continue  # it struck outside of the search
        except Exception as error:
            early += 1
            problems.append(f"{type(error).__name__}: {error}")
    return Check(name, len(problems), early, 0.0, "; ".join(sorted(set(problems))[:3]))


def _harm(search: Search, source: Source, path: Path, whole: Search | None) -> Iterator[str]:
    """Yield what is wrong with a search that was struck, and with the search that resumes it."""
    if not told_in_order(search):
        yield "a reward was told twice or lost"
    if sum(source.drawn.values()) < search.pulls:  # type: ignore[attr-defined]
        yield "more rewards were told than drawn"
    loaded = Search.load(path)
    if loaded.to_dict() != search.to_dict():
        yield "the file differs from the search"
    oddarm.resume(loaded, Indexed())
    if not told_in_order(loaded):
        yield "resumed, a reward was told twice or lost"
    if whole is not None and loaded.to_dict() != whole.to_dict():
        yield "resumed, it does not end like one that was never struck"


def _resumed(strikes: int, path: Path) -> Check:
    """Strike searches with every strategy on every kind of source; compare where they end."""
    rng = random.Random(1)
    problems = []
    total = 0
    while total < strikes:
        kind, strategy = rng.choice(list(SOURCES)), rng.choice(list(STRATEGIES))
        if kind in ("pool", "table") and not STRATEGIES[strategy].finite:
            continue
        source = SOURCES[kind]
        arms: dict[str, Any] = {"arms": list(source().arms), "rewards": source().rewards}
        whole, search = (Search(strategy=strategy, **arms, **OPTIONS) for _ in "ab")
        oddarm.resume(whole, source())
        options = {"strategy": strategy, "save": path, **OPTIONS}
        seconds = _seconds(lambda: oddarm.find(source(), **options))  # noqa: B023
        struck = source()
        with suppress(KeyboardInterrupt), strike_on(struck, rng.uniform(0, seconds)):
            oddarm.resume(search, struck, save=path)
        if search.done:
            continue
        total += 1
        loaded = Search.load(path)
        oddarm.resume(loaded, source())
        if loaded.to_dict() != whole.to_dict():
            problems.append(f"{strategy} on {kind}")
    return Check("resumed is uninterrupted", len(problems), total, 0.0, "; ".join(problems[:3]))


def _commands(number: signal.Signals, strikes: int, path: Path) -> Check:
    """Strike `oddarm find`, resume it, and compare with a command that was never struck."""
    rng = random.Random(2)
    problems = []
    whole = json.loads(subprocess.run(COMMAND, capture_output=True, check=True).stdout)
    ended = 0
    for _ in range(strikes):
        path.unlink(missing_ok=True)
        process = subprocess.Popen(
            [*COMMAND, "--save", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        while not path.exists() and process.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 1.5))
        process.send_signal(number)
        out, err = (said.decode() for said in process.communicate())
        # Python no longer handles signals once it has given its answer and ends.
        over = (
            process.returncode in (0, -number) and out.endswith("}\n") and json.loads(out) == whole
        )
        ended += over
        code = -number if number == signal.SIGKILL else 128 + number
        if (not over and process.returncode != code) or "Traceback" in err:
            problems.append(f"exit code {process.returncode}: {err[-200:]}")
        resumed = subprocess.run(
            [*COMMAND, "--resume", str(path)], capture_output=True, check=False
        )
        if resumed.returncode or json.loads(resumed.stdout) != whole:
            problems.append("resumed, it does not end like one that was never struck")
    note = "; ".join([f"{ended} were done before", *sorted(set(problems))[:3]])
    return Check(f"oddarm find, {number.name}", len(problems), strikes, 0.0, note)


@contextmanager
def strike_on(source: Source, seconds: float) -> Iterator[None]:
    """Send Ctrl-C from another thread, `seconds` after the first pull of a source."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    pick = source.job

    def first(arm: Any, count: int = 1) -> Any:
        source.job = pick  # type: ignore[method-assign]
        timer.start()
        return pick(arm, count)

    source.job = first  # type: ignore[method-assign]
    try:
        yield
    finally:
        timer.cancel()
        with suppress(RuntimeError):  # it was never started
            timer.join()


def _table() -> Source:
    rng = np.random.default_rng(4)
    rewards = np.clip(rng.normal(np.repeat(MEANS, 60), 0.1), 0, 1)
    data = {"arm": np.repeat(NAMES, 60), "reward": rewards}
    import pyarrow

    return oddarm.open_table(pyarrow.table(data), "arm", "reward", rewards=(0, 1))


SOURCES: dict[str, Callable[[], Source]] = {
    "function": Indexed,
    "pool": lambda: PoolSource(pools(60), score),
    "table": _table,
    "simulated": lambda: SimulatedArms(MEANS, seed=3),
}


def _seconds(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes once everything that it needs is loaded."""
    times = []
    for _ in range(4):
        begun = time.monotonic()
        action()
        times.append(time.monotonic() - begun)
    return min(times)
