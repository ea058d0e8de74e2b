"""`oddarm find`: the outlying arms of a table."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

import oddarm
from oddarm.cli.options import DEFAULT_STRATEGY, number_pair, open_data
from oddarm.errors import ParameterError

__all__ = ["find"]

PLOTS = (".png", ".svg", ".pdf", ".html")


# Optional[...] because typer evaluates these annotations at run time.
def find(
    data: Annotated[
        str,
        typer.Argument(
            help="A CSV, Parquet, JSON lines or DuckDB file, a postgresql:// URL, or flights, "
            "the data that comes with oddarm."
        ),
    ],
    arm: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="The column whose values are the arms; repeat it for pairs of columns."),
    ] = None,
    reward: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The column of rewards, or an expression such as 'delay > 15'."),
    ] = None,
    where: Annotated[Optional[str], typer.Option(help="An SQL condition on the rows.")] = None,  # noqa: UP045
    table: Annotated[Optional[str], typer.Option(help="The table of a database.")] = None,  # noqa: UP045
    query: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="An SQL query on a database, in place of --table."),
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
    strategy: Annotated[str, typer.Option(help="The strategy.")] = DEFAULT_STRATEGY,
    until: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="ranked or confirmed. [default: confirmed if the strategy can and each row is "
            "drawn once, else ranked]"
        ),
    ] = None,
    bound: Annotated[str, typer.Option(help="anytime (proved) or paper (as printed).")] = "anytime",
    max_pulls: Annotated[Optional[int], typer.Option(help="A budget of rows.")] = None,  # noqa: UP045
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of rows.")] = 0,
    bounds: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--range",
            metavar="LOW,HIGH",
            help="What rewards can be. [default: 0 or 1 if all are, else the table's range]",
        ),
    ] = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows without a usable reward.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Draw rows with replacement, endlessly.")
    ] = False,
    noun: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="What the arms are called, such as hosts. [default: from --arm]"),
    ] = None,
    plot: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Write a plot (.png, .svg, .pdf) or a page (.html)."),
    ] = None,
    save: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Save the search to a JSON file, however it ends."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Find the arms of a table that stand apart from the rest, reading few of its rows.

    For example:

    oddarm find flights --plot flights.html

    oddarm find requests.csv --arm host --reward timed_out

    oddarm find sales.parquet --arm shop --reward amount --range 0,500 --where "year = 2024"
    """
    if plot is not None:
        _check_plot(plot)
    if save is not None and not save.absolute().parent.is_dir():
        raise ParameterError(f"--save {save}: there is no folder {save.parent}, make it first.")
    chosen = oddarm.strategies.as_strategy(strategy)
    source, columns = open_data(
        data, arm, reward, where=where, table=table, query=query, seed=seed, replace=replace,
        rewards=None if bounds is None else number_pair("--range", bounds),
        bad_rows="skip" if skip_bad_rows else "error",
    )  # fmt: skip
    options: dict[str, Any] = {
        "epsilon": epsilon,
        "rho": rho,
        "max_outliers": max_outliers,
        "delta": delta,
        "until": until or ("found" if chosen.confirms and not replace else "ranked"),
        "bound": bound,
        "max_pulls": max_pulls,
        "seed": seed,
    }
    with source:
        result = oddarm.find(source, strategy=chosen, save=save, **options)
    result = result.with_nouns(noun or _plural(columns), "rows")
    if as_json:
        print(result.to_json(indent=2))
    else:
        _show(result, [source.note, _skipped(source.skipped)])
    if plot is not None:
        result.plot(plot)
    if not as_json:
        for what, path in (("plot", plot), ("saved", save)):
            if path is not None:
                print(f"{what}: {path}")
    if result.verdict == "running":
        raise typer.Exit(130)


def _check_plot(plot: Path) -> None:
    if plot.suffix.lower() not in PLOTS:
        raise ParameterError(f"--plot {plot}: must end in .png, .svg, .pdf or .html.")
    if not plot.absolute().parent.is_dir():
        raise ParameterError(f"--plot {plot}: there is no folder {plot.parent}, make it first.")


def _show(result: oddarm.Result, notes: list[str]) -> None:
    """Print the sentence, what else to know, and the table, as wide as the terminal."""
    width = shutil.get_terminal_size((100, 24)).columns
    reasons = [f"{arm}: {reason}" for arm, reason in list(result.errors.items())[:5]]
    for line in (result.summary, *filter(None, notes), *reasons):
        print(textwrap.fill(line, max(width, 20)))
    print(f"\n{result.table(max(20, len(result.outliers)), width=width)}\n")


def _skipped(rows: int) -> str:
    return f"{rows:,} bad {'row was' if rows == 1 else 'rows were'} left out." if rows else ""


def _plural(columns: list[str]) -> str:
    """Return what the arms are called, by the name of their column; "arms" if it is no word."""
    word = columns[0].replace("_", " ").strip()
    if len(columns) > 1 or not re.fullmatch(r"[A-Za-z][A-Za-z ]*", word):
        return "arms"
    word = word.lower()
    if word.endswith("s"):
        return word if not word.endswith("ss") else f"{word}es"
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("x", "ch", "sh")) else f"{word}s"
