"""`oddarm plan`: what a search is likely to cost, before it is paid for."""

from __future__ import annotations

import json
import shutil
import textwrap
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

import oddarm
from oddarm.cli.options import number_pair, open_data
from oddarm.errors import ParameterError

if TYPE_CHECKING:
    from oddarm.rewards import Rewards

__all__ = ["plan"]


# Optional[...] because typer evaluates these annotations at run time.
def plan(
    data: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(help="Pilot data whose means are taken for true, as for oddarm find."),
    ] = None,
    arm: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="The column of the pilot data whose values are the arms."),
    ] = None,
    reward: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The column of rewards of the pilot data, or an expression."),
    ] = None,
    where: Annotated[Optional[str], typer.Option(help="An SQL condition on the rows.")] = None,  # noqa: UP045
    table: Annotated[Optional[str], typer.Option(help="The table of a database.")] = None,  # noqa: UP045
    query: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="An SQL query on a database, in place of --table."),
    ] = None,
    arms: Annotated[Optional[int], typer.Option(help="How many arms, without data.")] = None,  # noqa: UP045
    outliers: Annotated[int, typer.Option(help="How many of them are outliers.")] = 1,
    gap: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="How far above the highest normal arm outliers are; negative for below."),
    ] = None,
    spread: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="From the lowest to the highest normal arm. [default: a tenth of --gap]"),
    ] = None,
    rate: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="The middle of the normal arms. [default: the middle of --range]"),
    ] = None,
    rows: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="How many rows or items an arm has, if it has an end."),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="How much wider the gap is.")] = 2.5,
    rho: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Least share of normal arms. [default: 0.9]"),
    ] = None,
    max_outliers: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Most outliers, in place of --rho."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability of a wrong answer.")] = 0.05,
    strategy: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="A strategy; repeat it for several. [default: the usual ones]"),
    ] = None,
    until: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="ranked or confirmed. [default: confirmed if the strategy can]"),
    ] = None,
    bound: Annotated[str, typer.Option(help="anytime (proved) or paper (as printed).")] = "anytime",
    bounds: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--range", metavar="LOW,HIGH", help="What rewards can be. [default: 0 or 1]"),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulated runs of each strategy.")] = 10,
    max_pulls: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Most pulls of a run. [default: 1,000,000; 100,000 if slow]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Say how many pulls a search is likely to need, for each strategy.

    From a guess, or from pilot data whose means are taken for true:

    oddarm plan --arms 50 --outliers 3 --gap 0.3 --spread 0.02 --rate 0.2

    oddarm plan pilot.csv --arm host --reward timed_out
    """
    rewards = oddarm.rewards.as_rewards(
        "bernoulli" if bounds is None else number_pair("--range", bounds)
    )
    if data is not None:
        if arms is not None or gap is not None:
            raise ParameterError(f"{data} with --arms or --gap: pass pilot data or a guess.")
        means, rewards, size = _pilot(
            data, arm, reward, where=where, table=table, query=query, seed=seed,
            rewards=None if bounds is None else rewards,
        )  # fmt: skip
    else:
        if arms is None or gap is None:
            raise ParameterError(
                "neither pilot data nor a guess: pass a file with --arm and --reward, "
                "or --arms and --gap, as in --arms 50 --gap 0.3."
            )
        level = (rewards.low + rewards.high) / 2 if rate is None else rate
        means = oddarm.guess_means(arms, outliers=outliers, gap=gap, spread=spread, rate=level)
        size = None
    from oddarm.cli.progress import PullProgress

    with PullProgress() as progress:
        planned = oddarm.plan(
            means, strategy, runs=runs, cap=max_pulls, rewards=rewards, until=until, seed=seed,
            full_scan=size if rows is None else rows * len(means), bound=bound,
            progress=progress, finished=progress.finished,
            epsilon=epsilon, rho=rho, max_outliers=max_outliers, delta=delta,
        )  # fmt: skip
    if as_json:
        print(json.dumps(planned.to_dict(), indent=2, default=str))
        return
    width = max(shutil.get_terminal_size((100, 24)).columns, 20)
    print(textwrap.fill(planned.summary, width))
    print(f"\n{planned.table(width)}")


def _pilot(
    data: str, arm: list[str] | None, reward: str | None, **options: Any
) -> tuple[dict[Any, float], Rewards, int]:
    """Return the means of pilot data, what its rewards may be, and how many rows it has."""
    source, _ = open_data(data, arm, reward, **options)
    with source:
        model = source.rewards
        sizes = zip(source.arms, model.pools or (), strict=True)
        means = {name: fmean(source.draw(name, size)) for name, size in sizes}
        return means, replace(model, pools=None), source.rows
