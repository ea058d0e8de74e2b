"""The figures of the paper's section 6, and its Figure 1, from measured cells.

Figures 2 to 5 are drawn once for each kind of radii, since pulls can be compared at equal radii
only. A strategy keeps its colour and its marker throughout. An arrow at a marker says that runs
reached the cap, so that the strategy needs at least that many pulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from reproduction.claims import (
    PAPER_KINDS,
    RADII,
    Cell,
    best_cells,
    capital,
    correctness,
    fair_cells,
    mean_f1,
    paper_cells,
    radii_of,
    strategy_label,
)
from reproduction.illustrations import Illustration, illustrations

__all__ = ["HEADINGS", "Drawing", "draw_all"]

DPI = 110
SHADES = 96  # colours kept in a PNG: more than a chart needs, and a third of the size
MOST_ROWS = 30

# Okabe and Ito's colours, told apart by colour-blind readers; the markers differ as well.
OUTLIER, NORMAL = "#D55E00", "#0072B2"
STYLES = {
    "adaptive": ("#CC79A7", "*"),
    "adaptive, fair": ("#7D3F62", "X"),
    "gold": ("#D55E00", "D"),
    "gold, fair": ("#7A3600", "d"),
    "wrr": ("#0072B2", "o"),
    "rr": ("#56B4E9", "s"),
    "nrr": ("#009E73", "v"),
    "ib": ("#E69F00", "P"),
}


@dataclass(frozen=True)
class Drawing:
    """A figure that was drawn.

    Attributes:
        stem: The file's name without ".png".
        title: Its heading.
        caption: What it shows and how to read it.
        path: The file.
    """

    stem: str
    title: str
    caption: str
    path: Path

    @property
    def figure(self) -> str:
        """The figure that it is one of, such as "figure3"."""
        return self.stem.split("-")[0]


def draw_all(cells: Sequence[Cell], folder: Path) -> list[Drawing]:
    """Draw every figure for which there are cells into a folder, as PNG."""
    figures: list[tuple[str, str, Figure | None]] = [("figure1", "", _draw_illustrations())]
    for stem, draw in _BY_RADII.items():
        figures += [(stem, radii, draw(cells, radii)) for radii in radii_of(cells)]
    figures.append(("figure6", "", _draw_epsilon(cells)))
    return [_save(figure, folder, stem, radii) for stem, radii, figure in figures if figure]


def _draw_illustrations() -> Figure:
    """Draw Figure 1: four distributions, their outliers and the 2-sigma threshold."""
    figure = _figure(7.4, 4.6)
    for ax, panel in zip(figure.subplots(2, 2).flat, illustrations(), strict=True):
        _illustrate(ax, panel)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _draw_epsilon(cells: Sequence[Cell]) -> Figure | None:
    """Draw Figure 6: pulls against ε, a panel for each radii; None if there are no such cells."""
    mine = best_cells(cell for cell in cells if cell["figure"] == "epsilon")
    kinds = radii_of(mine)
    if not mine:
        return None
    names = _strategies(mine)
    figure = _figure(max(4.6, 2.9 * len(kinds)), 3.3)
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for ax, radii in zip(panels, kinds, strict=True):
        here = [cell for cell in mine if _beside(cell, radii)]
        for name in names:
            line = _grouped((c for c in here if c["strategy"] == name), lambda c: c["epsilon"])
            colour, marker = STYLES[name]
            ax.plot(list(line), [fmean(_pulls(group)) for group in line.values()], color=colour)
            for epsilon, group in line.items():
                _pull_point(ax, epsilon, group, colour, marker)
        ax.set_yscale("log")
        ax.margins(x=0.08, y=0.12)
        ax.set_title(capital(RADII[radii]), fontsize=9, loc="left")
        ax.set_xlabel("ε")
        _plain(ax, "y")
    panels[0].set_ylabel("pulls")
    _legend(figure, names, mine)
    return figure


def _illustrate(ax: Axes, panel: Illustration) -> None:
    """Draw the arms of a panel as stacked points."""
    width = 1 / 55
    column = np.floor(panel.means / width).astype(int)
    height = np.zeros(len(column), dtype=int)
    for arm in np.argsort(panel.means, kind="stable"):
        height[arm] = np.count_nonzero(column[height > 0] == column[arm]) + 1
    odd = np.isin(np.arange(len(column)), panel.outliers)
    x = np.where(odd, panel.means, (column + 0.5) * width)
    ax.plot(x[~odd], height[~odd], "o", ms=3.4, color=NORMAL, label="normal arms")
    ax.plot(x[odd], height[odd], "D", ms=6, color=OUTLIER, label="outliers")
    threshold = float(panel.means.mean() + 2 * panel.means.std())
    ax.axvline(threshold, color="black", ls="--", lw=1.1, label="mean + 2 standard deviations")
    ax.set_title(f"({panel.letter}) {panel.title}", fontsize=9.5, loc="left")
    ax.set_xlim(-0.02, max(1.02, threshold + 0.04))
    ax.set_ylim(0, max(6, int(height.max())) + 1)
    ax.set_yticks([])
    ax.set_xlabel("expected reward", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _draw_synthetic(
    cells: Sequence[Cell],
    radii: str,
    draw: Callable[[Axes, Sequence[Cell], Sequence[str], Sequence[int]], None],
) -> Figure | None:
    """Draw Figure 2 or 3: correctness or pulls by kind, ε and n; None without such cells."""
    mine = _chosen(cells, "synthetic", radii)
    if not mine:
        return None
    kinds = [kind for kind in PAPER_KINDS if any(c["kind"] == kind for c in mine)]
    epsilons = sorted({cell["epsilon"] for cell in mine})
    sizes = sorted({cell["n"] for cell in mine})
    names = _strategies(mine)
    figure = _figure(max(5.0, 3.9 * len(epsilons)), 2.15 * len(kinds) + 0.7)
    panels = figure.subplots(len(kinds), len(epsilons), sharex=True, sharey=True, squeeze=False)
    for row, kind in zip(panels, kinds, strict=True):
        for ax, epsilon in zip(row, epsilons, strict=True):
            here = [c for c in mine if c["kind"] == kind and c["epsilon"] == epsilon]
            draw(ax, here, names, sizes)
            ax.set_title(f"{kind}, ε = {epsilon:g}", fontsize=9.5, loc="left")
            ax.set_xticks(range(len(sizes)), [str(n) for n in sizes])
            for border in range(1, len(sizes)):
                ax.axvline(border - 0.5, color="#DDDDDD", lw=0.8, zorder=0)
            ax.set_xlim(-0.5, len(sizes) - 0.5)
            _plain(ax, "y")
    for ax in panels[-1]:
        ax.set_xlabel("arms n")
    figure.supylabel("correct runs" if draw is _draw_shares else "pulls", fontsize=10)
    _legend(figure, names, mine if draw is _draw_pulls else ())
    return figure


def _draw_shares(
    ax: Axes, cells: Sequence[Cell], names: Sequence[str], sizes: Sequence[int]
) -> None:
    for name in names:
        colour, marker = STYLES[name]
        groups = _grouped((c for c in cells if c["strategy"] == name), lambda c: c["n"])
        x = [sizes.index(n) + _dodge(name, names) for n in groups]
        y = [fmean(map(correctness, group)) for group in groups.values()]
        ax.vlines(x, 0, y, color=colour, lw=2.2, alpha=0.55)
        ax.plot(x, y, marker, color=colour, ms=_size(marker), clip_on=False, zorder=3)
    ax.axhline(0.9, color="black", ls=":", lw=0.9, zorder=1)
    ax.set_ylim(0, 1.06)
    ax.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])


def _draw_pulls(
    ax: Axes, cells: Sequence[Cell], names: Sequence[str], sizes: Sequence[int]
) -> None:
    for name in names:
        colour, marker = STYLES[name]
        groups = _grouped((c for c in cells if c["strategy"] == name), lambda c: c["n"])
        for n, group in groups.items():
            _pull_point(ax, sizes.index(n) + _dodge(name, names), group, colour, marker)
    ax.set_yscale("log")
    ax.margins(y=0.12)


def _draw_real(cells: Sequence[Cell], radii: str, figure_name: str) -> Figure | None:
    """Draw Figure 4 or 5: correctness, F1 and pulls on real data; None without such cells."""
    cells = [*paper_cells(cells), *_fair_rankings(cells)]
    mine = _chosen(cells, figure_name, radii)
    if not mine:
        return None
    names = _strategies(mine)
    instances = sorted({str(cell["instance"]) for cell in mine})
    shown = instances[:MOST_ROWS]
    bars = 0.24 * len(names) + 0.6
    height = max(2 * bars, (0.07 * len(names) + 0.07) * len(shown) + 0.7)
    figure = _figure(8.0, height + 0.5)
    rest = max(height - 2 * bars, 0.01)
    grid = figure.add_gridspec(3, 2, width_ratios=(1, 1.7), height_ratios=(bars, bars, rest))
    scores = _chosen(cells, figure_name, radii, by="f1")
    top, below = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    _draw_bars(top, mine, names, correctness, "correct runs")
    top.axvline(0.9, color="black", ls=":", lw=0.9)
    _draw_bars(below, scores, names, mean_f1, "F1")
    _draw_rows(figure.add_subplot(grid[:, 1]), mine, names, shown)
    if len(shown) < len(instances):
        figure.axes[2].set_title(f"the first {len(shown)} of {len(instances)}", fontsize=9)
    _legend(figure, names, mine)
    return figure


def _draw_bars(
    ax: Axes,
    cells: Sequence[Cell],
    names: Sequence[str],
    score: Callable[[Cell], float],
    label: str,
) -> None:
    """Draw the mean of a score over instances, with its number."""
    for place, name in enumerate(names):
        values = [score(cell) for cell in cells if cell["strategy"] == name]
        colour, marker = STYLES[name]
        mean = fmean(values)
        ax.barh(place, mean, height=0.6, color=colour, alpha=0.55)
        ax.plot(mean, place, marker, color=colour, ms=_size(marker), clip_on=False)
        ax.annotate(
            f"{mean:.2f}", (mean, place), xytext=(6, 0), textcoords="offset points",
            va="center", fontsize=8,
        )  # fmt: skip
    ax.set_yticks(range(len(names)), [strategy_label(name) for name in names], fontsize=8)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 1.18)
    ax.set_xticks([0, 0.5, 1])
    ax.set_xlabel(f"{label}, mean over instances", fontsize=9)
    _plain(ax, "x")


def _draw_rows(
    ax: Axes, cells: Sequence[Cell], names: Sequence[str], instances: Sequence[str]
) -> None:
    """Draw pulls across, one row for each instance."""
    for name in names:
        colour, marker = STYLES[name]
        mine = [c for c in cells if c["strategy"] == name and str(c["instance"]) in instances]
        for instance, group in _grouped(mine, lambda c: str(c["instance"])).items():
            place = instances.index(instance) + _dodge(name, names)
            _pull_point(ax, place, group, colour, marker, across=True)
    ax.set_xscale("log")
    ax.set_yticks(range(len(instances)), [_short(name) for name in instances], fontsize=8)
    ax.set_ylim(len(instances) - 0.5, -0.5)
    for border in range(1, len(instances)):
        ax.axhline(border - 0.5, color="#DDDDDD", lw=0.8, zorder=0)
    ax.margins(x=0.08)
    ax.set_xlabel("pulls", fontsize=9)
    _plain(ax, "x")


def _pull_point(
    ax: Axes, place: float, cells: Sequence[Cell], colour: str, marker: str, *, across: bool = False
) -> None:
    """Draw mean pulls with their standard deviation; hollow and with an arrow if capped."""
    pulls = _pulls(cells)
    mean, spread = fmean(pulls), pstdev(pulls)
    # On a log scale a bar below zero has no end: it goes no further than the smallest run.
    ends = [[mean - max(mean - spread, min(pulls))], [spread]]
    capped = any(any(cell["capped"]) for cell in cells)
    look: dict[str, Any] = {
        "color": colour, "ms": _size(marker), "elinewidth": 1.1, "capsize": 1.8,
        "mfc": "white" if capped else colour, "zorder": 3,
    }  # fmt: skip
    if across:
        ax.errorbar([mean], [place], xerr=ends, fmt=marker, **look)
    else:
        ax.errorbar([place], [mean], yerr=ends, fmt=marker, **look)
    if capped:
        ax.annotate(
            "→" if across else "↑", (mean + spread, place) if across else (place, mean + spread),
            xytext=(9, 0) if across else (0, 8), textcoords="offset points",
            ha="center", va="center", fontsize=9, color=colour, fontweight="bold",
        )  # fmt: skip


def _legend(figure: Figure, names: Sequence[str], pulled: Iterable[Cell]) -> None:
    handles = []
    for name in names:
        colour, marker = STYLES[name]
        handles.append(
            Line2D([], [], color=colour, marker=marker, ls="", ms=6, label=strategy_label(name))
        )
    if any(any(cell["capped"]) for cell in pulled):
        handles.append(
            Line2D(
                [], [], color="#555555", marker="o", mfc="white", ls="", ms=6,
                label="hollow, arrow: at least (cap)",
            )
        )  # fmt: skip
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(7, len(handles)), frameon=False,
        fontsize=8.5, columnspacing=1.2, handletextpad=0.3,
    )  # fmt: skip


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Figure, folder: Path, stem: str, radii: str) -> Drawing:
    """Write a PNG with few colours, which is a third of the size of one with all of them."""
    title, caption = _TEXTS[stem]
    if radii:
        stem, title = f"{stem}-{radii}", f"{title}, {RADII[radii]}"
    path = folder / f"{stem}.png"
    whole = BytesIO()
    figure.savefig(whole, dpi=DPI, format="png")
    with Image.open(whole) as picture:
        picture.convert("RGB").quantize(SHADES, dither=Image.Dither.NONE).save(path, optimize=True)
    return Drawing(stem, title, caption, path)


def _plain(ax: Axes, axis: Any) -> None:
    ax.grid(axis=axis, alpha=0.25)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def _chosen(cells: Sequence[Cell], figure: str, radii: str, by: Any = "correctness") -> list[Cell]:
    mine = (cell for cell in cells if cell["figure"] == figure and _beside(cell, radii))
    return best_cells(mine, by=by)


def _fair_rankings(cells: Sequence[Cell]) -> list[Cell]:
    """Return the rankings with the fair capacity, as strategies of their own."""
    return [
        {**cell, "strategy": f"{cell['strategy']}, fair"}
        for cell in fair_cells(cells)
        if f"{cell['strategy']}, fair" in STYLES
    ]


def _beside(cell: Cell, radii: str) -> bool:
    """Whether a cell is drawn beside those of these radii; adaptive, always proved, beside all."""
    return bool(cell["radii"] == radii or cell["strategy"].startswith("adaptive"))


def _strategies(cells: Iterable[Cell]) -> list[str]:
    found = {cell["strategy"] for cell in cells}
    return [name for name in STYLES if name in found]


def _grouped(cells: Iterable[Cell], key: Callable[[Cell], Any]) -> dict[Any, list[Cell]]:
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return dict(sorted(groups.items()))


def _pulls(cells: Iterable[Cell]) -> list[float]:
    return [float(count) for cell in cells for count in cell["pulls"]]


def _size(marker: str) -> float:
    return {"*": 7.5, "D": 4.4}.get(marker, 5.2)


def _dodge(name: str, names: Sequence[str]) -> float:
    return 0.8 * ((names.index(name) + 0.5) / len(names) - 0.5)


def _short(name: str, most: int = 26) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


_BY_RADII: dict[str, Callable[[Sequence[Cell], str], Figure | None]] = {
    "figure2": partial(_draw_synthetic, draw=_draw_shares),
    "figure3": partial(_draw_synthetic, draw=_draw_pulls),
    "figure4": partial(_draw_real, figure_name="keywords"),
    "figure5": partial(_draw_real, figure_name="clicks"),
}

_PULLS = (
    "Mean and standard deviation over runs, on a log scale. A hollow marker with an arrow stands "
    "for runs that reached the cap, so it is a lower bound."
)
_REAL = (
    "Correct runs and F1 are means over instances, the sigma rules with their best k for each; the "
    "dotted line is 90 %. “Fair”: no more outliers may be returned than are labelled. Pulls: "
    + _PULLS[0].lower()
    + _PULLS[1:]
)
_TEXTS = {
    "figure1": (
        "Figure 1. Four distributions",
        "Each point is an arm. The 2-sigma rule takes what is beyond the dashed line for outliers.",
    ),
    "figure2": (
        "Figure 2. Accuracy on synthetic data",
        "The share of correct runs, the sigma rules with their best k. The dotted line is 90 %.",
    ),
    "figure3": ("Figure 3. Pulls on synthetic data", _PULLS),
    "figure4": ("Figure 4. Keyword data", _REAL),
    "figure5": ("Figure 5. Click data", _REAL),
    "figure6": ("Figure 6. Pulls against ε", _PULLS),
}
HEADINGS = {stem: title for stem, (title, _) in _TEXTS.items()}
"""The figures, each with its heading."""
