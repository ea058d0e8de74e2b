"""Run the checks and exit with 1 if one fails."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from verification import (
    adaptive,
    bounded,
    budget,
    coverage,
    delays,
    evaluations,
    evidence,
    faults,
    flaky,
    gold,
    interrupts,
    limit,
    memory,
    network,
    proxied,
    question,
    rivals,
    scan,
    soundness,
    states,
    tables,
)
from verification.report import Check

Outcome = Check | adaptive.Line | evidence.Followed | question.Row

CHECKS: dict[str, Callable[[], Iterator[Outcome]]] = {
    "gold": gold.checks,
    "adaptive": adaptive.checks,
    "question": question.checks,
    "bounded": bounded.checks,
    "limit": limit.checks,
    "evidence": evidence.checks,
    "budget": budget.checks,
    "rivals": rivals.checks,
    "coverage": coverage.checks,
    "scan": scan.checks,
    "soundness": soundness.checks,
    "tables": tables.checks,
    "memory": memory.checks,
    "states": states.checks,
    "faults": faults.checks,
    "network": network.checks,
    "proxied": proxied.checks,
    "delays": delays.checks,
    "interrupts": interrupts.checks,
    "flaky": flaky.checks,
    "inspect": evaluations.checks,
}


def main(names: list[str]) -> int:
    """Run the named groups of checks, or all; return how many checks failed."""
    unknown = set(names) - set(CHECKS)
    if unknown:
        print(f"no check named {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
        return 2
    failed = 0
    started = time.monotonic()
    for name in names or CHECKS:
        print(f"== {name}")
        for check in CHECKS[name]():
            print(check, flush=True)
            failed += not check.holds
    minutes = (time.monotonic() - started) / 60
    print(f"\n{'all checks hold' if not failed else f'{failed} checks FAILED'} ({minutes:.1f} min)")
    return 1 if failed else 0


if __name__ == "__main__":  # workers import this module too
    sys.exit(main(sys.argv[1:]))
