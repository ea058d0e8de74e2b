"""The generator of instances of the paper's kind."""

import numpy as np
import pytest

from oddarm import OddarmError, outlier_groups
from oddarm.datasets import CONFIGURATIONS, configuration, synthetic


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.slow
def test_every_configuration_has_its_group(name):
    """Each configuration yields a group of its kind at its ε, in [0, 1], for every seed."""
    kind, n, epsilon = CONFIGURATIONS[name]
    for seed in range(200):
        instance = configuration(name, seed)  # checks itself against outlier_groups
        assert instance.means.min() >= 0
        assert instance.means.max() <= 1
        assert len(instance.means) == n
        assert len(instance.outliers) == n // 10
    groups = outlier_groups(instance.means, epsilon, 0.9, mixed=True)
    assert kind in {g.kind for g in groups if set(g.members) == set(instance.outliers)}


def test_number_of_outliers():
    """Fewer outliers than the capacity, and a single one, can be asked for."""
    assert len(synthetic("upper", 50, outliers=1).outliers) == 1
    assert len(synthetic("mixed", 50, outliers=3).outliers) == 3


def test_same_seed_same_instance():
    """A seed decides the instance."""
    one, two, other = (synthetic("lower", 30, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.means, two.means)
    assert not np.array_equal(one.means, other.means)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "upper", "n": 20, "outliers": 3}, "outliers == 3, must be from 1 to 2"),
        ({"kind": "sideways", "n": 20}, "kind == 'sideways'"),
        ({"kind": "mixed", "n": 10}, "one on each side"),
        ({"kind": "intermediate", "n": 10, "rho": 0.6}, "each side needs more than c arms"),
        ({"kind": "upper", "n": 20, "scale": False}, "no room in"),
        ({"kind": "intermediate", "n": 20, "scale": False}, "pass scale=True"),
    ],
)
def test_infeasible_wishes(arguments, words):
    """What cannot be had is an error at once, not an endless search."""
    with pytest.raises(OddarmError, match=words):
        synthetic(**arguments)


def test_unknown_configuration():
    """An unknown name gets the grammar of names."""
    with pytest.raises(OddarmError, match="KIND-N-EPSILON"):
        configuration("upper-21-2.5")
