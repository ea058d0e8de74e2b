"""Are the rivals right by their own rules as often as they promise?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import oddarm
from oddarm.bounds.sigma import sigma_threshold
from oddarm.strategies import (
    ADE,
    IB,
    LUCBBOC,
    NRR,
    ROAILUCB,
    RR,
    WRR,
    BOCElim,
    MaxGap,
    MaxGapTop2,
    Odd,
    ROAIElim,
    Strategy,
    Threshold,
)
from oddarm.strategies.robust.rule import robust_threshold
from verification.report import Check

DELTA = 0.1
Truth = Callable[[NDArray[np.float64]], set[int]]


def sigma_instance(seed: int) -> NDArray[np.float64]:
    """Return twelve arms of which one is high, and above mean + 2·std."""
    rng = np.random.default_rng([seed, 1])
    return np.append(rng.uniform(0.02, 0.30, 11), rng.uniform(0.93, 0.99))


def robust_instance(seed: int) -> NDArray[np.float64]:
    """Return ten arms of which one is above median + 2·1.4826·MAD, none near it."""
    rng = np.random.default_rng([seed, 2])
    return np.append(np.linspace(0.05, 0.45, 9) + rng.uniform(-0.01, 0.01, 9), 0.98)


def above_sigma(means: NDArray[np.float64]) -> set[int]:
    """Return the arms above mean + 2·std."""
    return set(np.flatnonzero(means > sigma_threshold(means, 2.0)).tolist())


def above_robust(means: NDArray[np.float64]) -> set[int]:
    """Return the arms above median + 2·1.4826·MAD."""
    return set(np.flatnonzero(means > robust_threshold(means, 2.0)).tolist())


def beyond_largest_gap(means: NDArray[np.float64]) -> set[int]:
    """Return the arms above the largest gap."""
    order = np.argsort(means)
    cut = int(np.argmax(np.diff(means[order]))) + 1
    return set(order[cut:].tolist())


def odd_instance(seed: int) -> NDArray[np.float64]:
    """Return twelve arms of which eleven are equal and one is higher."""
    rng = np.random.default_rng([seed, 3])
    rest = rng.uniform(0.1, 0.5)
    return np.append(np.full(11, rest), rest + rng.uniform(0.2, 0.4))


def above_half(means: NDArray[np.float64]) -> set[int]:
    """Return the arms above 0.5."""
    return set(np.flatnonzero(means > 0.5).tolist())


CASES: list[tuple[Strategy, str, Callable[[int], NDArray[np.float64]], Truth]] = [
    *((s, b, sigma_instance, above_sigma) for b in ("anytime", "paper") for s in (RR(), WRR())),
    (ROAIElim(), "anytime", robust_instance, above_robust),
    (ROAILUCB(), "anytime", robust_instance, above_robust),
    (MaxGap(), "anytime", sigma_instance, beyond_largest_gap),
    (MaxGapTop2(), "anytime", sigma_instance, beyond_largest_gap),
    (ADE(), "anytime", sigma_instance, above_sigma),
    (BOCElim(), "anytime", sigma_instance, beyond_largest_gap),
    (LUCBBOC(), "anytime", sigma_instance, beyond_largest_gap),
    (Odd(), "anytime", odd_instance, beyond_largest_gap),
    (Threshold(level=0.5), "anytime", sigma_instance, above_half),
    (NRR(), "anytime", sigma_instance, above_sigma),
    (IB(), "anytime", sigma_instance, above_sigma),
]


def checks(runs: int = 200) -> Iterator[Check]:
    """Yield the error rate of each rival by its own rule; MaxGapUCB, NRR and IB promise nothing."""
    for strategy, bound, instance, truth in CASES:
        wrong, pulls = 0, []
        promised = strategy.name not in ("maxgap", "nrr", "ib")
        for seed in range(runs):
            means = instance(seed)
            # Median and MAD need narrow intervals; little noise keeps the runs short.
            robust = instance is robust_instance
            result = oddarm.simulate(
                means,
                strategy,
                max_outliers=1,
                bound=bound,
                delta=DELTA,
                seed=seed,
                rewards=oddarm.rewards.SubGaussian(scale=0.05) if robust else "bernoulli",
                max_pulls=None if promised else 3_000,
            )
            wrong += set(result.outliers) != truth(means)
            pulls.append(result.pulls)
        yield Check(
            f"{strategy.name} ({bound})",
            wrong,
            runs,
            DELTA if promised else 1.0,
            note=f"{np.mean(pulls):,.0f} pulls on average" + ("" if promised else ", no promise"),
        )
