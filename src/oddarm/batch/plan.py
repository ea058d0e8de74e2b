"""Before paying: how many pulls a search is likely to need, by simulating it on guessed means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from oddarm._checks import real_number, whole_number
from oddarm._extras import PLOT, require
from oddarm._text import NO_POOLS, group_dict, groups_sentence
from oddarm._typing import Floats
from oddarm.batch.least import least_of, least_sentence
from oddarm.batch.parallel import many_runs
from oddarm.batch.simulate import simulate
from oddarm.definitions.groups import Group, Means, float_means
from oddarm.definitions.truth import Truth
from oddarm.errors import ParameterError
from oddarm.options import BoundKind, ProblemOptions, SearchOptions, Until, check_names
from oddarm.problem import Problem
from oddarm.results.html import framed, paragraph, table
from oddarm.results.result import Result
from oddarm.results.table import Column, text_table
from oddarm.rewards import Bernoulli, Rewards, RowsKind, as_rewards
from oddarm.runner.api import find
from oddarm.search import MOST_ARMS, Search, as_costs
from oddarm.sources import RecordedSource, SimulatedArms
from oddarm.strategies import Fixed, as_strategy
from oddarm.strategies.base import UNDECIDED
from oddarm.tally import exact_sum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Plan", "StrategyCost", "guess_means", "plan", "planned_strategies"]

PLANNED = ("adaptive", "fixed", "gold", "rr", "wrr")
CAP = 1_000_000
SLOW = ("wrr",)
"""Strategies that take minutes without compiled code; there they are left out."""
SLOW_CAP = 100_000
"""The most pulls of a run, by default, where there is no compiled code."""
DECIDED = 0.9
"""A fixed sample needs so many pulls that this share of looks decide."""
FIRST_LOOK, LOOK_STEP = 10, 1.1
"""A fixed sample is tried with 10 pulls of each arm, 11, 12.1, …; no finer than that."""
BATCHES = 16
"""Without compiled code, a sixteenth of the pulls so far is drawn at a time."""
FIXED_NOTE = (
    "fixed: every arm equally often, then one look; the fewest pulls with which nine looks of ten "
    "decide. One must know them beforehand: with fewer the answer stays open, more are wasted."
)
COLUMNS = (
    Column("strategy", left=True),
    Column("until", left=True, dropped=1),
    Column("likely pulls"),
    Column("likely cost", dropped=5),
    Column("90 % of runs", dropped=4),
    Column("ended", dropped=2),
    Column("right", dropped=3),
)


def guess_means(
    arms: int, *, outliers: int = 1, gap: float, spread: float | None = None, rate: float = 0.5
) -> dict[str, float]:
    """Return guessed means: normal arms close together, outliers far away.

    Args:
        arms: How many arms there are.
        outliers: How many of them are outliers.
        gap: How far above the highest normal arm the outliers are; negative for below the lowest.
        spread: The distance from the lowest normal arm to the highest; they are evenly spaced.
            Default a tenth of the gap.
        rate: The middle of the normal arms.

    Examples:
        >>> guess_means(5, outliers=1, gap=0.3, spread=0.03, rate=0.2)
        {'normal-1': 0.185, 'normal-2': 0.195, 'normal-3': 0.205, 'normal-4': 0.215, 'odd-1': 0.515}
    """
    n = whole_number("arms", arms, 3, MOST_ARMS)
    odd = whole_number("outliers", outliers, least=0)
    if 2 * odd >= n:
        raise ParameterError(f"outliers == {odd} of {n} arms, must be fewer than half.")
    rule = "a finite number > 0 for outliers above and < 0 for below"
    gap = real_number("gap", gap, rule, lambda x: math.isfinite(x) and x != 0)
    rate = real_number("rate", rate, "a finite number")
    width = abs(gap) / 10
    if spread is not None:
        rule = "a finite number >= 0"
        width = real_number("spread", spread, rule, lambda x: 0 <= x < math.inf)
    normal = np.linspace(rate - width / 2, rate + width / 2, n - odd)
    far = normal.max() + gap if gap > 0 else normal.min() + gap
    means = {f"normal-{k}": round(float(mean), 12) for k, mean in enumerate(normal, start=1)}
    return means | {f"odd-{k}": round(float(far), 12) for k in range(1, odd + 1)}


@dataclass(frozen=True)
class StrategyCost:
    """What one strategy needed in simulated runs.

    Attributes:
        strategy: Its name.
        until: What it was run until: "ranked", "found" or "confirmed".
        low, median, high: Pulls: the 5 %, 50 % and 95 % quantiles of the runs. A run that reached
            the cap counts with the cap, so a quantile that equals the cap is a lower bound.
        runs: How many runs there were.
        capped: How many of them ended without a decision: at the cap, for lack of rows, or at the
            end of a fixed sample.
        cap: The most pulls of a run.
        cost: What the pulls of a run cost, as a median; the pulls if no costs were given.
        right: How many runs gave a right answer: their verdict is true within the slack, and every
            outlier group ranks first. None if there is no group and no run says "none".
        replaced: Whether rewards of finite pools were drawn with replacement, because the strategy
            does not take finite pools.
    """

    strategy: str
    until: str
    low: int
    median: int
    high: int
    runs: int
    capped: int
    cap: int
    right: int | None
    replaced: bool = False
    cost: float = 0.0


@dataclass(frozen=True)
class Plan:
    """How many pulls a search is likely to need.

    Attributes:
        means: The means that were assumed.
        problem: What is looked for, with the slack of the searches that confirm.
        groups: The outlier groups that these means have.
        costs: For each strategy, what it needed.
        full_scan: How many pulls draw every item of every arm; None if arms are endless.
        finite: Whether the runs drew from finite arms, each reward once.
        priced: Whether arms have costs of their own.
        least: For each way to end, the fewest pulls of any method on average
            (`oddarm.theory.least_pulls`); empty for rewards other than 0 and 1, finite arms, more
            than 60 arms, and where there is nothing to find out.
    """

    means: dict[Any, float]
    problem: Problem
    groups: tuple[Group, ...]
    costs: tuple[StrategyCost, ...]
    full_scan: int | None
    finite: bool = False
    priced: bool = False
    least: dict[str, float] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """What the means are like, in a sentence or two."""
        text = groups_sentence(len(self.means), self.problem, self.groups)
        if self.full_scan is None:
            return text
        once = "; no reward is drawn twice" if self.finite else ""
        return f"{text} To read everything takes {self.full_scan:,} pulls{once}."

    @property
    def notes(self) -> list[str]:
        """What else there is to know about the table."""
        replaced = any(cost.replaced for cost in self.costs)
        fixed = any(cost.strategy == Fixed.name for cost in self.costs)
        notes = [least_sentence(self.least)] if self.least else []
        return notes + [f"* drawn with replacement: {NO_POOLS}"] * replaced + [FIXED_NOTE] * fixed

    def table(self, width: int | None = None) -> str:
        """Return one line for each strategy, as text.

        Args:
            width: The most characters of a line; columns that matter less are left out to fit.
        """
        return text_table(*self._table(), width)

    def _table(self) -> tuple[Sequence[Column], list[tuple[str, ...]]]:
        """Return the columns and rows of the table."""
        shown = [column.head != "likely cost" or self.priced for column in COLUMNS]
        rows = [tuple(compress(_cells(cost), shown)) for cost in self.costs]
        return tuple(compress(COLUMNS, shown)), rows

    def plot(self, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the pulls that each strategy is likely to need, and what every method needs.

        As the last line of a cell in a notebook this shows the picture.

        Args:
            path: Where to write it, if anywhere: .png, .svg or .pdf.
            ax: Axes to draw on, in place of a new figure.
        """
        require(PLOT)
        from oddarm.results.strategy_plot import Bar, plot_strategies

        bars = [
            Bar(
                name=f"{cost.strategy}, until {cost.until}",
                pulls=cost.median,
                low=cost.low,
                high=cost.high,
                right=None if cost.right is None else cost.right == cost.runs,
                open_ended=cost.median >= cost.cap and cost.capped > 0,
                words=f"{_pulls(cost.median, cost)}, ended {cost.runs - cost.capped} of {cost.runs}"
                + ("" if cost.right is None else f", right {cost.right}"),
            )
            for cost in self.costs
        ]
        if self.full_scan is not None:
            bars.append(Bar("everything", self.full_scan, right=True, words=f"{self.full_scan:,}"))
        heading = f"{self.summary} Likely pulls: the median, and 5 % to 95 % of the runs."
        return plot_strategies(bars, heading, least=self.least, path=path, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "summary": self.summary,
            "problem": self.problem.to_dict(),
            "groups": [group_dict(group) for group in self.groups],
            "strategies": [asdict(cost) for cost in self.costs],
            "least": self.least,
            "full_scan": self.full_scan,
            "finite": self.finite,
            "means": [{"arm": arm, "mean": mean} for arm, mean in self.means.items()],
        }

    def __str__(self) -> str:
        return "\n".join([self.summary, "", self.table(), "", *self.notes]).rstrip()

    def _repr_html_(self) -> str:
        notes = "".join(paragraph(note, soft=True) for note in self.notes)
        return framed(paragraph(self.summary) + table(*self._table()) + notes)


