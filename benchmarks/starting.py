"""What it takes to start: imports, the command line, and the compilation of the kernels."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tools.compile_kernels import compile_kernels

from benchmarks.report import Report, seconds
from oddarm.strategies import STRATEGIES

FIRST_CALLS = """
import json, time, oddarm
from oddarm.strategies import Gold, as_strategy
spent = {}
means = [0.02, 0.03, 0.03, 0.04, 0.04, 0.05, 0.05, 0.06, 0.98]
for name in ("gold", "gold, intervals", "rr", "wrr", "adaptive"):
    strategy = Gold(form="intervals") if "," in name else as_strategy(name)
    times = []
    for _ in range(2):
        start = time.process_time()
        oddarm.simulate(means, strategy, max_outliers=1, until="ranked")
        times.append(time.process_time() - start)
    spent[name] = times[0] - times[1]
print(json.dumps(spent))
"""


def python(code: str) -> Callable[[], object]:
    """Return an action that runs code in a fresh interpreter."""
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def first_calls() -> dict[str, float]:
    """Return how many seconds of processor time each strategy's first call takes more."""
    out = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS], check=True, capture_output=True, text=True
    ).stdout
    spent: dict[str, float] = json.loads(out)
    return spent


def compiling() -> float:
    """Return how many seconds of processor time it takes to compile all kernels."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        compile_kernels(Path(folder) / "library.so")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
    help_seconds = [
        seconds(lambda: subprocess.run([program, "--help"], check=True, capture_output=True))
        for _ in range(9)
    ]
    report.add("oddarm --help, seconds", statistics.median(help_seconds), most=0.4)
    assert "adaptive" in STRATEGIES
    compiled = statistics.median(compiling() for _ in range(5))
    report.add("kernels compiled by the installation, seconds", compiled)
    calls = [first_calls() for _ in range(5)]
    for name in calls[0]:
        median = statistics.median(spent[name] for spent in calls)
        report.add(f"first call of {name} / the second, seconds more", median)
    more = statistics.median(sum(spent.values()) for spent in calls)
    report.add("first compile in all, seconds", compiled + more, most=5)
