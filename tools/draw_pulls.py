"""Draw docs/adaptive-pulls.png: how often GOLD and the adaptive strategy pull each arm."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import oddarm
from oddarm.datasets import configuration

mpl.use("Agg")
import matplotlib.pyplot as plt

OUT = Path(__file__).parent.parent / "docs" / "adaptive-pulls.png"


def main() -> None:
    """Run both strategies on the same rewards and draw their pulls per arm."""
    instance = configuration("intermediate-100-2.5", seed=1)
    outlier = np.isin(np.arange(len(instance.means)), instance.outliers)
    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for name, colour, marker in (("gold", "#0072B2", "s"), ("adaptive", "#D55E00", "o")):
        result = oddarm.simulate(
            instance.means, name, epsilon=2.5, delta=0.1, until="ranked", seed=1
        )
        label = "GOLD (proved radii)" if name == "gold" else "adaptive"
        for chosen, face in ((~outlier, "none"), (outlier, colour)):
            axes.scatter(
                instance.means[chosen],
                result.counts[chosen],
                s=22,
                marker=marker,
                edgecolors=colour,
                facecolors=face,
                label=f"{label}: {result.pulls:,} pulls" if face == "none" else None,
            )
    axes.set_yscale("log")
    axes.set_xlabel("mean of the arm (filled: outlier)")
    axes.set_ylabel("pulls of the arm")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(OUT, dpi=130)


if __name__ == "__main__":
    main()
