"""Tables: a large one in DuckDB, and one of many arms against one of few with as many rows.

The large one is opened for sampling, against `ORDER BY random()`, and then read. The commands on
many arms and on few are compared by processor time, start of Python included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import oddarm
from benchmarks.report import Report
from oddarm.sources import TableSource

ROWS, ARMS = 20_000_000, 1000
MANY, FEW = (10_000, 30), (100, 3_000)  # arms, and rows of each
SECONDS = 30.0
"""A command that takes more processor time than this is ended, and counts with it."""
COMMANDS = {  # and how many times the processor time of few arms many arms may take
    "find --rows all --min-gap 0.3": 10.0,
    "find --rows all": 10.0,
    "find --min-gap 0.3": 10.0,
    "find": 10.0,
    "scan --min-gap 0.3": 1.5,
    "scan": 1.5,
    "scan --rows all": 1.5,
}


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


def write_arms(path: Path, arms: int, rows: int, zero_one: bool) -> None:
    """Write a Parquet file of arms with means from 0.18 to 0.22, but every 500th, and the first."""
    odd = f"(arm % 500 = 0 OR arm < {2 * max(arms // 1000, 1)})"
    mean = f"CASE WHEN {odd} THEN 0.95 ELSE 0.18 + 0.04 * (hash(arm) % 1009) / 1009.0 END"
    chance = "(hash(i) % 1000003) / 1000003.0"
    reward = f"({chance} < mean)::INT" if zero_one else f"round(0.8 * mean + 0.2 * {chance}, 3)"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT printf('arm-%06d', arm) AS arm, {reward} AS reward FROM "
            f"(SELECT *, {mean} AS mean FROM (SELECT i, (i % {arms})::BIGINT AS arm "
            f"FROM range({arms * rows}) AS t(i)))) TO '{path}' (FORMAT parquet)"
        )


def command_seconds(words: str, path: Path) -> float:
    """Return the processor seconds of a command on a table; SECONDS if it was ended by then."""
    command, *options = words.split()
    limit = f"ulimit -t {SECONDS:.0f}; exec"
    oddarm = [sys.executable, "-m", "oddarm", command, str(path), "--arm", "arm"]
    line = ["sh", "-c", f'{limit} "$@"', "sh", *oddarm, "--reward", "reward", *options]
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = 0
    return SECONDS if os.WIFSIGNALED(status) else used.ru_utime + used.ru_stime


def many_arms(report: Report) -> None:
    """Add how much longer each command takes for many arms than for few, with as many rows."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("0/1", "bounded"):
            few, many = Path(folder) / "few.parquet", Path(folder) / "many.parquet"
            for path, sizes in ((few, FEW), (many, MANY)):
                write_arms(path, *sizes, zero_one=kind == "0/1")
            for words, most in COMMANDS.items():
                times = [command_seconds(words, path) for path in (many, few)]
                ended = " and ended" if times[0] == SECONDS else ""
                report.add(
                    f"oddarm {words}, {kind}, {MANY[0]:,} arms / {FEW[0]}",
                    times[0] / times[1],
                    most=most,
                    note=f"{times[0]:.1f} s{ended}, {times[1]:.1f} s",
                )


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