def plan(
    means: Means,
    strategies: Sequence[str] | None = None,
    *,
    runs: int = 10,
    cap: int | None = None,
    full_scan: int | None = None,
    rewards: str | Sequence[float] | Rewards = "bernoulli",
    until: Until | None = None,
    seed: int = 0,
    progress: Callable[[Search], object] | None = None,
    finished: Callable[[Result], object] | None = None,
    bound: BoundKind = "anytime",
    costs: Mapping[Any, float] | Sequence[float] | None = None,
    **problem: Unpack[ProblemOptions],
) -> Plan:
    """Simulate searches on assumed means and return what they cost.

    Strategies with compiled code run pull by pull. Others run in batches, which can make up to a
    sixteenth more pulls than needed. Rewards are drawn endlessly unless `rewards` has sizes: then
    they are drawn once each, as `find` draws them, and a run ends at the latest when all are read.

    Args:
        means: The means, from `guess_means` or from a pilot; a mapping from arm to mean, a pandas
            Series whose index names the arms, or a sequence.
        strategies: The strategies to compare; default adaptive, fixed, gold, rr, and for endless
            0/1 rewards wrr; with `min_gap` only adaptive and fixed, which know it. For fixed,
            the fewest pulls are searched for with which 90 % of the looks decide.
        runs: How many runs of each. If they take more than a few seconds, they share the cores, in
            processes of their own.
        cap: The most pulls of a run; default 1,000,000, or 100,000 of endless arms where there is
            no compiled code.
        full_scan: How many pulls draw every item of every arm; default the sum of their sizes.
        rewards: As for `Search`. With sizes, the means are rounded to those that so many 0/1
            rewards can have.
        until: "ranked", "found" or "confirmed"; default "found". Strategies that only rank are run
            until "ranked", unless `strategies` names them.
        seed: Of the first run; run k has seed + k.
        progress: Called with the search now and then, in the runs of this process.
        finished: Called with the result of each run, when it is over.
        bound: As for `Search`.
        costs: As for `Search`; the plan then says what the pulls cost.
        problem: epsilon, min_gap, rho or max_outliers, delta, slack, strict: as for `Search`.

    Examples:
        >>> guessed = guess_means(20, outliers=2, gap=0.5, spread=0.05, rate=0.2)
        >>> cost = plan(guessed, ["gold"], runs=5).costs[0]
        >>> cost.capped, cost.right, cost.low <= cost.median <= cost.high
        (0, 5, True)
    """
    if "max_pulls" in problem:
        raise ParameterError("plan has no option 'max_pulls': did you mean cap?")
    check_names(plan, problem, ProblemOptions)
    if until == "budget":
        raise ParameterError(
            "until == 'budget' for a plan, which says how many pulls an answer takes: pass until="
            "'found', 'confirmed' or 'ranked'."
        )
    whole_number("runs", runs, least=1)
    seed = whole_number("seed", seed, least=0)
    for name, value in (("cap", cap), ("full_scan", full_scan)):
        if value is not None:
            whole_number(name, value, least=1)
    model = as_rewards(rewards)
    names, given = float_means(means)
    known: dict[Any, Any] = dict(zip(names or range(len(given)), given.tolist(), strict=True))
    endless = model.of_sizes(None)
    kind: RowsKind = "all" if model.rows is None else "sample"
    pools = _pools(SimulatedArms(list(known.values()), endless), model)
    if model.limits is not None:
        full_scan = full_scan or sum(model.limits)
        if isinstance(model, Bernoulli):
            known = {
                arm: Fraction(exact_sum(pools[k])) / len(pools[k]) for k, arm in enumerate(known)
            }
    truth_of = cache(partial(Truth.of, dict(known)))
    known = {arm: float(mean) for arm, mean in known.items()}
    arms, values = list(known), list(known.values())
    prices = as_costs(costs, arms)
    needed, problems = [], []
    by_default = strategies is None
    if strategies is None:
        strategies = planned_strategies(model, problem.get("min_gap"))
    if not strategies:
        raise ParameterError("strategies is empty, name one.")
    for name in strategies:
        strategy = as_strategy(name)
        replaced = model.pools is not None and not strategy.finite
        wanted: Until = until or "found"
        if not strategy.confirms and (by_default or until is None):
            wanted = "ranked"
        options: SearchOptions = {
            **problem,
            "rewards": endless,
            "bound": bound,
            "until": wanted,
            "max_pulls": cap,
            "costs": None if prices is None else prices.tolist(),
            "max_cost": None,
            "seed": seed,
        }
        if until != wanted == "ranked":
            options["slack"] = 0.0  # a ranking has none
        if isinstance(strategy, Fixed):
            look = partial(_look, values, pools, kind, options)
            results, cost = _fixed_cost(look, len(values), runs, cap or CAP, wanted)
            if finished is not None:
                for result in results:
                    finished(result)
            problems.append(results[0].problem)
            right = _right(results, truth_of(problems[-1]), wanted, arms)
            needed.append(replace(cost, right=right))
            continue
        compiled = _compiled(name, values, options)
        most = cap or (CAP if compiled or pools else SLOW_CAP)
        options["max_pulls"] = most
        one = (
            partial(_run_on_pools, pools, kind)
            if pools and not replaced
            else partial(_run, compiled, values)
        )
        run = partial(one, name, options)
        results = many_runs(
            partial(run, progress), runs, finished=finished, apart=partial(run, None)
        )
        problems.append(results[0].problem)
        pulls = [result.pulls for result in results]
        low, median, high = (int(q) for q in np.quantile(pulls, [0.05, 0.5, 0.95], method="higher"))
        needed.append(
            StrategyCost(
                strategy=name,
                until=wanted,
                low=low,
                median=median,
                high=high,
                runs=runs,
                capped=sum(result.verdict in UNDECIDED for result in results),
                cap=most,
                right=_right(results, truth_of(problems[-1]), wanted, arms),
                replaced=replaced,
                cost=float(np.median([result.cost for result in results])),
            )
        )
    asked = max(problems, key=attrgetter("slack"))
    groups, priced = truth_of(asked).groups, prices is not None
    ends: list[Any] = [cost.until for cost in needed]
    least = {} if pools else least_of(known, endless, asked, ends)
    return Plan(known, asked, groups, tuple(needed), full_scan, bool(pools), priced, least)


