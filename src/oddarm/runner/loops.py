"""Three ways to pull: one after another, on an executor, as coroutines.

Signals act only while rewards are drawn or waited for (`with session.interrupts`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from typing import Any
from uuid import uuid4

from oddarm.errors import SourceError
from oddarm.runner.queue import Pending, PullQueue
from oddarm.runner.session import Session
from oddarm.sources import Job

__all__ = ["as_coroutines", "on_executor", "one_by_one"]


def one_by_one(session: Session) -> None:
    """Pull in this thread, each pull after the one before has been told."""
    queue = session.queue
    while not queue.search.done:
        pull = queue.next()
        if pull is None:
            _sleep(session)
            continue
        try:
            with session.interrupts:
                rewards = queue.job(pull)()
        except Exception as error:
            queue.fail(pull, error)
        else:
            queue.take(pull, rewards)
        session.told()


def on_executor(session: Session, executor: Executor) -> None:
    """Keep pulls in flight on an executor; those that have not begun at the end are cancelled."""
    queue = session.queue
    running: dict[Future[Any], Pending] = {}
    try:
        while not queue.search.done:
            while len(running) < queue.in_flight and (pull := queue.next()) is not None:
                try:
                    with session.interrupts:
                        job = queue.job(pull)
                except Exception as error:
                    queue.fail(pull, error)
                else:
                    running[_submit(queue, executor, job)] = pull
            if not running:
                _sleep(session)
                continue
            with session.interrupts:
                done = wait_for(running, _timeout(queue, len(running)), FIRST_COMPLETED).done
            for future in [f for f in running if f in done]:
                _settle(queue, running.pop(future), future)
            session.told()
    finally:
        for future in running:
            future.cancel()
        _take_finished(queue, running.items())


async def as_coroutines(session: Session) -> None:
    """Keep coroutines in flight in the running event loop; those left at the end are cancelled."""
    queue = session.queue
    session.interrupts.cancels(_canceller())
    running: dict[asyncio.Future[Any], Pending] = {}
    try:
        while not queue.search.done:
            while len(running) < queue.in_flight and (pull := queue.next()) is not None:
                try:
                    with session.interrupts:
                        job = queue.job(pull)
                    task = asyncio.ensure_future(job())
                except Exception as error:
                    queue.fail(pull, error)
                else:
                    running[task] = pull
            if not running:
                with session.interrupts:
                    await asyncio.sleep(_pause(queue))
                continue
            with session.interrupts:
                done, _ = await asyncio.wait(
                    running,
                    timeout=_timeout(queue, len(running)),
                    return_when=asyncio.FIRST_COMPLETED,
                )
            for task in [t for t in running if t in done]:
                _settle(queue, running.pop(task), task)
            session.told()
    finally:
        for task in running:
            task.cancel()
        with session.interrupts:
            await asyncio.gather(*running, return_exceptions=True)
        _take_finished(queue, running.items())


def _canceller() -> Callable[[], object]:
    """Return a call that cancels the running task and wakes its loop, for a signal handler."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    return lambda: loop.call_soon_threadsafe(task.cancel)


def _sleep(session: Session) -> None:
    """Wait until a failed pull may be tried again."""
    with session.interrupts:
        time.sleep(_pause(session.queue))


def _timeout(queue: PullQueue, running: int) -> float | None:
    """Return how long to wait for pulls before a second try may start; None for no limit."""
    return queue.pause() if running < queue.in_flight else None


def _pause(queue: PullQueue) -> float:
    """Return how long to wait until a failed pull may be tried again; 0 if the search is done."""
    if queue.search.done:
        return 0.0
    seconds = queue.pause()
    if seconds is None:
        raise queue.stuck()
    return seconds


def _submit(queue: PullQueue, executor: Executor, job: Job) -> Future[Any]:
    try:
        # Dask takes two calls that look the same for one; a token tells them apart.
        return executor.submit(_do, job, uuid4().hex)
    except RuntimeError as error:
        raise _broken(queue, error) from error


def _do(job: Job, token: str) -> Any:
    del token
    return job()


def _settle(queue: PullQueue, pull: Pending, future: Future[Any] | asyncio.Future[Any]) -> None:
    """Tell what a pull gave, or note that it failed.

    An interrupt or a cancellation in a worker ends the search: it says nothing about the arm.
    """
    try:
        rewards = future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise _broken(queue, error) from error
    except Exception as error:
        queue.fail(pull, error)
    else:
        queue.take(pull, rewards)


def _take_finished(
    queue: PullQueue, ended: Iterable[tuple[Future[Any] | asyncio.Future[Any], Pending]]
) -> None:
    """Tell the rewards of pulls that had ended when the search ended or was interrupted."""
    with suppress(SourceError):
        for future, pull in ended:
            if future.done() and not future.cancelled() and future.exception() is None:
                queue.take(pull, future.result())


def _broken(queue: PullQueue, error: Exception) -> SourceError:
    return queue.ended(
        f"the executor takes no more work ({str(error) or type(error).__name__}): "
        "pass one that is open, and whose workers do not die."
    )
