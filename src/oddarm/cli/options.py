"""Options and checks that several commands share."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn, cast

import typer

import oddarm
from oddarm._postgres_url import is_postgres
from oddarm._text import printable
from oddarm.errors import MissingColumnsError, OddarmError, ParameterError
from oddarm.options import DEFAULT_RHO, OPTIONS, BoundKind, ProblemOptions, Until
from oddarm.sources.table.files import is_pattern

if TYPE_CHECKING:
    from oddarm.rewards import Rewards, RowsKind
    from oddarm.sources.table.source import TableSource

__all__ = [
    "ArmColumns",
    "BoundName",
    "Clip",
    "Data",
    "Delta",
    "Encoding",
    "Epsilon",
    "Format",
    "JsonOnly",
    "MaxCost",
    "MaxOutliers",
    "MaxPulls",
    "MinGap",
    "MinRows",
    "NamedData",
    "Query",
    "Quiet",
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
    "larger_budget",
    "missing_words",
    "name_data",
    "open_data",
    "print_report",
    "problem_options",
    "reward_range",
    "search_option",
    "shown_loading",
    "warn",
]


def complete_data(incomplete: str) -> list[str]:
    """Return the bundled data that begins like this; the shell itself completes files."""
    return [name for name in oddarm.datasets.BUNDLED if incomplete and name.startswith(incomplete)]


def complete_strategy(incomplete: str) -> list[str]:
    """Return the strategies that begin like this."""
    return [name for name in oddarm.strategies.STRATEGIES if name.startswith(incomplete)]


def complete_column(context: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of a named file that begin like this; none if it is not a file."""
    from oddarm.sources.table.files import FileOptions
    from oddarm.sources.table.opening import columns_of

    given = context.params
    named = given.get("data") or context.args  # an option without its value leaves all names there
    data = [name for name in named if Path(name).is_file() or is_pattern(name)]
    try:
        files = FileOptions(given.get("encoding"), given.get("format"))
        _, columns = columns_of(data, files, given.get("table"), given.get("query"))
    except OddarmError:
        return []
    return [name for name, _ in columns if name.startswith(incomplete)]


StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy",
        help="The strategy. With more than 100,000 arms, adaptive is GOLD's interval form.",
        autocompletion=complete_strategy,
    ),
]
PLOTS = (".png", ".svg", ".pdf", ".html")

