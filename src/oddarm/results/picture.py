"""Figures of our own: a notebook shows them, and no window or global state is touched."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, cast

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CHARACTER", "PictureAxes", "new_figure", "save", "wrapped_width"]

DOTS = 200
"""Dots per inch of a picture in a notebook, which shows it at half that, sharp on any screen."""
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
        return drawn.getvalue(), {"width": int(100 * width), "height": int(100 * height)}


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of so many inches, which places what is in it so that nothing overlaps."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(axes: Axes, path: str | Path) -> None:
    """Write the figure of some axes to a file."""
    cast(Any, axes.get_figure(root=True)).savefig(path, dpi=150)


def wrapped_width(inches: float, size: float) -> int:
    """Return how many characters of text of some size fit a line."""
    return max(20, int(inches / (CHARACTER * size)))