def _pools(arms: SimulatedArms, rewards: Rewards) -> dict[int, Floats]:
    """Return the rewards of each arm, if arms are finite; their order does not matter."""
    sizes = rewards.limits
    if sizes is None:
        return {}
    if len(sizes) != len(arms.means):
        raise ParameterError(
            f"rewards have {len(sizes)} sizes for {len(arms.means)} arms, must be one each."
        )
    return {number: arms.pool(number, size) for number, size in enumerate(sizes)}


def planned_strategies(rewards: Rewards, min_gap: float | None = None) -> list[str]:
    """Return the strategies that are compared by default, of those that can judge the rule."""
    fast = isinstance(rewards, Bernoulli) and rewards.limits is None
    chosen = [name for name in PLANNED if fast or name not in SLOW]
    return [name for name in chosen if min_gap is None or as_strategy(name).confirms]


def _compiled(name: str, means: list[float], options: SearchOptions) -> bool:
    """Return whether the strategy has compiled code; bad options raise ParameterError here."""
    search = Search(len(means), name, **options)
    return isinstance(search.rewards, Bernoulli) and search.run.compiled is not None


def _run(
    compiled: bool,
    means: list[float],
    strategy: str,
    options: SearchOptions,
    progress: Callable[[Search], object] | None,
    number: int,
) -> Result:
    """Return one simulated run, pull by pull in compiled code, in batches otherwise."""
    options = {**options, "seed": options["seed"] + number}
    if compiled:
        return simulate(means, strategy, progress=progress, **options)
    search = Search(len(means), strategy, **options)
    arms = SimulatedArms(means, search.rewards, search.seed)
    while not search.done:
        batch = max(search.pulls // BATCHES, len(means))
        for arm, count in Counter(search.ask(batch)).items():
            search.tell(arm, arms.draw(arm, count))
        if progress is not None:
            progress(search)
    return search.result()


def _run_on_pools(
    pools: Mapping[int, Floats],
    rows: RowsKind,
    strategy: str,
    options: SearchOptions,
    progress: Callable[[Search], object] | None,
    number: int,
) -> Result:
    """Return one run on finite arms, drawn from as `find` draws from a table."""
    options = {**options, "seed": options["seed"] + number}
    log = RecordedSource(pools, rewards=options["rewards"], seed=options["seed"], rows=rows)
    watchers = () if progress is None else (progress,)
    result = find(log, strategy=strategy, callbacks=watchers, **options)
    if result.verdict == "running":
        raise KeyboardInterrupt
    return result


def _look(
    means: list[float],
    pools: Mapping[int, Floats],
    rows: RowsKind,
    options: SearchOptions,
    pulls: int,
    number: int,
) -> Result:
    """Return what one look at so many rewards of each arm decides."""
    seed = options["seed"] + number
    source: RecordedSource | SimulatedArms
    if pools:
        source = RecordedSource(pools, rewards=options["rewards"], seed=seed, rows=rows)
    else:
        source = SimulatedArms(means, as_rewards(options["rewards"]), seed)
    asked: SearchOptions = {**options, "rewards": source.rewards, "max_pulls": None, "seed": seed}
    search = Search(len(means), Fixed(pulls=pulls), **asked)
    for arm in range(len(means)):
        search.tell(arm, source.draw(arm, pulls))
    return search.result()


def _fixed_cost(
    look: Callable[[int, int], Result], arms: int, runs: int, cap: int, until: str
) -> tuple[list[Result], StrategyCost]:
    """Return looks with the fewest pulls that decide nearly always, and what they cost.

    The number of pulls rises by a factor of about two until enough looks decide; then a number
    between the last two is found by bisection.
    """
    most = max(cap // arms, 1)
    tried: dict[int, list[Result]] = {}

    def decides(step: int) -> bool:
        pulls = min(round(FIRST_LOOK * LOOK_STEP**step), most)
        results = tried[step] = [look(pulls, number) for number in range(runs)]
        return sum(result.verdict not in UNDECIDED for result in results) >= DECIDED * runs

    step, below = 0, -1
    while not (enough := decides(step)) and FIRST_LOOK * LOOK_STEP**step < most:
        step, below = step + 8, step
    while enough and step - below > 1:
        middle = (step + below) // 2
        step, below = (middle, below) if decides(middle) else (step, middle)
    results = tried[step]
    open_ = sum(result.verdict in UNDECIDED for result in results)
    pulls = results[0].pulls
    if not enough and pulls == most * arms:  # not the end of the rows
        pulls = cap
    cost = StrategyCost(
        strategy=Fixed.name, until=until, low=pulls, median=pulls, high=pulls, runs=runs,
        capped=open_, cap=cap, right=None, cost=results[0].cost,
    )  # fmt: skip
    return results, cost


def _right(
    results: Sequence[Result], truth: Truth, until: Until, arms: Sequence[Any]
) -> int | None:
    """Return how many runs gave a right answer; None if none said anything about outliers."""
    answers = [
        truth.agrees(
            result.verdict,
            [arms[k] for k in result.outliers],
            until,
            [arms[k] for k in result.ranking],
        )
        for result in results
    ]
    return None if set(answers) == {None} else sum(answer is True for answer in answers)


def _cells(cost: StrategyCost) -> tuple[str, ...]:
    return (
        cost.strategy + " *" * cost.replaced,
        cost.until,
        _pulls(cost.median, cost),
        "> " * (cost.median >= cost.cap) + f"{cost.cost:,.6g}",
        "-" if cost.low >= cost.cap else f"{cost.low:,} to {_pulls(cost.high, cost)}",
        f"{cost.runs - cost.capped} of {cost.runs}",
        "-" if cost.right is None else f"{cost.right} of {cost.runs}",
    )


def _pulls(pulls: int, cost: StrategyCost) -> str:
    return f"> {cost.cap:,}" if cost.capped and pulls >= cost.cap else f"{pulls:,}"
