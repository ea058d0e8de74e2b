"""The picture of a result: every arm's interval on one axis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oddarm.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oddarm.result import Result

__all__ = ["COLOURS", "plot_intervals"]

# Okabe and Ito's colours, told apart by colour-blind readers; the markers differ as well.
COLOURS = {"outlier": "#D55E00", "normal": "#0072B2", "undecided": "#7F7F7F"}
MARKERS = {"outlier": "D", "normal": "o", "undecided": "s"}


def plot_intervals(
    result: Result, *, path: str | Path | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the arms by ascending mean, with their intervals, coloured by status."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a plot") from None

    n = len(result.names)
    named = n <= 60
    if ax is None:
        figure = Figure(figsize=(7.5, float(np.clip(0.9 + 0.2 * n, 3.0, 12.0))), layout="tight")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()

    means = np.where(np.isnan(result.means), (result.low + result.high) / 2, result.means)
    order = np.argsort(means, kind="stable")
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    statuses = np.array(result.statuses)
    size = float(np.clip(400 / n, 1.0, 5.0))
    for status in ("normal", "undecided", "outlier"):
        mine = np.flatnonzero(statuses == status)
        if not len(mine):
            continue
        colour = COLOURS[status]
        ax.hlines(
            place[mine], result.low[mine], result.high[mine], color=colour, lw=max(size / 2.5, 0.6)
        )
        ax.plot(
            means[mine], place[mine], MARKERS[status], color=colour, ms=size,
            label=f"{status} ({len(mine)})",
        )  # fmt: skip
    if named:
        ax.set_yticks(range(n), [str(result.names[i]) for i in order], fontsize=8)
    else:
        declared = np.flatnonzero(statuses == "outlier")[:25]
        ax.set_yticks(place[declared], [str(result.names[i]) for i in declared], fontsize=8)
        ax.set_ylabel(f"{n:,} arms by mean")
    ax.set_ylim(-1, n)
    ax.set_xlabel("mean reward, with its confidence interval")
    ax.set_title(
        result.summary.split(". ")[0].rstrip(".") + ".", fontsize=10, loc="left", wrap=True
    )
    ax.legend(loc="best", frameon=False, fontsize=8)
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if path is not None:
        ax.get_figure(root=True).savefig(path, dpi=150)  # type: ignore[union-attr]
    return ax
