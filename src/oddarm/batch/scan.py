"""All rows of a table at once: one look with intervals for one look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from oddarm._checks import whole_number
from oddarm._text import plural
from oddarm.errors import ParameterError, SourceError
from oddarm.options import ProblemOptions, check_names
from oddarm.results.result import Result
from oddarm.rewards import Bernoulli, Bounded, Rewards, RowsKind, SubGaussian, as_rewards
from oddarm.search import Search
from oddarm.sources.table.files import FileOptions
from oddarm.sources.table.opening import clip_of, picked, refuse_missing, warn_caller
from oddarm.sources.table.rows import check_declared, doubts, supposed
from oddarm.sources.table.sums import ArmSums, sums_of_arrays, sums_of_table
from oddarm.strategies.fixed import Fixed, FixedRun
from oddarm.tally import Tally

__all__ = ["scan"]


def scan(
    data: Any,
    arm: str | Sequence[str] | None = None,
    reward: str | None = None,
    *,
    where: str | None = None,
    table: str | None = None,
    query: str | None = None,
    rewards: str | Sequence[float] | Rewards | None = None,
    rows: RowsKind = "sample",
    min_rows: int | None = None,
    bad_rows: Literal["error", "skip"] = "error",
    encoding: str | None = None,
    format: str | None = None,  # noqa: A002
    **problem: Unpack[ProblemOptions],
) -> Result:
    """Find the outlying arms of a table, by all of its rows at once.

    The database adds up the rewards of each arm, so a million rows take milliseconds. All rows are
    looked at once, with intervals for one look, which are narrower than those of a search. What
    they leave open has the verdict "rows": more rows are needed, most of all of the arms in
    `result.short`. Looking again whenever a few rows have come is not one look: use a search for
    that.

    Args:
        data: As for `open_table`; or a mapping from arm to rewards.
        arm: The column that names the arm, or several columns; none for a mapping.
        reward: The column of the reward, or an SQL expression such as "delay > 15".
        where: An SQL condition on the rows.
        table: The table of a SQLite or DuckDB file or a PostgreSQL database.
        query: An SQL query on such a database, in place of a table.
        rewards: "bernoulli", a range (low, high) or a model; default 0/1 if all rewards are, else
            the range of the rewards in the table.
        rows: "sample" if the rows are a sample of what the arms do, as those of a log are; "all" if
            they are all that there is. Then the means are known, and so is the answer.
        min_rows: The fewest rows of an arm; arms with fewer are left out and counted.
        bad_rows: As for `open_table`.
        encoding: As for `open_table`.
        format: As for `open_table`.
        problem: epsilon, min_gap, rho or max_outliers, delta, slack, strict,
            neighbours: as for `Search`.

    Examples:
        >>> import oddarm
        >>> late = {"ams": [0] * 459 + [1] * 41, "cdg": [0] * 452 + [1] * 48,
        ...         "fra": [0] * 445 + [1] * 55, "gru": [0] * 80 + [1] * 420}
        >>> result = oddarm.scan(late, max_outliers=1)
        >>> result.verdict, result.outliers
        ('confirmed', ['gru'])
    """
    _check_kind(data, problem)
    check_names(scan, problem, ProblemOptions)
    if rows not in ("sample", "all"):
        raise ParameterError(f"rows == {rows!r}, must be 'sample' or 'all'.")
    least = 1 if min_rows is None else whole_number("min_rows", min_rows, 1)
    if isinstance(data, Mapping):
        if (arm, reward, where, table, query, encoding, format) != (None,) * 7:
            raise ParameterError(
                "a mapping of rewards with a column, SQL, encoding or format: drop it."
            )
        sums = sums_of_arrays(data, clip_of(rewards), least)
    else:
        options = FileOptions(encoding, format)
        if arm is None or reward is None:
            refuse_missing(data, arm, reward, options, "scan", table=table, query=query)
        pick = picked(
            arm, reward, where=where, table=table, query=query, rewards=rewards, min_rows=least,
            bad_rows=bad_rows,
        )  # fmt: skip
        sums = sums_of_table(data, pick, options, exact=rows == "all")
    warning = doubts(sums, rows == "sample", arm)
    if warning:
        warn_caller(warning)
    model = _model(sums, rewards, rows)
    read_off = rewards is None and isinstance(model, Bounded) and rows == "sample"
    limits = (model.low, model.high) if read_off else None
    sentences = supposed(sums.skipped, sums.left_out, least, limits)
    result = _look(sums, model, problem, sentences)
    if arm is None:
        return result
    return result.with_nouns(plural([arm] if isinstance(arm, str) else arm), "rows")


def _check_kind(data: Any, options: Mapping[str, object]) -> None:
    """Refuse what belongs to a search."""
    if callable(data):
        raise ParameterError(
            "data is a function, must be rewards that you have: call oddarm.find(pull, arms) for a "
            "function that returns rewards."
        )
    for name in ("max_pulls", "max_cost"):
        if name in options:
            raise ParameterError(
                f"{name} with scan, which reads all rows and has no budget: drop it, or call "
                "oddarm.find."
            )


def _look(sums: ArmSums, model: Rewards, problem: ProblemOptions, sentences: list[str]) -> Result:
    """Return what the sums decide."""
    strategy = Fixed(pulls=int(sums.counts.max(initial=1)))
    search = Search(list(sums.arms), strategy, rewards=model, **problem)
    search.supposes += sentences
    _fill(search.tally, sums)
    assert isinstance(search.run, FixedRun)
    search.run.adopt()
    return search.result().with_nouns("arms", "rows")


def _fill(tally: Tally, sums: ArmSums) -> None:
    """Give a tally the sums."""
    tally.counts[:] = sums.counts
    tally.pulls = int(sums.counts.sum())
    tally.totals[:] = sums.sums + sums.counts * sums.centre
    if tally.exact is not None:
        assert sums.exact is not None
        tally.exact = [*sums.exact]
        tally.totals[:] = [float(total) for total in tally.exact]
    if tally.beyond is not None:
        most = sums.counts * (sums.high - tally.rewards.low)
        tally.beyond[:] = np.clip(
            sums.sums + sums.counts * (sums.centre - tally.rewards.low), 0.0, most
        )
    if tally.scatter is not None:
        tally.scatter[:] = sums.scatter


def _model(sums: ArmSums, rewards: Any, rows: RowsKind) -> Rewards:
    """Return what a reward may be, as declared or as the data has them."""
    if rewards is not None:
        model = as_rewards(rewards).of_sizes(None)
    elif sums.zero_one:
        model = Bernoulli()
    elif sums.low == sums.high:
        raise SourceError(
            f"every reward of {sums.name} is {sums.low:g}, so no arm can differ: "
            "name another column as the reward."
        )
    else:
        model = Bounded(minimum=sums.low, maximum=sums.high)
    check_declared(sums, model)
    if isinstance(model, SubGaussian) and rows == "all":
        raise ParameterError(
            "rows == 'all' with sub-Gaussian rewards, which have no end: leave rewards out."
        )
    return model.of_sizes(tuple(sums.counts.tolist()), rows)
