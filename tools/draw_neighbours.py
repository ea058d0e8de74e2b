"""Draw the figure of docs/choosing.md: what `neighbours` excludes, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

import oddarm

OUT = Path(__file__).parent.parent / "docs" / "images" / "neighbours.png"
BULK = (
    *(0.200, 0.215, 0.235, 0.250, 0.260, 0.280, 0.295, 0.310, 0.330),
    *(0.340, 0.360, 0.375, 0.390, 0.410, 0.420, 0.440, 0.455, 0.470),
)
PAIRS = {"A pair at the edge of the bulk": (0.575, 0.585), "A pair far away": (0.72, 0.73)}
EPSILON, ORDERS = 2.5, (1, 2, 3, 4)
ODD, REST, SOFT = "#c0392b", "#34495e", "#aab4be"


def widest_span(order: int) -> tuple[float, float]:
    """Return where the longest span of so many gaps in a row begins and ends."""
    spans = zip(BULK, BULK[order:], strict=False)
    return max(spans, key=lambda span: round(span[1] - span[0], 9))


def draw(axes: Any, title: str, pair: Sequence[float]) -> None:
    """Draw the arms, and for each order the longest span and 1 + ε times its length."""
    (group,) = oddarm.outlier_groups([*BULK, *pair], EPSILON, max_outliers=2)
    axes.axvspan(BULK[-1], pair[0], color=ODD, alpha=0.10, lw=0)
    axes.plot(BULK, [0] * len(BULK), "o", color=REST, ms=6)
    axes.plot(pair, [0] * len(pair), "o", color=ODD, ms=7)
    axes.text((BULK[-1] + pair[0]) / 2, 0.3, f"gap {group.gap:g}", ha="center", color=ODD)
    for order in ORDERS:
        low, high = widest_span(order)
        needed = (1 + EPSILON) * (high - low)
        holds = group.max_neighbours >= order
        axes.plot([low, high], [-order, -order], color=REST, lw=5, solid_capstyle="butt")
        axes.text(low - 0.008, -order, f"k = {order}", ha="right", va="center", color=REST)
        colour, end = REST if holds else ODD, BULK[-1] + needed
        axes.plot([BULK[-1], end], [-order, -order], color=colour, lw=2, alpha=0.8)
        axes.plot([end, end], [-order - 0.2, -order + 0.2], color=colour, lw=2, alpha=0.8)
        words = "a group" if holds else "no group"
        axes.text(end + 0.008, -order, f"{needed:.3f}: {words}", va="center", color=colour)
    axes.set(yticks=[], ylim=(-4.7, 1.0), xlim=(0.13, 0.88))
    axes.set_title(f"{title}: a group up to k = {group.max_neighbours}", loc="left", fontsize=11)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)


def main() -> None:
    """Draw both pairs, one above the other."""
    figure, both = plt.subplots(2, 1, figsize=(8.5, 5.6), sharex=True, layout="constrained")
    for axes, (title, pair) in zip(both, PAIRS.items(), strict=True):
        draw(axes, title, pair)
    both[1].set_xlabel(
        "mean reward (thick: the longest span of k gaps in a row; thin: 1 + ε = 3.5 times as long)"
    )
    figure.savefig(OUT, dpi=130)


if __name__ == "__main__":
    main()
