"""The four distributions of the paper's Figure 1."""

import numpy as np
import pytest

from oddarm import outlier_groups
from reproduction.illustrations import illustration, illustrations

SEEDS = range(100)


def sigma_rule(means, k):
    """The arms above mean + k standard deviations, literally."""
    return set(np.flatnonzero(means > means.mean() + k * means.std()).tolist())


@pytest.mark.parametrize(
    ("letter", "kind", "count"),
    [("a", "upper", 2), ("b", "upper", 1), ("c", "lower", 1), ("d", "intermediate", 2)],
)
def test_every_panel_has_its_group(letter, kind, count):
    """The outliers of each panel are an (ε=5, ρ=0.95)-group of its kind, whatever the seed."""
    for seed in SEEDS:
        panel = illustration(letter, seed)
        groups = outlier_groups(panel.means, 5, 0.95)
        assert [g.kind for g in groups if set(g.members) == set(panel.outliers)] == [kind]
        assert len(panel.outliers) == count
        assert panel.letter == letter
        assert (panel.problem.epsilon, panel.problem.rho) == (5, 0.95)
        assert panel.means.min() >= 0
        assert panel.means.max() <= 1


def test_two_sigma_is_right_on_the_normal_distribution_alone():
    """As the caption of Figure 1 says, k = 2 finds the outliers of (a) and of no other panel."""
    for seed in SEEDS:
        right = [p.letter for p in illustrations(seed) if sigma_rule(p.means, 2) == set(p.outliers)]
        assert right == ["a"]


def test_no_other_k_does_better():
    """In (a), k = 1 takes normal arms for outliers and k = 3 misses one; in (b), all three fail."""
    for seed in SEEDS:
        a, b = illustration("a", seed), illustration("b", seed)
        assert sigma_rule(a.means, 1) > set(a.outliers) > sigma_rule(a.means, 3)
        assert sigma_rule(b.means, 1) > set(b.outliers)
        assert not sigma_rule(b.means, 3)


def test_seed_decides():
    """A seed decides all four panels, and another seed gives others."""
    for one, same, other in zip(*(illustrations(s) for s in (3, 3, 4)), strict=True):
        assert np.array_equal(one.means, same.means)
        assert one.outliers == same.outliers
        assert not np.array_equal(one.means, other.means)
