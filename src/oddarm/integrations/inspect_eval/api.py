"""`odd_samples`: a task of inspect_ai, run as a search for the samples that do not belong."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from oddarm._checks import real_number
from oddarm._extras import INSPECT, require
from oddarm._text import plural
from oddarm.errors import MissingExtraError, ParameterError, SourceError
from oddarm.integrations.inspect_eval.runs import RunBook, SampleId
from oddarm.integrations.inspect_eval.scores import ScoreReader
from oddarm.options import SearchOptions, check_names
from oddarm.results.result import Result
from oddarm.runner.api import IN_FLIGHT, RETRIES, RunOptions, prepare
from oddarm.runner.loops import as_coroutines
from oddarm.search import Search
from oddarm.sources import FunctionSource
from oddarm.strategies import Strategy

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.model import Model

__all__ = ["odd_samples"]

OLDEST = "0.3.268"
"""The oldest version that lets a task run a sample once more while it runs."""
MAX_EPOCHS = 100
"""The budget if the caller gives none: a run of a sample costs more than a probe of a host."""
LOG_BUFFER = 10
"""inspect_ai writes the log after so many samples; it would after each, as it expects none."""
OURS = {
    "model": "pass it by itself",
    "epochs": "pass max_epochs",
    "epochs_reducer": "give it to the task",
    "max_samples": "pass in_flight",
    "limit": "filter the dataset of the task",
    "sample_id": "filter the dataset of the task",
    "sample_shuffle": "the search chooses the order",
    "fail_on_error": "a sample that fails is tried again, and then left out",
    "continue_on_fail": "a sample that fails is tried again, and then left out",
    "run_samples": "the search runs samples",
    "score": "the search needs scores",
}
"""Options of inspect_ai's `eval` that the search decides, and what to do in their place."""


