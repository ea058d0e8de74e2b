"""Lines per second of the R6A loader, against `zcat | cut | sort | uniq -c` on the same file."""

from __future__ import annotations

import gzip
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from reproduction.yahoo import read_r6a

LINES = 650_000  # about 1 GB of text


def write_file(path: Path, lines: int = LINES) -> int:
    """Write a file in the format of R6A, with pools of 20 articles; return its size in bytes."""
    rng = np.random.default_rng(0)
    articles = np.arange(109_400, 109_600)
    features = "2:0.306008 3:0.000450 4:0.077048 5:0.230439 6:0.386055 1:1.000000"
    written = 0
    with gzip.open(path, "wb", compresslevel=1) as out:
        for first in range(0, lines, 1000):
            pool = rng.choice(articles, 20, replace=False)
            tail = " ".join(f"|{article} {features}" for article in pool)
            shown = rng.choice(pool, 1000)
            clicks = rng.random(1000) < 0.04
            user = rng.random(1000)
            text = "".join(
                f"{1241160900 + first + i} {shown[i]} {int(clicks[i])} |user 2:{user[i]:.6f} "
                f"3:0.000000 4:0.000006 5:0.000023 6:0.999958 1:1.000000 {tail}\n"
                for i in range(1000)
            ).encode()
            written += len(text)
            out.write(text)
    return written


def run() -> None:
    """Measure both on one file and print the ratio and the peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ydata-fp-td-clicks-v1_0.20090501.gz"
        size = write_file(path)
        start = time.perf_counter()
        counts = read_r6a(path)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        pipe = f"zcat {path} | cut -d' ' -f2,3 | LC_ALL=C sort | uniq -c > /dev/null"
        subprocess.run(["bash", "-c", pipe], check=True)
        theirs = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"R6A loader / zcat | cut | sort | uniq -c, time        {ours / theirs:8.2f}   "
        f"({counts.good / ours:,.0f} lines/s, {size / 1e9:.2f} GB of text, peak {peak:.0f} MB)"
    )
