"""Options and checks that several commands share."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn, cast

import typer

import oddarm
from oddarm._postgres_url import is_postgres
from oddarm._text import printable
from oddarm.errors import ParameterError
from oddarm.options import DEFAULT_RHO, OPTIONS, BoundKind, ProblemOptions, Until

if TYPE_CHECKING:
    from oddarm.rewards import Rewards, RowsKind
    from oddarm.sources.table.source import TableSource

__all__ = [
    "ArmColumns",
    "BoundName",
    "Clip",
    "Delta",
    "Encoding",
    "Epsilon",
    "JsonOnly",
    "MaxCost",
    "MaxOutliers",
    "MaxPulls",
    "MinGap",
    "MinRows",
    "Query",
    "Range",
    "Replace",
    "RewardColumn",
    "Rho",
    "Rows",
    "SkipBadRows",
    "Slack",
    "StrategyName",
    "TableName",
    "UntilName",
    "Where",
    "as_options",
    "check_plot",
    "check_written",
    "name_data",
    "open_data",
    "print_report",
    "problem_options",
    "reward_range",
    "search_option",
]

StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy",
        help="The strategy. With more than 100,000 arms, adaptive is GOLD's interval form.",
    ),
]
PLOTS = (".png", ".svg", ".pdf", ".html")

# Which rows of a table, and which columns are arms and rewards.
ArmColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--arm",
        help="The column whose values are the arms, or an expression such as 'lower(host)'; repeat "
        "it for pairs of columns.",
    ),
]
RewardColumn = Annotated[
    str | None,
    typer.Option("--reward", help="The column of rewards, or an expression such as 'delay > 15'."),
]
Where = Annotated[str | None, typer.Option("--where", help="An SQL condition on the rows.")]
TableName = Annotated[str | None, typer.Option("--table", help="The table of a database.")]
Query = Annotated[
    str | None, typer.Option("--query", help="An SQL query on a database, in place of --table.")
]
Range = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="LOW,HIGH",
        help="The range of rewards. [default: 0 or 1; if a table has others, their range]",
    ),
]
Clip = Annotated[
    str | None,
    typer.Option(
        "--clip",
        metavar="LOW,HIGH",
        help="In place of --range: rewards beyond these count as the nearer end.",
    ),
]
Rows = Annotated[
    Literal["sample", "all"] | None,
    typer.Option(
        "--rows",
        help="Whether the rows are a sample of what the arms do, or all that there is. "
        "[default: sample; all for flights]",
    ),
]
MinRows = Annotated[
    int | None, typer.Option("--min-rows", min=1, help="Leave out arms with fewer rows.")
]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out rows without a usable reward.")
]
Encoding = Annotated[
    Literal["utf-8", "latin-1", "utf-16"] | None,
    typer.Option("--encoding", help="How a CSV file is encoded. [default: utf-8]"),
]
Replace = Annotated[bool, typer.Option("--replace", help="Draw rows with replacement, endlessly.")]


def search_option(name: str, *, words: str | None = None, default: str | None = None) -> Any:
    """Return the option of a command that sets an option of its search.

    Args:
        name: Its name in Python.
        words: The help, if it differs from the help of the option of `Search`.
        default: The default in words, if it is not a single value.
    """
    option = OPTIONS[name]
    words = re.sub(r"`(\w+)`", lambda other: _flag(other[1]), words or option.help)
    words += f" [default: {default}]" if default else ""
    return typer.Option(_flag(name), help=words, min=option.least)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


# The problem.
Epsilon = Annotated[float | None, search_option("epsilon")]
MinGap = Annotated[float | None, search_option("min_gap")]
Rho = Annotated[float | None, search_option("rho", default=f"{DEFAULT_RHO:g}")]
MaxOutliers = Annotated[int | None, search_option("max_outliers")]
Delta = Annotated[float, search_option("delta")]
Slack = Annotated[float | None, search_option("slack")]

# The search.
BoundName = Annotated[BoundKind, search_option("bound")]
UntilName = Annotated[Until | None, search_option("until")]
MaxPulls = Annotated[int | None, search_option("max_pulls")]
MaxCost = Annotated[float | None, search_option("max_cost")]

JsonOnly = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


NAMES = "|".join(["epsilon", "min_gap", "rho", "max_outliers", "max_pulls", "max_cost", "min_rows"])
"""Options that errors name without a value; their names are no other words."""
VALUED = re.compile(
    rf"(?<![\w'\"/.-])({NAMES}|until|slack|delta|bound|seed|strategy(?==')|rows(?=='))"
    r"(?: == |=)'?([\w.+-]*\w)'?"
)
NAMED = re.compile(rf"(?<![\w'\"/.-])({NAMES})(?![\w'\"/=-]| ==|\.\w)")


def as_options(message: str) -> str:
    """Return an error with the options of the command line in place of those of Python.

    Example:
        >>> as_options("min_gap == -1.0, must be > 0: pass until='found', or epsilon.")
        '--min-gap -1.0, must be > 0: pass --until found, or --epsilon.'
    """
    message = VALUED.sub(lambda found: f"{_flag(found[1])} {found[2]}", message)
    return NAMED.sub(lambda found: _flag(found[1]), message)


def summary(result: oddarm.Result) -> str:
    """Return the summary of a result with the options of the command line, names as they are."""
    told = as_options(result.summary)
    same = all(as_options(name) == name for name in map(str, result.names))
    return told if same else result.summary


def open_data(
    data: str,
    arm: Sequence[str] | None,
    reward: str | None,
    rows: RowsKind | None = None,
    **options: Any,
) -> tuple[TableSource, list[str]]:
    """Open a table, or a bundled one by its name; return it and the columns of its arms."""
    named = name_data(data, arm, reward, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = oddarm.open_table(named.data, named.arm, named.reward, rows=named.rows, **options)
    if source.warning:
        print(f"oddarm: {printable(source.warning)}", file=sys.stderr)
    return source, named.columns


class NamedData(NamedTuple):
    """Data, the columns of its arms, its rewards, and whether its rows are all that there is."""

    data: str
    columns: list[str]
    reward: str
    rows: RowsKind

    @property
    def arm(self) -> str | list[str]:
        """The column of the arm, or several."""
        return self.columns[0] if len(self.columns) == 1 else self.columns


def name_data(
    data: str, arm: Sequence[str] | None, reward: str | None, rows: RowsKind | None = None
) -> NamedData:
    """Return what the command line names; for a bundled table, its file and its columns."""
    bundled = oddarm.datasets.BUNDLED.get(data)
    is_address = "://" in data or is_postgres(data)
    if not data or (not is_address and not Path(data).exists()):
        if bundled is None:
            _refuse_missing(data)
        data, arm, reward = str(bundled.path), arm or [bundled.arm], reward or bundled.reward
        rows = rows or bundled.rows
    if not arm:
        raise ParameterError(
            "--arm is missing: name the column whose values are the arms, such as --arm host."
        )
    if reward is None:
        raise ParameterError(
            "--reward is missing: name the column of rewards, such as --reward slow, "
            "or an expression, such as --reward 'ms > 200'."
        )
    return NamedData(data, list(arm), reward, rows or "sample")


def _refuse_missing(data: str) -> NoReturn:
    """Raise the error about a missing file, with the names that are most like it."""
    path = Path(data)
    files = [str(path.parent / name.name) for name in path.parent.glob("*") if name.is_file()]
    bundled = list(oddarm.datasets.BUNDLED)
    similar = difflib.get_close_matches(data, [*bundled, *files], n=2)
    meant = f"; did you mean {' or '.join(similar)}?" if similar else "."
    raise ParameterError(
        f"there is no file {data}: check the path, or name {' or '.join(bundled)}, "
        f"the data that comes with oddarm{meant}"
    )


def check_plot(plot: Path | None) -> None:
    """Refuse a plot that cannot be written, before the search costs anything."""
    if plot is None:
        return
    if plot.suffix.lower() not in PLOTS:
        raise ParameterError(f"--plot {plot}: must end in {', '.join(PLOTS[:-1])} or {PLOTS[-1]}.")
    check_written("--plot", plot)


def check_written(option: str, path: Path) -> None:
    """Refuse a file that cannot be written."""
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"{option} {path}: there is no folder {path.parent}, make it first.")
    if path.is_dir():
        raise ParameterError(f"{option} {path}: it is a folder, must be a file.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ParameterError(f"{option} {path}: it may not be written, name another place.")


def problem_options(**given: float | None) -> ProblemOptions:
    """Return the options of a problem that were given.

    Bad ones are refused here, before data is opened, which may take long.
    """
    options = cast("ProblemOptions", {k: v for k, v in given.items() if v is not None})
    oddarm.Problem(**options)
    return options


def print_report(
    sentences: Iterable[str], table: Callable[[int], str], notes: Sequence[str] = ()
) -> None:
    """Print sentences, a table and notes, as wide as the terminal; empty sentences are left out."""
    width = max(shutil.get_terminal_size((100, 24)).columns, 20)
    for sentence in filter(None, sentences):
        print(textwrap.fill(sentence, width, break_on_hyphens=False))  # names have hyphens
    print(f"\n{table(width)}")
    for number, note in enumerate(notes):
        print("\n" * (number == 0) + textwrap.fill(note, width, subsequent_indent="  "))


def reward_range(text: str | None, clip: str | None) -> Rewards | None:
    """Return the rewards that --range LOW,HIGH or --clip LOW,HIGH declares, if one is given."""
    if clip is None:
        return None if text is None else oddarm.rewards.as_rewards(_pair("--range", text))
    if text is not None:
        raise ParameterError(f"--range {text} with --clip {clip}: drop one.")
    return oddarm.rewards.Clipped(*_pair("--clip", clip))


def _pair(option: str, text: str) -> tuple[float, float]:
    """Return the two numbers of LOW,HIGH."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"{option} {text}: must be two numbers LOW,HIGH, such as 0,100."
        ) from None
    return low, high
