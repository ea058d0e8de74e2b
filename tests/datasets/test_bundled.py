"""The data that comes with the package."""

import pytest

import oddarm
from oddarm.datasets import bundled


def test_late_flights():
    """Three routes from Newark are late far more often than all others, ε up to 5.7."""
    pytest.importorskip("duckdb")
    flights = bundled("flights")
    source = oddarm.open_table(flights.path, flights.arm, flights.reward, rows=flights.rows)
    sizes = dict(zip(source.arms, source.rewards.pools, strict=True))
    means = {arm: source.draw(arm, size).mean() for arm, size in sizes.items()}
    (group,) = oddarm.outlier_groups(means, 2.5, 0.9)
    assert set(group.members) == {"EWR-TUL", "EWR-TYS", "EWR-OKC"}
    assert (group.kind, round(group.max_epsilon, 2)) == ("upper", 5.67)
    assert (len(sizes), min(sizes.values()) >= 100, source.rows) == (193, True, 326_408)


def test_unknown_name():
    """An unknown name gets the names that exist."""
    with pytest.raises(oddarm.OddarmError, match="must be one of flights"):
        bundled("trains")
