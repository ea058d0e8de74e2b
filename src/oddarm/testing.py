"""Checks for strategies and sources of your own: what those of oddarm promise to their callers.

Examples:
    >>> import oddarm
    >>> from oddarm.testing import check_source, check_strategy
    >>> check_strategy(oddarm.strategies.NRR(k=2))
    >>> check_source(lambda: oddarm.sources.RecordedSource({"a": [0, 1], "b": [1], "c": [0, 0]}))
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import math
import pickle
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from oddarm._typing import Floats
from oddarm.errors import OddarmError, StateError
from oddarm.results.result import Result
from oddarm.runner.api import find
from oddarm.search import Search
from oddarm.sources import Job, SimulatedArms, Source
from oddarm.strategies import Strategy, Verdict
from oddarm.strategies.base import UNDECIDED

__all__ = ["SOURCE_CHECKS", "STRATEGY_CHECKS", "check_source", "check_strategy"]

# One arm far above nine others that are neither tied nor close to it: easy for any rule.
NAMES = [f"arm-{i}" for i in range(10)]
EASY = [0.30, 0.05, 0.10, 0.15, 0.40, 0.98, 0.25, 0.45, 0.20, 0.35]
BUDGET = 100_000


def _search(strategy: Strategy, **options: Any) -> Search:
    defaults: dict[str, Any] = {"max_outliers": 1, "max_pulls": BUDGET, "epsilon": 2.5}
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
        assert search.verdict != "budget", f"no end within {BUDGET:,} pulls on an easy instance"
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
    """An ask returns arms of the search: at most the limit, at least one while it is not done."""
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
        assert sorted(result.ranking) == sorted(NAMES), "the ranking does not have every arm once"
        assert set(result.outliers) <= set(NAMES)
        assert result.ranking[: len(result.outliers)] == result.outliers, "declared arms rank first"
        assert (result.low <= result.high).all(), "an interval has its ends crossed"
        assert result.pulls == search.pulls
        json.loads(result.to_json())
        if search.done:
            return
        _drive(search, arms, pulls=37)


def answers_fit_their_verdict(strategy: Strategy) -> None:
    """Outliers, candidates, statuses, odds and forecast fit the verdict, at any moment."""
    for budget in (400, BUDGET // 5):
        search, arms = _search(strategy, max_pulls=budget), SimulatedArms(EASY)
        _check_answer(search.result())
        while not search.done:
            _drive(search, arms, pulls=max(37, search.pulls))
            _check_answer(search.result())


def _check_answer(result: Result) -> None:
    assert result.verdict in get_args(Verdict), f"{result.verdict!r} is not a verdict"
    outliers, candidates = list(result.outliers), list(result.candidates)
    assert not (outliers and candidates), "candidates beside outliers"
    if result.verdict not in ("confirmed", "ranked"):
        assert not outliers, f"outliers with the verdict {result.verdict!r}"
    if result.verdict == "confirmed":
        assert outliers, "nobody is an outlier though a group is confirmed"
    if result.verdict == "none":
        assert not candidates, "candidates though nobody is an outlier"
    assert result.ranking[: len(candidates)] == candidates, "candidates do not rank first"
    for status, expected in (("outlier", outliers), ("candidate", candidates)):
        having = [row.arm for row in result.arms if row.status == status]
        assert having == expected, f"the arms of status {status!r} are {having}, not {expected}"
    odds = result.evidence
    assert odds is None or (isinstance(odds, float) and odds >= 1), f"evidence == {odds!r}"
    forecast = result.forecast
    if forecast is not None:
        assert result.verdict in UNDECIDED, f"a forecast with the verdict {result.verdict!r}"
        assert type(forecast) is int and forecast >= 0, f"forecast == {forecast!r}"  # noqa: PT018
    gap = result.widest_gap
    assert gap is None or gap >= 0, f"widest_gap == {gap!r}"
    assert all(str(arm) in result.summary for arm in [*outliers, *candidates][:5]), (
        "the sentence does not name the arms"
    )


def costs_are_counted(strategy: Strategy) -> None:
    """With costs, a result has the sum of what its pulls cost; without, their number."""
    costs = {name: 1.0 + k for k, name in enumerate(NAMES)}
    search = _drive(_search(strategy, costs=costs, max_pulls=200), SimulatedArms(EASY))
    result = search.result()
    cost = sum(row.pulls * costs[row.arm] for row in result.arms)
    assert math.isclose(result.cost, cost), f"cost == {result.cost}, must be {cost}"
    loaded = Search.from_dict(json.loads(json.dumps(search.to_dict())), strategy=strategy)
    assert loaded.result().cost == result.cost, "a loaded search has other costs"
    plain = _drive(_search(strategy, max_pulls=200), SimulatedArms(EASY)).result()
    assert plain.cost == plain.pulls, "without costs, the cost is not the number of pulls"


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
    assert (after.verdict, after.outliers) == (before.verdict, before.outliers), (
        "a late tell changed the answer"
    )


def saved_and_loaded(strategy: Strategy) -> None:
    """Saved in the middle and loaded, it goes on as if it had never stopped.

    For that its run declares in `Run.fields` what it remembers beyond the tally.
    """
    whole = _drive(_search(strategy, max_pulls=1500), SimulatedArms(EASY, seed=2))
    for pulls in (0, 5, 10, 11, 200):
        arms = SimulatedArms(EASY, seed=2)
        search = _drive(_search(strategy, max_pulls=1500), arms, pulls)
        state = json.loads(json.dumps(search.to_dict(), allow_nan=False))
        loaded = _drive(Search.from_dict(state, strategy=strategy), arms)
        assert loaded.to_dict() == whole.to_dict(), (
            f"saved after {pulls} pulls, it ends differently"
        )


def refuses_damaged_states(strategy: Strategy) -> None:
    """A state with a field of another type, or with too short an array, is a StateError."""
    state = _drive(_search(strategy), SimulatedArms(EASY), 50).to_dict()
    for name, value in state["run"].items():
        for bad in _damaged(value):
            run = {**state["run"], name: bad}
            try:
                Search.from_dict({**state, "run": run}, strategy=strategy)
            except StateError:
                continue
            raise AssertionError(f"a state with {bad!r} for {name!r} was not refused")


def _damaged(value: Any) -> list[Any]:
    """Return wrong values for a field; none for null, which may stand for anything."""
    others: list[Any] = [{}, "x", [0]]
    bad = [] if value is None else [other for other in others if type(other) is not type(value)]
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        bad.append({**value, "data": value["data"][:-1]})
    return bad


def budget_stops_it(strategy: Strategy) -> None:
    """A budget ends the search after exactly so many rewards, with the verdict "budget"."""
    search = _drive(_search(strategy, max_pulls=14), SimulatedArms(EASY))
    assert search.pulls == 14
    assert search.verdict == search.result().verdict == "budget"
    assert search.ask() == []


def max_cost_stops_it(strategy: Strategy) -> None:
    """No pull is asked for that would cost more than is left; then the verdict is "budget"."""
    prices = dict(zip(NAMES, [1.0, 4.0] * 5, strict=True))
    for limit in (1, None):
        search, arms = _search(strategy, costs=prices, max_cost=37.5), SimulatedArms(EASY)
        while not search.done:
            asked = search.ask(limit)
            assert asked or search.done, f"ask({limit}) gave nothing though the search is not done"
            for arm in asked:
                search.tell(arm, arms.draw(NAMES.index(arm)))
        assert search.result().cost <= 37.5, "the pulls cost more than max_cost"
        assert search.verdict == "budget" or search.pulls > len(NAMES)
        assert search.ask() == []


def refuses_bad_parameters(strategy: Strategy) -> None:
    """Options that make no sense are refused with an OddarmError."""
    bad: list[dict[str, Any]] = [
        {"delta": 0},
        {"epsilon": -1},
        {"max_outliers": 6},
        {"bound": "loose"},
        {"until": "tired"},
        {"min_gap": 0},
        {"slack": 1},
        {"costs": {"arm-0": 1}},
        {"max_cost": 0},
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
    answers_fit_their_verdict,
    costs_are_counted,
    batches_and_late_tells,
    saved_and_loaded,
    refuses_damaged_states,
    budget_stops_it,
    max_cost_stops_it,
    refuses_bad_parameters,
    a_bad_tell_changes_nothing,
)
"""What `check_strategy` checks, one promise each."""


def check_strategy(strategy: Strategy) -> None:
    """Run every check on a strategy; the first failure is an AssertionError that says which."""
    for check in STRATEGY_CHECKS:
        check(strategy)


MakeSource = Callable[[], Source]

WHOLE = 2000
"""Finite arms with at most this many rewards are drawn to the end."""


def _run(job: Job) -> Any:
    """Return what a job gives, in an event loop if it needs one."""
    drawn = job()
    return asyncio.run(_wait_for(drawn)) if inspect.isawaitable(drawn) else drawn


async def _wait_for(awaitable: Any) -> Any:
    return await awaitable


def _draw(source: Source, arm: Any, count: int) -> Floats:
    """Draw rewards and check that each fits the declared model."""
    return source.rewards.check(source.draw(arm, count))


def _pools(source: Source) -> dict[Any, int]:
    """Return the finite arms that are small enough to be drawn to the end, with their sizes."""
    sizes = source.rewards.limits or ()
    pools = {a: s for a, s in zip(source.arms, sizes, strict=False) if s <= WHOLE}
    return dict(list(pools.items())[:5])


def names_its_arms(make: MakeSource) -> None:
    """The arms have distinct names that stay the same; a finite source knows their sizes."""
    with make() as source:
        arms = list(source.arms)
        assert arms, "the source has no arms"
        assert len(set(arms)) == len(arms), "two arms have the same name"
        assert list(source.arms) == arms, "the arms change from one look to the next"
        sizes = source.rewards.limits
        assert sizes is None or len(sizes) == len(arms), "there is not one size for each arm"


def draws_as_many_as_asked(make: MakeSource) -> None:
    """As many rewards are drawn as asked for, fewer only from a finite arm that ends."""
    with make() as source:
        left = dict(zip(source.arms, source.rewards.limits or (), strict=False))
        for arm in list(source.arms)[:5]:
            for count in (1, 2, 7):
                wanted = min(count, left.get(arm, count))
                got = len(_draw(source, arm, count))
                assert got == wanted, f"draw({arm!r}, {count}) gave {got} rewards, not {wanted}"
                if arm in left:
                    left[arm] -= got


def finite_arms_end(make: MakeSource) -> None:
    """A finite arm gives each of its rewards once, however they are drawn, then none."""
    with make() as source, make() as other:
        for arm, size in _pools(source).items():
            at_once = _draw(source, arm, size + 3)
            assert len(at_once) == size, f"{arm!r} gave {len(at_once)} of its {size} rewards"
            assert len(_draw(source, arm, 1)) == 0, f"{arm!r} gives more than its {size} rewards"
            one_by_one = [_draw(other, arm, 1) for _ in range(size)]
            assert len(_draw(other, arm, 1)) == 0, f"{arm!r} gives more than its {size} rewards"
            same = sorted(at_once.tolist()) == sorted(np.concatenate(one_by_one).tolist())
            assert same, f"{arm!r} drawn one by one gives other rewards than drawn at once"


def jobs_pick_when_made(make: MakeSource) -> None:
    """Jobs of finite arms pick their items when made, so they may run late, unordered or twice.

    A source that draws in the runner's own thread, or only one by one, may leave `job` as it is.
    """
    with make() as source, make() as other:
        if type(source).job is Source.job:
            return
        for arm, size in _pools(source).items():
            jobs = [source.job(arm, count) for count in (1, 2, size)]
            late = [source.rewards.check(_run(job)) for job in reversed(jobs)][::-1]
            whole = _draw(other, arm, size)
            same = sorted(np.concatenate(late).tolist()) == sorted(whole.tolist())
            assert same, f"jobs of {arm!r} run out of order draw other items than draw"
            again = source.rewards.check(_run(jobs[0]))
            assert np.array_equal(again, late[0]), f"a job of {arm!r} run again draws other items"


def goes_where_it_is_sent(make: MakeSource) -> None:
    """After `seek`, the same rewards come again; every finite source can do that."""
    with make() as source:
        if type(source).seek is Source.seek and source.rewards.limits is None:
            return
        for arm in list(source.arms)[:5]:
            first = _draw(source, arm, 6)
            source.seek(arm, 1)
            again = _draw(source, arm, 5)
            assert np.array_equal(first[1:], again), f"seek({arm!r}, 1) leads to other rewards"


def fingerprints_agree(make: MakeSource) -> None:
    """Sources with the same rewards have the same fingerprint, which draws do not change."""
    with make() as source, make() as other:
        before = source.fingerprint()
        assert json.loads(json.dumps(before)) == before, "JSON cannot hold the fingerprint"
        _draw(other, next(iter(other.arms)), 1)
        assert other.fingerprint() == before, "the same rewards have another fingerprint"


def refuses_unknown_arms(make: MakeSource) -> None:
    """The name of an arm that it does not have is refused with an OddarmError."""
    with make() as source:
        for draw in (source.draw, lambda arm: _run(source.job(arm))):
            try:
                draw(object())
            except OddarmError:
                continue
            raise AssertionError("a reward was drawn of an arm that the source does not have")


def serves_a_search(make: MakeSource) -> None:
    """A search on the source counts its rewards, within the budget, and no arm fails."""
    with make() as source:
        if len(source.arms) < 3:
            return
        result = find(source, strategy="rr", max_outliers=1, max_pulls=300)
        assert not result.errors, f"arms failed: {result.errors}"
        assert 0 < result.pulls <= 300, f"{result.pulls} pulls with a budget of 300"


def closes_twice(make: MakeSource) -> None:
    """A source that is closed can be closed again."""
    source = make()
    source.close()
    source.close()


def jobs_can_be_sent(make: MakeSource) -> None:
    """A job that was pickled, as for another process, gives the same rewards."""
    with make() as source, make() as other:
        arm = next(iter(source.arms))
        sent = pickle.loads(pickle.dumps(source.job(arm, 3)))
        there = source.rewards.check(_run(sent))
        here = source.rewards.check(_run(other.job(arm, 3)))
        assert len(there) == len(here), "a job that was sent gives another number of rewards"
        if source.rewards.limits is not None:
            assert np.array_equal(there, here), "a job that was sent gives other rewards"


SOURCE_CHECKS: tuple[Callable[[MakeSource], None], ...] = (
    names_its_arms,
    draws_as_many_as_asked,
    finite_arms_end,
    jobs_pick_when_made,
    goes_where_it_is_sent,
    fingerprints_agree,
    refuses_unknown_arms,
    serves_a_search,
    closes_twice,
)
"""What `check_source` checks, one promise each."""


def check_source(source: Source | MakeSource, *, processes: bool = False) -> None:
    """Run every check on a source; the first failure is an AssertionError that says which.

    Args:
        source: A function that returns a new source each time, with the same rewards if they have
            an order; or a source that can be copied.
        processes: Whether its jobs can be sent to other processes.
    """
    make = (lambda: copy.deepcopy(source)) if isinstance(source, Source) else source
    for check in (*SOURCE_CHECKS, *([jobs_can_be_sent] if processes else [])):
        check(make)
