"""The options of a search, declared once for Python, the command line and HTTP.

`Search` spells them out as parameters. Functions that pass them on to a search take
`**options: Unpack[SearchOptions]`, so that completion and type checkers know every name.
"""

# Annotations are evaluated here, because the table is read from them.
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from oddarm.errors import ParameterError

if TYPE_CHECKING:
    from oddarm.rewards import Rewards

__all__ = [
    "DEFAULTS",
    "DEFAULT_EPSILON",
    "DEFAULT_PULLS",
    "DEFAULT_RHO",
    "DEFAULT_SLACK",
    "DEFAULT_STRATEGY",
    "OPTIONS",
    "BoundKind",
    "FindOptions",
    "Option",
    "ProblemOptions",
    "SearchOptions",
    "Shown",
    "TableOptions",
    "Until",
    "check_names",
]

BoundKind = Literal["anytime", "paper"]
Until = Literal["ranked", "found", "confirmed", "budget"]
Shown = bool | Literal["plot"]
"""Whether progress is shown, and with a plot."""

DEFAULT_STRATEGY = "adaptive"
DEFAULT_EPSILON = 2.5
"""The ratio of gaps, if neither `epsilon` nor `min_gap` is given."""
DEFAULT_RHO = 0.9
"""The share of normal arms, if neither `rho` nor `max_outliers` is given."""
DEFAULT_PULLS = 1_000
"""The budget of `find` for each arm, if pulls cost something and no budget is given."""
DEFAULT_SLACK = 0.2
"""The share of the line in which either answer is right, unless the search only ranks."""


@dataclass(frozen=True)
class Option:
    """What an option means, its default and its limits.

    Attributes:
        default: The value if none is given.
        help: What it means, in a sentence; names of other options are in backquotes.
        least: The least value, of a whole number.
        above: A limit that the value must exceed.
        below: A limit that the value must stay below.
    """

    default: Any
    help: str
    least: int | None = None
    above: float | None = None
    below: float | None = None


class ProblemOptions(TypedDict, total=False):
    """What is looked for."""

    epsilon: Annotated[
        float | None,
        Option(
            None,
            "How much wider the gap around the outliers is than any gap among the others: more "
            "than 1 + epsilon times as wide. Default 2.5, unless `min_gap` is given alone.",
        ),
    ]
    min_gap: Annotated[
        float | None,
        Option(
            None,
            "How far the outliers are from all others at least, in units of reward. Alone, it is "
            "the whole rule; with `epsilon`, closer arms do not matter.",
            above=0,
        ),
    ]
    rho: Annotated[float | None, Option(None, "The least share of arms that are normal.")]
    max_outliers: Annotated[
        int | None,
        Option(None, "The most arms that may be outliers, in place of `rho`.", least=1),
    ]
    delta: Annotated[
        float,
        Option(0.05, "The probability with which the answer may be wrong.", above=0, below=1),
    ]
    slack: Annotated[
        float,
        Option(
            None,
            "The share of `epsilon` and `min_gap` in which either answer is right. Default 0.2, or "
            "0 for a search that only ranks.",
            below=1,
        ),
    ]
    strict: Annotated[bool, Option(False, "Read the paper's |N̂| < c to the letter.")]


class SearchOptions(ProblemOptions, total=False):
    """What is looked for, and how."""

    rewards: Annotated[
        "str | Sequence[float] | Rewards",
        Option("bernoulli", '"bernoulli", a pair (low, high), or a model of `oddarm.rewards`.'),
    ]
    bound: Annotated[BoundKind, Option("anytime", '"anytime" (proved) or "paper" (as printed).')]
    until: Annotated[
        Until | None,
        Option(
            None,
            'When to stop: "found", when a group is confirmed or none can be; "confirmed", when '
            'it is also certain that no group is larger; "ranked", when every group must rank '
            'first; "budget", when the budget is spent on the best guess. Default "found" if the '
            'strategy can, else "ranked".',
        ),
    ]
    max_pulls: Annotated[
        int | None,
        Option(None, "A budget; the search is done after that many rewards.", least=1),
    ]
    costs: Annotated[
        "Mapping[Any, float] | Sequence[float] | None",
        Option(None, "What a pull of each arm costs, by name or in order; 1 by default."),
    ]
    max_cost: Annotated[
        float | None,
        Option(None, "A budget; no pull is asked for that would cost more.", above=0),
    ]
    seed: Annotated[int, Option(0, "For strategies that choose at random.", least=0)]


class TableOptions(TypedDict, total=False):
    """Which columns and rows of a table to take, as `oddarm.open_table` describes them."""

    arm: "str | Sequence[str]"
    reward: str
    where: str | None
    table: str | None
    query: str | None
    rows: Literal["sample", "all"]
    min_rows: int | None
    bad_rows: Literal["error", "skip"]
    encoding: str | None
    format: str | None
    replace: bool


class FindOptions(SearchOptions, TableOptions, total=False):
    """What is looked for, how, and in which columns and rows if the data is a table."""


OPTIONS: dict[str, Option] = {
    name: kind.__metadata__[0] for name, kind in SearchOptions.__annotations__.items()
}
DEFAULTS: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}


def check_names(
    function: Callable[..., object],
    given: Mapping[str, object],
    known: type[ProblemOptions] | type[SearchOptions] | type[FindOptions] = SearchOptions,
) -> None:
    """Refuse keywords that a function does not take.

    Args:
        function: The function, which names its own parameters too.
        given: The keywords that none of its own parameters took.
        known: The options that it also takes.

    Raises:
        ParameterError: A keyword is unknown; the error names the most similar option.

    Examples:
        >>> def find(arms, **options): ...
        >>> check_names(find, {"max_outlirs": 1})
        Traceback (most recent call last):
        oddarm.errors.ParameterError: find has no option 'max_outlirs': did you mean max_outliers?
    """
    for name in given:
        if name in known.__annotations__:
            continue
        own = signature(function).parameters.values()
        taken = [parameter.name for parameter in own if parameter.kind is not parameter.VAR_KEYWORD]
        taken += known.__annotations__
        similar = difflib.get_close_matches(name, taken, n=1)
        remedy = f"did you mean {similar[0]}?" if similar else f"it takes {', '.join(taken)}."
        raise ParameterError(f"{function.__name__} has no option {name!r}: {remedy}")
