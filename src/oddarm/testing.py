"""Checks for strategies of your own: what every strategy of oddarm promises to its callers.

Example:
    >>> import oddarm
    >>> from oddarm.testing import check_strategy
    >>> check_strategy(oddarm.strategies.NRR(k=2))
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from oddarm.errors import OddarmError
from oddarm.search import Search
from oddarm.sources import SimulatedArms
from oddarm.strategies import Strategy

__all__ = ["STRATEGY_CHECKS", "check_strategy"]

# One arm far above nine others that are neither tied nor close to it: easy for any rule.
NAMES = [f"arm-{i}" for i in range(10)]
EASY = [0.30, 0.05, 0.10, 0.15, 0.40, 0.98, 0.25, 0.45, 0.20, 0.35]
MOST = 100_000


def _search(strategy: Strategy, **options: Any) -> Search:
    defaults: dict[str, Any] = {"max_outliers": 1, "max_pulls": MOST, "epsilon": 2.5}
    return Search(NAMES, strategy, **{**defaults, **options})


def _drive(search: Search, arms: SimulatedArms, pulls: float = math.inf) -> Search:
    end = search.pulls + pulls
    while not search.done and search.pulls < end:
        asked = search.ask(1)
        assert asked, "ask(1) gave nothing though the search is not done"
        for arm in asked:
            search.tell(arm, arms.draw(NAMES.index(arm)))
    return search


def ends_on_easy_instances(strategy: Strategy) -> None:
    """It ends where one arm lies far above the rest; if it promises so, that arm ranks first."""
    for seed in range(2):
        search = _drive(_search(strategy), SimulatedArms(EASY, seed=seed))
        assert search.verdict != "budget", f"no end within {MOST:,} pulls on an easy instance"
        if search.run.proved:
            assert search.result().ranking[0] == "arm-5", "the one outlier is not ranked first"


def same_seed_same_answer(strategy: Strategy) -> None:
    """The same rewards and the same seed give the same pulls and the same answer."""
    one, two = (
        _drive(_search(strategy, seed=3, max_pulls=3000), SimulatedArms(EASY, seed=3))
        for _ in range(2)
    )
    assert one.to_dict() == two.to_dict(), "two runs on the same rewards differ"


def asks_for_arms_it_was_given(strategy: Strategy) -> None:
    """What is asked for are arms, no more than the limit, and at least one while not done."""
    search, arms = _search(strategy, max_pulls=2000), SimulatedArms(EASY)
    for limit in (1, 2, 7, 40, None) * 8:
        asked = search.ask(limit)
        assert search.done or asked, f"ask({limit}) gave nothing though the search is not done"
        assert limit is None or len(asked) <= limit, f"ask({limit}) gave {len(asked)} arms"
        assert set(asked) <= set(NAMES), "asked for an arm that was never given"
        for arm in asked:
            search.tell(arm, arms.draw(NAMES.index(arm)))


def result_at_any_moment(strategy: Strategy) -> None:
    """There is a result before, during and after the search, and it ranks every arm once."""
    search, arms = _search(strategy, max_pulls=500), SimulatedArms(EASY)
    while True:
        result = search.result()
        assert sorted(result.ranking) == sorted(NAMES), "the ranking is not one of all arms"
        assert set(result.outliers) <= set(NAMES)
        assert result.ranking[: len(result.outliers)] == result.outliers, "declared arms rank first"
        assert (result.low <= result.high).all(), "an interval has its ends crossed"
        assert result.pulls == search.pulls
        json.loads(result.to_json())
        if search.done:
            return
        _drive(search, arms, pulls=37)


def batches_and_late_tells(strategy: Strategy) -> None:
    """Rewards in batches, late, out of order, unasked or after the end are data, not errors."""
    rng = np.random.default_rng(1)
    search, arms = _search(strategy), SimulatedArms(EASY)
    search.tell("arm-3", arms.draw(3, 25))
    late: list[Any] = []
    while not search.done:
        batch = [*late, *search.ask(int(rng.integers(1, 30)))]
        rng.shuffle(batch)
        late, now = batch[: len(batch) // 4], batch[len(batch) // 4 :]
        for arm in now:
            search.tell(arm, arms.draw(NAMES.index(arm), int(rng.integers(1, 4))))
    before = search.result()
    if search.run.proved and before.verdict != "budget":
        assert before.ranking[0] == "arm-5", "the one outlier is not ranked first"
    for arm in late:
        search.tell(arm, arms.draw(NAMES.index(arm)))
    after = search.result()
    assert (after.verdict, after.outliers) == (before.verdict, before.outliers), "a late tell undid"


def saved_and_loaded(strategy: Strategy) -> None:
    """Saved in the middle and loaded, it goes on as if it had never stopped."""
    whole = _drive(_search(strategy, max_pulls=1500), SimulatedArms(EASY, seed=2))
    for pulls in (0, 5, 10, 11, 200):
        arms = SimulatedArms(EASY, seed=2)
        search = _drive(_search(strategy, max_pulls=1500), arms, pulls)
        state = json.loads(json.dumps(search.to_dict(), allow_nan=False))
        loaded = _drive(Search.from_dict(state, strategy=strategy), arms)
        assert loaded.to_dict() == whole.to_dict(), f"saved after {pulls} pulls, it ends otherwise"


def budget_stops_it(strategy: Strategy) -> None:
    """A budget ends the search at the very reward, with the verdict "budget"."""
    search = _drive(_search(strategy, max_pulls=14), SimulatedArms(EASY))
    assert search.pulls == 14
    assert search.verdict == search.result().verdict == "budget"
    assert search.ask() == []


def refuses_bad_parameters(strategy: Strategy) -> None:
    """A setting that makes no sense is refused with an OddarmError."""
    bad: list[dict[str, Any]] = [
        {"delta": 0},
        {"epsilon": -1},
        {"max_outliers": 6},
        {"bound": "loose"},
        {"until": "tired"},
    ]
    if not strategy.confirms:
        bad.append({"until": "confirmed"})
    for options in bad:
        try:
            _search(strategy, **options)
        except OddarmError:
            continue
        raise AssertionError(f"{options} was not refused")


def a_bad_tell_changes_nothing(strategy: Strategy) -> None:
    """A refused reward leaves the state as it was."""
    search = _drive(_search(strategy), SimulatedArms(EASY), 50)
    before = json.dumps(search.to_dict())
    bad: list[tuple[str, Any]] = [("arm-1", 0.5), ("arm-1", [0, math.nan]), ("nobody", 1)]
    for arm, reward in bad:
        try:
            search.tell(arm, reward)
        except OddarmError:
            continue
        raise AssertionError(f"reward {reward!r} of {arm!r} was not refused")
    assert json.dumps(search.to_dict()) == before, "a refused reward left a trace"


STRATEGY_CHECKS: tuple[Callable[[Strategy], None], ...] = (
    ends_on_easy_instances,
    same_seed_same_answer,
    asks_for_arms_it_was_given,
    result_at_any_moment,
    batches_and_late_tells,
    saved_and_loaded,
    budget_stops_it,
    refuses_bad_parameters,
    a_bad_tell_changes_nothing,
)


def check_strategy(strategy: Strategy) -> None:
    """Run every check on a strategy; the first failure is an AssertionError that says which."""
    for check in STRATEGY_CHECKS:
        check(strategy)
