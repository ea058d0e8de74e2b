"""Folders of counted rewards: real data that stands in for the paper's data, and more."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from oddarm.errors import ParameterError
from reproduction.counts import CountProblem, read_counts

__all__ = ["shared_set", "shared_sets"]

RANGES: dict[str, tuple[float, float]] = {
    "chem97_lea_score": (0.0, 10.0),
    "jester5k_rating": (-10.0, 10.0),
    "nab_cpu_utilization": (0.0, 100.0),
}
"""The ranges of the sets whose rewards are not 0 or 1."""

_ARMS, _FAMILY = ".arms.csv", ".csv.gz"


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
    problems = read_counts(path, RANGES.get(name, "bernoulli"))
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
