"""Does a search on the rows of a log say something about the workers, and not about the rows?

Eighty equal workers are right 90 % of the time and have 3 to 149 rows each. By all rows, many such
tables have an outlier group, since a mean of few rows is far from the others by chance. Of the
workers, none is an outlier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

import oddarm
from oddarm._typing import Flags
from verification.report import Check

DELTA = 0.05
WORKERS = 80
RATE = 0.9


def equal_workers(seed: int) -> dict[str, Flags]:
    """Return the rows of each worker."""
    rng = np.random.default_rng([seed, 17])
    sizes = rng.integers(3, 150, WORKERS).tolist()
    return {f"worker-{k:02}": rng.random(size) < RATE for k, size in enumerate(sizes)}


def checks(tables: int = 400) -> Iterator[Check]:
    """Yield how often an outlier is confirmed among equal workers, when rows are a sample."""
    wrong, verdicts = 0, Counter[str]()
    for seed in range(tables):
        log = oddarm.sources.RecordedSource(equal_workers(seed), seed=seed, rows="sample")
        result = oddarm.find(log, delta=DELTA)
        wrong += bool(result.outliers)
        verdicts[result.verdict] += 1
    note = ", ".join(f"{verdict} {count:,}" for verdict, count in verdicts.most_common())
    yield Check(f"{WORKERS} equal workers, rows a sample", wrong, tables, DELTA, note)
