"""What it takes to start: imports, the command line, and the first compile."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import Report, seconds
from oddarm.strategies import STRATEGIES

COMPILE = """
import json, time, oddarm
from oddarm.strategies import Gold, as_strategy
spent = {}
means = [0.02, 0.03, 0.03, 0.04, 0.04, 0.05, 0.05, 0.06, 0.98]
for name in ("gold", "gold, intervals", "rr", "wrr", "adaptive"):
    strategy = Gold(form="intervals") if "," in name else as_strategy(name)
    times = []
    for _ in range(2):
        start = time.process_time()
        oddarm.simulate(means, strategy, max_outliers=1)
        times.append(time.process_time() - start)
    spent[name] = times[0] - times[1]
print(json.dumps(spent))
"""


def python(code: str) -> Callable[[], object]:
    """Return an action that runs code in a fresh interpreter."""
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def compiling(folder: str) -> dict[str, float]:
    """Return by how many seconds of processor time each strategy's first call is the slower."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    out = subprocess.run(
        [sys.executable, "-c", COMPILE], check=True, capture_output=True, text=True, env=environment
    ).stdout
    spent: dict[str, float] = json.loads(out)
    return spent


def run(report: Report) -> None:
    """Measure imports in turn, with the start of the interpreter taken off both."""
    ratios, loaded = [], []
    for _ in range(9):
        nothing = seconds(python("pass"))
        numpy = seconds(python("import numpy")) - nothing
        ratios.append((seconds(python("import oddarm")) - nothing) / numpy)
        core = "import oddarm; oddarm.Search, oddarm.simulate, oddarm.find"
        loaded.append((seconds(python(core)) - nothing) / numpy)
    report.add("import oddarm / import numpy", statistics.median(ratios), most=2)
    report.add("import of all of the core / import numpy", statistics.median(loaded))
    program = str(Path(sys.executable).parent / "oddarm")
    helping = [
        seconds(lambda: subprocess.run([program, "--help"], check=True, capture_output=True))
        for _ in range(9)
    ]
    report.add("oddarm --help, seconds", statistics.median(helping), most=0.4)
    assert "adaptive" in STRATEGIES
    with tempfile.TemporaryDirectory() as folder:
        first, again = compiling(folder), compiling(folder)
    for name, spent in first.items():
        report.add(f"first compile of {name}, seconds", spent, note=f"cached {again[name]:.2f}")
    report.add("first compile in all, seconds", sum(first.values()), most=5)
