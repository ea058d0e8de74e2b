"""`oddarm scan`: the outlying arms of a table, by all of its rows at once."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

import oddarm
from oddarm._text import plural, printable
from oddarm.cli import options as shared
from oddarm.cli.exit_codes import DECIDED, exit_code
from oddarm.options import DEFAULTS

__all__ = ["scan"]


def scan(
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
    bounds: shared.Range = None,
    clip: shared.Clip = None,
    rows: shared.Rows = None,
    min_rows: shared.MinRows = None,
    skip_bad_rows: shared.SkipBadRows = False,
    encoding: shared.Encoding = None,
    format: shared.Format = None,  # noqa: A002
    noun: Annotated[
        str | None,
        typer.Option(help="What the arms are called, such as hosts. [default: from --arm]"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a plot (.png, .svg, .pdf) or a page (.html).")
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.JsonOnly = False,
) -> None:
    """Find the outliers among the arms of a table, by all of its rows at once.

    For example:

        oddarm scan requests.csv --arm host --reward timed_out --min-gap 0.1
        zcat log.gz | oddarm scan - --format csv --arm host --reward "ms > 200"
        oddarm scan sales.csv --arm shop --reward eur --range 0,500 --rows all
    """
    shared.check_plot(plot)
    problem = shared.problem_options(
        epsilon=epsilon, min_gap=min_gap, rho=rho, max_outliers=max_outliers, delta=delta,
        slack=slack, neighbours=neighbours,
    )  # fmt: skip
    named = shared.name_data(data, arm, reward, rows)
    with warnings.catch_warnings(record=True) as warned, shared.shown_loading(quiet or as_json):
        warnings.simplefilter("always")
        result = oddarm.scan(
            named.data, named.arm, named.reward, where=where, table=table, query=query,
            rewards=shared.reward_range(bounds, clip), rows=named.rows, min_rows=min_rows,
            bad_rows="skip" if skip_bad_rows else "error", encoding=encoding, format=format,
            **problem,
        ).with_nouns(noun or plural(named.columns), "rows")  # fmt: skip
    for warning in warned:
        if warning.category is UserWarning:
            shared.warn(str(warning.message))
    if plot is not None:
        result.plot(plot)
    if as_json:
        print(result.to_json(indent=2))
    else:
        shown = max(20, int(result.odd.sum()))
        sentences = [shared.summary(result)]
        shared.print_report(sentences, lambda width: f"{result.table(shown, width=width)}\n")
        if plot is not None:
            print(f"plot: {printable(plot)}")
    if exit_code(result) != DECIDED:
        raise typer.Exit(exit_code(result))
