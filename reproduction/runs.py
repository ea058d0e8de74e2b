"""The runs behind the paper's figures: planned as cells, spread over workers, kept on disk.

A cell is one strategy with one kind of radii on one instance, run several times. Results are kept
per cell in a folder, so that an interrupted sweep continues and a repeated one is instant.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from oddarm import Problem, __version__, outlier_groups, simulate
from oddarm.datasets import configuration
from oddarm.strategies import Strategy, as_strategy
from reproduction.counts import CountProblem
from reproduction.shared import shared_set

__all__ = [
    "FIGURES",
    "REAL",
    "Cell",
    "Plan",
    "kept",
    "most_seconds",
    "plan",
    "run_cell",
    "run_cells",
    "settings_of",
]

Radii = Literal["bernoulli", "hoeffding", "anytime"]
RADII: tuple[Radii, ...] = ("bernoulli", "hoeffding", "anytime")
SIZES = (20, 50, 100, 200, 400)
EPSILONS = (2.5, 5.0)
DELTA = 0.1
RHO = 0.9
KS = (2.0, 2.5, 3.0)
RANKINGS = ("adaptive", "gold")
SIGMA_RULES = ("wrr", "rr", "nrr", "ib")
FIGURES = ("synthetic", "keywords", "clicks", "epsilon")
REAL = {"keywords": "kjv_keywords", "clicks": "upworthy_story_ctr"}
"""The figures on real data, and the sets that they are drawn from."""
MEASURED = ("correct", "f1", "pulls", "capped", "seconds")
"""What a result has beside the settings of its cell."""
CAPPED_RUNS = 2
"""After so many runs of a cell have reached the cap, the rest of them are not made."""


@dataclass(frozen=True)
class Cell:
    """One strategy with one kind of radii on one instance.

    Attributes:
        figure: "synthetic", "keywords", "clicks" or "epsilon".
        instance: A named configuration, or the name of a problem of real data.
        means: The means of real data; empty for a configuration, which is drawn anew in each run.
        k: Of the sigma rules.
        radii: "bernoulli" and "hoeffding" as printed, "anytime" proved.
        cap: The most pulls of a run.
        runs: How many runs.
    """

    figure: str
    instance: str
    kind: str
    n: int
    epsilon: float
    strategy: str
    k: float | None
    radii: Radii
    cap: int
    runs: int
    means: tuple[float, ...] = ()
    delta: float = DELTA
    capacity: int | None = None

    @property
    def key(self) -> str:
        """A name for the file of its result, which changes with all that decides the result."""
        text = json.dumps([__version__, self._values()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as they stand in a result: without means, which belong to the data."""
        shown = {k: v for k, v in self._values().items() if k not in ("means", "runs")}
        return shown | {"planned_runs": self.runs}

    def _values(self) -> dict[str, Any]:
        """Return all settings, the capacity only where it is not the paper's."""
        values = asdict(self)
        if self.capacity is None:
            del values["capacity"]
        return values

    def make_strategy(self) -> Strategy:
        """Return the strategy with its k."""
        parameters = {} if self.k is None else {"k": self.k}
        return as_strategy({"name": self.strategy, **parameters})


@dataclass(frozen=True)
class Plan:
    """What a sweep covers; the defaults are those of the committed cells.

    Attributes:
        sizes: Numbers of arms of the synthetic instances.
        runs: Runs of a cell.
        cap: The most pulls of a run at up to 100 arms.
        slow_cap: The same for strategies that are not compiled (NRR and IB).
        problems: How many problems of each real data set.
    """

    sizes: tuple[int, ...] = SIZES
    runs: int = 5
    cap: int = 10_000_000
    slow_cap: int = 20_000
    problems: int = 3

    @classmethod
    def quick(cls) -> Plan:
        """Return a sweep of about a minute on two cores."""
        return cls(sizes=(20,), runs=3, cap=100_000, slow_cap=2_000, problems=1)


def plan(wanted: Plan, data: Path | None = None) -> list[Cell]:
    """Return all cells of a sweep; real data are included if their folder is given."""
    cells = list(_synthetic(wanted))
    if data is not None:
        for figure, name in REAL.items():
            cells += _real(wanted, data, figure, name)
    cells += _epsilon(wanted)
    return cells


