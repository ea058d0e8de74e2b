"""`python -m reproduction`: the paper's evaluation, redrawn and judged."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import oddarm
from oddarm.errors import OddarmError, ParameterError
from reproduction.claims import check_claims
from reproduction.committed import COMMITTED, check_cells, read_cells, read_sweeps, sample
from reproduction.report import write_report
from reproduction.runs import (
    DELTA,
    FIGURES,
    RHO,
    Cell,
    Plan,
    kept,
    most_seconds,
    plan,
    run_cells,
    settings_of,
)

INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 2 after a mistake, which gets one sentence."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        _reproduce(arguments)
    except (OddarmError, OSError) as error:
        print(f"reproduction: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("reproduction: interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def _reproduce(arguments: Sequence[str]) -> None:
    given = _parser().parse_args(arguments)
    if given.data is not None and not given.data.is_dir():
        raise ParameterError(f"--data {given.data}: must be a folder.")
    known = read_cells(given.start)
    if given.check is not None:
        _check(given, known)
        return
    options = {name: getattr(given, name) for name in ("sizes", "runs", "cap", "problems")}
    wanted = replace(
        Plan.quick() if given.quick else Plan(),
        **{name: value for name, value in options.items() if value is not None},
    )
    cells = plan(wanted, given.data)
    have = {settings_of(result) for result in known}
    new = [cell for cell in cells if settings_of(cell.settings) not in have]
    if new and not given.quick and not given.json:
        hours = most_seconds(new, given.workers) / 3600
        print(
            f"{len(new):,} of {len(cells):,} cells are not in {given.start.name}; at most about "
            f"{hours:.1f} hours on {given.workers} workers, if every run reached its cap (most do "
            "not)",
            file=sys.stderr,
        )
    with _pool(given.workers, len(cells)) as (pool, progress):
        results = run_cells(cells, given.out / "cells", pool, progress, known)
    if given.data is None:
        results += kept(known, wanted)
    results.sort(key=lambda result: FIGURES.index(result["figure"]))
    sweeps = read_sweeps(given.start.parent) if len(new) < len(results) else []
    if new:
        sweeps = [*sweeps, _sweep(wanted, new, _command(arguments))]
    page = write_report(results, given.out, sweeps)
    claims = check_claims(results)
    if given.json:
        print(json.dumps([asdict(claim) for claim in claims], indent=2))
        return
    for claim in claims:
        print(f"{claim.verdict:>15}  {claim.text} {claim.why}")
    print(f"\nreport: {page}")


def _check(given: Namespace, known: Sequence[dict[str, Any]]) -> None:
    chosen = sample(known, given.check, given.data)
    with _pool(given.workers, len(chosen)) as (pool, progress):
        checks = check_cells(chosen, pool, progress)
    for check in checks:
        print(check)
    counts = Counter(check.outcome for check in checks)
    print(
        f"\nOf {len(checks)} cells, one run each: {counts['the same']} the same as committed, "
        f"{counts['within']} within the spread of the committed runs, {counts['outside']} outside."
    )
    if counts["outside"]:
        raise OddarmError(f"{counts['outside']} cells of {given.start} are not of this code.")


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m reproduction",
        description="Redraw every figure of the paper's section 6 and judge its claims. The sweep "
        "goes on from the committed cells: with no option nothing is run and the report comes out "
        "as it is committed. Results are kept per cell in OUT/cells: an interrupted sweep "
        "continues, a repeated one is instant. The report is OUT/index.html, and OUT/report.md.",
    )
    add = parser.add_argument
    add(
        "--out", type=Path, default=Path("out/reproduction"),
        help="folder for report, figures and results [default: %(default)s]",
    )  # fmt: skip
    add(
        "--from", dest="start", type=Path, default=COMMITTED, metavar="CELLS",
        help="cells.json of a report: what it has is not run again [default: the committed one]",
    )  # fmt: skip
    add(
        "--check", type=_count, metavar="N",
        help="run nothing else: redo one run of N of these cells, and say whether it lies within "
        "their spread",
    )  # fmt: skip
    add("--quick", action="store_true", help="a small sweep of about a minute")
    add(
        "--data", type=Path,
        help="folder of real data: kjv_keywords.csv.gz, upworthy_story_ctr.csv.gz",
    )  # fmt: skip
    add("--sizes", type=_sizes, help="numbers of arms, as in 20,50,100 [default: the paper's]")
    add("--runs", type=_count, help=f"runs of a cell [default: {Plan().runs}]")
    add("--cap", type=_count, help=f"most pulls of a run [default: {Plan().cap:,}]")
    add(
        "--problems",
        type=_count,
        help=f"problems of each real data set [default: {Plan().problems}]",
    )
    add(
        "--workers", type=_count, default=os.cpu_count() or 1,
        help="processes [default: one per core]",
    )  # fmt: skip
    add("--json", action="store_true", help="print the claims as JSON")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text}: must be a whole number >= 1.")
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text}: must be numbers such as 20,50,100.") from None


@contextmanager
def _pool(workers: int, total: int) -> Iterator[tuple[Executor, Callable[[int], object]]]:
    """Give worker processes and a progress bar, which shows if standard error is a terminal."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("cells"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("cells", total=total)
    with bar, ProcessPoolExecutor(workers) as pool:
        yield pool, lambda done: bar.update(task, completed=done)


def _sweep(wanted: Plan, cells: Sequence[Cell], command: str) -> dict[str, Any]:
    """Return how cells were made, as an entry of sweeps.json."""
    figures = Counter(cell.figure for cell in cells)
    shares = ", ".join(f"{count} {figure}" for figure, count in figures.items())
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": command,
        "cells": f"{len(cells):,}: {shares}",
        "runs": f"{wanted.runs} a cell, seeds 0 to {wanted.runs - 1} for instances and rewards",
        "cap": f"{wanted.cap:,} pulls a run, {wanted.slow_cap:,} for NRR and IB",
        "rho, delta": f"{RHO}, {DELTA}",
        "versions": f"oddarm {oddarm.__version__}, python {platform.python_version()}, "
        f"numpy {version('numpy')}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def _command(arguments: Sequence[str]) -> str:
    """Return the command as typed, without folders of this machine."""
    shown = [Path(word).name if Path(word).is_absolute() else word for word in arguments]
    return shlex.join(["python", "-m", "reproduction", *shown])


if __name__ == "__main__":
    sys.exit(main())
