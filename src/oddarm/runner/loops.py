"""Three ways to pull: one after another, on an executor, as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from typing import Any
from uuid import uuid4

from oddarm.errors import SourceError
from oddarm.runner.desk import Desk, Pull
from oddarm.sources import Job

__all__ = ["as_coroutines", "on_executor", "one_by_one"]


def one_by_one(desk: Desk, notify: Callable[[], None]) -> None:
    """Pull in this thread, each pull after the one before has been told."""
    while not desk.search.done:
        pull = desk.next()
        if pull is None:
            raise desk.stuck()
        try:
            rewards = desk.job(pull)()
        except Exception as error:
            desk.fail(pull, error)
        else:
            desk.take(pull, rewards)
        if not desk.pending:
            notify()


def on_executor(desk: Desk, executor: Executor, notify: Callable[[], None]) -> None:
    """Keep pulls in flight on an executor; those that have not begun at the end are cancelled."""
    running: dict[Future[Any], Pull] = {}
    try:
        while not desk.search.done:
            while len(running) < desk.in_flight and (pull := desk.next()) is not None:
                try:
                    job = desk.job(pull)
                except Exception as error:
                    desk.fail(pull, error)
                else:
                    running[_submit(desk, executor, job)] = pull
            if not running:
                if desk.pending:
                    continue
                raise desk.stuck()
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in [f for f in running if f in done]:
                _settle(desk, running.pop(future), future)
            notify()
    finally:
        for future in running:
            future.cancel()
        _take_finished(desk, running.items())


async def as_coroutines(desk: Desk, notify: Callable[[], None]) -> None:
    """Keep coroutines in flight in the running event loop; those left at the end are cancelled."""
    running: dict[asyncio.Future[Any], Pull] = {}
    try:
        while not desk.search.done:
            while len(running) < desk.in_flight and (pull := desk.next()) is not None:
                try:
                    task = asyncio.ensure_future(desk.job(pull)())
                except Exception as error:
                    desk.fail(pull, error)
                else:
                    running[task] = pull
            if not running:
                if desk.pending:
                    continue
                raise desk.stuck()
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in [t for t in running if t in done]:
                _settle(desk, running.pop(task), task)
            notify()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        _take_finished(desk, running.items())


def _submit(desk: Desk, executor: Executor, job: Job) -> Future[Any]:
    try:
        # Dask takes two calls that look the same for one; a token tells them apart.
        return executor.submit(_do, job, uuid4().hex)
    except RuntimeError as error:
        raise _broken(desk, error) from error


def _do(job: Job, token: str) -> Any:
    del token
    return job()


def _settle(desk: Desk, pull: Pull, future: Future[Any] | asyncio.Future[Any]) -> None:
    """Tell what a pull gave, or note that it failed; an interrupt in a worker is one here."""
    if future.cancelled():
        desk.fail(pull, RuntimeError("the pull was cancelled"))
        return
    try:
        rewards = future.result()
    except BrokenExecutor as error:
        raise _broken(desk, error) from error
    except Exception as error:
        desk.fail(pull, error)
    else:
        desk.take(pull, rewards)


def _take_finished(
    desk: Desk, ended: Iterable[tuple[Future[Any] | asyncio.Future[Any], Pull]]
) -> None:
    """Tell what had been drawn when the search ended or was interrupted."""
    with suppress(SourceError):
        for future, pull in ended:
            if future.done() and not future.cancelled() and future.exception() is None:
                desk.take(pull, future.result())


def _broken(desk: Desk, error: RuntimeError) -> SourceError:
    return SourceError(
        f"the executor takes no more work ({error}): "
        "pass one that is open, and whose workers do not die.",
        desk.search.result(),
    )