def _synthetic(wanted: Plan) -> Iterator[Cell]:
    for n in wanted.sizes:
        for epsilon in EPSILONS:
            for kind in ("upper", "intermediate"):
                name = f"{kind}-{n}-{epsilon:g}"
                yield from _compare(wanted, Cell("synthetic", name, kind, n, epsilon, "", None,
                                                 "bernoulli", wanted.cap, wanted.runs))  # fmt: skip


def _real(wanted: Plan, data: Path, figure: str, name: str) -> Iterator[Cell]:
    found = 0
    for problem in shared_set(name, data):
        groups = problem.groups(2.5, RHO)
        if not groups or found == wanted.problems:
            continue
        found += 1
        base = _cell_of(wanted, figure, problem, groups[-1].kind)
        yield from _compare(wanted, base)
        yield from _told(wanted, base, len(groups[-1].members))


def _cell_of(wanted: Plan, figure: str, problem: CountProblem, kind: str) -> Cell:
    means = tuple(problem.means.tolist())
    name = problem.name.split("/")[-1]
    return Cell(figure, name, kind, len(means), 2.5, "", None, "bernoulli", wanted.cap,
                wanted.runs, means)  # fmt: skip


def _epsilon(wanted: Plan) -> Iterator[Cell]:
    """Pulls against ε, on upper outliers made for ε = 5 so that all smaller ones hold."""
    n = 100 if 100 in wanted.sizes else max(wanted.sizes)
    for epsilon in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0):
        base = Cell("epsilon", f"upper-{n}-5", "upper", n, epsilon, "gold", None, "anytime",
                    wanted.cap, wanted.runs)  # fmt: skip
        yield from (base, replace(base, radii="bernoulli"), replace(base, strategy="adaptive"))


def _compare(wanted: Plan, base: Cell) -> Iterator[Cell]:
    """Every strategy, k and kind of radii on one instance; adaptive has proved ones alone."""
    for strategy in (*RANKINGS, *SIGMA_RULES):
        cap = _cap(wanted, strategy, base.n)
        for radii in ("anytime",) if strategy == "adaptive" else RADII:
            for k in KS if strategy in SIGMA_RULES else (None,):
                yield replace(base, strategy=strategy, k=k, radii=radii, cap=cap)


def _told(wanted: Plan, base: Cell, labelled: int) -> Iterator[Cell]:
    """The rankings where they may return as many outliers as are labelled, if that is fewer.

    With the paper's capacity they must also order arms of the bulk, whose means can be arbitrarily
    close. The sigma rules have no capacity: their cells are those of `_compare`.
    """
    if labelled == Problem(epsilon=base.epsilon, rho=RHO).max_members(base.n):
        return
    for cell in _compare(wanted, base):
        if cell.strategy in RANKINGS:
            yield replace(cell, capacity=labelled)


