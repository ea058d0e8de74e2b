"""Does evidence against a whole truth reject every truth in which its claim is false?

The kernels bound the evidence over all truths at once. Here it is worked out for one truth at a
time, from the bets as they are written down in tests/reference, on many small cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from tests.reference.pieces import capital_against, pieces

from oddarm.kernels.pieces import Told, nobody_else_apart
from verification.group_truths import compared_with_bets, rewards_between, sums_of
from verification.report import Check

TRUTHS = 120
"""So many truths with another arm apart are compared for each case that is certain."""


def contradictions(seeds: Iterable[int], zero_one: bool = True) -> tuple[int, int, int]:
    """Return how many random cases are certain, the truths compared, and how many were missed.

    A truth with another arm apart is missed if the bets against it have not reached 1/δ. Rewards
    are 0 or 1, or of many kinds in between.
    """
    certain = compared = missed = 0
    for seed in seeds:
        rng = np.random.default_rng([31 if zero_one else 37, seed])
        n, gap = int(rng.integers(3, 7)), float(rng.uniform(0.15, 0.45))
        most, delta = int(rng.integers(1, n - 1)), float(rng.choice([0.05, 0.5]))
        means = np.clip(rng.uniform(0, 1) + rng.normal(0, 0.08, n), 0.01, 0.99)
        counts = rng.integers(20, 160, n).astype(np.float64)
        if zero_one:
            totals = rng.binomial(counts.astype(np.int64), means).astype(np.float64)
            told = Told(totals, counts)
            data: list[Any] = list(zip(totals.tolist(), (counts - totals).tolist(), strict=True))
        else:
            data = [rewards_between(rng, y, int(m)) for y, m in zip(means, counts, strict=True)]
            told = sums_of(data)
        member = np.zeros(n, dtype=np.bool_)
        member[rng.permutation(n)[: int(rng.integers(0, most + 1))]] = True
        if not nobody_else_apart(told, member, gap, most, delta):
            continue
        certain += 1
        for truth in _truths(rng, told.totals / counts, gap, most, member):
            compared += 1
            capital = capital_against(data, truth, gap, most)
            assert capital is not None
            missed += math.log(capital) < math.log(1 / delta) - 1e-9
    return certain, compared, missed


def _truths(
    rng: np.random.Generator, means: np.ndarray, gap: float, most: int, member: np.ndarray
) -> Iterator[list[float]]:
    """Yield truths with an arm apart that is not a member, most of them close to the estimates."""
    n, found, tries = len(means), 0, 0
    while found < TRUTHS and tries < 50 * TRUTHS:
        tries += 1
        truth = np.clip(means + rng.normal(0, 0.05 * rng.random(), n), 0, 1)
        piece = rng.permutation(n)[: 1 + int(rng.integers(most))]
        low = float(rng.uniform(0, 1))
        high = low + (len(piece) - 1) * gap * float(rng.choice([0, rng.random(), 1]))
        if rng.random() < 0.7:  # the nearest truths have others at the very edge
            near = (truth >= low - gap) & (truth <= high + gap)
            edge = np.where(truth < (low + high) / 2, low - gap - 1e-9, high + gap + 1e-9)
            truth = np.where(near & (rng.random(n) < 0.9), edge, truth)
        truth[piece] = np.linspace(low, high, len(piece))
        if truth.min() < 0 or truth.max() > 1:
            continue
        values = truth.tolist()
        apart = {k for piece in pieces(values, gap) if len(piece) <= most for k in piece}
        if any(not member[k] for k in apart):
            found += 1
            yield values


def checks(cases: int = 1200, groups: int = 1400) -> Iterator[Check]:
    """Yield how many truths were missed by what was called certain.

    Args:
        cases: Claims that nobody else is apart.
        groups: Claims that arms are a group, each at the largest odds at which it is certain.
    """
    for zero_one, kind in ((True, ""), (False, ", rewards in a range")):
        certain, compared, missed = contradictions(range(cases), zero_one)
        note = f"{certain:,} of {cases:,} cases were certain"
        yield Check(f"nobody else is apart, truth by truth{kind}", missed, compared, 0.0, note)
        compared, least = 0, math.inf
        weak = 0
        for seed in range(groups):
            some, excess = compared_with_bets(seed, 400, zero_one)
            compared, least, weak = compared + some, min(least, excess), weak + (excess < -1e-6)
        note = f"the least evidence is e^{least:.2f} times what was certain"
        yield Check(f"a group, truth by truth{kind}", weak, compared, 0.0, note)
