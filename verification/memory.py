"""Do the kernels stay within their arrays? Runs all under sanitizers and compares the results."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.compile_kernels import LIBRARY, compile_kernels, compiler

import oddarm
from verification.report import Check

SEARCHES = """
import json
import numpy as np
import oddarm
from oddarm.sources import PoolSource
from oddarm.strategies import Gold

def search(means, strategy, **options):
    result = oddarm.simulate(means, strategy, seed=1, max_pulls=20_000, **options)
    print(json.dumps(result.to_dict(), sort_keys=True))

search([0.1, 0.12, 0.9], "gold", max_outliers=1)
search([0.1, 0.12, 0.9], "adaptive", max_outliers=1)
for n in (11, 20, 67, 130):
    for kind in ("upper", "lower", "intermediate"):
        means = oddarm.datasets.synthetic(kind, n, 2.5, seed=n).means
        for bound in ("anytime", "paper"):
            for strategy in ("gold", "rr", "wrr"):
                search(means, strategy, bound=bound)
        search(means, Gold(form="intervals"))
        for until in ("found", "confirmed", "ranked"):
            search(means, "adaptive", until=until)
            search(np.round(means, 2), "adaptive", until=until, epsilon=0.5)

rng = np.random.default_rng(1)
rates = [0.9, 0.9] + 12 * [0.2]
pools = {f"pool {i}": (rng.random(60 + i) < p).tolist() for i, p in enumerate(rates)}
for strategy in ("adaptive", "rr"):
    source = PoolSource(pools, float, seed=1)
    result = oddarm.find(source, strategy=strategy, max_outliers=2, seed=1)
    print(json.dumps(result.to_dict(), sort_keys=True))
"""


def outcomes(environment: dict[str, str]) -> tuple[list[str], str]:
    """Return the results of the searches, and what the sanitizers printed."""
    ran = subprocess.run(
        [sys.executable, "-c", SEARCHES],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout.splitlines(), ran.stderr.strip()


@contextmanager
def sanitized() -> Iterator[dict[str, str] | None]:
    """Give an environment with the kernels under sanitizers; None if the compiler has none."""
    command = compiler()
    assert command is not None
    sanitizer = subprocess.run(
        [*command, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(sanitizer).is_absolute():
        print("the compiler has no address sanitizer: nothing checked")
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "oddarm"
        shutil.copytree(Path(oddarm.__file__).parent, package, ignore=shutil.ignore_patterns("*.c"))
        library = package / "kernels" / LIBRARY.name
        compile_kernels(library, "-O1", "-g", "-fsanitize=address,undefined")
        yield {"PYTHONPATH": folder, "LD_PRELOAD": sanitizer, "ASAN_OPTIONS": "detect_leaks=0"}


def checks() -> Iterator[Check]:
    """Yield how many searches end differently under the sanitizers."""
    with sanitized() as environment:
        if environment is None:
            return
        expected, failed = outcomes({})
        if failed:
            raise SystemExit(failed)
        got, said = outcomes(environment)
    wrong = sum(a != b for a, b in zip(expected, got, strict=False))
    wrong += abs(len(expected) - len(got)) + bool(said)
    yield Check("kernels under the sanitizers", wrong, len(expected), 0.0, said[-2000:])
