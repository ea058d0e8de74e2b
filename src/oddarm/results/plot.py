"""The picture of a result: every arm's interval on one axis, and the gap around the outliers."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oddarm._text import printable, shortened
from oddarm.errors import MissingExtraError
from oddarm.results.gaps import Gap, certain_gaps, communities, gaps_around_outliers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oddarm.results.result import Result

__all__ = ["COLOURS", "plot_intervals"]

# Okabe and Ito's colours, told apart by colour-blind readers; the markers differ as well.
COLOURS = {"outlier": "#D55E00", "normal": "#0072B2", "undecided": "#7F7F7F", "failed": "#CC79A7"}
MARKERS = {"outlier": "D", "normal": "o", "undecided": "s", "failed": "X"}
NEXT_COMMUNITY = "#56B4E9"
"""The colour of every second community of normal arms."""

MOST_NAMED = 60
MOST_COMMUNITIES = 8
"""With more, they are single arms known exactly, and telling them apart says nothing."""
MOST_VECTORS = 500
"""With more arms, a vector image holds them as a picture."""
NAME_HEIGHT = 0.03
"""The room for a name, as a share of the height of the plot."""

Floats = NDArray[np.float64]


def plot_intervals(
    result: Result, *, path: str | Path | None = None, ax: Axes | None = None, width: float = 7.5
) -> Axes:
    """Draw the arms by ascending mean, with their intervals, coloured by status.

    What lies between certain gaps is a community; every second one of normal arms is drawn in a
    lighter blue. The gaps that are certain between outliers and the others are shaded.

    Args:
        result: What to draw.
        path: A file to write.
        ax: Axes to draw on, in place of a new figure.
        width: The width of a new figure in inches.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a plot") from None

    n = len(result.names)
    if ax is None:
        height = float(np.clip(1.4 + 0.19 * n, 3.0, 9.0))
        figure = Figure(figsize=(width, height), layout="tight")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()

    means = np.where(np.isnan(result.means), (result.low + result.high) / 2, result.means)
    order = np.argsort(means, kind="stable")
    statuses = np.array(result.statuses)
    place, top = _places(order, statuses == "outlier")
    gaps = certain_gaps(result)
    community = communities(result, gaps)
    _shade(ax, gaps_around_outliers(gaps, community, statuses == "outlier"))

    size = float(np.clip(400 / n, 1.5, 5.0))
    second = (community % 2 == 1) & (community.max() < MOST_COMMUNITIES)
    for status in ("failed", "normal", "undecided", "outlier"):
        mine = statuses == status
        shades = [(mine, COLOURS[status])]
        if status == "normal":
            shades = [(mine & ~second, COLOURS[status]), (mine & second, NEXT_COMMUNITY)]
        label: str | None = f"{status} ({mine.sum():,})"
        for chosen, colour in shades:
            arms = np.flatnonzero(chosen)
            if not len(arms):
                continue
            grown = 1.0 if status != "outlier" else max(1.0, 4 / size)
            ax.hlines(
                place[arms], result.low[arms], result.high[arms], color=colour,
                lw=max(size / 2.5, 0.6) * grown, rasterized=n > MOST_VECTORS,
            )  # fmt: skip
            ax.plot(
                means[arms], place[arms], MARKERS[status], color=colour, ms=size * grown,
                label=label, rasterized=n > MOST_VECTORS,
            )  # fmt: skip
            label = None
    named = order if n <= MOST_NAMED else _apart(order[statuses[order] == "outlier"], place, top)
    ax.set_yticks(place[named], [_short(result.names[i]) for i in named], fontsize=8)
    if n > MOST_NAMED:
        ax.set_ylabel(_plain(f"{n:,} {result.nouns[0]} by mean"))
    ax.set_ylim(-1, top)
    ax.set_xlabel("mean reward, with its confidence interval")
    title = _plain(result.summary.split(". ")[0].rstrip(".") + ".")
    ax.set_title(textwrap.fill(title, int(11 * width)), fontsize=10, loc="left")
    ax.legend(loc="best", frameon=False, fontsize=8)
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if path is not None:
        ax.get_figure(root=True).savefig(path, dpi=150)  # type: ignore[union-attr]
    return ax


def _shade(ax: Axes, gaps: list[Gap]) -> None:
    """Shade gaps, and say how wide they are."""
    for gap in gaps:
        ax.axvspan(gap.start, gap.stop, color=COLOURS["outlier"], alpha=0.13, lw=0)
        ax.annotate(
            f"gap {gap.width:.2g}", ((gap.start + gap.stop) / 2, 0), (0, 4),
            xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="center", va="bottom", fontsize=8, color=COLOURS["outlier"],
        )  # fmt: skip


def _places(order: NDArray[np.intp], outlier: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Return the height of each arm and of the whole; among many arms, outliers get more room."""
    n, odd = len(order), max(int(outlier.sum()), 1)
    room = np.where(outlier[order], max(1.0, min(NAME_HEIGHT * n, n / (2 * odd))), 1.0)
    ends = np.cumsum(room)
    place = np.empty(n)
    place[order] = ends - room / 2 - 0.5
    return place, float(ends[-1])


def _apart(arms: NDArray[np.intp], place: Floats, top: float) -> NDArray[np.intp]:
    """Return those of the arms, by ascending place, whose names do not run into each other."""
    chosen: list[int] = []
    for arm in arms.tolist():
        if not chosen or place[arm] - place[chosen[-1]] >= NAME_HEIGHT / 2 * top:
            chosen.append(arm)
    return np.array(chosen, dtype=np.intp)


def _short(name: object) -> str:
    return _plain(shortened(printable(name), 28))


def _plain(text: str) -> str:
    return text.replace("$", r"\$")  # matplotlib reads mathematics between two of them
