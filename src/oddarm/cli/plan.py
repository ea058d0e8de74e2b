"""`oddarm plan`: what a search is likely to cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

import oddarm
from oddarm.cli import options as shared
from oddarm.errors import ParameterError
from oddarm.options import DEFAULTS, OPTIONS

if TYPE_CHECKING:
    from oddarm.rewards import Rewards, RowsKind

__all__ = ["plan"]

UNTIL = OPTIONS["until"].help.replace('; "budget", when the budget is spent on the best guess', "")
"""The help of --until: a plan has no budget to spend."""


def plan(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="Data whose means are taken as the true means; as for oddarm find.",
        ),
    ] = None,
    arm: shared.ArmColumns = None,
    reward: shared.RewardColumn = None,
    where: shared.Where = None,
    table: shared.TableName = None,
    query: shared.Query = None,
    skip_bad_rows: shared.SkipBadRows = False,
    encoding: shared.Encoding = None,
    format: shared.Format = None,  # noqa: A002
    arms: Annotated[int | None, typer.Option(help="How many arms, without data.")] = None,
    outliers: Annotated[int, typer.Option(help="How many of them are outliers.")] = 1,
    gap: Annotated[
        float | None,
        typer.Option(help="How far above the highest normal arm outliers are; negative for below."),
    ] = None,
    spread: Annotated[
        float | None,
        typer.Option(help="From the lowest to the highest normal arm. [default: a tenth of --gap]"),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="The middle of the normal arms. [default: the middle of --range]"),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="sample|all|NUMBER",
            help="Whether the rows of the data are a sample of what the arms do or all that there "
            "is; or how many items an arm has, each drawn once. [default: sample, or all for "
            "flights; without data, endless]",
        ),
    ] = None,
    min_rows: shared.MinRows = None,
    replace: shared.Replace = False,
    epsilon: shared.Epsilon = None,
    min_gap: shared.MinGap = None,
    rho: shared.Rho = None,
    max_outliers: shared.MaxOutliers = None,
    delta: shared.Delta = DEFAULTS["delta"],
    slack: shared.Slack = None,
    neighbours: shared.Neighbours = DEFAULTS["neighbours"],
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help="A strategy; repeat it for several. [default: adaptive, fixed, gold, rr, and wrr "
            "for endless 0/1 rewards; with --min-gap, those that know it]"
        ),
    ] = None,
    until: Annotated[
        Literal["ranked", "found", "confirmed"] | None,
        shared.search_option("until", words=UNTIL),
    ] = None,
    bound: shared.BoundName = DEFAULTS["bound"],
    bounds: shared.Range = None,
    clip: shared.Clip = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulated runs of each strategy.")] = 10,
    max_pulls: Annotated[
        int | None,
        shared.search_option(
            "max_pulls",
            words="The most pulls of a run.",
            default="1,000,000, or 100,000 of endless arms where there is no compiled code",
        ),
    ] = None,
    seed: Annotated[int, shared.search_option("seed", words="Seed of the first run.")] = DEFAULTS[
        "seed"
    ],
    as_json: shared.JsonOnly = False,
) -> None:
    """Say how many pulls a search is likely to need, for each strategy.

    The means come from a guess, from the data to be searched, or from pilot data, whose means are
    taken as those of endless arms:

        oddarm plan --arms 50 --outliers 3 --gap 0.3 --spread 0.02 --rate 0.2
        oddarm plan requests.csv --arm host --reward timed_out
        oddarm plan pilot.csv --arm host --reward timed_out --replace
    """
    items = _items(rows, data)
    if replace and rows is not None:
        raise ParameterError(f"--rows {rows} with --replace, which draws endlessly: drop one.")
    problem = shared.problem_options(
        epsilon=epsilon, min_gap=min_gap, rho=rho, max_outliers=max_outliers, delta=delta,
        slack=slack, neighbours=neighbours,
    )  # fmt: skip
    for name in strategy or ():
        oddarm.strategies.as_strategy(name)
    declared = shared.reward_range(bounds, clip)
    rewards = declared or oddarm.rewards.as_rewards("bernoulli")
    if data:
        if arms is not None or gap is not None:
            raise ParameterError(f"{data[0]} with --arms or --gap: pass data or a guess.")
        kind = cast("RowsKind | None", None if items else rows)
        means, rewards = _means(
            shared.name_data(data, arm, reward, kind), as_json, where=where, table=table,
            query=query, seed=seed,
            rewards=declared, min_rows=min_rows,
            bad_rows="skip" if skip_bad_rows else "error", encoding=encoding, format=format,
        )  # fmt: skip
    else:
        if arms is None or gap is None:
            raise ParameterError(
                "neither data nor a guess: pass a file with --arm and --reward, "
                "or --arms and --gap, as in --arms 50 --gap 0.3."
            )
        level = (rewards.low + rewards.high) / 2 if rate is None else rate
        means = oddarm.guess_means(arms, outliers=outliers, gap=gap, spread=spread, rate=level)
    if replace:
        rewards = rewards.of_sizes(None)
    elif items is not None:
        rewards = rewards.of_sizes((items,) * len(means))
    from oddarm.batch.plan import planned_strategies
    from oddarm.cli.progress import PullProgress

    planned_runs = runs * len(strategy or planned_strategies(rewards, problem))
    with PullProgress(planned_runs) as progress:
        planned = oddarm.plan(
            means, strategy, runs=runs, cap=max_pulls, rewards=rewards, until=until, seed=seed,
            bound=bound, progress=progress, finished=progress.ended, **problem,
        )  # fmt: skip
    if as_json:
        print(json.dumps(planned.to_dict(), indent=2, default=str))
        return
    shared.print_report([planned.summary], planned.table, planned.notes)


def _items(rows: str | None, data: Sequence[str] | None) -> int | None:
    """Return how many items an arm has, if --rows says so."""
    if rows is None or (rows in ("sample", "all") and data):
        return None
    if not rows.isdecimal() or int(rows) < 1:
        raise ParameterError(
            f"--rows {rows}: must be a whole number >= 1, or with data 'sample' or 'all'."
        )
    return int(rows)


def _means(
    named: shared.NamedData, silent: bool, **options: Any
) -> tuple[dict[Any, float], Rewards]:
    """Return the means of a table, and what its rewards may be, with the sizes of its arms."""
    with shared.open_data(named, silent, **options) as source:
        sizes = zip(source.arms, source.rewards.limits or (), strict=True)
        means = {name: fmean(source.draw(name, size)) for name, size in sizes}
        return means, source.rewards
