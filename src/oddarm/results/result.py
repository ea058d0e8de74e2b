"""What a search found, and how it is shown."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oddarm._extras import PLOT, RESULT_FRAME, require
from oddarm._text import printable
from oddarm._typing import Floats
from oddarm.problem import Problem
from oddarm.results.sentence import amount, answer, counted, two_digits
from oddarm.results.table import Column, decimals, text_table
from oddarm.strategies import Certificate, Outcome, Status, Strategy, Verdict
from oddarm.tally import Tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ArmRow", "Result"]


@dataclass(frozen=True)
class ArmRow:
    """What is known of one arm.

    Attributes:
        arm: Its name.
        rank: 1 for the most outlying.
        pulls: How often it was pulled.
        mean: The mean of its rewards; None if it was never pulled.
        low: Lower end of its confidence interval.
        high: Upper end.
        score: The strategy's own score (for GOLD: S, the pulls of all arms when it became
            terminal); None if it has none.
        status: "outlier", "candidate" (the best guess), "normal", "undecided", or "failed" if it
            could not be pulled.
    """

    arm: Any
    rank: int
    pulls: int
    mean: float | None
    low: float
    high: float
    score: float | None
    status: Status


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of a search.

    Attributes:
        order: The positions of all arms, the most outlying first.
        outliers: The arms of a confirmed group, or those that a strategy declares by a rule of its
            own, in order.
        candidates: The best guess as long as there are no outliers, in order.
        verdict: What is decided: "confirmed", "none", "scattered" or "ranked"; or why nothing is:
            "budget", "rows" or "running".
        pulls: Rewards told.
        provenance: Version, parameters, seed, bound, and whether δ is proved for them.
        rank: Rank of each arm, in the order of the arms.
        counts, means, low, high, scores, statuses: Per arm, in the order of the arms.
        errors: Why each failed arm could not be pulled.
        certificates: What is certain of each set of arms that may be a group, the smallest first,
            if the strategy says.
        nouns: What arms and pulls are called, in the plural, where the result is shown.
        evidence: The odds for the answer or the best guess, at least 1; None if the strategy does
            not say. A guess of odds r that is wrong has probability at most 1/r.
        forecast: About how many further pulls may decide; None if that is unknown. It is
            often too low.
        widest_gap: The widest that the gap around outliers can still be; None if unknown.
        cost: What all pulls cost; their number if no costs were given.
        history: Pulls and evidence now and then while `find` ran, for the plot; not part of what
            is saved or converted.
        hint: How to go on with this search after its budget has ended or it was interrupted, as
            part of a sentence; None if only the caller knows.
    """

    names: Sequence[Any]
    order: NDArray[np.intp]
    outliers: list[Any]
    verdict: Verdict
    pulls: int
    provenance: dict[str, Any]
    rank: NDArray[np.intp]
    counts: NDArray[np.int64]
    means: Floats
    low: Floats
    high: Floats
    scores: Floats
    statuses: Sequence[Status]
    problem: Problem
    strategy: Strategy
    errors: dict[Any, str] = field(default_factory=dict)
    certificates: Sequence[Certificate] = ()
    nouns: tuple[str, str] = ("arms", "pulls")
    candidates: Sequence[Any] = ()
    evidence: float | None = None
    forecast: int | None = None
    widest_gap: float | None = None
    cost: float = 0.0
    hint: str | None = None
    history: Sequence[tuple[int, float]] = ()

    @classmethod
    def of(
        cls,
        outcome: Outcome,
        *,
        names: Sequence[Any],
        tally: Tally,
        errors: dict[Any, str],
        verdict: Verdict,
        problem: Problem,
        strategy: Strategy,
        provenance: dict[str, Any],
        costs: Floats | None = None,
    ) -> Result:
        """Return the result of an outcome, whose arms are positions in `names`."""
        rank = np.empty(len(names), dtype=np.intp)
        rank[outcome.order] = np.arange(1, len(names) + 1)
        return cls(
            names=names,
            order=outcome.order,
            outliers=[names[i] for i in outcome.outliers],
            candidates=[names[i] for i in outcome.candidates],
            evidence=outcome.evidence,
            forecast=outcome.forecast,
            widest_gap=outcome.widest_gap,
            cost=float(tally.pulls if costs is None else tally.counts @ costs),
            verdict=verdict,
            pulls=tally.pulls,
            provenance=provenance,
            rank=rank,
            counts=tally.counts.copy(),
            means=tally.means,
            low=outcome.low,
            high=outcome.high,
            scores=outcome.scores,
            statuses=outcome.statuses,
            errors=errors,
            problem=problem,
            strategy=strategy,
            certificates=[
                replace(certificate, members=tuple(names[i] for i in certificate.members))
                for certificate in outcome.certificates
            ],
        )

    @cached_property
    def ranking(self) -> list[Any]:
        """All arms, the most outlying first."""
        return [self.names[i] for i in self.order.tolist()]

    @cached_property
    def arms(self) -> list[ArmRow]:
        """One row per arm, by rank."""
        rows = zip(
            self.names,
            self.rank.tolist(),
            self.counts.tolist(),
            self.means.tolist(),
            self.low.tolist(),
            self.high.tolist(),
            self.scores.tolist(),
            self.statuses,
            strict=True,
        )
        by_arm = [
            ArmRow(arm, rank, pulls, _number(mean), low, high, _number(score), status)
            for arm, rank, pulls, mean, low, high, score, status in rows
        ]
        return sorted(by_arm, key=lambda row: row.rank)

    @property
    def decision_scores_(self) -> Floats:
        """Outlyingness in the order of the arms, from 1 (rank 1) down to 0; higher is more so."""
        n = len(self.names)
        return np.asarray((n - self.rank) / (n - 1))

    @property
    def labels_(self) -> NDArray[np.int64]:
        """1 for a declared outlier and 0 for any other arm, in the order of the arms."""
        return np.array([status == "outlier" for status in self.statuses], dtype=np.int64)

    @property
    def odd(self) -> NDArray[np.bool_]:
        """Whether each arm is an outlier or, if there are none, a candidate."""
        shown = "outlier" if "outlier" in self.statuses else "candidate"
        return np.array([status == shown for status in self.statuses], dtype=np.bool_)

    def with_nouns(self, arms: str = "arms", pulls: str = "pulls") -> Result:
        """Return the same result with other words, such as "routes" and "rows"."""
        return replace(self, nouns=(printable(arms), printable(pulls)))

    def with_hint(self, hint: str) -> Result:
        """Return the same result, which says how to go on with its search."""
        return replace(self, hint=hint)

    @property
    def enough_pulls(self) -> int | None:
        """A budget with room for twice the forecast; None if that is unknown.

        A forecast is often too low. The budget is never larger than all rewards together. What it
        adds to the pulls so far has two digits, so that a reader can add it up.
        """
        if self.forecast is None:
            return None
        enough, in_all = self.pulls + two_digits(2 * self.forecast), self.rewards_in_all
        return enough if in_all is None else min(enough, in_all)

    @property
    def ended_by_cost(self) -> bool:
        """Whether `max_cost` is the budget that has ended."""
        pulls, cost = self.provenance["max_pulls"], self.provenance.get("max_cost")
        return self.verdict == "budget" and cost is not None and self.pulls != pulls

    @property
    def priced(self) -> bool:
        """Whether the pulls cost something else than 1 each."""
        return self.cost not in (0.0, self.pulls)

    @property
    def rewards_in_all(self) -> int | None:
        """How many rewards all arms have; None if they have no end."""
        rewards = self.provenance["rewards"]
        sizes = rewards.get("rows") or rewards["pools"]
        return None if sizes is None else sum(sizes)

    @property
    def exact(self) -> bool:
        """Whether the means are known exactly: all that there is has been told."""
        pools = self.provenance["rewards"]["pools"]
        return pools is not None and self.pulls == sum(pools)

    @property
    def spent(self) -> str:
        """The cost, if there are costs, and the pulls in words; of how many, if arms are finite."""
        in_all = self.rewards_in_all
        pulls = counted(self.pulls, self.nouns[1])
        if in_all is not None:
            of = f"{self.pulls:,} of {in_all:,} {self.nouns[1]}"
            pulls = f"all {pulls}" if self.pulls == in_all else of
        return f"a cost of {amount(self.cost)} ({pulls})" if self.priced else pulls

    @property
    def headline(self) -> str:
        """The first sentence of the answer."""
        return answer(self)[0]

    @property
    def summary(self) -> str:
        """The answer in a sentence or two, what it supposes, and how many arms have failed."""
        sentences = [*answer(self), *self.provenance.get("delta_supposes", ())]
        if self.errors:
            failed, were = len(self.errors), "was" if len(self.errors) == 1 else "were"
            sentences.append(f"{counted(failed, self.nouns[0])} {were} set aside after errors.")
        return " ".join(sentences)

    @property
    def short(self) -> list[Any]:
        """The arms that had too few rows, if the search ended with "rows"."""
        return list(self.provenance.get("short", ()))

    @property
    def side(self) -> str:
        """Where the outliers, or else the candidates, lie.

        "above", "below", "in between" or "above and below"; "apart from" for anything else.
        """
        failed = np.array([status == "failed" for status in self.statuses])
        outlying, rest = self.means[self.odd], self.means[~self.odd & ~failed]
        rest = rest[~np.isnan(rest)]
        if not len(outlying) or not len(rest):
            return "apart from"
        above, below = bool((outlying > rest.max()).any()), bool((outlying < rest.min()).any())
        inside = bool(((outlying <= rest.max()) & (outlying >= rest.min())).any())
        if inside:
            return "in between" if not (above or below) else "apart from"
        return "above and below" if above and below else "above" if above else "below"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; infinite ends of intervals are None."""
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "pulls": self.pulls,
            "cost": self.cost,
            "outliers": self.outliers,
            "candidates": list(self.candidates),
            "evidence": self.evidence if self.evidence is None else _number(self.evidence),
            "forecast": self.forecast,
            "widest_gap": None if self.widest_gap is None else _number(self.widest_gap),
            "ranking": self.ranking,
            "errors": [{"arm": arm, "error": reason} for arm, reason in self.errors.items()],
            "arms": [
                {**asdict(row), "low": _number(row.low), "high": _number(row.high)}
                for row in self.arms
            ],
            "certificates": [
                {
                    **{key: _finite(value) for key, value in asdict(certificate).items()},
                    "epsilon": _number(certificate.epsilon),
                }
                for certificate in self.certificates
            ],
            "provenance": self.provenance,
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return the result as JSON text; names that JSON lacks are written as strings."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, default=str)

    def to_frame(self) -> Any:
        """Return one row per arm as a pandas DataFrame."""
        require(RESULT_FRAME)
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.arms])

    def plot(self, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw each arm's interval by ascending mean, coloured by status, and the gap.

        Below the arms the gap is measured against its yardstick: `min_gap`, or 1 + ε times the
        widest gap among the others. Beside them are the pulls of each arm, and below them the
        evidence over the pulls if `find` noted it. As the last line of a cell in a notebook this
        shows the picture.

        Args:
            path: Where to write it, if anywhere: .png, .svg, .pdf, or .html for a page that holds
                the sentence and the table as well.
            ax: Axes to draw the arms on, in place of a new figure with all panels.

        Returns:
            The axes of the arms.
        """
        require(PLOT)
        from oddarm.results.plot import plot_result

        if path is not None and Path(path).suffix.lower() in (".html", ".htm"):
            Path(path).write_text(self.to_html(), encoding="utf-8")
            path = None
        return plot_result(self, path=path, ax=ax)

    def to_html(self) -> str:
        """Return one page that needs no other file: sentence, plot, table, parameters."""
        require(PLOT)
        from oddarm.results.page import result_page

        return result_page(self)

    def table(self, most: int = 20, *, width: int | None = None) -> str:
        """Return the first `most` arms by rank as a text table.

        Args:
            most: How many arms to show; none if it is below 1.
            width: The most characters of a line. Names are shortened to fit; if that is not
                enough, the ends of the intervals are left out.
        """
        most = max(most, 0)
        table = text_table(self.columns, [self.cells(row) for row in self.arms[:most]], width)
        more = len(self.arms) - most
        return table if more <= 0 else f"{table}\n… and {counted(more, self.nouns[0], 'more ')}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table."""
        return (
            Column("rank"),
            Column("arm", left=True, least=8),
            Column(self.nouns[1]),
            Column("mean"),
            Column("low", dropped=1),
            Column("high", dropped=1),
            Column("status", left=True),
        )

    @cached_property
    def _decimals(self) -> int:
        """Enough decimals to show three digits of a typical interval's width."""
        return decimals(self.means, self.low, self.high)

    def cells(self, row: ArmRow) -> tuple[str, ...]:
        """Return one row of the table as text."""

        def digits(value: float | None) -> str:
            return "-" if value is None else f"{value:.{self._decimals}f}"

        return (
            str(row.rank),
            printable(row.arm),
            f"{row.pulls:,}",
            digits(row.mean),
            digits(row.low),
            digits(row.high),
            row.status,
        )

    def __str__(self) -> str:
        return f"{self.summary}\n\n{self.table()}"

    def __repr__(self) -> str:
        what, arms = ("outliers", self.outliers)
        if self.candidates and not self.outliers:
            what, arms = "candidates", list(self.candidates)
        shown = ", ".join(repr(arm) for arm in arms[:3])
        more = ", …" if len(arms) > 3 else ""
        return f"<Result {self.verdict}: {what} [{shown}{more}], {counted(self.pulls, 'pulls')}>"

    def _repr_html_(self) -> str:
        from oddarm.results.html import framed, paragraph, table

        shown = self.arms[:20]
        more = len(self.arms) - len(shown)
        rest = f"… and {counted(more, self.nouns[0], 'more ')}" if more else ""
        styles = [_LOOKS.get(row.status, "") for row in shown]
        arms = table(self.columns, [self.cells(row) for row in shown], styles)
        return framed(paragraph(self.summary) + arms + paragraph(rest, soft=True))


_LOOKS = {
    "outlier": "font-weight:bold",
    "candidate": "font-style:italic",
    "failed": "opacity:0.6",
}
"""How a notebook shows rows of a status."""


def _finite(value: Any) -> Any:
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
