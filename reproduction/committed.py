"""The committed cells: where a sweep goes on from, and whether they still come out the same.

`docs/reproduction/cells.json` has one result on each line, and `sweeps.json` beside it says how
they were made.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

from scipy.stats import t as student

from oddarm.errors import OddarmError
from reproduction.runs import REAL, Cell, run_cell
from reproduction.shared import shared_set

__all__ = ["COMMITTED", "Check", "check_cells", "read_cells", "read_sweeps", "sample"]

COMMITTED = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "cells.json"
SWEEPS = "sweeps.json"
LEVEL = 0.99  # of the interval in which one more run lies
FEW = 2  # runs whose spread says nothing
NEAR = math.log(2)  # what one run may differ by where the spread is not known

Means = dict[tuple[str, str], tuple[float, ...]]  # by figure and instance
Outcome = Literal["the same", "within", "outside"]


@dataclass(frozen=True)
class Check:
    """One run of a committed cell, beside its runs.

    Attributes:
        result: The committed cell.
        pulls: The pulls of the new run.
        correct: Whether it was.
        outcome: "the same" as the committed run of its seed, "within" the spread of the committed
            runs, or "outside".
    """

    result: dict[str, Any]
    pulls: int
    correct: bool
    outcome: Outcome

    def __str__(self) -> str:
        names = ("figure", "instance", "strategy", "k", "radii", "capacity")
        cell = " ".join(f"{self.result[n]}" for n in names if self.result.get(n) is not None)
        committed = fmean(map(float, self.result["pulls"]))
        right = "correct" if self.correct else "not correct"
        return f"{self.outcome:>8}  {cell}: {self.pulls:,} pulls, {right}; mean {committed:,.0f}"


def read_cells(path: Path) -> list[dict[str, Any]]:
    """Return the results of a file that a report was written with."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OddarmError(f"{path} must be the cells.json of a report: {error}.") from None
    if not isinstance(found, list) or not all(isinstance(cell, dict) for cell in found):
        raise OddarmError(f"{path} must be the cells.json of a report, a list of cells.")
    return found


def read_sweeps(folder: Path) -> list[dict[str, Any]]:
    """Return how the cells of a folder were made: one entry for each sweep, or none."""
    path = folder / SWEEPS
    found: list[dict[str, Any]] = []
    if path.is_file():
        found = json.loads(path.read_text(encoding="utf-8"))
    return found


def sample(
    results: Iterable[dict[str, Any]], count: int, data: Path | None
) -> list[tuple[dict[str, Any], Cell]]:
    """Draw cells to redo, the same ones each time; those of real data if their folder is given."""
    means = _means(data) if data is not None else {}
    redoable = [
        (result, cell)
        for result in results
        if result["pulls"] and (cell := _cell_of(result, means)) is not None
    ]
    return random.Random(0).sample(redoable, min(count, len(redoable)))


def check_cells(
    chosen: Sequence[tuple[dict[str, Any], Cell]],
    executor: Executor,
    progress: Callable[[int], object],
) -> list[Check]:
    """Redo the first run of each cell, and say whether it lies within the committed spread."""
    checks = []
    cells = [replace(cell, runs=1) for _, cell in chosen]
    for (result, _), found in zip(chosen, executor.map(run_cell, cells), strict=True):
        pulls, correct = found["pulls"][0], found["correct"][0]
        outcome = _outcome(result, pulls, correct, found["capped"][0])
        checks.append(Check(result, pulls, correct, outcome))
        progress(len(checks))
    return checks


def _outcome(result: dict[str, Any], pulls: int, correct: bool, capped: bool) -> Outcome:
    if pulls == result["pulls"][0] and correct == result["correct"][0]:
        return "the same"
    if correct not in result["correct"] or capped not in result["capped"]:
        return "outside"
    logs = [math.log(count) for count in result["pulls"]]
    reach = NEAR
    if len(logs) > FEW:
        # Where one more run lies, if the logs of the pulls are normal.
        quantile = float(student.ppf((1 + LEVEL) / 2, len(logs) - 1))
        reach = quantile * stdev(logs) * math.sqrt(1 + 1 / len(logs))
    return "within" if abs(math.log(pulls) - fmean(logs)) <= reach else "outside"


def _cell_of(result: dict[str, Any], means: Means) -> Cell | None:
    """Return the cell of a result; None if it is of real data that are not given."""
    names = {field.name for field in fields(Cell)}
    settings = {name: value for name, value in result.items() if name in names}
    here = result["figure"], result["instance"]
    if result["figure"] in REAL and here not in means:
        return None
    return Cell(**settings, runs=result["planned_runs"], means=means.get(here, ()))


def _means(data: Path) -> Means:
    return {
        (figure, problem.name.split("/")[-1]): tuple(problem.means.tolist())
        for figure, name in REAL.items()
        for problem in shared_set(name, data)
    }
