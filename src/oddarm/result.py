"""What a search found, and how it is shown."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oddarm.errors import MissingExtraError
from oddarm.problem import Problem
from oddarm.strategies import Status, Strategy, Verdict
from oddarm.tally import Tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ArmRow", "Result"]

Floats = NDArray[np.float64]


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
        score: The strategy's own score (for GOLD: S, the round in which it was set apart); None
            if it has none.
        status: "outlier", "normal" or "undecided".
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
        ranking: All arms, the most outlying first.
        outliers: The arms declared, in order.
        verdict: Why the search ended: "ranked", "confirmed", "none", "budget"; "running" if it
            has not.
        pulls: Rewards told.
        provenance: Version, parameters, seed, bound, and whether δ is proved for them.
        rank: Rank of each arm, in the order of the arms.
        counts, means, low, high, scores, statuses: Per arm, in the order of the arms.
    """

    names: Sequence[Any]
    ranking: list[Any]
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

    @classmethod
    def of(
        cls,
        *,
        names: Sequence[Any],
        order: NDArray[np.intp],
        declared: list[int],
        tally: Tally,
        low: Floats,
        high: Floats,
        scores: Floats,
        statuses: Sequence[Status],
        verdict: Verdict,
        problem: Problem,
        strategy: Strategy,
        provenance: dict[str, Any],
    ) -> Result:
        """Return the result for arms given by index."""
        rank = np.empty(len(names), dtype=np.intp)
        rank[order] = np.arange(1, len(names) + 1)
        return cls(
            names=names,
            ranking=[names[i] for i in order.tolist()],
            outliers=[names[i] for i in declared],
            verdict=verdict,
            pulls=tally.pulls,
            provenance=provenance,
            rank=rank,
            counts=tally.counts.copy(),
            means=tally.means,
            low=low,
            high=high,
            scores=scores,
            statuses=statuses,
            problem=problem,
            strategy=strategy,
        )

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
        found = [
            ArmRow(arm, rank, pulls, _number(mean), low, high, _number(score), status)
            for arm, rank, pulls, mean, low, high, score, status in rows
        ]
        return sorted(found, key=lambda row: row.rank)

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
    def summary(self) -> str:
        """The answer in a sentence or two."""
        n, found = len(self.names), len(self.outliers)
        cost = f"{self.pulls:,} pulls"
        if self.verdict == "running":
            return f"Not done: {found} of {n} arms set apart so far, after {cost}."
        if self.verdict == "budget":
            return f"The budget ended first: {found} of {n} arms set apart after {cost}."
        if self.verdict == "none":
            return f"No outliers among {n} arms, found with {cost}; {self._sureness}."
        if self.verdict == "confirmed":
            stand = "stands" if found == 1 else "stand"
            return (
                f"{found} of {n} arms {stand} apart, {self.side} the rest, "
                f"found with {cost}; {self._sureness}."
            )
        headline = self.strategy.headline(found, n, self.side)
        promise = self.strategy.promise
        return f"{headline}, after {cost}. {promise[0].upper()}{promise[1:]}; {self._sureness}."

    @property
    def side(self) -> str:
        """Where the declared arms lie: "above", "below", "in between" or "above and below"."""
        declared = self.labels_ == 1
        mine, rest = self.means[declared], self.means[~declared]
        rest = rest[~np.isnan(rest)]
        if not len(mine) or not len(rest):
            return "apart from"
        above, below = bool((mine > rest.max()).any()), bool((mine < rest.min()).any())
        inside = bool(((mine <= rest.max()) & (mine >= rest.min())).any())
        if inside:
            return "in between" if not (above or below) else "apart from"
        return "above and below" if above and below else "above" if above else "below"

    @property
    def _sureness(self) -> str:
        if self.provenance["delta_proved"]:
            return f"wrong with probability at most {self.problem.delta:.3g}"
        return (
            f"meant to be wrong with probability at most {self.problem.delta:.3g}, "
            f"which is not proved: {self.provenance['delta_reason']}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; infinite ends of intervals are None."""
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "pulls": self.pulls,
            "outliers": self.outliers,
            "ranking": self.ranking,
            "arms": [
                {**asdict(row), "low": _number(row.low), "high": _number(row.high)}
                for row in self.arms
            ],
            "provenance": self.provenance,
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return the result as JSON text; names that JSON lacks are written as strings."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, default=str)

    def to_frame(self) -> Any:
        """Return one row per arm as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "frame", "a data frame of the result") from None
        return pd.DataFrame([asdict(row) for row in self.arms])

    def plot(self, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw each arm's interval, coloured by status, and write it to `path` if given."""
        from oddarm.plotting import plot_intervals

        return plot_intervals(self, path=path, ax=ax)

    def table(self, most: int = 20) -> str:
        """Return the first `most` arms by rank as a text table."""
        header = ("rank", "arm", "pulls", "mean", "low", "high", "status")
        cells = [header, *(self._cells(row) for row in self.arms[:most])]
        widths = [max(len(line[k]) for line in cells) for k in range(len(header))]
        left = {1, 6}
        lines = [
            "  ".join(
                text.ljust(width) if k in left else text.rjust(width)
                for k, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        ]
        if len(self.arms) > most:
            lines.append(f"… and {len(self.arms) - most:,} more arms")
        return "\n".join(lines)

    @cached_property
    def _decimals(self) -> int:
        """Enough decimals to show three digits of a typical interval's width."""
        widths = (self.high - self.low)[np.isfinite(self.high - self.low)]
        widths = widths[widths > 0]
        typical = float(np.median(widths)) if len(widths) else 1.0
        return int(np.clip(2 - math.floor(math.log10(typical)), 0, 9))

    def _cells(self, row: ArmRow) -> tuple[str, ...]:
        def digits(value: float | None) -> str:
            return "-" if value is None else f"{value:.{self._decimals}f}"

        return (
            str(row.rank),
            str(row.arm),
            f"{row.pulls:,}",
            digits(row.mean),
            digits(row.low),
            digits(row.high),
            row.status,
        )

    def __str__(self) -> str:
        return f"{self.summary}\n\n{self.table()}"

    def __repr__(self) -> str:
        shown = ", ".join(repr(arm) for arm in self.outliers[:3])
        more = ", …" if len(self.outliers) > 3 else ""
        return f"<Result {self.verdict}: outliers [{shown}{more}], {self.pulls:,} pulls>"

    def _repr_html_(self) -> str:
        from html import escape

        header = "".join(
            f"<th>{name}</th>" for name in ("rank", "arm", "pulls", "mean", "low", "high", "status")
        )
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in self._cells(row)) + "</tr>"
            for row in self.arms[:20]
        )
        return f"<p>{escape(self.summary)}</p><table><tr>{header}</tr>{rows}</table>"


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