def odd_samples(
    task: Task | Callable[[], Task],
    model: str | Model | None = None,
    *,
    scorer: str | None = None,
    score_key: str | None = None,
    by: str | None = None,
    max_epochs: float | None = None,
    in_flight: int = IN_FLIGHT,
    retries: int = RETRIES,
    callbacks: Iterable[Callable[[Search], object]] = (),
    save: str | Path | None = None,
    search: Search | None = None,
    eval_options: Mapping[str, Any] | None = None,
    strategy: str | Strategy = "adaptive",
    **options: Unpack[SearchOptions],
) -> Result:
    """Find the samples of a task of inspect_ai whose mean score lies far from the rest.

    inspect_ai runs the task, and writes its log. The search says which sample runs once more:
    the arms are the ids of the samples, a pull is one epoch of one sample, and the reward is its
    score. inspect_ai's `value_to_float` makes numbers of scores: C and I are 1 and 0.

    A sample that fails, or is not scored, is run again as another epoch after a pause. When that
    does not help, it is left out, and `Result.errors` says why. One that hits a limit counts with
    the score that its scorer gives. `inspect_ai` retries within an epoch if `eval_options` has
    `retry_on_error`.

    Ctrl-C ends the evaluation: the result has the verdict "running" and all that is known so far.

    Args:
        task: A task, or a function that makes one; it is not changed.
        model: The model; by default that of the task, or of INSPECT_EVAL_MODEL.
        scorer: Which score counts, if the task has several scorers.
        score_key: Which value counts, if a score has several by name.
        by: A key of the samples' metadata, such as "prompt": its values are the arms in place of
            samples. A pull is then an epoch of a sample of that group, drawn at random.
        max_epochs: The budget: as many runs of samples as so many epochs of the whole dataset
            have; 100 by default, unless `max_pulls` or `max_cost` is given. A sample may run more
            often than that, another less.
        in_flight: The most samples in flight at a time.
        retries: How often a failed run is tried again.
        callbacks: Called with the search each time that rewards have been told.
        save: A file that the search is saved to every few seconds and when it ends.
        search: A search to go on with, such as `oddarm.Search.load(save)`; it has its options.
        eval_options: What else inspect_ai's `eval` takes, such as `{"log_dir": "logs"}`.
        strategy: As for `oddarm.Search`.
        options: All else that `oddarm.Search` takes: min_gap, max_outliers, delta, rewards, …
            With scores that are not 0 or 1, pass `rewards=(low, high)`.

    Raises:
        MissingExtraError: inspect_ai is not installed, or is too old.
        SourceError: The first samples fail alike, the scores are not what was named, or the
            evaluation fails; `error.result` is what was found.
    """
    _require_inspect()
    check_names(odd_samples, options)
    from inspect_ai import eval as run_eval
    from inspect_ai.scorer import value_to_float

    from oddarm.integrations.inspect_eval.log import complete_header
    from oddarm.integrations.inspect_eval.source import SearchSource

    eval_with = _eval_options(model, eval_options or {})
    given = _as_task(task)
    samples = _by_id(given.dataset)
    groups = _groups(samples, by)
    score_errors = bool(eval_with.get("score_on_error", given.score_on_error))

    async def drive() -> None:
        with session:
            await as_coroutines(session)

    source = SearchSource(samples, drive)
    reader = ScoreReader(value_to_float(), scorer, score_key, score_errors)
    counts = (
        {} if search is None else dict(zip(search.names, search.tally.counts.tolist(), strict=True))
    )
    seed = options.get("seed", 0) if search is None else search.seed
    source.book = book = RunBook(groups, source.start, reader, done=counts, seed=seed)
    if search is None:
        budgeted: SearchOptions = {**options, **_budget(max_epochs, len(samples), options)}
        search, pulls = prepare(book.run, list(groups), strategy, budgeted)
    else:
        _check_resumed(search, list(groups), options)
        if max_epochs is not None:
            search.max_pulls = _budget(max_epochs, len(samples), {})["max_pulls"]
        pulls = FunctionSource(book.run, search.names, search.rewards)
    run_options = RunOptions(None, in_flight, None, retries, None, tuple(callbacks), save)
    session = run_options.session(search, pulls)
    epochs = MAX_EPOCHS if search.max_pulls is None else -(-search.max_pulls // len(samples))
    logs = []
    try:
        logs = run_eval(
            _searched(given, source),
            epochs=max(epochs, 1),
            fail_on_error=False,
            max_samples=in_flight,
            **eval_with,
        )
    except KeyboardInterrupt:
        pass  # what is known so far is the result
    result = search.result().with_nouns("samples" if by is None else plural([by]), "runs")
    for log in logs:
        complete_header(log, given.dataset, list(samples), book.most_epochs, result)
    driver = source.driver
    if driver is not None and driver.done() and not driver.cancelled():
        driver.result()  # raises what ended the search
    for log in logs:
        if log.status == "error" and log.error is not None:
            raise SourceError(f"the evaluation failed: {log.error.message}", result)
    return result


def _require_inspect() -> None:
    require(INSPECT)
    import inspect_ai

    enqueue = getattr(inspect_ai, "enqueue_sample", None)
    if enqueue is None or "epoch" not in signature(enqueue).parameters:
        raise MissingExtraError(
            f"odd samples need inspect_ai {OLDEST} or later, and not {inspect_ai.__version__}",
            ["inspect"],
        )
    if os.environ.get("INSPECT_ASYNC_BACKEND", "asyncio") != "asyncio":
        raise ParameterError(
            f"INSPECT_ASYNC_BACKEND == {os.environ['INSPECT_ASYNC_BACKEND']!r}, must be asyncio: "
            "the search runs in its event loop."
        )


def _eval_options(model: str | Model | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is passed on to inspect_ai."""
    for name in options:
        if name in OURS:
            raise ParameterError(f"eval_options has {name!r}, which it must not: {OURS[name]}.")
    if isinstance(model, Sequence) and not isinstance(model, str):
        raise ParameterError(
            "model is a list, must be one model: to compare models, name one in the metadata of "
            "each sample, and pass by='model' (docs/howto/evaluations.md)."
        )
    chosen = {} if model is None else {"model": model}
    return {"log_buffer": LOG_BUFFER, **chosen, **options}


def _as_task(task: Task | Callable[[], Task]) -> Task:
    from inspect_ai import Task

    made = task if isinstance(task, Task) or not callable(task) else task()
    if not isinstance(made, Task):
        raise ParameterError(
            f"task is a {type(made).__name__}, must be a task of inspect_ai, or a function that "
            "makes one."
        )
    if made.sample_source is not None or made.early_stopping is not None:
        raise ParameterError(
            "task has a SampleSource or early stopping of its own, must have a plain dataset: the "
            "search decides which samples run."
        )
    return made


def _by_id(dataset: Any) -> dict[SampleId, Any]:
    """Return the samples of a dataset by id; those without one get their number, from 1."""
    samples: dict[SampleId, Any] = {}
    for k, sample in enumerate(dataset, start=1):
        named = sample if sample.id is not None else sample.model_copy(update={"id": k})
        samples[named.id] = named
    if len({str(name) for name in samples}) < len(dataset):
        raise ParameterError("the dataset has two samples with one id, must have one each.")
    return samples


def _groups(samples: Mapping[SampleId, Any], by: str | None) -> dict[Hashable, list[SampleId]]:
    """Return the samples of each arm."""
    if by is None:
        return {name: [name] for name in samples}
    groups: dict[Hashable, list[SampleId]] = {}
    for name, sample in samples.items():
        if by not in (sample.metadata or {}):
            raise ParameterError(f"by == {by!r}, must be in the metadata of sample {name!r}.")
        groups.setdefault(sample.metadata[by], []).append(name)
    return groups


def _budget(max_epochs: float | None, samples: int, options: SearchOptions) -> SearchOptions:
    """Return the budget in runs of samples, unless the options have one."""
    given = "max_pulls" in options or options.get("max_cost") is not None
    if max_epochs is None:
        return {} if given else {"max_pulls": MAX_EPOCHS * samples}
    if "max_pulls" in options:
        raise ParameterError("max_epochs and max_pulls are two budgets of runs: pass one.")
    epochs = real_number("max_epochs", max_epochs, ">= 1", lambda x: 1 <= x < math.inf)
    return {"max_pulls": int(epochs * samples)}


def _check_resumed(search: Search, arms: list[Hashable], options: SearchOptions) -> None:
    """Refuse a search about other samples, or with options that it cannot change."""
    if options:
        raise ParameterError(
            f"{next(iter(options))} with a search, which has its options: pass max_epochs at most."
        )
    if list(search.names) != arms:
        raise ParameterError("the search has other arms than the task: pass the task as it was.")


def _searched(task: Task, source: Any) -> Task:
    """Return a copy of a task whose samples the search chooses."""
    from inspect_ai import task_with

    return task_with(copy(task), dataset=source)
