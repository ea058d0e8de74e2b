"""Figures of our own: a notebook shows them, and no window or global state is touched."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import offset_copy

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "CHARACTER",
    "PictureAxes",
    "count_axis",
    "ink",
    "legend_below",
    "new_figure",
    "plain",
    "save",
    "wrapped_width",
]

DOTS, SHOWN = 150, 100
"""Dots per inch of a picture in a notebook, and with how many it is shown: sharp, and small."""
LEGEND_POINTS = 36
"""How far below the axis the legend is: the numbers and the label of the axis lie between."""
CHARACTER = 0.0074
"""The width of a character of text in inches, for each point of its size."""


class PictureAxes(Axes):
    """Axes whose figure a notebook shows, since pyplot does not know it."""

    name = "oddarm"

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the whole figure as a picture, and how large to show it."""
        figure = cast(Figure, self.get_figure(root=True))
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=DOTS)
        width, height = figure.get_size_inches()
        return drawn.getvalue(), {"width": int(SHOWN * width), "height": int(SHOWN * height)}


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of so many inches, which places what is in it so that nothing overlaps."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def legend_below(axes: Axes, columns: int) -> None:
    """Add the legend below the axis, where nothing that is drawn can lie under it."""
    below = offset_copy(
        axes.transAxes, axes.get_figure(root=True), y=-LEGEND_POINTS, units="points"
    )
    legend = axes.legend(
        loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, borderaxespad=0,
        ncols=columns, columnspacing=1.2, handletextpad=0.3, frameon=False, fontsize=8,
    )  # fmt: skip
    for handle in legend.legend_handles:
        cast(Line2D, handle).set_markersize(5)


def count_axis(axis: Axis, *between: float) -> None:
    """Make an axis logarithmic, with counts as one writes them.

    Args:
        axis: The axis.
        between: What is marked between 1 and 10, and likewise between other powers of ten.
    """
    (axis.axes.set_xscale if isinstance(axis, XAxis) else axis.axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0, *between), numticks=3 + 2 * len(between)))
    axis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.6g}"))
    axis.set_minor_locator(NullLocator())


def ink() -> str:
    """Return the colour of text, which is light on a dark figure."""
    return str(mpl.rcParams["text.color"])


def plain(text: str) -> str:
    """Return text that matplotlib shows as it is: it reads mathematics between dollar signs."""
    return text.replace("$", r"\$")


def save(axes: Axes, path: str | Path) -> None:
    """Write the figure of some axes to a file."""
    cast(Any, axes.get_figure(root=True)).savefig(path, dpi=150)


def wrapped_width(inches: float, size: float) -> int:
    """Return how many characters of text of some size fit a line."""
    return max(20, int(inches / (CHARACTER * size)))
