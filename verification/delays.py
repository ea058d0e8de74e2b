"""Is δ kept when how long a reward takes depends on its value?

Twenty arms are almost equal, so none is an outlier. A time-out of arm 0 is known after a minute,
every other reward after a second; two thousand pulls are in flight at a time. If rewards count as
they come, the first rewards of arm 0 hold no time-out at all, and arm 0 looks far better than the
others. A study counts an arm's rewards in the order asked for. The check runs in process and over
HTTP; time is simulated.
"""

from __future__ import annotations

import heapq
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import oddarm
from oddarm.service import Client
from oddarm.store import Pull
from verification.faults import Server
from verification.report import Check

MEANS = [0.500 + 0.002 * i for i in range(20)]
IN_FLIGHT = 2_000
MOST_PULLS = 40_000
QUICK, SLOW = 1.0, 60.0
"""Seconds until a reward is known."""

Ask = Callable[[int], list[Pull]]
Tell = Callable[[Mapping[str, float]], object]


def checks(runs: int = 40) -> Iterator[Check]:
    """Yield how often a study called an arm an outlier, at δ = 0.05 and at δ = 0.5."""
    for delta in (0.05, 0.5):
        yield Check(f"late time-outs, study, δ={delta}", _in_process(runs, delta), runs, delta)
        yield Check(f"late time-outs, HTTP, δ={delta}", _over_http(runs, delta), runs, delta)


def options(delta: float) -> dict[str, Any]:
    """Return the parameters of a study."""
    return {"max_outliers": 1, "delta": delta, "until": "found", "max_pulls": MOST_PULLS}


def drive(ask: Ask, tell: Tell, seed: int) -> None:
    """Keep pulls in flight until the study hands out no more and all have been told."""
    rng = random.Random(seed)
    now, number = 0.0, 0
    in_flight: list[tuple[float, int, str, float]] = []
    while True:
        while len(in_flight) < IN_FLIGHT and (pulls := ask(IN_FLIGHT - len(in_flight))):
            for pull in pulls:
                timed_out = rng.random() < MEANS[pull.arm]
                takes = SLOW if timed_out and pull.arm == 0 else QUICK
                heapq.heappush(in_flight, (now + takes, number, pull.id, float(timed_out)))
                number += 1
        if not in_flight:
            return
        now = in_flight[0][0]
        known = {}
        while in_flight and in_flight[0][0] <= now:
            _, _, pull_id, reward = heapq.heappop(in_flight)
            known[pull_id] = reward
        tell(known)


def _in_process(runs: int, delta: float) -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(runs):
            with oddarm.create_study(
                f"{folder}/s.db", f"study-{seed}", len(MEANS), **options(delta)
            ) as study:
                drive(lambda k: study.ask(k, lease_seconds=3600), study.tell_many, seed)
                wrong += study.result().verdict == "confirmed"
    return wrong


def _over_http(runs: int, delta: float) -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(f"sqlite:///{folder}/s.db")
        try:
            client = Client(server.url)
            for seed in range(runs):
                name = f"study-{seed}"
                client.create(name, len(MEANS), **options(delta))
                drive(
                    lambda k: client.ask(name, k, lease_seconds=3600)[0],  # noqa: B023
                    lambda rewards: client.tell(name, rewards),  # noqa: B023
                    seed,
                )
                wrong += client.result(name)["verdict"] == "confirmed"
        finally:
            server.stop()
    return wrong
