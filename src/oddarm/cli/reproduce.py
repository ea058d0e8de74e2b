"""`oddarm reproduce`: the paper's evaluation, redrawn and judged."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from oddarm._version import __version__
from oddarm.cli.options import check_matplotlib
from oddarm.errors import ParameterError

__all__ = ["reproduce"]


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for report, figures and results.")] = Path(
        "out/reproduction"
    ),
    quick: Annotated[bool, typer.Option(help="A small sweep of about a minute.")] = False,
    data: Annotated[
        Optional[Path],  # noqa: UP045 - typer evaluates annotations
        typer.Option(help="Folder of real data: kjv_keywords.csv.gz, upworthy_story_ctr.csv.gz."),
    ] = None,
    sizes: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Numbers of arms, as in 20,50,100. [default: all of the paper's]"),
    ] = None,
    runs: Annotated[Optional[int], typer.Option(min=1, help="Runs of a cell.")] = None,  # noqa: UP045
    cap: Annotated[Optional[int], typer.Option(min=1, help="Most pulls of a run.")] = None,  # noqa: UP045
    problems: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Problems of each real data set."),
    ] = None,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Processes.")] = None,  # noqa: UP045
    as_json: Annotated[bool, typer.Option("--json", help="Print the claims as JSON.")] = False,
) -> None:
    """Redraw every figure of the paper's section 6 and judge its claims.

    Results are kept per cell in OUT/cells: an interrupted sweep continues, a repeated one is
    instant. The report is OUT/index.html, and OUT/report.md.
    """
    import json
    from concurrent.futures import ProcessPoolExecutor
    from dataclasses import asdict, replace
    from importlib.metadata import version

    from oddarm.cli.progress import SweepProgress
    from oddarm.experiments.claims import check_claims
    from oddarm.experiments.report import write_report
    from oddarm.experiments.runs import Plan, most_seconds, plan, run_cells

    wanted = Plan.quick() if quick else Plan()
    changes: dict[str, Any] = {"runs": runs, "cap": cap, "problems": problems}
    if sizes is not None:
        changes["sizes"] = _sizes(sizes)
    wanted = replace(wanted, **{k: v for k, v in changes.items() if v is not None})
    if data is not None and not data.is_dir():
        raise ParameterError(f"--data {data}: must be a folder.")
    check_matplotlib("redrawing the figures")
    cells = plan(wanted, data)
    many = workers or os.cpu_count() or 1
    if not quick and not as_json:
        hours = most_seconds(cells, many) / 3600
        print(
            f"{len(cells):,} cells; at most about {hours:.1f} hours on {many} workers, "
            "if every run reached its cap (most do not)",
            file=sys.stderr,
        )
    with SweepProgress() as progress, ProcessPoolExecutor(many) as pool:
        results = run_cells(cells, out / "cells", pool, progress)
    provenance = {
        "oddarm": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "seeds": f"0 to {wanted.runs - 1}, for instances and rewards alike",
        "rho": 0.9,
        "delta": 0.1,
        "cap": f"{wanted.cap:,} pulls a run, {wanted.slow_cap:,} for NRR and IB",
        "runs": wanted.runs,
        "sizes": list(wanted.sizes),
    }
    page = write_report(results, out, provenance, _command())
    if as_json:
        print(json.dumps([asdict(claim) for claim in check_claims(results)], indent=2))
        return
    for claim in check_claims(results):
        print(f"{claim.verdict:>15}  {claim.text}: {claim.ours}")
    print(f"\nreport: {page}")


def _command() -> str:
    """Return the command as typed, without folders of this machine."""
    shown = []
    for word in sys.argv[1:]:
        path = Path(word)
        shown.append(path.name if path.is_absolute() else word)
    return shlex.join(["oddarm", *shown])


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"--sizes {text}: must be numbers such as 20,50,100.") from None
