"""`oddarm find`: the outlying arms of a table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import oddarm
from oddarm._text import plural, printable
from oddarm.cli import options as shared
from oddarm.cli.exit_codes import DECIDED, exit_code
from oddarm.errors import ParameterError
from oddarm.options import DEFAULT_STRATEGY, DEFAULTS, ProblemOptions

if TYPE_CHECKING:
    from oddarm.rewards import RowsKind
    from oddarm.sources.table.source import TableSource

__all__ = ["find"]

RowSeed = Annotated[int, shared.search_option("seed", words="Seed of the order of rows.")]
OF_ONE_SEARCH = ("strategy", "replace", "max_cost", "plot", "save", "resume")
"""Options that make no sense for a comparison of all strategies."""


def find(
    context: typer.Context,
    data: shared.Data,
    arm: shared.ArmColumns = None,
    reward: shared.RewardColumn = None,
    where: shared.Where = None,
    table: shared.TableName = None,
    query: shared.Query = None,
    epsilon: shared.Epsilon = None,
    min_gap: shared.MinGap = None,
    rho: shared.Rho = None,
    max_outliers: shared.MaxOutliers = None,
    delta: shared.Delta = DEFAULTS["delta"],
    slack: shared.Slack = None,
    neighbours: shared.Neighbours = DEFAULTS["neighbours"],
    strategy: shared.StrategyName = DEFAULT_STRATEGY,
    until: shared.UntilName = None,
    bound: shared.BoundName = DEFAULTS["bound"],
    max_pulls: shared.MaxPulls = None,
    max_cost: shared.MaxCost = None,
    seed: RowSeed = DEFAULTS["seed"],
    bounds: shared.Range = None,
    clip: shared.Clip = None,
    rows: shared.Rows = None,
    min_rows: shared.MinRows = None,
    skip_bad_rows: shared.SkipBadRows = False,
    encoding: shared.Encoding = None,
    format: shared.Format = None,  # noqa: A002
    replace: shared.Replace = False,
    noun: Annotated[
        str | None,
        typer.Option(help="What the arms are called, such as hosts. [default: from --arm]"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a plot (.png, .svg, .pdf) or a page (.html).")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Save the search to a JSON file, every few seconds and when it ends."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Continue a saved search of the same data. It is saved to the same file, unless "
            "--save names another."
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Run every strategy on the same rows; say what each needed."
        ),
    ] = False,
    quiet: shared.Quiet = False,
    as_json: shared.JsonOnly = False,
) -> None:
    """Find the outliers among the arms of a table, reading few of its rows.

    For example:

        oddarm find flights --plot flights.html
        oddarm find requests.csv --arm host --reward timed_out
        oddarm find 'logs/*.parquet' --arm host --reward "ms > 200" --min-gap 0.1
        oddarm find sales.csv --arm shop --reward eur --where "year = 2024"

    Stop with Ctrl-C and continue later, or see what each strategy needs:

        oddarm find requests.csv --arm host --reward timed_out --save search.json
        oddarm find requests.csv --arm host --reward timed_out --resume search.json
        oddarm find flights --compare
    """
    refused = [name for name in OF_ONE_SEARCH if compare and _given(context, name)]
    if refused:
        flag = refused[0].replace("_", "-")
        raise ParameterError(f"--{flag} with --compare, which runs every strategy: drop it.")
    shared.check_plot(plot)
    if save is not None:
        shared.check_written("--save", save)
    oddarm.strategies.as_strategy(strategy)  # a wrong name is refused before data is opened
    search, problem = None, ProblemOptions()
    if resume is None:
        problem = shared.problem_options(
            epsilon=epsilon, min_gap=min_gap, rho=rho, max_outliers=max_outliers, delta=delta,
            slack=slack, neighbours=neighbours,
        )  # fmt: skip
    else:
        if not resume.exists():
            raise ParameterError(
                f"there is no file {resume}: name what --save wrote, or begin with --save {resume}."
            )
        search, save = oddarm.Search.load(resume), save or resume
        _check_options(context, search)
        seed = search.seed
    named = shared.name_data(data, arm, reward, rows or _saved_rows(search))
    silent = quiet or as_json
    source = shared.open_data(
        named, silent, where=where, table=table, query=query, seed=seed, replace=replace,
        rewards=shared.reward_range(bounds, clip), min_rows=min_rows,
        bad_rows="skip" if skip_bad_rows else "error", encoding=encoding, format=format,
    )  # fmt: skip
    noun = noun or plural(named.columns)
    with source:
        if compare:
            run = partial(
                oddarm.compare, source, until=until, bound=bound, max_pulls=max_pulls, seed=seed,
                **problem,
            )  # fmt: skip
            _compare(run, source, noun, as_json)
            return
        if search is not None:
            result = oddarm.resume(
                search,
                source,
                max_pulls=max_pulls,
                max_cost=max_cost,
                save=save,
                progress=not silent,
            )
        else:
            result = oddarm.find(
                source, strategy=strategy, until=until, bound=bound, max_pulls=max_pulls,
                max_cost=max_cost, seed=seed, save=save, progress=not silent, **problem,
            )  # fmt: skip
    result = result.with_nouns(noun, "rows").with_hint(_hint(result, save))
    if as_json:
        print(result.to_json(indent=2))
    else:
        _show(result)
    if plot is not None:
        result.plot(plot)
    if not as_json:
        for what, path in (("plot", plot), ("saved", save)):
            if path is not None:
                print(f"{what}: {printable(path)}")
    if exit_code(result) != DECIDED:
        raise typer.Exit(exit_code(result))


def _hint(result: oddarm.Result, save: Path | None) -> str:
    """Return the options that go on with the search."""
    words = [] if save is None else [f"--resume {printable(shlex.quote(str(save)))}"]
    if result.verdict == "running":  # it was interrupted
        again = "nothing was saved; with --save search.json, --resume search.json can go on later"
        return again if save is None else f"go on with {words[0]}"
    return " ".join([*words, shared.larger_budget(result)])


def _saved_rows(search: oddarm.Search | None) -> RowsKind | None:
    """Return what the rows are of which a saved search was begun; None if there is none."""
    if search is None or search.rewards.limits is None:
        return None
    return "all" if search.rewards.rows is None else "sample"


def _given(context: typer.Context, name: str) -> bool:
    """Return whether an option is given on the command line."""
    origin = context.get_parameter_source(name)
    return origin is not None and origin.name == "COMMANDLINE"


def _check_options(context: typer.Context, search: oddarm.Search) -> None:
    """Refuse options that differ from those of the saved search."""
    problem = search.problem
    saved = {
        "epsilon": problem.epsilon,
        "min_gap": problem.min_gap,
        "rho": problem.rho,
        "max_outliers": problem.max_outliers,
        "delta": problem.delta,
        "slack": problem.slack,
        "neighbours": problem.neighbours,
        "strategy": search.strategy.name,
        "until": search.until,
        "bound": search.bound,
        "seed": search.seed,
    }
    for name, value in saved.items():
        given = context.params[name]
        if _given(context, name) and given != value:
            raise ParameterError(
                f"--{name.replace('_', '-')} {given} with --resume, whose search has "
                f"{'none' if value is None else value}: drop it."
            )


def _compare(
    run: Callable[..., oddarm.Comparison], source: TableSource, noun: str, as_json: bool
) -> None:
    """Run every strategy and print what each needed."""
    from oddarm.cli.progress import PullProgress

    with PullProgress(len(oddarm.strategies.STRATEGIES)) as progress:
        compared = run(progress=progress, finished=progress.finished).with_nouns(noun, "rows")
    if as_json:
        print(json.dumps(compared.to_dict(), indent=2, default=str))
        return
    shared.print_report([compared.summary, *source.supposes], compared.table, compared.notes)


def _show(result: oddarm.Result) -> None:
    """Print the answer, notes about the data, why arms have failed, and the table."""
    reasons = [printable(f"{arm}: {reason}") for arm, reason in list(result.errors.items())[:5]]
    arms = max(20, int(result.odd.sum()))
    sentences = [shared.summary(result), *reasons]
    shared.print_report(sentences, lambda width: f"{result.table(arms, width=width)}\n")
