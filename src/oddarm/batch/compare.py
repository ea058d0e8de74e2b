"""All strategies on the same recorded rewards: what each needed, and whether it was right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from oddarm._extras import PLOT, require
from oddarm._text import NO_POOLS, group_dict, groups_sentence, printable
from oddarm._typing import Floats
from oddarm.batch.least import least_of, least_sentence
from oddarm.definitions.groups import Group
from oddarm.definitions.truth import Truth
from oddarm.errors import ParameterError, SourceError
from oddarm.options import BoundKind, ProblemOptions, Until, check_names
from oddarm.problem import Problem
from oddarm.results.html import framed, paragraph, table
from oddarm.results.result import Result
from oddarm.results.table import Column, text_table
from oddarm.runner.api import find
from oddarm.search import Search
from oddarm.sources import RecordedSource, Source
from oddarm.strategies import STRATEGIES, Strategy, as_strategy
from oddarm.tally import exact_sum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BUDGET", "ComparedRun", "Comparison", "compare"]

BUDGET = 10
"""By default, draws with replacement end after this many times the number of rewards."""
FULL_SCAN = "full scan"
NO_MIN_GAP = "a strategy that only ranks does not know min_gap."
"""Why strategies are left out of a comparison with `min_gap`."""


@dataclass(frozen=True)
class ComparedRun:
    """What one strategy did.

    Attributes:
        strategy: Its name.
        until: What it was run until: "ranked", "found" or "confirmed".
        result: What it found.
        share: Its pulls as a share of all rewards.
        right: Whether it agrees with the truth: every outlier group ranks first, and arms that it
            confirmed are one. If there is no group: whether it said so; None if it only ranks.
        replaced: Whether rewards were drawn with replacement, because it does not take finite
            pools.
        budget: The most pulls, if there was a limit.
    """

    strategy: str
    until: str
    result: Result
    share: float
    right: bool | None
    replaced: bool
    budget: int | None

    @property
    def proved(self) -> bool:
        """Whether the stated δ is proved for its answer."""
        return bool(self.result.provenance["delta_proved"])


@dataclass(frozen=True)
class Comparison:
    """What every strategy needed on the same rewards.

    Attributes:
        means: The mean of all rewards of each arm.
        problem: What was looked for, with the slack of the searches that confirm.
        groups: The outlier groups that these means have: the truth.
        rows: How many rewards there are, which is what a full scan takes.
        runs: One for each strategy, those with the fewest pulls first.
        left_out: The strategies that do not fit, and why.
        nouns: What arms and pulls are called, in the plural.
        least: For each way to end, the fewest pulls of any method on endless 0/1 arms with these
            means (`oddarm.theory.least_pulls`). A search that draws each reward once may need
            fewer.
    """

    means: dict[Any, float]
    problem: Problem
    groups: tuple[Group, ...]
    rows: int
    runs: tuple[ComparedRun, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    nouns: tuple[str, str] = ("arms", "pulls")
    least: dict[str, float] = field(default_factory=dict)

    def with_nouns(self, arms: str = "arms", pulls: str = "pulls") -> Comparison:
        """Return the same comparison with other words, such as "routes" and "rows"."""
        return replace(self, nouns=(printable(arms), printable(pulls)))

    @property
    def summary(self) -> str:
        """The outlier groups by all rewards, in a sentence."""
        truth = groups_sentence(len(self.means), self.problem, self.groups, self.nouns[0])
        return f"By all {self.rows:,} {self.nouns[1]}: {truth[0].lower()}{truth[1:]}"

    @property
    def notes(self) -> list[str]:
        """What else there is to know about the table."""
        notes = ["found: how many arms it declares"]
        notes[0] += "; right: every outlier group ranks first." if self.groups else "."
        notes += [
            f"* drawn with replacement, at most {budget:,} times: {NO_POOLS}"
            for budget in {run.budget for run in self.runs if run.replaced}
        ]
        if not all(run.proved for run in self.runs):
            notes.append("† no guarantee.")
        if self.least:
            endless = f"If the {self.nouns[0]} had no end of {self.nouns[1]}: "
            sentence = least_sentence(self.least, self.nouns[1])
            notes.append(f"{endless}{sentence[0].lower()}{sentence[1:]}")
        for reason in dict.fromkeys(self.left_out.values()):
            names = [name for name, why in self.left_out.items() if why == reason]
            notes.append(f"Not run: {', '.join(names)}, since {reason}")
        return notes

    def table(self, width: int | None = None) -> str:
        """Return one line for each strategy and one for a full scan, as text.

        Args:
            width: The most characters of a line; columns that matter less are left out to fit.
        """
        return text_table(*self._table(), width)

    def _table(self) -> tuple[Sequence[Column], list[tuple[str, ...]]]:
        """Return the columns and rows of the table."""
        size = max((len(group.members) for group in self.groups), default=3)
        truth = [arm for group in self.groups for arm in reversed(group.members)]
        lines = [(run.result.pulls, _cells(run, size)) for run in self.runs]
        scan = (
            FULL_SCAN, f"{self.rows:,}", "100 %", "exact", str(len(set(truth))), "yes",
            _listed(list(dict.fromkeys(truth))[:size]),
        )  # fmt: skip
        lines.append((self.rows, scan))
        lines.sort(key=lambda line: line[0])
        columns = (
            Column("strategy", left=True),
            Column(self.nouns[1]),
            Column("share", dropped=3),
            Column("verdict", left=True),
            Column("found", dropped=2),
            Column("right", left=True, dropped=4),
            Column("first ranked", left=True, dropped=1, least=12),
        )
        return columns, [line for _, line in lines]

    def plot(self, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the pulls of each strategy and of a full scan, and which were right.

        As the last line of a cell in a notebook this shows the picture.

        Args:
            path: Where to write it, if anywhere: .png, .svg or .pdf.
            ax: Axes to draw on, in place of a new figure.
        """
        require(PLOT)
        from oddarm.results.strategy_plot import Bar, plot_strategies

        bars = [
            Bar(
                name=_cells(run, 0)[0],
                pulls=run.result.pulls,
                right=run.right,
                open_ended=run.result.verdict == "budget",
                words=", ".join(_cells(run, 0)[1:4]),
            )
            for run in self.runs
        ]
        bars.append(Bar(FULL_SCAN, self.rows, right=True, words=f"{self.rows:,}"))
        bars.sort(key=attrgetter("pulls"))
        return plot_strategies(
            bars, self.summary, least=self.least, pulls=self.nouns[1], path=path, ax=ax
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "summary": self.summary,
            "problem": self.problem.to_dict(),
            "rows": self.rows,
            "groups": [group_dict(group) for group in self.groups],
            "strategies": [
                {
                    "strategy": run.strategy,
                    "until": run.until,
                    "pulls": run.result.pulls,
                    "share": run.share,
                    "verdict": run.result.verdict,
                    "outliers": run.result.outliers,
                    "ranking": run.result.ranking,
                    "right": run.right,
                    "proved": run.proved,
                    "with_replacement": run.replaced,
                    "budget": run.budget,
                }
                for run in self.runs
            ],
            "least": self.least,
            "left_out": self.left_out,
            "means": [{"arm": arm, "mean": mean} for arm, mean in self.means.items()],
        }

    def __str__(self) -> str:
        return "\n".join([self.summary, "", self.table(), "", *self.notes]).rstrip()

    def _repr_html_(self) -> str:
        notes = "".join(paragraph(note, soft=True) for note in self.notes)
        return framed(paragraph(self.summary) + table(*self._table()) + notes)


