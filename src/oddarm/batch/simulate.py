"""Searches on simulated arms: what a strategy would find, and at what cost."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Literal, Unpack, overload

from oddarm._checks import whole_number
from oddarm.batch.parallel import many_runs
from oddarm.definitions.groups import Means, float_means
from oddarm.options import DEFAULTS, SearchOptions, check_names
from oddarm.results.result import Result
from oddarm.search import Search
from oddarm.sources import SimulatedArms
from oddarm.strategies import Strategy

__all__ = ["simulate"]

CHUNK = 1_000_000
"""Pulls between two calls of `progress`, in compiled code."""


@overload
def simulate(
    means: Means,
    strategy: str | Strategy = ...,
    *,
    runs: None = ...,
    progress: Callable[[Search], object] | None = ...,
    finished: Callable[[Result], object] | None = ...,
    shape: Literal["bernoulli"] | None = ...,
    **options: Unpack[SearchOptions],
) -> Result: ...


@overload
def simulate(
    means: Means,
    strategy: str | Strategy = ...,
    *,
    runs: int,
    progress: Callable[[Search], object] | None = ...,
    finished: Callable[[Result], object] | None = ...,
    shape: Literal["bernoulli"] | None = ...,
    **options: Unpack[SearchOptions],
) -> list[Result]: ...


def simulate(
    means: Means,
    strategy: str | Strategy = "adaptive",
    *,
    runs: int | None = None,
    progress: Callable[[Search], object] | None = None,
    finished: Callable[[Result], object] | None = None,
    shape: Literal["bernoulli"] | None = None,
    **options: Unpack[SearchOptions],
) -> Result | list[Result]:
    """Run a search on arms with known means.

    The k-th reward of an arm depends on the seed alone, so strategies with the same seed see the
    same rewards, and the answers are those of `Search` with `ask(1)` on the same rewards.
    Adaptive, GOLD, RR and WRR run compiled on 0/1 rewards, MaxGap and ROAI on normal ones, too.

    Args:
        means: The means, as a mapping from arm to mean, a pandas Series whose index names the
            arms, or a sequence, which goes by position, as does a polars Series.
        strategy: As for `Search`.
        runs: How many runs; None for one. If they take more than a few seconds, they share the
            cores, in processes of their own, unless there is a `progress`.
        progress: Called with the search now and then.
        finished: Called with the result of each run, when it is over.
        shape: "bernoulli" to draw 0/1 rewards whatever the declared model is.
        options: All else that `Search` takes: epsilon, rho, delta, rewards, bound, max_pulls, …
            Run k has the seed `seed` + k.

    Returns:
        A result; a list of them if `runs` is given.

    Examples:
        >>> result = simulate({"a": 0.2, "b": 0.25, "c": 0.3, "d": 0.9}, max_outliers=1, seed=7)
        >>> result.outliers
        ['d']
        >>> [r.outliers for r in simulate([0.2, 0.25, 0.3, 0.9], max_outliers=1, runs=3)]
        [[3], [3], [3]]
    """
    check_names(simulate, options)
    first = whole_number("seed", options.get("seed", DEFAULTS["seed"]), 0)
    if runs is not None:
        whole_number("runs", runs, 1)

    def run(k: int) -> Result:
        return _simulate(means, strategy, progress, shape, {**options, "seed": first + k})

    apart = run if progress is None else None
    results = many_runs(run, runs or 1, finished=finished, apart=apart)
    return results[0] if runs is None else results


def _simulate(
    means: Means,
    strategy: str | Strategy,
    progress: Callable[[Search], object] | None,
    shape: Literal["bernoulli"] | None,
    options: SearchOptions,
) -> Result:
    names, values = float_means(means)
    search = Search(len(values) if names is None else names, strategy, **options)
    arms = SimulatedArms(values, search.rewards, search.seed, shape)
    _drive(search, arms, progress)
    return search.result()


def _drive(
    search: Search, arms: SimulatedArms, progress: Callable[[Search], object] | None
) -> None:
    """Pull the asked arms one by one, in compiled code where it can take over."""
    run, tally, core = search.run, search.tally, search.core
    told = 0
    while not search.done:
        if run.compiled is not None:
            compiled = import_module(run.compiled)
            sure = core.ledger.sure
            if sure and compiled.fits(run, arms):
                stop = tally.pulls + min(max(CHUNK, 10 * search.n), sure)
                compiled.advance(run, arms, stop)
                if progress is not None:
                    progress(search)
                continue
        for arm in core.ask(1):
            core.tell(arm, arms.draw(arm))
        told += 1
        if progress is not None and told % 1000 == 0:
            progress(search)
