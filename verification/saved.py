"""Searches to save: every strategy, reward model and rule for stopping, at several moments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from oddarm import Search
from oddarm.rewards import Bernoulli, Bounded, Rewards, SubGaussian
from oddarm.strategies import STRATEGIES, Adaptive, Gold, Strategy, Threshold

NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]
MEANS = np.array([0.10, 0.14, 0.18, 0.21, 0.25, 0.29, 0.33, 0.97])
SIZES = (40, 41, 42, 43, 44, 45, 46, 47)
MODELS: dict[str, Rewards] = {
    "bernoulli": Bernoulli(),
    "bounded": Bounded(minimum=-1.0, maximum=3.0),
    "subgaussian": SubGaussian(scale=0.2),
    "pools": Bernoulli(pools=SIZES),
    "bounded-pools": Bounded(minimum=-1.0, maximum=3.0, pools=SIZES),
}
RULES: dict[str, dict[str, Any]] = {
    "absolute": {"min_gap": 0.3, "slack": 0.2},
    "floor": {"min_gap": 0.3, "epsilon": 2.5, "slack": 0.2, "until": "confirmed"},
    "scattered": {"min_gap": 0.01, "slack": 0.9},
}
"""Rules beside the relative one without a floor; pools end with the verdict "scattered"."""
MOMENTS = ("fresh", "begun", "middle", "late", "aside", "done")
"""When a search is saved: with no reward, before every arm has one, in an early and a late round,
with a failed arm, and when it is done."""


def reward(model: Rewards, arm: int, k: int) -> float:
    """Return reward number k of an arm, which depends only on the arm and k."""
    rng = np.random.default_rng([7, arm, k])
    if isinstance(model, Bernoulli):
        return float(rng.random() < MEANS[arm])
    if isinstance(model, SubGaussian):
        return float(rng.normal(MEANS[arm], model.scale))
    return float(np.clip(model.low + 4 * MEANS[arm] + rng.normal(0, 0.3), model.low, model.high))


def tell(search: Search, arm: Any) -> None:
    """Tell the next reward of an arm, unless its pool is exhausted."""
    index = search.names.index(arm)
    k, pools = int(search.tally.counts[index]), search.tally.pools
    if pools is None or k < pools[index]:
        search.tell(arm, reward(search.rewards, index % len(MEANS), k))


def drive(search: Search, pulls: float) -> Search:
    """Ask in turn for one arm, for three and for a round, until `pulls` rewards are told."""
    step = 0
    while not search.done and search.pulls < pulls:
        asked = search.ask((1, 3, None)[step % 3])
        step += 1
        for arm in asked[: int(min(pulls - search.pulls, len(asked)))]:
            tell(search, arm)
    return search


def kinds() -> Iterator[tuple[str, Strategy, dict[str, Any]]]:
    """Yield each strategy with each reward model, bound and `until` that it takes, and a name."""
    for kind, model in MODELS.items():
        for until in ("ranked", "found", "confirmed"):
            yield f"adaptive-{until}-{kind}", Adaptive(), {"rewards": model, "until": until}
        for rule, options in RULES.items():
            yield f"adaptive-{rule}-{kind}", Adaptive(), {"rewards": model, **options}
    for name, cls in STRATEGIES.items():
        if name == "adaptive":
            continue
        strategy = Threshold(level=0.5) if name == "threshold" else cls()
        for kind, model in MODELS.items():
            if not cls.finite and model.pools is not None:
                continue
            ranked: dict[str, Any] = {"rewards": model, "until": "ranked"}
            yield f"{name}-{kind}", strategy, ranked
            if name == "gold":
                yield f"gold-intervals-{kind}", Gold(form="intervals"), ranked
            if kind in ("bernoulli", "bounded") and name not in ("fixed", "uniform"):
                yield f"{name}-paper-{kind}", strategy, {**ranked, "bound": "paper"}


def at_moment(strategy: Strategy, options: dict[str, Any], moment: str) -> Search:
    """Return a search at one of `MOMENTS`."""
    search = Search(NAMES, strategy, max_outliers=2, max_pulls=1500, delta=0.1, **options)
    pulls = {"fresh": 0, "begun": 5, "middle": 61, "late": 263, "aside": 45, "done": 1500}[moment]
    drive(search, pulls)
    if moment == "aside" and not search.done:
        search.set_aside("c", "unreachable")
        drive(search, pulls + 12)
    return search


def saved() -> Iterator[tuple[str, Search]]:
    """Yield every kind of search at every moment, with a name."""
    for name, strategy, options in kinds():
        for moment in MOMENTS:
            yield f"{name}-{moment}", at_moment(strategy, options, moment)
