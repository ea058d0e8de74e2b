"""What searches cost, as figures: a change of the planner that costs more pulls is noticed.

A change that is meant to need fewer pulls writes its own figures here:
python -m tests.strategies.adaptive.test_cost prints them.
"""

import numpy as np
import pytest

import oddarm
from oddarm.datasets import configuration

BULK = [0.20, 0.22, 0.24, 0.25, 0.27, 0.28, 0.30, 0.31, 0.33, 0.35]
INSTANCES = {
    "above": (lambda seed: configuration("upper-20-2.5", seed=seed).means, {"epsilon": 2.5}),
    "far above": (lambda seed: configuration("upper-20-5", seed=seed).means, {"epsilon": 5}),
    "between": (lambda seed: configuration("intermediate-20-2.5", seed=seed).means, {}),
    "fifty": (lambda seed: configuration("upper-50-5", seed=seed).means, {"epsilon": 5}),
    "both sides": (lambda _: [0.02, *BULK, 0.9], {"max_outliers": 2}),
    "fewer than may be": (lambda _: [*BULK, 0.95], {"max_outliers": 2, "epsilon": 5}),
    "found": (lambda _: [*BULK, 0.95], {"max_outliers": 1, "until": "found", "slack": 0}),
    "none": (lambda _: [*BULK, 0.38], {"max_outliers": 1, "until": "confirmed", "slack": 0}),
}
PULLS = {
    "above": 664,
    "far above": 403,
    "between": 1_754,
    "fifty": 1_936,
    "both sides": 2_360,
    "fewer than may be": 115_285,
    "found": 4_758,
    "none": 411_391,
}
"""The geometric mean of pulls over eight seeds."""


def mean_pulls(name):
    """Return the geometric mean of pulls over eight seeds."""
    means, given = INSTANCES[name]
    options = {"until": "ranked", "delta": 0.1, "max_pulls": 1_000_000, **given}
    pulls = [oddarm.simulate(means(seed), seed=seed, **options).pulls for seed in range(8)]
    return float(np.exp(np.log(pulls).mean()))


@pytest.mark.parametrize("name", INSTANCES)
def test_searches_cost_what_they_did(name):
    """The pulls of each kind of search are within 5 % of what they were."""
    assert mean_pulls(name) == pytest.approx(PULLS[name], rel=0.05)


if __name__ == "__main__":
    print({name: round(mean_pulls(name)) for name in INSTANCES})  # noqa: T201
