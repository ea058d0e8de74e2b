"""Which segments of a warehouse table have far more refunds than all others?

A segment is a country and a device. The script makes a DuckDB file with 60,000 orders; put the path
of your own in its place, or a postgresql:// address. All rows are read at once, by the database.
"""

import random
import tempfile
from pathlib import Path

import duckdb

import oddarm

COUNTRIES = ["at", "be", "cz", "de", "dk", "es", "fr", "it", "nl", "pl"]
DEVICES = ["phone", "tablet", "web"]
ODD = ("cz", "tablet")  # its payment page is broken
TINY = ("mt", "web")  # eight orders, five of them refunded: that says nothing


def make_warehouse(path: Path) -> None:
    """Write a table of orders; about one in twenty is refunded."""
    rng = random.Random(11)
    rows = []
    for country in COUNTRIES:
        for device in DEVICES:
            share = 0.20 if (country, device) == ODD else rng.uniform(0.04, 0.06)
            rows += [(country, device, rng.random() < share) for _ in range(2_000)]
    rows += [(*TINY, number < 5) for number in range(8)]
    countries, devices, refunds = map(list, zip(*rows, strict=True))
    with duckdb.connect(path) as warehouse:
        warehouse.execute(
            "CREATE TABLE orders AS SELECT unnest($countries) AS country, "
            "unnest($devices) AS device, unnest($refunds) AS refunded",
            {"countries": countries, "devices": devices, "refunds": refunds},
        )


def main() -> None:
    """Audit the segments and print the answer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "warehouse.duckdb"
        make_warehouse(path)
        # Which segments have at least 6 refunds in 100 orders more, or fewer, than all others?
        result = oddarm.scan(
            path,
            table="orders",
            arm=["country", "device"],
            reward="refunded",
            min_gap=0.06,
            max_outliers=3,
            min_rows=200,  # a segment with fewer orders can look like anything
        )
    result = result.with_nouns("segments", "orders")
    print(result.summary)
    print()
    print(result.table(4))


if __name__ == "__main__":
    main()
