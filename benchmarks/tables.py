"""A large table in DuckDB: opening it for sampling against `ORDER BY random()`, then reading."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import oddarm
from oddarm.sources import TableSource

ROWS, ARMS = 20_000_000, 1000


def write_table(path: Path, rows: int) -> None:
    """Write a table of events: the name of the arm, a reward from 0 to 1, and an id."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE events AS SELECT printf('arm-%04d', hash(i) % {ARMS}) AS arm, "
            f"(hash(i + {rows}) % 10007) / 10006.0 AS reward, i AS id FROM range({rows}) AS t(i)"
        )


def order_by_random(path: Path, folder: str) -> float:
    """Return the seconds that DuckDB takes to put the whole table in a random order."""
    with duckdb.connect(config={"temp_directory": folder}) as connection:
        connection.execute(f"ATTACH '{path}' AS data (READ_ONLY)")
        start = time.perf_counter()
        connection.execute("CREATE TEMP TABLE shuffled AS FROM data.events ORDER BY random()")
        return time.perf_counter() - start


def open_for_sampling(path: Path) -> tuple[float, TableSource]:
    """Return the seconds that it takes to open the table, and the source."""
    start = time.perf_counter()
    source = oddarm.open_table(path, arm="arm", reward="reward")
    return time.perf_counter() - start, source


def read_times(source: TableSource) -> np.ndarray:
    """Return the milliseconds that the next 100 rows of each arm take, read for the first time."""
    times = []
    for arm in np.random.default_rng(0).permutation(source.arms):
        start = time.perf_counter()
        drawn = source.draw(arm, 100)
        times.append((time.perf_counter() - start) * 1000)
        assert len(drawn) == 100
    return np.array(times)


def run(rows: int = ROWS) -> None:
    """Measure both in turn, twice, and print the ratio of the least times and the reads."""
    shuffles, opens = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.duckdb"
        write_table(path, rows)
        for turn in range(2):
            shuffles.append(order_by_random(path, folder))
            seconds, source = open_for_sampling(path)
            opens.append(seconds)
            if turn == 1:
                times = read_times(source)
            source.close()
    print(
        f"open_table / ORDER BY random(), {rows / 1e6:g} M rows in DuckDB   "
        f"{min(opens) / min(shuffles):8.2f}   (at most 2; {min(opens):.1f} s)"
    )
    print(
        f"the next 100 rows of one of {ARMS:,} arms, in ms            "
        f"{np.median(times):8.2f}   (under 10; 99 % under {np.quantile(times, 0.99):.2f})"
    )


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