# Which rows of a table, and which columns are arms and rewards.
Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="A CSV, JSON, JSON lines, Parquet, SQLite or DuckDB file; several files of one kind, "
        "also as a pattern such as 'logs/*.csv'; - for standard input; a postgresql:// URL; or "
        "flights, the data that comes with oddarm.",
        autocompletion=complete_data,
    ),
]
ArmColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--arm",
        autocompletion=complete_column,
        help="The column whose values are the arms, or an expression such as 'lower(host)'; repeat "
        "it for pairs of columns.",
    ),
]
RewardColumn = Annotated[
    str | None,
    typer.Option(
        "--reward",
        help="The column of rewards, or an expression such as 'delay > 15'.",
        autocompletion=complete_column,
    ),
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
Format = Annotated[
    Literal["csv", "tsv", "json", "jsonl", "parquet", "sqlite", "duckdb"] | None,
    typer.Option("--format", help="What a file is. [default: by its name; - by its content]"),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress on standard error.")]
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
Neighbours = Annotated[int, search_option("neighbours")]

# The search.
BoundName = Annotated[BoundKind, search_option("bound")]
UntilName = Annotated[Until | None, search_option("until")]
MaxPulls = Annotated[int | None, search_option("max_pulls")]
MaxCost = Annotated[float | None, search_option("max_cost")]

JsonOnly = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


NAMES = "epsilon|min_gap|rho|max_outliers|neighbours|max_pulls|max_cost|min_rows"
"""Options that errors name without a value; their names are no other words."""
VALUED = re.compile(
    rf"(?<![\w'\"/.-])({NAMES}|until|slack|delta|bound|seed|strategy(?==')|rows(?=='))"
    r"(?: == |=)'?([\w.+-]*\w)'?"
)
RANGE = re.compile(r"\brewards=(oddarm\.rewards\.Clipped)?\(([^\s,()]+), ([^\s,()]+)\)")
"""How Python declares the range of rewards."""
ARM_OR_REWARD = re.compile(r"\b(arm|reward)=(?=\")")
"""A column or SQL in double quotes, which are those of a shell, too."""
NAMED = re.compile(rf"(?<![\w'\"/.-])({NAMES})(?![\w'\"/=-]| ==|\.\w)")


def as_options(message: str) -> str:
    """Return an error with the options of the command line in place of those of Python.

    Examples:
        >>> as_options("min_gap == -1.0, must be > 0: pass until='found', or epsilon.")
        '--min-gap -1.0, must be > 0: pass --until found, or --epsilon.'
        >>> as_options('reward 3, as in rewards=(1, 5): write reward="ms > 9".')
        'reward 3, as in --range 1,5: write --reward "ms > 9".'
    """
    message = RANGE.sub(
        lambda found: f"--{'clip' if found[1] else 'range'} {found[2]},{found[3]}", message
    )
    message = ARM_OR_REWARD.sub(r"--\1 ", message)
    message = VALUED.sub(lambda found: f"{_flag(found[1])} {found[2]}", message)
    return NAMED.sub(lambda found: _flag(found[1]), message)


def summary(result: oddarm.Result) -> str:
    """Return the summary of a result with the options of the command line, names as they are."""
    told = as_options(result.summary)
    same = all(as_options(name) == name for name in map(str, result.names))
    return told if same else result.summary


def larger_budget(result: oddarm.Result) -> str:
    """Return the option that lets a search go on after its budget."""
    if result.ended_by_cost:
        return "--max-cost …"
    return f"--max-pulls {'…' if result.enough_pulls is None else result.enough_pulls}"


def missing_words(error: MissingColumnsError, arguments: Sequence[str]) -> str:
    """Return which columns are not named, those that there are, and a command that names them.

    Args:
        error: The error about what is missing.
        arguments: The command line, without the name of the program.
    """
    flags = [f"--{name}" for name in error.missing]
    width = max((len(printable(name)) for name, _ in error.columns), default=0)
    shown = [f"  {printable(name):{width}}  {printable(kind)}" for name, kind in error.columns[:40]]
    if len(error.columns) > len(shown):
        shown.append(f"  … and {len(error.columns) - len(shown):,} more")
    guess = dict(zip(("arm", "reward"), error.suggestion, strict=True))
    words = [*arguments, *(word for name in error.missing for word in (f"--{name}", guess[name]))]
    columns = "1 column" if len(error.columns) == 1 else f"{len(error.columns):,} columns"
    first = (
        f"{' and '.join(flags)} {'is' if len(flags) == 1 else 'are'} missing: --arm names the "
        "column whose values are the arms, --reward that of the rewards. "
        f"{printable(error.name)} has {columns}:"
    )
    example = f"for example: oddarm {printable(shlex.join(words))}"
    return "\n".join([first, *shown, example])


@contextmanager
def shown_loading(silent: bool) -> Iterator[None]:
    """Show how far the loading of a large table is, unless silence is asked for."""
    if silent:
        yield
        return
    from oddarm.results.loading import LoadProgress
    from oddarm.sources.table.loading import report

    with LoadProgress() as bar, report.to(bar):
        yield


def open_data(named: NamedData, silent: bool = False, **options: Any) -> TableSource:
    """Open a table, and show how far that is."""
    with warnings.catch_warnings(), shown_loading(silent):
        warnings.simplefilter("ignore")
        source = oddarm.open_table(named.data, named.arm, named.reward, rows=named.rows, **options)
    if source.warning:
        warn(source.warning)
    return source


def warn(words: str) -> None:
    """Print a warning of oddarm in the words of the command line."""
    print(f"oddarm: {printable(as_options(words))}", file=sys.stderr)


class NamedData(NamedTuple):
    """Data, the columns of its arms, its rewards, and whether its rows are all that there is."""

    data: Any
    columns: list[str]
    reward: str | None
    rows: RowsKind

    @property
    def arm(self) -> str | list[str] | None:
        """The column of the arm, or several; None if none is named."""
        return self.columns if len(self.columns) > 1 else next(iter(self.columns), None)


def name_data(
    data: Sequence[str], arm: Sequence[str] | None, reward: str | None, rows: RowsKind | None = None
) -> NamedData:
    """Return what the command line names; for a bundled table, its file and its columns."""
    for name in data:
        is_address = "://" in name or is_postgres(name)
        if len(data) > 1 and (is_address or name == "-"):
            what = "standard input" if name == "-" else name
            raise ParameterError(f"{what} with other data, must be alone: name one or the other.")
        if name == "-" or is_address or is_pattern(name) or (name and Path(name).exists()):
            continue
        bundled = oddarm.datasets.BUNDLED.get(name) if len(data) == 1 else None
        if bundled is None:
            _refuse_missing(name)
        arm, reward = arm or [bundled.arm], reward or bundled.reward
        return NamedData(str(bundled.path), list(arm), reward, rows or bundled.rows)
    named = sys.stdin.buffer if data[0] == "-" else data[0] if len(data) == 1 else list(data)
    return NamedData(named, list(arm or ()), reward, rows or "sample")


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
