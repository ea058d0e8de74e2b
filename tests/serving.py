"""`oddarm serve` in a process of its own, for tests."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def serving(*arguments: Any, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `oddarm serve`, on a free port unless one is named; give the process and its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "oddarm", "serve", "--port", str(port), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        process.kill()
        process.communicate()
