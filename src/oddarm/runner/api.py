"""Driving a search from a source of rewards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import IOBase
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from oddarm._checks import is_number, whole_number
from oddarm._extras import PROGRESS, require
from oddarm._text import plural
from oddarm.errors import ParameterError, StateError
from oddarm.options import (
    DEFAULT_PULLS,
    FindOptions,
    SearchOptions,
    Shown,
    TableOptions,
    check_names,
)
from oddarm.results.result import Result
from oddarm.rewards import Bernoulli, RowsKind, as_rewards, example_range
from oddarm.runner.loops import as_coroutines, on_executor, one_by_one
from oddarm.runner.queue import PullQueue
from oddarm.runner.session import Session
from oddarm.search import Search
from oddarm.sources import FunctionSource, Source
from oddarm.sources.fingerprint import Fingerprint, differences
from oddarm.strategies import Strategy

__all__ = ["find", "find_async", "resume"]

IN_FLIGHT = 8
"""Pulls in flight at a time, if no executor says how many workers there are."""
RETRIES = 3
"""How often a failed pull is tried again, if the caller does not say."""


def find(
    pull: Callable[[Any], Any] | Source | str | Path | Any,
    arms: Sequence[Hashable] | int | None = None,
    strategy: str | Strategy = "adaptive",
    *,
    executor: Executor | None = None,
    in_flight: int | None = None,
    batch: int | None = None,
    retries: int = RETRIES,
    progress: Shown | None = None,
    callbacks: Iterable[Callable[[Search], object]] = (),
    save: str | Path | None = None,
    **options: Unpack[FindOptions],
) -> Result:
    """Find the outlying arms by drawing rewards from a function, a table or a source.

    A function is called once for each reward, exactly as the strategy asks. asyncio runs a
    coroutine function, several calls at a time. Tables, and sources of `oddarm.sources` that draw
    at no cost, are drawn from in batches of up to a thirty-second of the pulls so far.

    Pulls that cost something and have no end get a budget of 1,000 per arm, unless `max_pulls` or
    `max_cost` is given; `max_pulls=None` is for a search without a budget.

    A pull that raises, or returns something that is not a number, is tried again after a pause.
    When that does not help, the arm has failed: the error is in `Result.errors`, and the search
    goes on without the arm. If the first pulls of three arms fail with the same error, before any
    pull has succeeded, the search stops at once with that error. It also stops at once if a
    reward is a number outside the range that `rewards` declares.

    Ctrl-C ends the search early: the result has the verdict "running" and all that is known so far.
    SIGTERM does the same, unless the program has a handler of its own.

    Args:
        pull: Returns a reward of the arm (or an array of several). Or data: a frame, a path, a
            postgresql:// URL, with the columns `arm` and `reward` and all else that
            `oddarm.open_table` takes. Or a source.
        arms: The names of the arms, or their number; those of the data or source by default.
        strategy: As for `Search`.
        executor: Where to pull, such as a pool of threads or processes, or a Dask client's
            `get_executor()`; by default, here and one by one.
        in_flight: The most pulls in flight at a time, with an executor or a coroutine function;
            by default twice the executor's workers, or 8.
        batch: The most rewards to ask for at a time; those of one arm are drawn by one call.
        retries: How often a failed pull is tried again, after 0.1, 0.4, 1.6, 1.6, … seconds.
        progress: Whether to show progress: a bar on a terminal, a line in a notebook that is
            replaced, a line now and then on standard error elsewhere. With "plot", a notebook also
            shows the plot of what is known, redrawn while the search runs.
        callbacks: Called with the search each time that rewards have been told.
        save: A file that the search is saved to every few seconds and when it ends, for any
            reason. `resume(Search.load(file), pull)` continues it with exactly the pulls that were
            left.
        options: All else that `Search` takes: epsilon, rho, delta, rewards, bound, max_pulls, …;
            for data also what `oddarm.open_table` takes: arm, reward, where, rows, min_rows, …

    Raises:
        SourceError: A reward is outside the declared range, the first pulls of several arms fail
            alike, the source fails as a whole, or too few arms are left that can be pulled;
            `error.result` is what was found.

    Examples:
        >>> import random
        >>> rng = random.Random(1)
        >>> rate = {"ord": 0.20, "jfk": 0.23, "sfo": 0.26, "lhr": 0.24, "odd": 0.85}
        >>> find(lambda arm: rng.random() < rate[arm], list(rate), max_outliers=1).ranking[0]
        'odd'
    """
    check_names(find, options, FindOptions)
    run_options = RunOptions(executor, in_flight, batch, retries, progress, tuple(callbacks), save)
    table: TableOptions = _part(options, TableOptions)
    given: SearchOptions = _part(options, SearchOptions)
    with _opened(pull, table, given, bool(progress)) as opened:
        search, source = prepare(opened, arms, strategy, given)
        result = _drive(search, source, run_options)
    if opened is pull:
        return result
    columns = table["arm"]
    return result.with_nouns(plural([columns] if isinstance(columns, str) else columns), "rows")


async def find_async(
    pull: Callable[[Any], Any] | Source,
    arms: Sequence[Hashable] | int | None = None,
    strategy: str | Strategy = "adaptive",
    *,
    in_flight: int | None = None,
    batch: int | None = None,
    retries: int = RETRIES,
    progress: Shown | None = None,
    callbacks: Iterable[Callable[[Search], object]] = (),
    save: str | Path | None = None,
    **options: Unpack[SearchOptions],
) -> Result:
    """Find the outlying arms by a coroutine function, in the running event loop.

    Like `find`, for callers that have a loop and handle signals themselves; with the same budget
    by default. If the call is cancelled, the pulls in flight are cancelled too, and the search is
    saved if `save` says where.
    """
    check_names(find_async, options)
    search, source = prepare(pull, arms, strategy, options)
    if not source.asynchronous:
        raise ParameterError(
            f"pull == {pull!r}, must be a coroutine function for find_async: "
            "call oddarm.find, in a thread of its own by asyncio.to_thread."
        )
    run_options = RunOptions(None, in_flight, batch, retries, progress, tuple(callbacks), save)
    with run_options.session(search, source) as session:
        await as_coroutines(session)
    return _result(session, save)


def resume(
    search: Search,
    pull: Callable[[Any], Any] | Source,
    *,
    max_pulls: int | None = None,
    max_cost: float | None = None,
    executor: Executor | None = None,
    in_flight: int | None = None,
    batch: int | None = None,
    retries: int = RETRIES,
    progress: Shown | None = None,
    callbacks: Iterable[Callable[[Search], object]] = (),
    save: str | Path | None = None,
) -> Result:
    """Go on with a search that was begun before, on the same function or source.

    `search` is what `Search.load` returned, or a search of your own. A source must have all its
    arms, and the rewards that it had when the search was begun, as far as its fingerprint tells.
    If its rewards have an order, it goes on after those that the search was told. `max_pulls` and
    `max_cost` are other budgets, which count the rewards so far; by default those of the search.
    `pull` and all other parameters are as for `find`.

    Raises:
        StateError: The source has other rewards than the search was begun on.
        ParameterError: A budget is less than what the search has spent; or the strategy "fixed" has
            had its one look.

    Examples:
        >>> import oddarm
        >>> coins = oddarm.sources.SimulatedArms([0.1, 0.2, 0.3, 0.9], seed=1)
        >>> search = oddarm.Search(4, max_outliers=1)
        >>> resume(search, coins).outliers
        [3]
    """
    _check_search(search)
    if isinstance(pull, Source):
        source = pull
        fingerprint = source.fingerprint()
        _check_same(search, fingerprint)
        _check_arms(search.names, source)
        _check_sizes(search, source)
        search.fingerprint = fingerprint or search.fingerprint
    elif not callable(pull):
        raise ParameterError(
            f"pull is a {type(pull).__name__}, must be a function that returns a reward of an arm, "
            "or a source: for a table, pass oddarm.open_table(data, arm=…, reward=…)."
        )
    else:
        source = FunctionSource(pull, search.names, search.rewards)
    _check_budgets(search, max_pulls, max_cost)
    search.max_pulls = search.max_pulls if max_pulls is None else max_pulls
    search.max_cost = search.max_cost if max_cost is None else max_cost
    failed = search.errors
    for arm, told in zip(search.names, search.tally.counts.tolist(), strict=True):
        if arm not in failed:
            source.seek(arm, told)
    run_options = RunOptions(executor, in_flight, batch, retries, progress, tuple(callbacks), save)
    return _drive(search, source, run_options)


@dataclass(frozen=True)
class RunOptions:
    """The options of a runner, as `find` describes them."""

    executor: Executor | None
    in_flight: int | None
    batch: int | None
    retries: int
    progress: Shown | None
    callbacks: tuple[Callable[[Search], object], ...]
    save: str | Path | None

    def session(self, search: Search, source: Source) -> Session:
        """Check the options against the source and return the session that drives the search."""
        if self.executor is not None:
            if not callable(getattr(self.executor, "submit", None)):
                raise ParameterError(
                    f"executor == {self.executor!r}, must be an executor, such as "
                    "concurrent.futures.ThreadPoolExecutor(8)."
                )
            if source.asynchronous:
                raise ParameterError(
                    "executor with a coroutine function, which asyncio runs: drop the executor."
                )
            if source.local:
                raise ParameterError(
                    f"executor with {type(source).__name__}, which costs nothing to draw from: "
                    "drop the executor."
                )
        elif self.in_flight is not None and not source.asynchronous:
            raise ParameterError(
                f"in_flight == {self.in_flight!r} with pulls one by one: pass an executor, "
                "such as concurrent.futures.ThreadPoolExecutor(8)."
            )
        if self.progress not in (None, False, True, "plot"):
            raise ParameterError(f"progress == {self.progress!r}, must be True, False or 'plot'.")
        if self.batch is not None:
            whole_number("batch", self.batch, 1)
        if self.in_flight is not None:
            at_a_time = whole_number("in_flight", self.in_flight, 1)
        elif self.executor is not None:
            at_a_time = 2 * getattr(self.executor, "_max_workers", IN_FLIGHT // 2)
        else:
            at_a_time = IN_FLIGHT if source.asynchronous else 1
        retries = whole_number("retries", self.retries, 0)
        queue = PullQueue(search, source, self.batch, at_a_time, retries)
        return Session(queue, self.callbacks, self.progress or False, self.save)


def prepare(
    pull: Callable[[Any], Any] | Source,
    arms: Sequence[Hashable] | int | None,
    strategy: str | Strategy,
    options: SearchOptions,
) -> tuple[Search, Source]:
    """Return the search and its source; a source brings its own arms and rewards."""
    if not isinstance(pull, Source):
        if arms is None:
            raise ParameterError("arms is missing, must be the names of the arms, or their number.")
        search = Search(arms, strategy, **_with_budget(options, arms))
        _check_unit(search)
        return search, FunctionSource(pull, search.names, search.rewards)
    model = as_rewards(options.get("rewards", pull.rewards))
    names: Any = list(pull.arms) if arms is None else arms
    sizes = pull.rewards.limits
    if sizes is not None:
        size_of = dict(zip(pull.arms, sizes, strict=True))
        if arms is not None:
            names = list(range(arms) if is_number(arms) else arms)  # type: ignore[arg-type]
            _check_arms(names, pull)
        kind: RowsKind = "all" if pull.rewards.rows is None else "sample"
        model = model.of_sizes(tuple(size_of[arm] for arm in names), kind)
    given: SearchOptions = {**options, "rewards": model}
    if not pull.local and sizes is None:
        given = _with_budget(given, names)
    search = Search(names, strategy, **given)
    _check_arms(search.names, pull)
    search.fingerprint = pull.fingerprint()
    search.supposes.extend(pull.supposes)
    return search, pull


def _check_unit(search: Search) -> None:
    """Refuse a `min_gap` that no 0/1 rewards have, such as a percentage: "none" would mislead.

    The rewards of a table may happen to be 0 and 1 only, so this is for rewards that are declared.
    """
    gap = search.problem.min_gap
    if gap is not None and gap >= 1 and isinstance(search.rewards, Bernoulli):
        raise ParameterError(
            f"min_gap == {gap:g} with 0/1 rewards, must be < 1: pass a share, such as 0.1 for 10 "
            f"in 100, or declare other rewards by their range, as in {example_range(gap)}."
        )


def _with_budget(options: SearchOptions, arms: Sequence[Hashable] | int) -> SearchOptions:
    """Return the options with the default budget, unless one is given."""
    if "max_pulls" in options or options.get("max_cost") is not None:
        return options
    count = arms if is_number(arms) else len(arms) if isinstance(arms, Sized) else None
    if not isinstance(count, int) or count < 1:
        return options  # `Search` says what is wrong with the arms
    return {**options, "max_pulls": DEFAULT_PULLS * count}


def _part(options: FindOptions, kind: type[Any]) -> Any:
    """Return the options that belong to one of the tables of options."""
    return {name: value for name, value in options.items() if name in kind.__annotations__}


@contextmanager
def _opened(
    pull: Any, table: TableOptions, options: SearchOptions, progress: bool
) -> Iterator[Any]:
    """Open data as a source, to be closed afterwards; leave a function or a source as it is."""
    if isinstance(pull, Source) or callable(pull):
        if table:
            name, what = next(iter(table)), "a source" if isinstance(pull, Source) else "a function"
            raise ParameterError(
                f"{name} == {table.get(name)!r} with {what}, which has no columns: pass "
                "the names of the arms as the second argument, or data with columns."
            )
        yield pull
        return
    if isinstance(pull, Mapping):
        raise ParameterError(
            "pull is a mapping of rewards, must be a function, a table or a source: call "
            "oddarm.scan(data) for rewards that you have."
        )
    if (
        not isinstance(pull, str | PathLike | IOBase)
        and not table
        and not hasattr(type(pull), "columns")
    ):
        yield pull  # neither data nor a function, as `FunctionSource` says
        return
    from oddarm.sources.table.files import FileOptions
    from oddarm.sources.table.opening import need_of, open_table, refuse_missing

    require(need_of(pull), *([PROGRESS] if progress else []))
    arm, reward = table.get("arm"), table.get("reward")
    if arm is None or reward is None:
        files = FileOptions(table.get("encoding"), table.get("format"))
        names = {"table": table.get("table"), "query": table.get("query")}
        refuse_missing(pull, arm, reward, files, "find", **names)
    with _shown_loading(progress):
        source = open_table(
            pull, **table, rewards=options.get("rewards"), seed=options.get("seed", 0)
        )
    with source:
        yield source


@contextmanager
def _shown_loading(progress: bool) -> Iterator[None]:
    """Show how far the loading of a large table is, if progress is to be shown."""
    if not progress:
        yield
        return
    from oddarm.results.loading import LoadProgress
    from oddarm.sources.table.loading import report

    with LoadProgress() as bar, report.to(bar):
        yield


def _check_search(search: Any) -> None:
    """Refuse what is not a search, such as the file of one."""
    if isinstance(search, Search):
        return
    if isinstance(search, str | PathLike):
        raise ParameterError(
            f"search == {str(search)!r}, must be a search: pass "
            f"oddarm.Search.load({str(search)!r})."
        )
    raise ParameterError(
        f"search is a {type(search).__name__}, must be a search: pass what oddarm.Search.load "
        "returns for the file that find was given as save."
    )


def _check_budgets(search: Search, max_pulls: int | None, max_cost: float | None) -> None:
    """Refuse budgets with which the search cannot go on."""
    if max_pulls is None and max_cost is None:
        return
    if search.run.verdict == "budget":
        raise ParameterError(
            f"a further budget for strategy {search.strategy.name!r}, which has looked at its "
            "rewards: a second look would break the promise of its answer. Begin a new search "
            "with more pulls."
        )
    for name, value, spent in (
        ("max_pulls", max_pulls, search.pulls),
        ("max_cost", max_cost, search.core.ledger.cost),
    ):
        if isinstance(value, Real) and value < spent:
            raise ParameterError(
                f"{name} == {value}, must be more than what the search has spent, {spent:,}: it "
                "counts the rewards so far."
            )


def _check_arms(names: Iterable[Any], source: Source) -> None:
    known = set(source.arms)
    for name in names:
        if name not in known or (isinstance(name, float) and isinstance(source.arms, range)):
            raise ParameterError(f"arm {name!r} is not one of the {len(known)} arms of the source.")


def _check_same(search: Search, now: Fingerprint | None) -> None:
    """Refuse to mix the rewards of two sources in one search."""
    begun = search.fingerprint
    if begun is not None and now is not None and begun != now:
        raise StateError(
            f"the search was begun on other data ({differences(begun, now)}): "
            "name the data as it was then, or begin a new search."
        )


def _check_sizes(search: Search, source: Source) -> None:
    """Refuse finite arms of other sizes: they show other data even without a fingerprint."""
    begun, now = search.rewards.limits, source.rewards.limits
    if begun is None or now is None:
        return
    if (search.rewards.rows is None) != (source.rewards.rows is None):
        kind = "all" if search.rewards.rows is None else "sample"
        raise StateError(
            f"the search was begun with rows={kind!r}: open the data so, or begin a new search."
        )
    size_of = dict(zip(source.arms, now, strict=True))
    for arm, size in zip(search.names, begun, strict=True):
        if size_of[arm] != size:
            raise StateError(
                f"the search was begun on other data (arm {arm!r} had {size:,} rewards and has "
                f"{size_of[arm]:,}): name the data as it was then, or begin a new search."
            )


def _drive(search: Search, source: Source, run_options: RunOptions) -> Result:
    """Drive the search until it is done or interrupted."""
    session = run_options.session(search, source)
    if source.asynchronous and _in_event_loop():
        raise ParameterError(
            "find with a coroutine function inside a running event loop: "
            "write  await oddarm.find_async(…)  instead."
        )
    with session.interrupts.watched():
        try:
            with session:
                if source.asynchronous:
                    asyncio.run(as_coroutines(session))
                elif run_options.executor is not None:
                    on_executor(session, run_options.executor)
                else:
                    one_by_one(session)
        except (KeyboardInterrupt, asyncio.CancelledError):
            pass  # what is known so far is the result
        return _result(session, run_options.save)


def _result(session: Session, save: str | Path | None) -> Result:
    """Return the result with how the evidence grew, and the call that goes on if there is one."""
    search = session.queue.search
    result = replace(search.result(), history=tuple(session.history.points))
    if result.verdict == "running":  # it was interrupted
        again = "nothing was saved; with save='search.json', oddarm.resume can go on later"
        return result.with_hint(again if save is None else f"go on with {_call(save)}")
    if save is None or result.verdict != "budget" or search.run.verdict == "budget":
        return result
    enough = "…" if result.enough_pulls is None else result.enough_pulls
    budget = "max_cost=…" if result.ended_by_cost else f"max_pulls={enough}"
    return result.with_hint(_call(save, f", {budget}"))


def _call(save: str | Path, budget: str = "") -> str:
    """Return the call that goes on with a saved search."""
    return f"oddarm.resume(oddarm.Search.load({str(save)!r}), …{budget})"


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
