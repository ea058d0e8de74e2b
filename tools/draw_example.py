"""Draw the worked example of docs/adaptive.md: what six intervals make certain and what not."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

OUT = Path(__file__).parent.parent / "docs" / "images" / "worked-example.png"
ARMS = {
    "a": (0.10, 0.16),
    "b": (0.18, 0.24),
    "c": (0.22, 0.30),
    "d": (0.28, 0.36),
    "e": (0.34, 0.40),
    "f": (0.70, 0.80),
}
ODD, REST = "#c0392b", "#34495e"


def main() -> None:
    """Draw the intervals, the certain gap around f and a widest possible gap among the rest."""
    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    axes.axvspan(0.40, 0.70, color=ODD, alpha=0.12, lw=0)
    axes.text(0.55, 0.1, "certain gap of f: 0.30", ha="center", color=ODD)
    axes.axvspan(0.10, 0.24, ymax=0.33, color=REST, alpha=0.12, lw=0)
    axes.text(0.17, 1.6, "possible gap: 0.14", ha="center", color=REST)
    axes.annotate("", (0.10, 1.45), (0.24, 1.45), arrowprops={"arrowstyle": "<->", "color": REST})
    for row, (name, (low, high)) in enumerate(ARMS.items()):
        colour = ODD if name == "f" else REST
        axes.plot([low, high], [row, row], color=colour, lw=5, solid_capstyle="butt")
        axes.text(high + 0.008, row, name, va="center", color=colour)
    axes.set(yticks=[], xlim=(0.05, 0.85), ylim=(-0.6, 5.6), xlabel="mean reward")
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    figure.savefig(OUT, dpi=130)


if __name__ == "__main__":
    main()
