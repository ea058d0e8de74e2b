"""Make examples/requests.csv, the table that the README scans: python tools/make_requests.py.

Twenty hosts answer 500 requests each. Two of them time out far more often than the others.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

OUT = Path(__file__).parent.parent / "examples" / "requests.csv"
RATES = {f"web-{k:02}": 0.02 + 0.004 * k for k in range(1, 21)} | {"web-07": 0.42, "web-13": 0.47}
ROWS = 500


def main() -> None:
    """Write the table."""
    rng = random.Random(7)
    with OUT.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["host", "timed_out"])
        hosts = sorted(list(RATES) * ROWS, key=lambda _: rng.random())
        table.writerows((host, int(rng.random() < RATES[host])) for host in hosts)


if __name__ == "__main__":
    main()
