"""The plot of a result: every arm's interval on one axis, and the gaps around the outliers."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oddarm._extras import PLOT, require
from oddarm._text import printable, shortened
from oddarm._typing import Floats
from oddarm.results.gaps import Gap, certain_gaps, communities, gaps_around_outliers
from oddarm.results.sentence import rounded_down

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oddarm.results.result import Result

__all__ = ["COLOURS", "plot_intervals"]

# Okabe and Ito's colours, which colour-blind readers can distinguish; the markers differ as well.
COLOURS = {
    "outlier": "#D55E00",
    "candidate": "#E69F00",
    "normal": "#0072B2",
    "undecided": "#7F7F7F",
    "failed": "#CC79A7",
}
MARKERS = {"outlier": "D", "candidate": "D", "normal": "o", "undecided": "s", "failed": "X"}
HOLLOW = ("candidate",)
"""Statuses whose marker is an outline."""
NEXT_COMMUNITY = "#56B4E9"
"""The colour of every second community of normal arms."""

MOST_NAMED = 60
"""With more arms, only outliers and candidates are named."""
MOST_COMMUNITIES = 8
"""With more, communities are single arms that are known exactly: two colours would say nothing."""
MOST_VECTORS = 500
"""With more arms, a vector image contains them as pixels."""
LEGEND_POINTS = 36
"""How far below the axis the legend is: the numbers and the label of the axis lie between."""
NAME_HEIGHT = 0.03
"""The space for a name, as a share of the height of the plot."""


def plot_intervals(
    result: Result, *, path: str | Path | None = None, ax: Axes | None = None, width: float = 7.5
) -> Axes:
    """Draw the arms by ascending mean, with their intervals, coloured by status.

    The arms between two certain gaps are a community; every second community of normal arms is
    lighter blue. The certain gaps between outliers, or else candidates, and the other arms are
    shaded.

    Args:
        result: What to draw.
        path: A file to write.
        ax: Axes to draw on, in place of a new figure.
        width: The width of a new figure in inches.
    """
    if ax is None:
        ax = _new_axes(len(result.names), width)
    means = np.where(np.isnan(result.means), (result.low + result.high) / 2, result.means)
    order = np.argsort(means, kind="stable")
    odd = result.odd
    height, top = _heights(order, odd)
    gaps = certain_gaps(result)
    community = communities(result, gaps)
    colour = COLOURS["outlier" if result.outliers else "candidate"]
    _shade(ax, gaps_around_outliers(gaps, community, odd), colour)
    second = (community % 2 == 1) & (community.max() < MOST_COMMUNITIES)
    _draw_arms(ax, result, means, height, second)
    _name_arms(ax, result, order, height, top)
    ax.set_ylim(-1, top)
    ax.set_xlabel("mean reward, with its confidence interval")
    title = textwrap.fill(_plain(result.headline), int(11 * width))
    ax.set_title(title, fontsize=10, loc="left")
    _add_legend(ax)
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if path is not None:
        ax.get_figure(root=True).savefig(path, dpi=150)  # type: ignore[union-attr]
    return ax


def _new_axes(arms: int, width: float) -> Axes:
    """Return the axes of a new figure, which is as high as so many arms need."""
    require(PLOT)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = float(np.clip(1.4 + 0.19 * arms, 3.0, 9.0))
    figure = Figure(figsize=(width, height), layout="tight")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _draw_arms(
    ax: Axes, result: Result, means: Floats, height: Floats, second: NDArray[np.bool_]
) -> None:
    """Draw means and intervals, outliers and candidates last, so that they lie on top.

    Args:
        ax: Where to draw.
        result: The arms.
        means: Where the marker of each arm is.
        height: The height of each arm.
        second: Whether an arm belongs to every second community.
    """
    n, statuses = len(result.names), np.array(result.statuses)
    size = float(np.clip(400 / n, 1.5, 5.0))
    for status in ("failed", "normal", "undecided", "candidate", "outlier"):
        chosen = statuses == status
        shades = [(chosen, COLOURS[status])]
        if status == "normal":
            shades = [(chosen & ~second, COLOURS[status]), (chosen & second, NEXT_COMMUNITY)]
        scale = max(1.0, 4 / size) if status in ("candidate", "outlier") else 1.0
        label: str | None = f"{status} ({chosen.sum():,})"
        for shaded, colour in shades:
            arms = np.flatnonzero(shaded)
            if not len(arms):
                continue
            ax.hlines(
                height[arms], result.low[arms], result.high[arms], color=colour,
                lw=max(size / 2.5, 0.6) * scale, rasterized=n > MOST_VECTORS,
            )  # fmt: skip
            ax.plot(
                means[arms], height[arms], MARKERS[status], color=colour, ms=size * scale,
                mfc="none" if status in HOLLOW else colour, label=label,
                rasterized=n > MOST_VECTORS,
            )  # fmt: skip
            label = None  # one entry of the legend for both shades


def _name_arms(
    ax: Axes, result: Result, order: NDArray[np.intp], height: Floats, top: float
) -> None:
    """Write the names of all arms; of many, those of outliers or candidates that have room."""
    n = len(order)
    if n > MOST_NAMED:
        ax.set_ylabel(_plain(f"{n:,} {result.nouns[0]} by mean"))
        odd = order[result.odd[order]].tolist()
        order = np.array(_not_overlapping(odd, height, top), dtype=np.intp)
    names = [_plain(shortened(printable(result.names[arm]), 28)) for arm in order]
    ax.set_yticks(height[order], names, fontsize=8)


def _add_legend(ax: Axes) -> None:
    """Add the legend below the axis, where no interval can lie under it."""
    from matplotlib.transforms import offset_copy

    below = offset_copy(ax.transAxes, ax.get_figure(root=True), y=-LEGEND_POINTS, units="points")
    ax.legend(
        loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, borderaxespad=0,
        ncols=len(COLOURS), columnspacing=1.2, handletextpad=0.3, frameon=False, fontsize=8,
    )  # fmt: skip


def _shade(ax: Axes, gaps: list[Gap], colour: str) -> None:
    """Shade gaps and write how wide they are at least."""
    for gap in gaps:
        ax.axvspan(gap.start, gap.stop, color=colour, alpha=0.13, lw=0)
        ax.annotate(
            f"gap at least {rounded_down(gap.width, 2):g}", ((gap.start + gap.stop) / 2, 0), (0, 4),
            xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="center", va="bottom", fontsize=8,
        )  # fmt: skip


def _heights(order: NDArray[np.intp], odd: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Return the height of each arm and of the whole; among many arms, the odd get more space."""
    n, named = len(order), max(int(odd.sum()), 1)
    space = np.where(odd[order], max(1.0, min(NAME_HEIGHT * n, n / (2 * named))), 1.0)
    ends = np.cumsum(space)
    height = np.empty(n)
    height[order] = ends - space / 2 - 0.5
    return height, float(ends[-1])


def _not_overlapping(arms: list[int], height: Floats, top: float) -> list[int]:
    """Return those of the arms, by ascending height, whose names do not overlap."""
    chosen: list[int] = []
    for arm in arms:
        if not chosen or height[arm] - height[chosen[-1]] >= NAME_HEIGHT / 2 * top:
            chosen.append(arm)
    return chosen


def _plain(text: str) -> str:
    return text.replace("$", r"\$")  # matplotlib reads mathematics between two of them
