"""The plot of what strategies need: a line of pulls each, and the least that any method needs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from oddarm._text import printable, shortened
from oddarm.results.picture import (
    PictureAxes,
    count_axis,
    ink,
    legend_below,
    new_figure,
    plain,
    save,
    wrapped_width,
)

__all__ = ["Bar", "plot_strategies"]

# Okabe and Ito's colours again; the markers differ as well.
LOOKS = {
    True: ("#0072B2", "o", "right"),
    False: ("#D55E00", "X", "not always right"),
    None: ("#7F7F7F", "s", "says nothing about outliers"),
}
WIDTH = 7.5
LONGEST_NAME = 30


@dataclass(frozen=True)
class Bar:
    """What one strategy needed.

    Attributes:
        name: The strategy.
        pulls: Its pulls.
        low, high: Between them lie the pulls of most runs, if there were several.
        right: Whether its answers were right; None if it gave none to judge.
        open_ended: Whether it would have needed more pulls than it could make.
        words: What is written beside it.
    """

    name: str
    pulls: int
    low: int | None = None
    high: int | None = None
    right: bool | None = None
    open_ended: bool = False
    words: str = ""


def plot_strategies(
    bars: Sequence[Bar],
    heading: str,
    *,
    least: Mapping[str, float],
    pulls: str = "pulls",
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the pulls of strategies on a logarithmic axis, the first at the top.

    Args:
        bars: One for each strategy.
        heading: What stands above.
        least: The least that any method needs on average, for each way to end.
        pulls: What pulls are called.
        path: A file to write.
        ax: Axes to draw on, in place of a new figure.
    """
    names = [plain(shortened(printable(bar.name), LONGEST_NAME)) for bar in bars]
    title = textwrap.fill(plain(heading), wrapped_width(WIDTH - 2.0, 9))
    if ax is None:
        lines = len(title.splitlines())
        figure = new_figure(WIDTH, 1.4 + 0.16 * (lines + len(least)) + 0.36 * len(bars))
        ax = figure.add_subplot(axes_class=PictureAxes)
    count_axis(ax.xaxis, 2, 5)
    for look in LOOKS:
        colour, marker, label = LOOKS[look]
        rows = [row for row, bar in enumerate(bars) if bar.right is look]
        if rows:
            ax.plot(
                [bars[row].pulls for row in rows], rows, marker, color=colour, ms=6, label=label
            )
    for row, bar in enumerate(bars):
        _draw_bar(ax, row, bar)
    for number, (until, value) in enumerate(least.items()):
        ax.axvline(
            value, color=ink(), lw=1.2, ls=("--", ":", "-.")[number % 3], alpha=0.7,
            label=f"any method, until {until}: at least {value:,.0f} on average",
        )  # fmt: skip
    ax.set_yticks(range(len(bars)), names, fontsize=9)
    ax.set_ylim(len(bars) - 0.5, -0.6)
    values = [bar.pulls for bar in bars] + [bar.low for bar in bars if bar.low] + [*least.values()]
    low, high = max(min(values), 1) / 1.6, max([*values, *(bar.high or 1 for bar in bars)])
    ax.set_xlim(low, high * (high / low) ** 0.1 * 1.6)
    ax.set_xlabel(plain(f"{pulls} (logarithmic axis)"))
    ax.set_title(title, fontsize=9, loc="left")
    legend_below(ax, 1)
    ax.set_axisbelow(True)
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if path is not None:
        save(ax, path)
    return ax


def _draw_bar(ax: Axes, row: int, bar: Bar) -> None:
    """Draw the range of a strategy, an arrow if it has no end, and the words beside it."""
    colour = LOOKS[bar.right][0]
    if bar.low is not None and bar.high is not None and bar.high > bar.low:
        ax.plot([bar.low, bar.high], [row, row], "|-", color=colour, lw=1.5, ms=9, mew=1.5)
    if bar.open_ended:
        ax.annotate(
            "", (bar.pulls, row), (22, 0), textcoords="offset points",
            arrowprops={"arrowstyle": "<-", "color": colour, "lw": 1.5},
        )  # fmt: skip
    ax.annotate(
        plain(bar.words), (bar.pulls, row), (0, 6), textcoords="offset points", ha="center",
        va="bottom", fontsize=7.5,
    )  # fmt: skip
