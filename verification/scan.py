"""Is a scan right as often as it says, and how long do a million rows take?

The tables of workers are those of a log: 80 workers who are right 90 % of the time, with 3 to 149
rows each. Nobody is an outlier, so every confirmed group is an error.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import oddarm
from oddarm._typing import Floats
from oddarm.bounds import one_look_bound
from oddarm.options import ProblemOptions
from oddarm.rewards import Bernoulli, Bounded
from verification.adaptive import Line
from verification.coverage import SHAPES, misses
from verification.report import Check

WORKERS = 80
QUESTIONS: dict[str, ProblemOptions] = {
    "ε = 2.5": {"epsilon": 2.5},
    "min_gap = 0.1": {"min_gap": 0.1},
    "ε = 2.5, min_gap = 0.1": {"epsilon": 2.5, "min_gap": 0.1},
}


def checks(tables: int = 400, runs: int = 2000, rows: int = 1_000_000) -> Iterator[Check | Line]:
    """Yield error rates of scans and of intervals for one look, and how long a scan takes."""
    for delta in (0.05, 0.5):
        for name, question in QUESTIONS.items():
            rng, wrong, open_ = np.random.default_rng(17), 0, 0
            for _ in range(tables):
                log = {k: rng.random(rng.integers(3, 150)) < 0.9 for k in range(WORKERS)}
                verdict = oddarm.scan(log, delta=delta, **question).verdict
                wrong += verdict in ("confirmed", "scattered")
                open_ += verdict == "rows"
            yield Check(f"80 equal workers, {name}", wrong, tables, delta, f"{open_} left open")
    rng, wrong, found = np.random.default_rng(18), 0, 0
    for _ in range(tables // 4):
        rates = [0.9] * (WORKERS - 1) + [0.3]
        log = {k: rng.random(rng.integers(1000, 3000)) < p for k, p in enumerate(rates)}
        result = oddarm.scan(log, epsilon=2.5)
        found += result.outliers == [WORKERS - 1]
        wrong += result.verdict == "none" or result.outliers not in ([], [WORKERS - 1])
    yield Check("one worker at 0.3, 1,000 rows or more", wrong, tables // 4, 0.05, f"{found} found")
    yield from coverage(runs)
    yield from times(rows)


def coverage(runs: int) -> Iterator[Check]:
    """Yield how often intervals for one look miss the mean, for samples of several sizes."""
    for name, (mean, draw) in SHAPES.items():
        for m in (3, 50, 2000):
            for delta in (0.1, 0.5):
                rewards = draw(np.random.default_rng(m), runs, m)
                models = [Bounded(minimum=0.0, maximum=1.0)]
                for model in [Bernoulli(), *models] if name.startswith("0/1") else models:
                    bound = one_look_bound(model, 1, delta)
                    wrong = misses(bound, model, iter([rewards]), mean)
                    what = f"{type(bound).__name__}, {m} rewards, {name}"
                    yield Check(what, int(wrong.sum()), runs, delta)


def times(rows: int) -> Iterator[Line]:
    """Yield how long a scan takes, beside a plain GROUP BY of DuckDB in the same run."""
    duckdb: Any = import_module("duckdb")
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    csv: Any = import_module("pyarrow.csv")
    rng = np.random.default_rng(0)
    host = rng.integers(0, 100, rows)
    slow: Floats = (rng.random(rows) < np.where(host == 7, 0.5, 0.1)).astype(float)
    events = arrow.table({"host": [f"host-{k}" for k in host.tolist()], "slow": slow})
    with tempfile.TemporaryDirectory() as folder:
        files = {suffix: str(Path(folder) / f"events.{suffix}") for suffix in ("parquet", "csv")}
        parquet.write_table(events, files["parquet"])
        csv.write_csv(events, files["csv"])
        with duckdb.connect() as plain:
            plain.register("frame", events)
            for name, data in {**files, "frame": events}.items():
                table = "frame" if name == "frame" else f"'{data}'"
                query = f"SELECT host, count(*), avg(slow) FROM {table} GROUP BY host"
                ours = _milliseconds(lambda data=data: oddarm.scan(data, "host", "slow"))
                theirs = _milliseconds(lambda query=query: plain.execute(query).fetchall())
                yield Line(
                    f"{rows:,} rows, {name:<8} scan {ours:6.0f} ms, GROUP BY {theirs:6.0f} ms"
                )


def _milliseconds(call: Callable[[], object], runs: int = 3) -> float:
    """Return the least time of a few calls."""
    spent = []
    for _ in range(runs):
        started = time.perf_counter()
        call()
        spent.append(time.perf_counter() - started)
    return 1000 * min(spent)
