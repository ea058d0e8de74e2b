"""The plot of a result: every arm's interval on one axis, and the gaps around the outliers."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oddarm._text import printable, shortened
from oddarm._typing import Floats
from oddarm.errors import MissingExtraError
from oddarm.results.gaps import Gap, certain_gaps, communities, gaps_around_outliers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oddarm.results.result import Result

__all__ = ["COLOURS", "plot_intervals"]

# Okabe and Ito's colours, which colour-blind readers can distinguish; the markers differ as well.
COLOURS = {"outlier": "#D55E00", "normal": "#0072B2", "undecided": "#7F7F7F", "failed": "#CC79A7"}
MARKERS = {"outlier": "D", "normal": "o", "undecided": "s", "failed": "X"}
NEXT_COMMUNITY = "#56B4E9"
"""The colour of every second community of normal arms."""

MOST_NAMED = 60
"""With more arms, only outliers are named."""
MOST_COMMUNITIES = 8
"""With more, communities are single arms that are known exactly: two colours would say nothing."""
MOST_VECTORS = 500
"""With more arms, a vector image contains them as pixels."""
NAME_HEIGHT = 0.03
"""The space for a name, as a share of the height of the plot."""


def plot_intervals(
    result: Result, *, path: str | Path | None = None, ax: Axes | None = None, width: float = 7.5
) -> Axes:
    """Draw the arms by ascending mean, with their intervals, coloured by status.

    The arms between two certain gaps are a community; every second community of normal arms is
    lighter blue. The certain gaps between outliers and the other arms are shaded.

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
    outlier = np.array(result.statuses) == "outlier"
    height, top = _heights(order, outlier)
    gaps = certain_gaps(result)
    community = communities(result, gaps)
    _shade(ax, gaps_around_outliers(gaps, community, outlier))
    second = (community % 2 == 1) & (community.max() < MOST_COMMUNITIES)
    _draw_arms(ax, result, means, height, second)
    _name_arms(ax, result, order, height, top)
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


def _new_axes(arms: int, width: float) -> Axes:
    """Return the axes of a new figure, which is as high as so many arms need."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a plot") from None
    height = float(np.clip(1.4 + 0.19 * arms, 3.0, 9.0))
    figure = Figure(figsize=(width, height), layout="tight")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _draw_arms(
    ax: Axes, result: Result, means: Floats, height: Floats, second: NDArray[np.bool_]
) -> None:
    """Draw means and intervals, outliers last, so that they lie on top.

    Args:
        ax: Where to draw.
        result: The arms.
        means: Where the marker of each arm is.
        height: The height of each arm.
        second: Whether an arm belongs to every second community.
    """
    n, statuses = len(result.names), np.array(result.statuses)
    size = float(np.clip(400 / n, 1.5, 5.0))
    for status in ("failed", "normal", "undecided", "outlier"):
        chosen = statuses == status
        shades = [(chosen, COLOURS[status])]
        if status == "normal":
            shades = [(chosen & ~second, COLOURS[status]), (chosen & second, NEXT_COMMUNITY)]
        scale = 1.0 if status != "outlier" else max(1.0, 4 / size)
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
                label=label, rasterized=n > MOST_VECTORS,
            )  # fmt: skip
            label = None  # one entry of the legend for both shades


def _name_arms(
    ax: Axes, result: Result, order: NDArray[np.intp], height: Floats, top: float
) -> None:
    """Write the names of all arms; of many arms, those of the outliers, as far as there is room."""
    n = len(order)
    if n > MOST_NAMED:
        ax.set_ylabel(_plain(f"{n:,} {result.nouns[0]} by mean"))
        outliers = [arm for arm in order if result.statuses[arm] == "outlier"]
        order = np.array(_not_overlapping(outliers, height, top), dtype=np.intp)
    names = [_plain(shortened(printable(result.names[arm]), 28)) for arm in order]
    ax.set_yticks(height[order], names, fontsize=8)


def _shade(ax: Axes, gaps: list[Gap]) -> None:
    """Shade gaps and write how wide they are."""
    for gap in gaps:
        ax.axvspan(gap.start, gap.stop, color=COLOURS["outlier"], alpha=0.13, lw=0)
        ax.annotate(
            f"gap {gap.width:.2g}", ((gap.start + gap.stop) / 2, 0), (0, 4),
            xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="center", va="bottom", fontsize=8, color=COLOURS["outlier"],
        )  # fmt: skip


def _heights(order: NDArray[np.intp], outlier: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Return the height of each arm and of the whole; among many arms, outliers get more space."""
    n, outliers = len(order), max(int(outlier.sum()), 1)
    space = np.where(outlier[order], max(1.0, min(NAME_HEIGHT * n, n / (2 * outliers))), 1.0)
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
