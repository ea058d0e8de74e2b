"""Is GOLD right as often as it promises?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import oddarm
from oddarm.datasets.synthetic import KINDS
from oddarm.definitions.truth import ranks_first
from verification.report import Check

DELTA = 0.1


def checks(
    runs: int = 500, sizes: tuple[int, ...] = (20, 50), epsilon: float = 2.5
) -> Iterator[Check]:
    """Yield the error rate of rigorous GOLD, one instance and one reward seed per run."""
    for n in sizes:
        for kind in KINDS:
            wrong, pulls = 0, []
            for seed in range(runs):
                instance = oddarm.datasets.synthetic(kind, n, epsilon, seed=seed)
                result = oddarm.simulate(
                    instance.means, "gold", epsilon=epsilon, delta=DELTA, seed=seed
                )
                wrong += not ranks_first(result.ranking, instance.outliers)
                pulls.append(result.pulls)
            yield Check(
                f"GOLD anytime, n = {n}, {kind}",
                wrong,
                runs,
                DELTA,
                note=f"{np.mean(pulls):,.0f} pulls on average",
            )