def compare(
    source: Source,
    strategies: Sequence[str | Strategy] | None = None,
    *,
    until: Until | None = None,
    max_pulls: int | None = None,
    bound: BoundKind = "anytime",
    seed: int = 0,
    progress: Callable[[Search], object] | None = None,
    finished: Callable[[int], object] | None = None,
    **problem: Unpack[ProblemOptions],
) -> Comparison:
    """Run strategies on the same recorded rewards and say what each needed.

    All rewards of the source are read first, so the true groups are known. Each strategy then draws
    them in the source's order, each once, and sees the same rewards as the others. A strategy that
    does not take finite pools, such as GOLD, draws with replacement, up to a budget.

    The rewards are taken as all that there is, also those of a sample: a comparison needs a truth.

    Args:
        source: A finite source of which nothing has been drawn, such as a table.
        strategies: Names or instances; default all that fit the problem.
        until: What strategies that can confirm are run until; default "found". Others rank.
        max_pulls: The most pulls of each; default all rewards, and ten times as many draws with
            replacement.
        bound: As for `Search`.
        seed: For strategies that choose at random, and for draws with replacement.
        progress: Called with each search as it goes on.
        finished: Called with the number of strategies so far, after each.
        problem: epsilon, min_gap, rho or max_outliers, delta, slack, strict: as for `Search`.

    Examples:
        >>> import oddarm
        >>> late = {"ams": (500, 41), "cdg": (500, 48), "fra": (500, 55), "gru": (500, 420)}
        >>> log = oddarm.sources.RecordedSource.from_counts(late)
        >>> print(oddarm.compare(log, ["adaptive", "rr"], max_outliers=1).table())
        strategy   pulls   share  verdict    found  right  first ranked
        adaptive     563  28.1 %  confirmed      1  yes    gru
        rr         1,789  89.5 %  none           0  no     gru
        full scan  2,000   100 %  exact          1  yes    gru
    """
    if not isinstance(source, Source):
        raise ParameterError(
            f"source is a {type(source).__name__}, must be a source: for a table, pass "
            "oddarm.open_table(data, arm=…, reward=…)."
        )
    check_names(compare, problem, ProblemOptions)
    recorded = _read_all(source)
    rows = sum(map(len, recorded.values()))
    exact = {arm: Fraction(exact_sum(rewards)) / len(rewards) for arm, rewards in recorded.items()}
    truth_of = cache(partial(Truth.of, exact))
    runs, left_out = [], {}
    for number, spec in enumerate(STRATEGIES if strategies is None else strategies, start=1):
        strategy = as_strategy(spec)
        if strategies is None and not strategy.confirms and problem.get("min_gap") is not None:
            left_out[strategy.name] = NO_MIN_GAP
            continue
        replaced = not strategy.finite
        wanted: Until = (until or "found") if strategy.confirms else "ranked"
        log = RecordedSource(
            recorded, replace=replaced, rewards=source.rewards, seed=seed, shuffle=False
        )
        budget = max_pulls or (BUDGET * rows if replaced else None)
        asked: ProblemOptions = problem if strategy.confirms else {**problem, "slack": 0.0}
        try:
            result = find(
                log, strategy=strategy, until=wanted, max_pulls=budget, bound=bound, seed=seed,
                callbacks=() if progress is None else (progress,), **asked,
            )  # fmt: skip
        except ParameterError as error:
            if strategies is not None:
                raise
            left_out[strategy.name] = str(error)
            continue
        if result.verdict == "running":
            raise KeyboardInterrupt
        truth = truth_of(result.problem)
        right = truth.agrees(result.verdict, result.outliers, wanted, result.ranking)
        runs.append(
            ComparedRun(strategy.name, wanted, result, result.pulls / rows, right, replaced, budget)
        )
        if finished is not None:
            finished(number)
    if not runs:
        raise ParameterError(next(iter(left_out.values()), "strategies is empty, name one."))
    runs.sort(key=lambda run: run.result.pulls)
    means = {arm: float(mean) for arm, mean in exact.items()}
    searched = max((run.result.problem for run in runs), key=attrgetter("slack"))
    ends: list[Any] = [run.until for run in runs]
    return Comparison(
        means, searched, truth_of(searched).groups, rows, tuple(runs), left_out,
        least=least_of(means, source.rewards, searched, ends),
    )  # fmt: skip


