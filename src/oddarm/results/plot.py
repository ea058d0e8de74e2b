"""The plot of a result: the arms on one axis, the gap and its yardstick, pulls and evidence."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from oddarm._text import printable
from oddarm._typing import Floats, Indices
from oddarm.results.gaps import Gap, certain_gaps, communities, gaps_around_outliers
from oddarm.results.picture import (
    CHARACTER,
    PictureAxes,
    count_axis,
    ink,
    legend_below,
    new_figure,
    plain,
    save,
    wrapped_width,
)
from oddarm.results.sentence import rounded_down, unbroken
from oddarm.results.yardstick import Case, Stretch, case_of

if TYPE_CHECKING:
    from oddarm.results.result import Result

__all__ = ["COLOURS", "plot_result"]

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
FAINT = ("undecided", "candidate")
"""Statuses whose bar of pulls is pale: nothing is decided of them."""

MOST_NAMED = 60
"""With more arms, only outliers and candidates are named."""
LONGEST_NAME, NAME_END = 28, 10
"""A longer name is cut in the middle: names that begin alike often differ at the end."""
MOST_GAPS_TOLD = 3
"""With more shaded gaps, their widths would overlap."""
MOST_VECTORS = 500
"""With more arms, a vector image contains them as pixels."""
NAME_HEIGHT = 0.03
"""The space for a name, as a share of the height of the plot."""
ARM_INCHES, RULER_INCHES, AXIS_INCHES, EVIDENCE_INCHES = 0.19, 0.36, 0.85, 1.3
"""The height of an arm, a line of the ruler, the axis with its legend, the panel of evidence."""
DECADES = 1.3
"""Pulls that span more powers of ten than that have a logarithmic axis."""
FEWEST_POINTS = 3
"""Fewer points of evidence show no course."""


def plot_result(
    result: Result,
    *,
    path: str | Path | None = None,
    ax: Axes | None = None,
    width: float = 7.5,
    titled: bool = True,
) -> Axes:
    """Draw the arms by ascending mean, with their intervals, coloured by status.

    The certain gaps between outliers, or else candidates, and the other arms are shaded. Below the
    arms, the gap is measured against its yardstick. Panels beside and below have the pulls of each
    arm, and the evidence over the pulls if it was noted.

    Args:
        result: What to draw.
        path: A file to write.
        ax: Axes to draw the arms on, in place of a new figure with all panels.
        width: The width of a new figure in inches.
        titled: Whether the answer and its reason stand above the arms.
    """
    view = _View.of(result)
    if ax is not None:
        words = _Words.of(view, axes_inches(ax)[0])
        panels = _Panels.on(ax, view)
    else:
        words = _Words.of(view, width - view.name_inches) if titled else _Words("", "")
        panels = _Panels.new(view, width, words.inches)
    _draw_gaps(panels.arms, view)
    _draw_arms(panels.arms, view)
    _draw_ruler(panels.arms, view, panels.arm_inches)
    _name_arms(panels.arms, view)
    panels.arms.set_xlabel("mean reward" + ", with its confidence interval" * (not result.exact))
    words.write_on(panels.arms)
    legend_below(panels.arms, len(COLOURS) if width > 7 else 3)
    panels.arms.set_axisbelow(True)
    panels.arms.grid(axis="x", alpha=0.25)
    panels.arms.spines[["top", "right"]].set_visible(False)
    if panels.pulls is not None:
        _draw_pulls(panels.pulls, view)
    if panels.evidence is not None:
        _draw_evidence(panels.evidence, result)
    if path is not None:
        save(panels.arms, path)
    return panels.arms


@dataclass(frozen=True)
class _View:
    """What is drawn of a result.

    Attributes:
        low, high: Where its interval is drawn; infinite ends are drawn just beyond the others.
        means: Where the marker of each arm is.
        order: The arms by ascending mean.
        height: The height of each arm.
        top: The height of all arms.
        gaps: The gaps to be shaded.
        case: The gap and its yardstick, if there is one.
    """

    result: Result
    low: Floats
    high: Floats
    means: Floats
    order: Indices
    height: Floats
    top: float
    gaps: list[Gap]
    case: Case | None

    @classmethod
    def of(cls, result: Result) -> _View:
        """Return what is drawn of a result."""
        low, high = _finite_ends(result)
        means = np.where(np.isnan(result.means), (low + high) / 2, result.means)
        order = np.argsort(means, kind="stable")
        height, top = _heights(order, result.odd)
        gaps = certain_gaps(result)
        shaded = gaps_around_outliers(gaps, communities(result, gaps), result.odd)
        return cls(result, low, high, means, order, height, top, shaded, case_of(result))

    @property
    def colour(self) -> str:
        """The colour of the odd arms."""
        if not self.result.odd.any():
            return COLOURS["normal"]
        return COLOURS["outlier" if self.result.outliers else "candidate"]

    @property
    def lines(self) -> int:
        """How many lines the ruler has."""
        if self.case is None:
            return 0
        return 1 + (self.case.gap is not None) + (self.case.rest is not None)

    @property
    def name_inches(self) -> float:
        """About how wide the names beside the arms are, and the margins."""
        named = self.order if len(self.order) <= MOST_NAMED else np.flatnonzero(self.result.odd)
        names = [len(_name(self.result.names[arm])) for arm in named.tolist()]
        return 0.4 + 8 * CHARACTER * max([*names, 18 if self.lines == 3 else 11])

    def arms_of(self, status: str) -> Indices:
        """Return the arms of a status."""
        return np.flatnonzero([one == status for one in self.result.statuses])


@dataclass(frozen=True)
class _Words:
    """The answer above the arms, and below it in smaller letters why it is so."""

    title: str
    reasons: str

    @classmethod
    def of(cls, view: _View, width: float) -> _Words:
        """Return the words, broken into lines of so many inches."""
        title = unbroken(plain(view.result.headline))
        reasons = [] if view.case is None else [view.case.sentence, *view.case.notes]
        lines = [
            line
            for text in reasons
            for line in textwrap.wrap(unbroken(plain(text)), wrapped_width(width, 8))
        ]
        return cls(textwrap.fill(title, wrapped_width(width, 10)), "\n".join(lines))

    @property
    def inches(self) -> float:
        """How much height the words need."""
        lines = [len(text.splitlines()) for text in (self.title, self.reasons)]
        return 0.17 * lines[0] + 0.155 * lines[1] + 0.1

    def write_on(self, ax: Axes) -> None:
        """Write the words above some axes."""
        ax.set_title(
            self.title, fontsize=10, loc="left", pad=8 + 11 * len(self.reasons.split("\n"))
        )
        if self.reasons:
            ax.annotate(
                self.reasons, (0, 1), (0, 5), xycoords="axes fraction",
                textcoords="offset points", ha="left", va="bottom", fontsize=8, alpha=0.85,
                linespacing=1.25,
            ).set_in_layout(False)  # fmt: skip


@dataclass(frozen=True)
class _Panels:
    """The axes of a plot: the arms, and what there is beside and below them.

    `arm_inches` is about how high all arms are together.
    """

    arms: Axes
    arm_inches: float
    pulls: Axes | None = None
    evidence: Axes | None = None

    @classmethod
    def on(cls, ax: Axes, view: _View) -> _Panels:
        """Return the panels of a plot on axes of the caller: the arms alone."""
        inches = axes_inches(ax)[1]
        return cls(ax, max(inches - RULER_INCHES * view.lines, inches / 3))

    @classmethod
    def new(cls, view: _View, width: float, above: float) -> _Panels:
        """Return the panels of a new figure, which is as high as so many arms need.

        Args:
            view: What is drawn.
            width: The width of the figure in inches.
            above: The height of the words above the arms.
        """
        has_evidence = len(view.result.history) >= FEWEST_POINTS
        arms = float(np.clip(ARM_INCHES * view.top, 1.5, 7.0))
        ruled = arms + RULER_INCHES * view.lines
        below = EVIDENCE_INCHES if has_evidence else 0.0
        figure = new_figure(width, above + ruled + AXIS_INCHES + below * 1.5)
        grid: Any = figure.add_gridspec(
            2 if has_evidence else 1, 2 if view.result.pulls else 1,
            width_ratios=(4.5, 1) if view.result.pulls else None,
            height_ratios=(ruled, below) if has_evidence else None,
        )  # fmt: skip
        main = figure.add_subplot(grid[0, 0], axes_class=PictureAxes)
        pulls = figure.add_subplot(grid[0, 1], sharey=main) if view.result.pulls else None
        return cls(main, arms, pulls, figure.add_subplot(grid[1, :]) if has_evidence else None)


def _draw_arms(ax: Axes, view: _View) -> None:
    """Draw means and intervals, outliers and candidates last, so that they lie on top."""
    n = len(view.order)
    size = float(np.clip(400 / n, 1.5, 5.0))
    for status in ("failed", "normal", "undecided", "candidate", "outlier"):
        arms, colour = view.arms_of(status), COLOURS[status]
        if not len(arms):
            continue
        scale = max(1.0, 4 / size) if status in ("candidate", "outlier") else 1.0
        ax.hlines(
            view.height[arms], view.low[arms], view.high[arms], color=colour,
            lw=max(size / 2.5, 0.6) * scale, rasterized=n > MOST_VECTORS,
        )  # fmt: skip
        ax.plot(
            view.means[arms], view.height[arms], MARKERS[status], color=colour,
            ms=size * scale, mfc="none" if status in HOLLOW else colour,
            label=f"{status} ({len(arms):,})", rasterized=n > MOST_VECTORS,
        )  # fmt: skip


def _draw_gaps(ax: Axes, view: _View) -> None:
    """Shade the certain gaps, and write how wide each is where the ruler does not."""
    told = view.case is None or view.case.gap is None or len(view.gaps) > 1
    for gap in view.gaps:
        ax.axvspan(gap.start, gap.stop, color=view.colour, alpha=0.13, lw=0)
        if told and len(view.gaps) <= MOST_GAPS_TOLD:
            ax.annotate(
                f"at least {rounded_down(gap.width, 2):g}", ((gap.start + gap.stop) / 2, 1),
                (0, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
                ha="center", va="top", fontsize=8,
            )  # fmt: skip


def _draw_ruler(ax: Axes, view: _View, arm_inches: float) -> None:
    """Measure the gap against what it must reach, in lines below the arms, which are so high."""
    case = view.case
    ax.set_ylim(-1, view.top)
    if case is None:
        return
    line = (view.top + 1) * RULER_INCHES / arm_inches
    ax.set_ylim(-1 - line * view.lines, view.top)
    ax.axhline(-1, color=ink(), lw=0.6, alpha=0.4)
    start = min((gap.start for gap in view.gaps), default=float(np.nanmin(view.means)))
    if case.gap is not None:
        start = case.gap.start
    rows: list[tuple[str, Stretch, str]] = []
    if case.gap is not None:
        rows.append(("gap", case.gap, view.colour))
    if math.isfinite(case.line):
        end = (start, start + case.sure_line)
        rows.append(("must reach", Stretch(start, start + case.line, case.line_words, end), ink()))
    if case.rest is not None:
        rows.append(("widest of the rest", case.rest, COLOURS["normal"]))
    heights = [-1 - line * (row + 0.7) for row in range(len(rows))]
    for (_, stretch, colour), height in zip(rows, heights, strict=True):
        _measure(ax, stretch, height, colour)
    names = [name for name, _, _ in rows]
    ax.set_yticks(heights, names, fontsize=8, fontstyle="italic", minor=True)
    ax.tick_params(axis="y", which="minor", length=0)


def _measure(ax: Axes, stretch: Stretch, height: float, colour: str) -> None:
    """Draw a line as long as a stretch, thick where it is certain, with its words above it."""
    ends = [stretch.start, stretch.stop]
    ax.plot(ends, [height, height], color=colour, lw=1.2, ls=(0, (2, 1.5)), marker="|", ms=6)
    if stretch.certain is not None:
        ax.plot(stretch.certain, [height, height], color=colour, lw=2.6, solid_capstyle="butt")
    low, high = ax.get_xlim()
    middle = (sum(ends) / 2 - low) / (high - low)
    side = "left" if middle < 1 / 3 else "right" if middle > 2 / 3 else "center"
    at = {"left": min(ends), "right": max(ends), "center": sum(ends) / 2}[side]
    at = min(max(at, low), high)
    ax.annotate(
        plain(stretch.words), (at, height), (0, 2.5), textcoords="offset points", ha=side,
        va="bottom", fontsize=8, annotation_clip=False,
    ).set_in_layout(False)  # fmt: skip


def _name_arms(ax: Axes, view: _View) -> None:
    """Write the names of all arms; of many, those of outliers or candidates that have room."""
    order, n = view.order, len(view.order)
    if n > MOST_NAMED:
        ax.set_ylabel(plain(f"{n:,} {view.result.nouns[0]} by mean"))
        odd = order[view.result.odd[order]].tolist()
        order = np.array(_not_overlapping(odd, view.height, view.top), dtype=np.intp)
    names = [_name(view.result.names[arm]) for arm in order]
    ax.set_yticks(view.height[order], names, fontsize=8)


def _name(arm: Any) -> str:
    """Return the name of an arm; of a long one the beginning and the end."""
    name = printable(arm)
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - NAME_END - 1]}…{name[-NAME_END:]}"
    return plain(name)


def _draw_pulls(ax: Axes, view: _View) -> None:
    """Draw a bar for the pulls of each arm; a pale one where nothing is decided of it."""
    counts, n = view.result.counts, len(view.order)
    pulled = counts[counts > 0]
    logarithmic = len(pulled) > 0 and math.log10(pulled.max() / pulled.min()) > DECADES
    thick = 0.7 if n <= MOST_NAMED else 1.0
    for status, colour in COLOURS.items():
        arms = view.arms_of(status)
        if len(arms):
            ax.barh(
                view.height[arms], counts[arms], height=thick, color=colour,
                alpha=0.45 if status in FAINT else 0.85, lw=0, rasterized=n > MOST_VECTORS,
            )  # fmt: skip
    if logarithmic:
        count_axis(ax.xaxis)
        ax.set_xlim(left=float(pulled.min()) / 2)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    pulls = f"{view.result.nouns[1]} per arm"
    ax.set_xlabel(plain(pulls + "\n(logarithmic axis)" * logarithmic))
    ax.tick_params(axis="y", which="both", left=False, labelleft=False)
    ax.tick_params(axis="x", labelsize=7.5)
    ax.set_axisbelow(True)
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_evidence(ax: Axes, result: Result) -> None:
    """Draw how the odds of the best guess grew, and what was asked for."""
    asked = 1 / result.problem.delta
    pulls, odds = np.array(result.history, dtype=np.float64).T
    odds = np.clip(odds, 1.0, 10 * asked)
    ax.step(pulls, odds, where="post", color=COLOURS["normal"], lw=1.4)
    ax.plot(pulls[-1:], odds[-1:], "o", color=COLOURS["normal"], ms=4)
    ax.axhline(asked, color=ink(), lw=1, ls="--", alpha=0.7)
    ax.annotate(
        f"{asked:,.4g} : 1, as asked for", (0, asked), (4, 2), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="left", va="bottom", fontsize=8,
    )  # fmt: skip
    count_axis(ax.yaxis)
    ax.set_ylim(0.9, max(asked * 4, float(odds.max()) * 1.5))
    ax.set_xlim(left=0)
    ax.set_xlabel(plain(result.nouns[1]))
    ax.set_ylabel("evidence\n(odds : 1)")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def axes_inches(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    place = ax.get_position()
    return place.width * figure.get_figwidth(), place.height * figure.get_figheight()


def _finite_ends(result: Result) -> tuple[Floats, Floats]:
    """Return the ends of the intervals; infinite ones a tenth beyond all that is finite."""
    known = np.concatenate([result.low, result.high, result.means])
    known = known[np.isfinite(known)]
    least, most = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    beyond = (most - least) / 10
    return (
        np.where(np.isfinite(result.low), result.low, least - beyond),
        np.where(np.isfinite(result.high), result.high, most + beyond),
    )


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
