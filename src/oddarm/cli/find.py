"""`oddarm find`: the outlying arms of a table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import oddarm
from oddarm._text import printable
from oddarm.cli.options import (
    ArmColumns,
    BoundName,
    Clip,
    Delta,
    Encoding,
    Epsilon,
    JsonOnly,
    MaxOutliers,
    MaxPulls,
    MinRows,
    Query,
    Range,
    Replace,
    RewardColumn,
    Rho,
    SkipBadRows,
    TableName,
    Where,
    check_plot,
    check_problem,
    check_written,
    open_data,
    print_report,
    reward_range,
    search_option,
)
from oddarm.errors import ParameterError
from oddarm.options import DEFAULT_STRATEGY, DEFAULTS, ProblemOptions, Until
from oddarm.rewards import RowsKind

if TYPE_CHECKING:
    from oddarm.sources.table.source import TableSource

__all__ = ["find"]

RowSeed = Annotated[int, search_option("seed", words="Seed of the order of rows.")]
OF_ONE_SEARCH = ("strategy", "replace", "plot", "save", "resume")
"""Options that make no sense for a comparison of all strategies."""


def find(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="A CSV, Parquet, JSON lines or DuckDB file, a postgresql:// URL, or flights, "
            "the data that comes with oddarm."
        ),
    ],
    arm: ArmColumns = None,
    reward: RewardColumn = None,
    where: Where = None,
    table: TableName = None,
    query: Query = None,
    epsilon: Epsilon = DEFAULTS["epsilon"],
    rho: Rho = None,
    max_outliers: MaxOutliers = None,
    delta: Delta = 0.05,
    strategy: Annotated[str, typer.Option(help="The strategy.")] = DEFAULT_STRATEGY,
    until: Annotated[
        Until | None,
        search_option(
            "until", default="found if the strategy can and each row is drawn once, else ranked"
        ),
    ] = None,
    bound: BoundName = DEFAULTS["bound"],
    max_pulls: MaxPulls = None,
    seed: RowSeed = DEFAULTS["seed"],
    bounds: Range = None,
    clip: Clip = None,
    rows: Annotated[
        RowsKind | None,
        typer.Option(
            help="Whether the rows are a sample of what the arms do, or all that there is. "
            "[default: sample; all for flights]"
        ),
    ] = None,
    min_rows: MinRows = None,
    skip_bad_rows: SkipBadRows = False,
    encoding: Encoding = None,
    replace: Replace = False,
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
    as_json: JsonOnly = False,
) -> None:
    """Find the outliers among the arms of a table, reading few of its rows.

    For example:

    oddarm find flights --plot flights.html

    oddarm find requests.csv --arm host --reward timed_out

    oddarm find sales.parquet --arm shop --reward amount --range 0,500 --where "year = 2024"

    Stop with Ctrl-C and continue later, or see what each strategy needs:

    oddarm find requests.csv --arm host --reward timed_out --save search.json

    oddarm find requests.csv --arm host --reward timed_out --resume search.json

    oddarm find flights --compare
    """
    refused = [name for name in OF_ONE_SEARCH if compare and _given(context, name)]
    if refused:
        raise ParameterError(f"--{refused[0]} with --compare, which runs every strategy: drop it.")
    check_plot(plot)
    if save is not None:
        check_written("--save", save)
    chosen = oddarm.strategies.as_strategy(strategy)
    search = None
    if resume is None:
        check_problem(epsilon, rho, max_outliers, delta)
    else:
        search, save = oddarm.Search.load(resume), save or resume
        _check_options(context, search)
        seed, search.max_pulls = search.seed, max_pulls or search.max_pulls
    source, columns = open_data(
        data, arm, reward, where=where, table=table, query=query, seed=seed, replace=replace,
        rewards=reward_range(bounds, clip), rows=rows or _saved_rows(search), min_rows=min_rows,
        bad_rows="skip" if skip_bad_rows else "error", encoding=encoding,
    )  # fmt: skip
    problem: ProblemOptions = {
        "epsilon": epsilon,
        "rho": rho,
        "max_outliers": max_outliers,
        "delta": delta,
    }
    noun = noun or _plural(columns)
    with source:
        if compare:
            run = partial(
                oddarm.compare, source, until=until, bound=bound, max_pulls=max_pulls, seed=seed,
                **problem,
            )  # fmt: skip
            _compare(run, source, noun, as_json)
            return
        if search is not None:
            result = oddarm.resume(search, source, save=save, progress=True)
        else:
            until = until or ("found" if chosen.confirms and not replace else "ranked")
            result = oddarm.find(
                source, strategy=chosen, until=until, bound=bound, max_pulls=max_pulls, seed=seed,
                save=save, progress=True, **problem,
            )  # fmt: skip
    result = result.with_nouns(noun, "rows")
    if as_json:
        print(result.to_json(indent=2))
    else:
        _show(result, source)
    if plot is not None:
        result.plot(plot)
    if not as_json:
        for what, path in (("plot", plot), ("saved", save)):
            if path is not None:
                print(f"{what}: {printable(path)}")
    if result.verdict == "running":
        raise typer.Exit(130)


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
        "rho": problem.rho,
        "max_outliers": problem.max_outliers,
        "delta": problem.delta,
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
    sentences = [compared.summary, *_about(source)]
    print_report(sentences, compared.table, compared.notes)


def _show(result: oddarm.Result, source: TableSource) -> None:
    """Print the answer, notes about the data, why arms have failed, and the table."""
    reasons = [printable(f"{arm}: {reason}") for arm, reason in list(result.errors.items())[:5]]
    arms = max(20, len(result.outliers))
    sentences = [result.summary, *_about(source), *reasons]
    print_report(sentences, lambda width: f"{result.table(arms, width=width)}\n")


def _about(source: TableSource) -> tuple[str, str]:
    """Return notes about a table: the assumed range, and bad rows; empty texts if none."""
    rows = source.skipped
    skipped = f"{rows:,} bad {'row was' if rows == 1 else 'rows were'} left out." if rows else ""
    return source.note, skipped


def _plural(columns: list[str]) -> str:
    """Return the plural of the name of the arm column; "arms" if the name is not a word."""
    word = columns[0].replace("_", " ").strip()
    if len(columns) > 1 or not re.fullmatch(r"[A-Za-z][A-Za-z ]*", word):
        return "arms"
    word = word.lower()
    if word.endswith("s"):
        return word if not word.endswith("ss") else f"{word}es"
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("x", "ch", "sh")) else f"{word}s"
