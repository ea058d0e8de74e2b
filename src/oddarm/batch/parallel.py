"""Many runs, in several processes if they take long."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import as_completed
from multiprocessing import current_process
from typing import TypeVar

__all__ = ["many_runs"]

WORTH_PROCESSES = 4.0
"""Seconds that the runs must take in turn before processes are started to share them."""

T = TypeVar("T")


def many_runs(
    run: Callable[[int], T],
    runs: int,
    *,
    finished: Callable[[T], object] | None,
    apart: Callable[[int], T] | None,
) -> list[T]:
    """Return the results of runs 0, 1, …, in this order.

    Args:
        run: Does run k, in this process.
        runs: How many, at least 1.
        finished: Called with the result of each run, when it is over.
        apart: Does run k in another process, if the runs take more than a few seconds; None to do
            all runs in this process.
    """

    def reported(result: T) -> T:
        if finished is not None:
            finished(result)
        return result

    results = [reported(run(0))]  # the first one also loads what all need
    start = time.perf_counter()
    results += [reported(run(k)) for k in range(1, min(runs, 2))]
    ahead = (time.perf_counter() - start) * (runs - len(results))
    others = range(len(results), runs)
    if apart is None or ahead < WORTH_PROCESSES or current_process().daemon:
        return [*results, *(reported(run(k)) for k in others)]
    return [*results, *_shared(apart, others, reported)]


def _shared(run: Callable[[int], T], numbers: range, reported: Callable[[T], object]) -> list[T]:
    """Do runs in processes, as many as there are cores."""
    from loky import cpu_count, get_reusable_executor

    cores = cpu_count()
    turns = min(len(numbers), 8 * cores)  # runs differ in length: eight turns for each core
    pool = get_reusable_executor(cores)
    parts = [pool.submit(_in_turn, run, numbers[k::turns]) for k in range(turns)]
    results: dict[int, T] = {}
    try:
        for part in as_completed(parts):
            for k, result in part.result().items():
                results[k] = result
                reported(result)
    except BaseException:  # Ctrl-C, or a run that failed: the others are not waited for
        pool.shutdown(kill_workers=True)
        raise
    return [results[k] for k in numbers]


def _in_turn(run: Callable[[int], T], numbers: range) -> dict[int, T]:
    return {k: run(k) for k in numbers}
