"""What the benchmarks measured, as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["Report", "median_ratio", "processor_seconds", "seconds"]


@dataclass(frozen=True)
class Row:
    """One figure beside the bar that it is held to."""

    name: str
    figure: float
    bar: str
    reached: bool | None
    note: str


@dataclass
class Report:
    """Prints figures as they come and keeps them."""

    rows: list[Row] = field(default_factory=list)

    def add(
        self,
        name: str,
        figure: float,
        *,
        most: float | None = None,
        least: float | None = None,
        note: str = "",
    ) -> None:
        """Print and keep a figure, which should be at most `most` or at least `least`."""
        bar, reached = "", None
        if most is not None:
            bar, reached = f"≤ {most:g}", bool(figure <= most)
        elif least is not None:
            bar, reached = f"≥ {least:,g}", bool(figure >= least)
        self.rows.append(Row(name, float(figure), bar, reached, note))
        mark = {True: "yes", False: "NO", None: ""}[reached]
        shown = f"{figure:,.2f}" if figure < 100 else f"{figure:,.0f}"
        print(f"{name:<58}{shown:>12}  {bar:>12} {mark:>4}  {note}", flush=True)

    def save(self, path: Path) -> None:
        """Write all figures as JSON."""
        machine = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        }
        path.parent.mkdir(exist_ok=True)
        rows = [asdict(row) for row in self.rows]
        path.write_text(json.dumps({"machine": machine, "figures": rows}, indent=1))


def seconds(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def processor_seconds(action: Callable[[], object]) -> float:
    """Return the seconds of processor time that an action takes; other load hardly changes it."""
    start = time.process_time()
    action()
    return time.process_time() - start


def median_ratio(
    first: Callable[[], object],
    second: Callable[[], object],
    repeats: int = 5,
    timed: Callable[[Callable[[], object]], float] = processor_seconds,
) -> tuple[float, float]:
    """Return the median ratio of two actions timed in turn, and the least time of the first."""
    pairs = [(timed(first), timed(second)) for _ in range(repeats)]
    return statistics.median(a / b for a, b in pairs), min(a for a, _ in pairs)
