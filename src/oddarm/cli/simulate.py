"""`oddarm simulate`: what a strategy would find on arms with known means, and at what cost."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any

import typer

import oddarm
from oddarm.cli import options as shared
from oddarm.cli.exit_codes import DECIDED, exit_code
from oddarm.errors import ParameterError
from oddarm.options import DEFAULT_STRATEGY, DEFAULTS, OPTIONS, SearchOptions

__all__ = ["simulate"]

EPSILON = OPTIONS["epsilon"].help.replace("2.5, unless", "2.5, or that of --config, unless")


def simulate(
    means: Annotated[
        list[float] | None, typer.Argument(metavar="MEANS", help="Means of the arms.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A file of means: one per line, or CSV with columns arm and mean."),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(help="A configuration of the paper, such as upper-20-2.5."),
    ] = None,
    strategy: shared.StrategyName = DEFAULT_STRATEGY,
    epsilon: Annotated[
        float | None,
        shared.search_option("epsilon", words=EPSILON),
    ] = None,
    min_gap: shared.MinGap = None,
    rho: shared.Rho = None,
    max_outliers: shared.MaxOutliers = None,
    delta: shared.Delta = DEFAULTS["delta"],
    slack: shared.Slack = None,
    neighbours: shared.Neighbours = DEFAULTS["neighbours"],
    until: shared.UntilName = None,
    bound: shared.BoundName = DEFAULTS["bound"],
    max_pulls: shared.MaxPulls = None,
    max_cost: shared.MaxCost = None,
    seed: Annotated[
        int, shared.search_option("seed", words="Seed of the instance and the rewards.")
    ] = DEFAULTS["seed"],
    runs: Annotated[int, typer.Option(min=1, help="How many runs, on seeds SEED, SEED+1, …")] = 1,
    as_json: shared.JsonOnly = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Write a plot of the first run (.png, .svg, .pdf) or a page (.html)."),
    ] = None,
) -> None:
    """Run a strategy on simulated arms with 0/1 rewards.

    Give the arms by MEANS, by --file or by --config. For example:

        oddarm simulate --config upper-20-2.5 --plot out.png
    """
    true_means, usual = _arms(means, file, config, seed)
    if epsilon is None and min_gap is None:
        epsilon = usual
    shared.check_plot(plot)
    problem = shared.problem_options(
        epsilon=epsilon, min_gap=min_gap, rho=rho, max_outliers=max_outliers, delta=delta,
        slack=slack, neighbours=neighbours,
    )  # fmt: skip
    options: SearchOptions = {
        **problem,
        "rewards": DEFAULTS["rewards"],
        "costs": None,
        "until": until,
        "bound": bound,
        "max_pulls": max_pulls,
        "max_cost": max_cost,
        "seed": seed,
    }
    from oddarm.cli.progress import PullProgress

    with PullProgress(runs) as progress:
        if runs == 1:
            result = oddarm.simulate(true_means, strategy, progress=progress, **options)
            results = [result.with_hint(shared.larger_budget(result))]
        else:
            results = oddarm.simulate(
                true_means, strategy, runs=runs, finished=progress.ended, **options
            )
    if plot is not None:
        results[0].plot(plot)
    if as_json:
        shown = [r.to_dict() for r in results]
        print(json.dumps(shown[0] if runs == 1 else shown, indent=2, default=str))
    else:
        if runs == 1:
            only = results[0]
            shared.print_report(
                [shared.summary(only)], lambda width: f"{only.table(width=width)}\n"
            )
        else:
            print(_summary(true_means, results))
        if plot is not None:
            print(f"plot: {plot}")
    if runs == 1 and exit_code(results[0]) != DECIDED:
        raise typer.Exit(exit_code(results[0]))


def _arms(
    means: list[float] | None,
    file: Path | None,
    config: str | None,
    seed: int,
) -> tuple[dict[Any, float], float | None]:
    """Return the means, and the ε of a configuration of the paper."""
    given = [
        name for name, value in (("MEANS", means), ("--file", file), ("--config", config)) if value
    ]
    if len(given) != 1:
        raise ParameterError(
            f"arms from {' and '.join(given) or 'nowhere'}: "
            "pass one of MEANS, --file or --config, such as --config upper-20-2.5."
        )
    if config is not None:
        instance = oddarm.datasets.configuration(config, seed)
        return dict(enumerate(instance.means.tolist())), instance.problem.epsilon
    values = dict(enumerate(means)) if means else _read(file) if file else {}
    return values, None


def _read(path: Path) -> dict[Any, float]:
    """Read means, one per line, or a CSV with the columns arm and mean."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            rows = [row for row in csv.reader(lines) if row and row[0].strip()]
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not a text file in UTF-8.") from None
    if not rows:
        raise ParameterError(f"{path} has no means in it.")
    header = [cell.strip().lower() for cell in rows[0]]
    column, name = len(header) - 1, 0 if len(header) > 1 else None
    if "mean" in header:
        column, name = header.index("mean"), header.index("arm") if "arm" in header else None
        rows = rows[1:]
    means: dict[Any, float] = {}
    for number, row in enumerate(rows):
        try:
            arm: Any = number if name is None else row[name].strip()
            mean = float(row[column])
        except (IndexError, ValueError):
            raise ParameterError(
                f"{path}: {','.join(row)!r} is not a mean, must be a number, "
                "or arm,mean under a header that says so."
            ) from None
        if arm in means:
            raise ParameterError(f"{path}: arm {arm!r} is listed twice.")
        means[arm] = mean
    return means


def _summary(true_means: dict[Any, float], results: list[oddarm.Result]) -> str:
    """Return what many runs found, against the truth."""
    from oddarm.definitions.truth import Truth
    from oddarm.strategies.base import UNDECIDED

    problem, count = results[0].problem, len(results)
    truth = Truth.of(true_means, problem)
    pulls = [r.pulls for r in results]
    decided = [r for r in results if r.verdict not in UNDECIDED]
    found = "these means have no outlier group"
    if problem.absolute:
        until = results[0].provenance["until"]
        right = sum(truth.agrees(r.verdict, r.outliers, until, r.ranking) is True for r in decided)
        found = f"the answer was right in {right} of them"
    elif truth.groups:
        right = sum(truth.ranks_groups_first(result.ranking) for result in results)
        found = f"every outlier group ranked first in {right} of {count} runs"
    return (
        f"{count} runs: {fmean(pulls):,.0f} pulls on average "
        f"(median {median(pulls):,.0f}, from {min(pulls):,} to {max(pulls):,})\n"
        f"{len(decided)} of {count} runs were decided; {found}"
    )
