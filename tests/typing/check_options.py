"""Options of a search: right ones pass mypy --strict, and it refuses all others.

mypy reports a `type: ignore` that is not needed, so each one proves that its line is refused.
"""

from __future__ import annotations

from typing import Unpack

import oddarm
from oddarm.options import ProblemOptions, SearchOptions
from oddarm.service import Client

MEANS = [0.1, 0.2, 0.9]
LOG = oddarm.sources.RecordedSource({"a": [0, 1], "b": [0, 0], "c": [1, 1]})


def pull(arm: str) -> float:
    """Return a reward."""
    return float(arm == "c")


def right() -> None:
    """Every option, rightly spelt and typed, is taken."""
    problem: ProblemOptions = {"epsilon": 2.0, "max_outliers": 1, "delta": 0.1, "strict": False}
    options: SearchOptions = {
        "epsilon": 2, "rho": 0.9, "max_outliers": None, "delta": 0.1, "strict": False,
        "rewards": (0, 1), "bound": "paper", "until": "found", "max_pulls": 10, "seed": 1,
    }  # fmt: skip
    oddarm.Search(3, "gold", **options)
    oddarm.find(pull, ["a", "b", "c"], "gold", **options)
    oddarm.find("log.csv", arm="host", reward="slow", rows="all", min_rows=3, **options)
    oddarm.simulate(MEANS, "gold", **options)
    oddarm.plan(MEANS, ["gold"], until="found", bound="paper", seed=1, rewards=(0, 1), **problem)
    oddarm.compare(LOG, ["rr"], until="found", bound="paper", seed=1, max_pulls=10, **problem)
    oddarm.create_study("s.db", "study", 3, "gold", expired_reward=1, **options)
    oddarm.create_study("s.db", "study", 3, strategy="gold", max_outliers=1)
    Client("http://127.0.0.1:8321").create("study", 3, strategy="gold", **options)


async def right_async() -> None:
    """find_async takes what find takes."""
    await oddarm.find_async(pull, ["a", "b", "c"], max_outliers=1, seed=2)


def passed_on(**options: Unpack[SearchOptions]) -> oddarm.Result:
    """A function of a user's own passes the options on, with their types."""
    return oddarm.find(pull, ["a", "b", "c"], **options)


def misspelt() -> None:
    """A misspelt option is refused."""
    passed_on(max_outlirs=1)  # type: ignore[call-arg]
    oddarm.Search(3, max_outlirs=1)  # type: ignore[call-arg]
    oddarm.find(pull, ["a", "b", "c"], max_outlirs=1)  # type: ignore[call-arg]
    oddarm.simulate(MEANS, max_outlirs=1)  # type: ignore[call-overload]
    oddarm.plan(MEANS, max_outlirs=1)  # type: ignore[call-arg]
    oddarm.compare(LOG, max_outlirs=1)  # type: ignore[call-arg]
    oddarm.create_study("s.db", "study", 3, max_outlirs=1)  # type: ignore[call-arg]
    Client("http://127.0.0.1:8321").create("study", 3, max_outlirs=1)  # type: ignore[call-arg]


def of_another_function() -> None:
    """An option that a function does not have is refused, though others have it."""
    oddarm.plan(MEANS, max_pulls=10)  # type: ignore[call-arg]
    oddarm.compare(LOG, rewards=(0, 1))  # type: ignore[call-arg]


def of_a_wrong_type() -> None:
    """A value of a wrong type is refused."""
    oddarm.Search(3, epsilon="2.5")  # type: ignore[arg-type]
    oddarm.find(pull, ["a", "b", "c"], epsilon="2.5")  # type: ignore[arg-type]
    oddarm.find(pull, ["a", "b", "c"], until="later")  # type: ignore[arg-type]
    oddarm.find("log.csv", arm="host", reward="slow", rows="some")  # type: ignore[arg-type]
    oddarm.simulate(MEANS, max_pulls=0.5)  # type: ignore[call-overload]
    oddarm.plan(MEANS, delta=None)  # type: ignore[arg-type]
    oddarm.plan(MEANS, bound="loose")  # type: ignore[arg-type]
    oddarm.compare(LOG, max_outliers=1.5)  # type: ignore[arg-type]
    oddarm.compare(LOG, until="later")  # type: ignore[arg-type]
    oddarm.create_study("s.db", "study", 3, seed="0")  # type: ignore[arg-type]
    Client("http://127.0.0.1:8321").create("study", 3, rho="most")  # type: ignore[arg-type]


async def wrong_async() -> None:
    """find_async refuses what find refuses."""
    await oddarm.find_async(pull, 3, max_outlirs=1)  # type: ignore[call-arg]
    await oddarm.find_async(pull, 3, max_pulls="10")  # type: ignore[arg-type]