def _cap(wanted: Plan, strategy: str, n: int) -> int:
    """Return the most pulls of a run.

    Beyond 100 arms the rankings, whose needs grow with the arms, get more, and the rules whose
    pulls grow dearer get less; a cap that is reached is reported.
    """
    if strategy not in (*RANKINGS, "rr", "wrr"):
        return min(wanted.cap, wanted.slow_cap)
    growth = max(n / 100, 1.0) ** 2
    return int(wanted.cap * growth if strategy in RANKINGS else wanted.cap / growth)


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell and return its result as JSON values."""
    started = time.monotonic()
    correct: list[bool] = []
    f1: list[float] = []
    pulls: list[int] = []
    capped: list[bool] = []
    for run in range(cell.runs):
        if sum(capped) >= CAPPED_RUNS and all(capped):
            break
        means, truth, most = _instance(cell, run)
        result = simulate(
            means,
            cell.make_strategy(),
            epsilon=cell.epsilon,
            max_outliers=most,
            delta=cell.delta,
            until="ranked",
            bound="anytime" if cell.radii == "anytime" else "paper",
            rewards=(0, 1) if cell.radii == "hoeffding" else "bernoulli",
            shape="bernoulli",
            max_pulls=cell.cap,
            seed=run,
        )
        ranks = cell.strategy in RANKINGS
        found = set(result.ranking[: len(truth)] if ranks else result.outliers)
        ended = result.verdict != "budget"
        correct.append(ended and found == truth)
        f1.append(2 * len(found & truth) / (len(found) + len(truth)))
        pulls.append(result.pulls)
        capped.append(not ended)
    return {
        **cell.settings,
        "correct": correct,
        "f1": f1,
        "pulls": pulls,
        "capped": capped,
        "seconds": time.monotonic() - started,
    }


def _instance(cell: Cell, run: int) -> tuple[np.ndarray[Any, Any], set[int], int]:
    """Return the means of a run, the true outliers, and the most outliers allowed."""
    if not cell.means:
        instance = configuration(cell.instance, seed=run)
        return instance.means, set(instance.outliers), instance.problem.max_members(cell.n)
    means = np.array(cell.means)
    group = outlier_groups(means, cell.epsilon, RHO)[-1]
    most = cell.capacity or Problem(epsilon=cell.epsilon, rho=RHO).max_members(cell.n)
    return means, {int(str(i)) for i in group.members}, most


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    executor: Executor,
    progress: Callable[[int], object],
    known: Iterable[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Run all cells that have no result yet, and return the results of all, in order.

    Args:
        cells: What to run.
        folder: Where results are kept, one file a cell.
        executor: Any `concurrent.futures.Executor`.
        progress: Called with the number of cells done.
        known: Results from elsewhere; those of the folder are preferred.
    """
    folder.mkdir(parents=True, exist_ok=True)
    elsewhere = {settings_of(result): dict(result) for result in known}
    done = {
        cell.key: found
        for cell in cells
        if (found := _read(folder, cell) or elsewhere.get(settings_of(cell.settings)))
    }
    waiting = [cell for cell in cells if cell.key not in done]
    progress(len(done))
    futures: dict[Future[dict[str, Any]], Cell] = {}
    try:
        # Long cells first, so that the last ones do not leave a worker idle.
        order = sorted(waiting, key=lambda c: -c.n * c.cap)
        futures = {executor.submit(run_cell, cell): cell for cell in order}
        for future in as_completed(futures):
            cell = futures[future]
            done[cell.key] = future.result()
            _write(folder, cell, done[cell.key])
            progress(len(done))
    finally:
        for future in futures:  # interrupted, or a cell has failed: start nothing more
            future.cancel()
    return [done[cell.key] for cell in cells]


def settings_of(result: Mapping[str, Any]) -> str:
    """Return the settings of a result, which tell it from all others of the same data."""
    return json.dumps({k: v for k, v in result.items() if k not in MEASURED}, sort_keys=True)


def kept(results: Iterable[dict[str, Any]], wanted: Plan) -> list[dict[str, Any]]:
    """Return the results on real data that belong to a sweep, for where the data are not given."""
    return [
        result
        for result in results
        if result["figure"] in REAL
        and result["planned_runs"] == wanted.runs
        and result["cap"] == _cap(wanted, result["strategy"], result["n"])
    ]


def _read(folder: Path, cell: Cell) -> dict[str, Any] | None:
    path = folder / f"{cell.key}.json"
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # cut off while it was written
        return None
    return found


def _write(folder: Path, cell: Cell, result: dict[str, Any]) -> None:
    part = folder / f"{cell.key}.part"
    part.write_text(json.dumps(result), encoding="utf-8")
    part.replace(folder / f"{cell.key}.json")


def most_seconds(cells: Iterable[Cell], workers: int) -> float:
    """Return how long a sweep takes at most, if every run reached its cap.

    A short run of each strategy, radii and number of arms says what a pull costs here.
    """
    total = 0.0
    known: dict[tuple[str, str, int], float] = {}
    for cell in cells:
        kind = cell.strategy, cell.radii, cell.n
        if kind not in known:
            some = 4 * cell.n + 2000
            if cell.strategy == "adaptive":  # its rounds grow, and planning is by the round
                some *= 50
            pilot = replace(cell, cap=min(cell.cap, some), runs=1)
            run_cell(pilot)  # loads what it needs
            found = run_cell(pilot)
            known[kind] = found["seconds"] / max(sum(found["pulls"]), 1)
        total += known[kind] * cell.cap * min(cell.runs, CAPPED_RUNS)
    return total / workers