def _read_all(source: Source) -> Mapping[Any, Floats]:
    """Return all rewards of a finite source, in its order."""
    sizes = source.rewards.limits
    if sizes is None:
        raise ParameterError(
            f"{type(source).__name__} has no end, must be finite so that the true groups are "
            "known: pass recorded rewards, without replacement."
        )
    recorded = {}
    for arm, size in zip(source.arms, sizes, strict=True):
        recorded[arm] = source.rewards.check(source.draw(arm, size))
        if len(recorded[arm]) < size:
            raise SourceError(
                f"arm {arm!r} has {len(recorded[arm]):,} of {size:,} rewards left, must have all: "
                "pass a source of which nothing has been drawn."
            )
    return recorded


def _cells(run: ComparedRun, size: int) -> tuple[str, ...]:
    result = run.result
    marks = "*" * run.replaced + "†" * (not run.proved)
    over = result.verdict != "budget"
    return (
        f"{run.strategy} {marks}".rstrip(),
        "> " * (not over) + f"{result.pulls:,}",
        f"{100 * run.share:.1f} %" if run.share < 0.9995 else f"{100 * run.share:,.0f} %",
        result.verdict,
        str(len(result.outliers)),
        {True: "yes" if over else "so far", False: "no", None: "-"}[run.right],
        _listed(result.ranking[:size]),
    )


def _listed(arms: Sequence[Any]) -> str:
    return ", ".join(map(str, arms)) or "-"
