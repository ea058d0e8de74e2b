"""`oddarm serve` in a process of its own, for tests."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

LIMITED = """
import resource, runpy, sys
most = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
runpy.run_module("oddarm", run_name="__main__")
"""


@contextlib.contextmanager
def serving(
    *arguments: Any, port: int = 0, descriptors: int | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `oddarm serve` and give the process and its URL.

    Args:
        arguments: What follows `serve`.
        port: The port; 0 for a free one.
        descriptors: How many files and connections the process may have open.
    """
    program = ["-m", "oddarm"] if descriptors is None else ["-c", LIMITED, str(descriptors)]
    process = subprocess.Popen(
        [sys.executable, *program, "serve", "--port", str(port), *map(str, arguments)],
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
