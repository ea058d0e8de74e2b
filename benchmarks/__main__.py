"""Measure everything and print a table of figures beside their bars: `make bench`.

`python -m benchmarks gold scale` measures only those two parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    ask_tell,
    crowds,
    gold,
    growth,
    runner,
    scale,
    service,
    starting,
    studies,
    tables,
    workers,
    yahoo,
)
from benchmarks.report import Report

SPEED: dict[str, Callable[[Report], None]] = {
    "starting": starting.run,
    "gold": gold.run,
    "ask_tell": ask_tell.run,
    "scale": scale.run,
    "growth": growth.run,
    "studies": studies.run,
    "crowds": crowds.run,
    "many_arms": tables.many_arms,
}
OTHERS: dict[str, Callable[[], None]] = {
    "runner": runner.run,
    "yahoo": yahoo.run,
    "tables": tables.run,
    "service": service.run,
    "workers": workers.run,
}


def main(names: list[str]) -> None:
    """Measure the named parts, all if none is named."""
    unknown = [name for name in names if name not in {*SPEED, *OTHERS}]
    if unknown:
        sys.exit(f"{unknown[0]} is not a benchmark, must be one of {', '.join([*SPEED, *OTHERS])}.")
    chosen = names or [*SPEED, *OTHERS]
    report = Report()
    for name, measure in SPEED.items():
        if name in chosen:
            measure(report)
    report.save(Path("out/bench.json"))
    for name, show in OTHERS.items():
        if name in chosen:
            show()


if __name__ == "__main__":
    main(sys.argv[1:])
